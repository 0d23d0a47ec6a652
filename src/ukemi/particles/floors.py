"""Floors: how the ground answers a particle. Each is an object with one method, which gives its numbers to the core."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from ukemi.errors import InvalidInputError
from ukemi.particles.checks import Array, array, direction, not_negative, positive


class Ground(Protocol):
    """Where the ground is."""

    def place(self) -> tuple[tuple[float, ...], Array]:
        """Normal, offset, x0, y0, dx, dy; heights (empty: a plane)."""
        ...


@dataclass(frozen=True)
class Flat:
    """A plane at ``height`` [m] above the origin, with a normal that points out of the ground."""

    height: float = 0.0
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)

    def place(self) -> tuple[tuple[float, ...], Array]:
        n = direction("Flat.normal", self.normal)
        return (*n, float(array("Flat.height", self.height)) * n[2], 0, 0, 1, 1), np.zeros((0, 0))


@dataclass(frozen=True, eq=False)
class Uneven:
    """Heights [m] of shape (nx, ny) at the corners of a grid from ``origin`` (x, y) with cells of ``spacing``; bilinear
    between them, and beyond the grid as at its edge."""

    heights: ArrayLike
    origin: tuple[float, float] = (0.0, 0.0)
    spacing: tuple[float, float] = (0.1, 0.1)

    def place(self) -> tuple[tuple[float, ...], Array]:
        z = array("Uneven.heights", self.heights, None, None)
        if min(z.shape) < 2:
            raise InvalidInputError(f"Uneven.heights: expected at least 2 x 2 corners, got {z.shape}")
        step = [positive("Uneven.spacing", s) for s in array("Uneven.spacing", self.spacing, 2)]
        return (0, 0, 1, 0, *array("Uneven.origin", self.origin, 2), *step), z


class Floor(Protocol):
    """What a floor must offer."""

    def numbers(self, load: float | None, gravity: float) -> tuple[Array, Array]:
        """The core's sixteen numbers, and heights; load: what the system weighs [N]."""
        ...


@dataclass(frozen=True, kw_only=True)
class _Rubbing:
    """Friction on every floor [eq. 31]: f = -drag v T for the normal force T, at most ``friction`` T; drag [s/m]."""

    drag: float = 0.0
    friction: float = math.inf
    ground: Ground = field(default_factory=Flat)

    def _row(self, kind: int, *answer: float) -> tuple[Array, Array]:
        name = type(self).__name__
        rub = not_negative(f"{name}.drag", self.drag), not_negative(f"{name}.friction", self.friction, infinite=True)
        where, heights = self.ground.place()
        return np.array((kind, *answer, *rub, *where), dtype=np.float64), heights


@dataclass(frozen=True)
class BouncyFloor(_Rubbing):
    """Inelastic collision [eq. 30]: a particle that moves into the floor leaves it at ``restitution`` times its speed.

    Friction, on every floor [eq. 31]: f = -drag v T for the normal force T, at most ``friction`` T; drag [s/m].
    """

    restitution: float = 0.8

    def numbers(self, load: float | None, gravity: float) -> tuple[Array, Array]:
        e = not_negative("BouncyFloor.restitution", self.restitution)
        if e > 1:
            raise InvalidInputError(f"BouncyFloor.restitution: expected 0 to 1, got {e:g}")
        return self._row(1, e, 0, 1, 0, 0)


@dataclass(frozen=True)
class SpringFloor(_Rubbing):
    """A spring and a damper that push, never pull: the system's weight on one particle sinks it by ``sink`` [m].

    ratio: share of critical damping of that mass on that spring. stiffness [N/m] and damping [N s/m] may be given
    instead.
    """

    sink: float = 1e-3
    ratio: float = field(default=1.0, kw_only=True)
    stiffness: float | None = field(default=None, kw_only=True)
    damping: float | None = field(default=None, kw_only=True)

    def numbers(self, load: float | None, gravity: float) -> tuple[Array, Array]:
        return self._spring_row(1.0, load, gravity)

    def _spring_row(self, p: float, load: float | None, gravity: float) -> tuple[Array, Array]:
        """Of f = k d^p with its damper (c of a spring, k c of soft ground)."""
        name = type(self).__name__
        sink = positive(f"{name}.sink", self.sink)
        if self.stiffness is None and load is None:
            raise InvalidInputError(
                f"{name}: without gravity nothing says what a sink of {sink:g} m carries: "
                "give ParticleSystem(load=...) in newtons, or stiffness="
            )
        k = (load or 0) / sink**p if self.stiffness is None else positive(f"{name}.stiffness", self.stiffness)
        if self.damping is not None:
            return self._row(2, 0, k, p, not_negative(f"{name}.damping", self.damping), sink)
        weight = k * sink**p if load is None else load
        critical = 2 * math.sqrt(p * k * sink ** (p - 1) * weight / (gravity or 9.81))
        c = not_negative(f"{name}.ratio", self.ratio) * critical * (1 if p == 1 else 1 / sink**p)
        return self._row(2, 0, k, p, c, sink)


@dataclass(frozen=True)
class SoftFloor(SpringFloor):
    """Soft ground that hardens with depth: f = k d^exponent (1 - c v), at most what pushes (Hunt and Crossley's law).

    The system's weight on one particle sinks it by ``sink`` [m]; ratio as in `SpringFloor`, for the slope there.
    """

    sink: float = 0.02
    exponent: float = 1.5

    def numbers(self, load: float | None, gravity: float) -> tuple[Array, Array]:
        p = float(array("SoftFloor.exponent", self.exponent))
        if p <= 1:
            raise InvalidInputError(f"SoftFloor.exponent: expected more than 1 (a SpringFloor has 1), got {p:g}")
        return self._spring_row(p, load, gravity)
