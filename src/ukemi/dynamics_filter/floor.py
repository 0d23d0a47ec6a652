"""The ground as the filter's core knows it: a plane, and level boxes on it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ukemi.contact.terrain import Ground
from ukemi.model.arrays import Array

#: A box counts for points over it that are no deeper than this below its top [m] (ground_under in core/filter.hpp).
DEEPEST = 0.06


def floor_of(ground: Ground | None, boxes: Sequence[Array] = ()) -> Array:
    """Normal, two tangents, velocity, offset; then five numbers for every box: x0, x1, y0, y1, z of its top."""
    n = np.array([0.0, 0.0, 1.0]) if ground is None else np.asarray(ground.normal, dtype=np.float64)
    t1 = np.array([1.0, 0.0, 0.0]) - n[0] * n
    t1 /= np.linalg.norm(t1)
    offset = 0.0 if ground is None else float(getattr(ground, "height", 0.0))
    return np.concatenate([n, t1, np.cross(n, t1), np.zeros(3), [offset], *boxes])


def above_floor(floor: Array, places: Array) -> Array:
    """How far places (..., 3) are above what `floor_of` gives [m]."""
    above = places @ floor[:3] - floor[12]
    x, y, z = places[..., 0], places[..., 1], places[..., 2]
    for x0, x1, y0, y1, top in floor[13:].reshape(-1, 5):
        over = (x >= x0) & (x <= x1) & (y >= y0) & (y <= y1) & (z - top > -DEEPEST) & (z - top < above)
        above = np.where(over, z - top, above)
    return above
