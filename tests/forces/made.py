"""Made trials whose forces are known."""

from __future__ import annotations

import numpy as np

from ukemi.model.arrays import Array
from ukemi.motion.clip import Clip
from ukemi.motion.ground_forces import GroundForces
from ukemi.motion.synthesis import walk


def standing(seconds: float = 1.0) -> Clip:
    """Somebody who stands still: the first frame of the made walk, in double support, held."""
    clip = walk(1.5, skate=0.0, floating=0.0)
    frames = round(seconds * clip.fps) + 1
    middle = len(clip) // 2
    turns = np.repeat(clip.rotations[middle : middle + 1], frames, axis=0)
    places = {j: np.repeat(p[middle : middle + 1], frames, axis=0) for j, p in clip.translations.items()}
    return clip.with_motion(turns, places)


def two_feet(time: Array, right: Array, left: Array, places: tuple[Array, Array] | None = None) -> GroundForces:
    """Vertical forces (n,) [N] of two feet at constant places."""
    n = len(time)
    force, point = np.zeros((2, n, 2, 3))
    force[:, 0, 2], force[:, 1, 2] = right, left
    at = (np.array((0.0, -0.1, 0.0)), np.array((0.0, 0.1, 0.0))) if places is None else places
    point[:, 0], point[:, 1] = at
    return GroundForces(time, ("right_foot", "left_foot"), force, point, np.zeros((n, 2, 3)))
