"""Marker captures: TRC and C3D files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ukemi.errors import FileFormatError, InvalidInputError, UkemiWarning, UnknownNameError
from ukemi.model.arrays import Array, frozen, positive
from ukemi.motion.c3d import read_c3d
from ukemi.motion.c3d_plates import plate_forces
from ukemi.motion.ground_forces import GroundForces, from_opensim
from ukemi.motion.marker_names import marker_names
from ukemi.motion.text import read_text

#: Metres per unit of a marker file.
UNITS = {"mm": 0.001, "cm": 0.01, "m": 1.0}
#: From the feet to the pelvis of anybody [m], standing or crouching: other sizes are another unit's.
LEG = (0.15, 1.5)
#: Groups of points of a C3D file that are no places: a program computed them from the places.
COMPUTED = ("ANGLES", "FORCES", "MOMENTS", "POWERS", "SCALARS")


@dataclass(frozen=True, eq=False)
class Markers:
    """Points on a body over time, z up.

    names: of the markers. fps: frames per second. positions: (frames, markers, 3) [m], NaN where a marker was not seen.
    start: time of the first frame [s]. forces: what plates measured, or None.
    """

    names: tuple[str, ...]
    fps: float
    positions: Array
    start: float = 0.0
    forces: GroundForces | None = None
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "fps", positive("Markers.fps", self.fps))
        p = np.asarray(self.positions, dtype=np.float64)
        if p.ndim != 3 or p.shape[1:] != (len(self.names), 3) or len(p) == 0:
            raise InvalidInputError(f"Markers.positions: expected (frames, {len(self.names)}, 3), got shape {p.shape}")
        p = np.where(np.isfinite(p.sum(axis=-1, keepdims=True)), p, np.nan)  # seen whole or not at all
        object.__setattr__(self, "positions", frozen(p))

    def __getitem__(self, name: str) -> Array:
        """(frames, 3) of one marker."""
        try:
            return self.positions[:, self.names.index(name)]
        except ValueError:
            raise UnknownNameError("marker", name, self.names) from None

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def time(self) -> Array:
        return self.start + np.arange(len(self)) / self.fps

    @property
    def missing(self) -> float:
        """The share of marker samples that were not seen."""
        return float(np.isnan(self.positions[..., 0]).mean())


def read_markers(
    path: str | os.PathLike[str], *, up: str | None = None, names: Mapping[str, str] | None = None
) -> Markers:
    """Markers from a .trc or .c3d file.

    up: ``"y"`` or ``"z"``; by default the axis from the feet to the pelvis. names: label -> landmark, of labels that
    are not known (`ukemi.motion.marker_names`).

    Raises:
        FileFormatError: a file that cannot be read.
    """
    file = Path(path)
    if up not in (None, "y", "z"):
        raise InvalidInputError(f"up: expected 'y' or 'z', got {up!r}")
    extension = file.suffix.lower()
    if extension == ".trc":
        return _read_trc(file, up, names or {})
    if extension == ".c3d":
        return _read_c3d(file, up, names or {})
    raise InvalidInputError(f"{file}: expected a marker file that ends in .trc or .c3d")


def _upright(
    file: Path, labels: Sequence[str], p: Array, up: str | None, names: Mapping[str, str]
) -> tuple[Array, bool, float]:
    """Places turned to z up (from y up about x), whether they were, and what they had to be multiplied by.

    Up is from the feet to the pelvis, or where no name is known the axis along which the markers spread.
    """
    way, scale = _feet_to_pelvis(labels, p, names), 1.0
    seen = p[~np.isnan(p[..., 0]).all(axis=1)]
    if way is not None:
        size = float(np.linalg.norm(way))
        scale = next((x for x in (1.0, 1000.0, 0.001, 100.0, 0.01) if LEG[0] < x * size < LEG[1]), 1.0)
        if scale != 1.0:
            warnings.warn(
                f"{file}: legs of {size:.3g} m in the unit that the file states: taken {scale:g} times as large",
                UkemiWarning,
                stacklevel=5,
            )
    elif len(seen):
        way = np.median(np.nanmax(seen, axis=1) - np.nanmin(seen, axis=1), axis=0)
    if up is None and way is not None:
        up = "y" if abs(way[1]) > abs(way[2]) else "z"
    return (from_opensim(scale * p), True, scale) if up == "y" else (scale * p, False, scale)


def _feet_to_pelvis(labels: Sequence[str], p: Array, names: Mapping[str, str]) -> Array | None:
    """(3,): the median way from the feet's to the pelvis' markers, or None where names do not tell both."""
    found = marker_names(labels, {label: place for label, place in names.items() if label in labels}).landmarks
    ends = []
    for parts in (("heel", "toe"), ("asis", "psis", "sacrum")):
        columns = [labels.index(label) for name, label in found.items() if name.split("_")[-1] in parts]
        some = p[:, columns]
        some = some[np.isfinite(some[..., 0]).any(axis=1)]
        if not some.size:
            return None
        ends.append(np.median(np.nanmean(some, axis=1), axis=0))
    return np.asarray(ends[1] - ends[0])


# --- TRC --------------------------------------------------------------------------------------------------------------
def _read_trc(file: Path, up: str | None, names: Mapping[str, str]) -> Markers:
    lines = [line.rstrip("\t, ") for line in read_text(file).splitlines()]
    if not lines or not lines[0].startswith("PathFileType") or len(lines) < 6:
        raise FileFormatError(file, 1, "expected a TRC file that begins with PathFileType and five lines of header")
    header = dict(zip(_words(lines[1]), _words(lines[2]), strict=False))
    unit = UNITS.get(header.get("Units", "").lower())
    if unit is None:
        raise FileFormatError(file, 3, f"Units {header.get('Units')!r}: expected mm, cm or m")
    labels = [name for name in _cells(lines[3])[2:] if name]
    rate = _number(file, 3, "DataRate", header.get("DataRate", ""))
    rows, times = [], []
    for number, line in enumerate(lines[5:], 6):
        if not line.strip():
            continue
        cells = _cells(line)
        # a row may end before its last markers, or have more of them than names: those were not labelled
        extra = (len(cells) - 2) / 3 - len(labels)
        if extra > 0 and extra != int(extra):
            raise FileFormatError(file, number, f"expected {len(labels)} markers, got {(len(cells) - 2) / 3:g}")
        times.append(_number(file, number, "Time", cells[1] if len(cells) > 1 else ""))
        rows.append([_number(file, number, "marker", cell, missing=True) for cell in cells[2:]])
    count = max(len(labels), *(-(-len(row) // 3) for row in rows)) if rows else 0
    if not count:
        raise FileFormatError(file, len(lines), "no frames of markers")
    labels += [f"*{k}" for k in range(len(labels), count)]
    filled = [row + [float("nan")] * (3 * count - len(row)) for row in rows]
    p = unit * np.array(filled).reshape(len(rows), count, 3)
    p[(p == 0).all(axis=-1)] = np.nan  # how some programs write a marker that was not seen
    p[np.isnan(p).any(axis=-1)] = np.nan
    return Markers(_unique(labels), rate, _upright(file, labels, p, up, names)[0], times[0], None, file.stem)


def _cells(line: str) -> list[str]:
    """Of a line: tabs part them, or commas, or spaces."""
    separator = next((s for s in "\t," if s in line), None)
    return [cell.strip() for cell in line.split(separator)]


def _words(line: str) -> list[str]:
    return [cell for cell in line.replace(",", " ").split() if cell]


def _number(file: Path, line: int, what: str, text: str, *, missing: bool = False) -> float:
    if missing and text.lower() in ("", "nan"):
        return float("nan")
    try:
        value = float(text)
    except ValueError:
        raise FileFormatError(file, line, f"{what}: expected a number, got {text[:40]!r}") from None
    if not np.isfinite(value):
        raise FileFormatError(file, line, f"{what}: expected a finite number, got {text}")
    return value


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    uses: dict[str, int] = {}
    out = []
    for name in names:
        uses[name] = uses.get(name, 0) + 1
        out.append(name if uses[name] == 1 else f"{name}_{uses[name]}")
    return tuple(out)


def write_trc(markers: Markers, path: str | Path) -> Path:
    """Writes markers for OpenSim: metres, y up."""
    file = Path(path)
    p = np.stack([markers.positions[..., 0], markers.positions[..., 2], -markers.positions[..., 1]], axis=-1)
    n, rate = len(markers), f"{markers.fps:.12g}"
    with file.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write(f"PathFileType\t4\t(X/Y/Z)\t{file.name}\n")
        stream.write(
            "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames\n"
        )
        stream.write(f"{rate}\t{rate}\t{n}\t{len(markers.names)}\tm\t{rate}\t1\t{n}\n")
        stream.write("Frame#\tTime\t" + "\t\t\t".join(markers.names) + "\n")
        axes = "\t".join(f"X{k}\tY{k}\tZ{k}" for k in range(1, len(markers.names) + 1))
        stream.write(f"\t\t{axes}\n\n")
        for k, (time, row) in enumerate(zip(markers.time, p, strict=True), 1):
            cells = "\t".join("nan" if np.isnan(x) else repr(float(x)) for x in row.ravel())
            stream.write(f"{k}\t{time:.9g}\t{cells}\n")
    return file


# --- C3D --------------------------------------------------------------------------------------------------------------
def _read_c3d(file: Path, up: str | None, names: Mapping[str, str]) -> Markers:
    c3d = read_c3d(file)
    said = (c3d.texts("POINT:UNITS") or ["mm"])[0].strip().lower()
    unit = UNITS.get(said, 0.001)
    if not c3d.points.size:
        raise FileFormatError(file, None, "no markers in it")
    computed = {label.strip() for group in COMPUTED for label in c3d.texts(f"POINT:{group}")}
    kept = [k for k, label in enumerate(c3d.labels) if label not in computed]
    if not kept:
        raise FileFormatError(file, None, "no markers in it")
    labels = tuple(c3d.labels[k] for k in kept)
    places, turned, scale = _upright(file, labels, unit * c3d.points[:, kept], up, names)
    places = np.where((places == 0).all(axis=-1, keepdims=True), np.nan, places)  # what some programs write instead
    forces = plate_forces(c3d, scale * unit, 1 if turned else 2)
    if forces is not None and turned:
        force, point, torque = (from_opensim(v) for v in (forces.force, forces.point, forces.torque))
        forces = replace(forces, force=force, point=point, torque=torque)
    return Markers(_unique(labels), c3d.rate, places, (c3d.first - 1) / c3d.rate, forces, file.stem)
