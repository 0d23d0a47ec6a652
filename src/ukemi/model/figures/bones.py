"""Flesh around bones: capsules from joint to joint."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ukemi.model.pose import Pose
from ukemi.model.shapes import Capsule

Place = tuple[float, float, float]
BODY_DENSITY = 1000.0  # of the capsules drawn around the bones [kg/m^3]


def bone(mass: float, start: ArrayLike, end: ArrayLike) -> Capsule:
    """A capsule from start to end that holds the mass at the density of the body."""
    length = float(np.linalg.norm(np.subtract(end, start)))
    return rod(start, end, float(np.sqrt(mass / (BODY_DENSITY * np.pi * length))))


def rod(start: ArrayLike, end: ArrayLike, radius: float) -> Capsule:
    """A capsule from start to end. Its round ends reach half a radius beyond the joints, so that neighbours meet."""
    a, b = np.array(start, dtype=np.float64), np.array(end, dtype=np.float64)
    length = float(np.linalg.norm(b - a))
    z = (b - a) / length
    x = np.cross((0.0, 1.0, 0.0), z) if abs(z[1]) < 0.9 else np.cross((1.0, 0.0, 0.0), z)
    x /= np.linalg.norm(x)
    R = np.stack([x, np.cross(z, x), z], axis=1)
    at = Pose.from_matrix(np.block([[R, (0.5 * (a + b))[:, None]], [np.array([[0.0, 0, 0, 1]])]]))
    return Capsule(radius, max(length - radius, 0.25 * length), at=at)
