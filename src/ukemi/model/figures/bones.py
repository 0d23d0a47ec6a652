"""Capsules around bones."""

from __future__ import annotations

import numpy as np

from ukemi.model.arrays import Array
from ukemi.model.pose import Pose
from ukemi.model.shapes import Capsule

Place = tuple[float, float, float]


def bone(start: Place | Array, end: Place | Array, radius: float) -> Capsule:
    """A capsule from start to end. Its round ends reach half a radius beyond the joints, so that neighbours meet."""
    a, b = np.array(start), np.array(end)
    length = float(np.linalg.norm(b - a))
    z = (b - a) / length
    x = np.cross((0.0, 1.0, 0.0), z) if abs(z[1]) < 0.9 else np.cross((1.0, 0.0, 0.0), z)
    x /= np.linalg.norm(x)
    R = np.stack([x, np.cross(z, x), z], axis=1)
    at = Pose.from_matrix(np.block([[R, (0.5 * (a + b))[:, None]], [np.array([[0.0, 0, 0, 1]])]]))
    return Capsule(radius, max(length - radius, 0.25 * length), at=at)
