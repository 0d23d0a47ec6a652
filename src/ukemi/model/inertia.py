"""Mass properties of a rigid body, and whether they can be real."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ukemi.errors import InvalidInputError, ModelError
from ukemi.model.arrays import Array, frozen, numbers
from ukemi.model.pose import Pose

#: Published tensors are rounded: principal moments may break the triangle inequality by this share of the largest.
ROUNDING = 1e-3


@dataclass(frozen=True, eq=False)
class MassProperties:
    """Mass [kg], centre of mass [m] and inertia tensor about it [kg m^2], all in link coordinates."""

    mass: float
    com: Array
    inertia: Array

    @classmethod
    def of(cls, mass: float, com: ArrayLike = (0, 0, 0), inertia: ArrayLike = (0, 0, 0)) -> MassProperties:
        """Checked; the inertia is a 3x3 tensor or its diagonal."""
        I = numbers("inertia", inertia, (3,), (3, 3))
        tensor = np.diag(I) if I.shape == (3,) else I
        m = float(numbers("mass", mass, ()))
        return cls(m, numbers("com", com, (3,)), frozen(tensor)).checked()

    @classmethod
    def none(cls) -> MassProperties:
        return cls(0.0, frozen((0, 0, 0)), frozen(np.zeros((3, 3))))

    def checked(self) -> MassProperties:
        """Itself, if a body can have these properties.

        The mass must be positive (or everything zero: a massless frame), the tensor symmetric and positive, with
        principal moments that obey the triangle inequality. Point masses and thin rods (zero moments) are allowed.
        """
        if self.mass < 0:
            raise ModelError(f"mass {self.mass:g} kg: expected a positive mass")
        if not np.allclose(self.inertia, self.inertia.T, rtol=1e-6, atol=1e-12):
            raise ModelError(f"inertia {self.inertia.tolist()}: expected a symmetric tensor")
        moments = np.linalg.eigvalsh(self.inertia)
        slack = ROUNDING * max(float(np.abs(moments).max()), 1e-15)
        if self.mass == 0 and np.abs(moments).max() > 0:
            raise ModelError(
                f"inertia with principal moments {moments.tolist()} on a link without mass: give it a mass"
            )
        if moments[0] < -slack * 1e-3:
            raise ModelError(f"inertia with principal moments {moments.tolist()}: expected a positive definite tensor")
        if moments[0] + moments[1] < moments[2] - slack:
            raise ModelError(
                f"inertia with principal moments {moments.tolist()}: no body can have these "
                "(triangle inequality: the two smaller must add up to at least the largest)"
            )
        return self

    def moved(self, pose: Pose) -> MassProperties:
        """The same body seen from frame A, when it is given in B and ``pose`` is X_AB."""
        R = pose.R
        return MassProperties(self.mass, frozen(pose.apply(self.com)), frozen(R @ self.inertia @ R.T))

    def __add__(self, other: MassProperties) -> MassProperties:
        mass = self.mass + other.mass
        if mass == 0:
            return MassProperties.none()
        com = (self.mass * self.com + other.mass * other.com) / mass
        return MassProperties(mass, frozen(com), frozen(self._about(com) + other._about(com)))

    def __sub__(self, other: MassProperties) -> MassProperties:
        """What is left when a part is taken away."""
        mass = self.mass - other.mass
        if mass <= 0:
            raise InvalidInputError(f"cannot take {other.mass:g} kg from {self.mass:g} kg")
        com = (self.mass * self.com - other.mass * other.com) / mass
        return MassProperties(mass, frozen(com), frozen(self._about(com) - other._about(com))).checked()

    def _about(self, point: Array) -> Array:
        r = self.com - point
        about: Array = self.inertia + self.mass * (r @ r * np.eye(3) - np.outer(r, r))
        return about

    @property
    def spatial(self) -> Array:
        """The core's ten numbers: mass, first moment, inertia about the origin (xx, xy, xz, yy, yz, zz)."""
        I = self._about(np.zeros(3))
        return np.array([self.mass, *(self.mass * self.com), I[0, 0], I[0, 1], I[0, 2], I[1, 1], I[1, 2], I[2, 2]])
