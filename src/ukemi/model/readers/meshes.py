"""Corner points of mesh files (STL, binary or text, and OBJ): all that a convex shape needs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ukemi.errors import FileFormatError
from ukemi.model.arrays import Array
from ukemi.model.readers.xmltree import LARGEST_NUMBER, read_bytes

#: Collision meshes of robots hold some MB at most.
LARGEST_MESH = 64 * 2**20
_STL_HEADER = 84
_STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def hull_corners(path: Path) -> Array:
    """Corners (n, 3) of the convex hull of a mesh file.

    Raises:
        FileFormatError: a file that is neither STL nor OBJ, is damaged, or spans no volume.
    """
    data = read_bytes(path, LARGEST_MESH)
    if path.suffix.lower() == ".obj":
        points = _lines_of_numbers(path, data, b"v")
    elif path.suffix.lower() == ".stl":
        points = _stl(path, data)
    else:
        raise FileFormatError(path, None, f"{path.suffix or 'no extension'}: expected .stl or .obj")
    return hull_of(points, path)


def hull_of(points: Array, path: Path) -> Array:
    """Corners (n, 3) of the convex hull of points."""
    from scipy.spatial import ConvexHull, QhullError

    if len(points) < 4 or not (np.abs(points) < LARGEST_NUMBER).all():
        raise FileFormatError(path, None, "expected at least four points with finite numbers")
    try:
        corners: Array = points[ConvexHull(points).vertices]
    except (QhullError, ValueError) as cause:
        raise FileFormatError(path, None, "expected points that span a volume") from cause
    return corners


def _stl(path: Path, data: bytes) -> Array:
    if len(data) >= _STL_HEADER:
        count = int.from_bytes(data[80:84], "little")
        if len(data) == _STL_HEADER + count * _STL_TRIANGLE.itemsize:
            corners = np.frombuffer(data, _STL_TRIANGLE, count, _STL_HEADER)["corners"]
            return corners.reshape(-1, 3).astype(np.float64)
    if not data.lstrip().startswith(b"solid"):
        raise FileFormatError(path, None, "neither binary STL (its size does not fit its number of triangles) nor text")
    return _lines_of_numbers(path, data, b"vertex")


def _lines_of_numbers(path: Path, data: bytes, keyword: bytes) -> Array:
    """The three numbers after the keyword, of every line that begins with it."""
    points = []
    for number, line in enumerate(data.splitlines(), start=1):
        words = line.split()
        if words and words[0] == keyword:
            try:
                x, y, z = map(float, words[1:4])
            except ValueError:
                raise FileFormatError(path, number, f"expected {keyword.decode()} and three numbers") from None
            points.append((x, y, z))
    return np.array(points, dtype=np.float64).reshape(-1, 3)
