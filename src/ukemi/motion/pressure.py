"""Forces on points of the body as a laboratory gives them: per foot one force, its centre of pressure, free moment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ukemi.model.arrays import Array
from ukemi.motion.ground_forces import GroundForces


def gathered(
    time: Array, names: Sequence[str], groups: Sequence[str], force: Array, place: Array, least: float
) -> GroundForces:
    """The forces (n, points, 3) [N] at places (n, points, 3) [m] of each named group of points (points,).

    A group's centre of pressure is where its moment has no part along the ground; where it bears less than ``least``
    [N] there is none, and it stays zero.
    """
    shape = (len(time), len(names), 3)
    total, cop, moment = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    up = np.array((0.0, 0.0, 1.0))
    for g, name in enumerate(names):
        mine = np.array([group == name for group in groups])
        f, p = force[:, mine], place[:, mine]
        total[:, g] = f.sum(axis=1)
        on = total[:, g, 2] > least
        F = total[on, g]
        centre = (f[on][..., 2:] / F[:, None, 2:] * p[on]).sum(axis=1)
        M = np.cross(p[on] - centre[:, None], f[on]).sum(axis=1)
        cop[on, g] = centre + np.cross(up, M) / F[:, 2:]
        moment[on, g] = (M - np.cross(cop[on, g] - centre, F))[:, 2:] * up
    return GroundForces(time, tuple(names), total, cop, moment)
