"""Flesh around a bone: what a limb looks like when only its ends and its mass are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ukemi.model.pose import Pose
from ukemi.model.shapes import Capsule

BODY_DENSITY = 1000.0  # of the capsules drawn around the bones [kg/m^3]


def bone(mass: float, start: ArrayLike, end: ArrayLike) -> Capsule:
    """A capsule from start to end that holds the mass at the density of the body."""
    a, b = np.array(start, dtype=np.float64), np.array(end, dtype=np.float64)
    length = float(np.linalg.norm(b - a))
    z = (b - a) / length
    x = np.cross((0.0, 1.0, 0.0), z) if abs(z[1]) < 0.9 else np.cross((1.0, 0.0, 0.0), z)
    x /= np.linalg.norm(x)
    R = np.stack([x, np.cross(z, x), z], axis=1)
    radius = float(np.sqrt(mass / (BODY_DENSITY * np.pi * length)))
    at = Pose.from_matrix(np.block([[R, (0.5 * (a + b))[:, None]], [np.array([[0.0, 0, 0, 1]])]]))
    # the round ends reach half a radius beyond the joints, so that neighbours meet
    return Capsule(radius, max(length - radius, 0.25 * length), at=at)
