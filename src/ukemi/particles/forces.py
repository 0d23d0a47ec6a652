"""What holds particles together: links (springs along a line), hinges (couples about a plane's normal), planes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ukemi.errors import InvalidInputError
from ukemi.particles.checks import Array


@dataclass(frozen=True)
class Link:
    """A spring and a damper between particles ``a`` and ``b``, slack at ``length`` [m].

    The stiffness [N/m] is given, or follows from ``stretch``: the share of its length that the system's load may
    stretch the link by. The damping [N s/m] is given, or follows from ``ratio``: the share of critical damping of its
    two particles.
    """

    a: int
    b: int
    length: float
    stretch: float
    ratio: float
    stiffness: float | None = None
    damping: float | None = None

    def constants(self, load: float | None, mass_a: float, mass_b: float) -> tuple[float, float]:
        """Stiffness and damping, under a load [N] and between these masses (infinite: fixed)."""
        K = self.stiffness
        if K is None:
            if load is None:
                raise InvalidInputError(
                    f"link {self.a}-{self.b}: without gravity nothing says what a stretch of {self.stretch:g} carries: "
                    "give ParticleSystem(load=...) in newtons, or stiffness="
                )
            K = load / (self.stretch * self.length)
        if self.damping is not None:
            return K, self.damping
        if np.isinf(mass_a) and np.isinf(mass_b):
            return K, 0.0
        reduced = 1 / (1 / mass_a + 1 / mass_b)  # [PART05] eq. 15-16
        return K, 2 * self.ratio * float(np.sqrt(K * reduced))


@dataclass(frozen=True)
class Hinge:
    """Links ``b -> a`` and ``d -> c`` that turn against each other; the joint of [PART05] Fig. 3 has b = d.

    The angle goes from d -> c to b -> a about ``normal``. ``held``: the rotation plane keeps its direction (eq.
    11-12); else the normal is that of the plane the links span at each moment, and the joint is a ball joint whose
    torque acts in that plane. friction [N m s/rad] (eq. 22); kp [N m/rad] and kd [N m s/rad] of a drive towards the
    system's targets.
    """

    index: int
    a: int
    b: int
    c: int
    d: int
    normal: tuple[float, float, float]
    held: bool
    friction: float
    kp: float
    kd: float

    @property
    def particles(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys((self.a, self.b, self.c, self.d)))

    def row(self) -> tuple[float, ...]:
        """What the core reads."""
        return (self.a, self.b, self.c, self.d, *self.normal, self.held, self.friction, self.kp, self.kd)


def couple(hinge: Hinge, x: Array, torque: float = 1.0) -> Array:
    """(n, 3): forces of a torque at a hinge, +torque on one link and -torque on the other [eq. 20-21, corrected]."""
    f, n = np.zeros_like(x), np.array(hinge.normal)
    for end, centre, sign in ((hinge.a, hinge.b, 1), (hinge.c, hinge.d, -1)):
        r = x[end] - x[centre]
        turn = sign * torque * np.cross(n, r) / (r @ r - (n @ r) ** 2)
        f[end] += turn
        f[centre] -= turn
    return f


def angle_of(hinge: Hinge, x: Array) -> Array:
    """Angle from d -> c to b -> a about the normal, for places x (..., n, 3)."""
    n = np.array(hinge.normal)
    r1, r2 = x[..., hinge.a, :] - x[..., hinge.b, :], x[..., hinge.c, :] - x[..., hinge.d, :]
    angle: Array = np.arctan2(np.cross(r2, r1) @ n, (r1 * r2).sum(axis=-1) - (r1 @ n) * (r2 @ n))
    return angle


def equivalent_mass(inertia: float, length: float) -> float:
    """The mass at the end of a link that is as hard to turn about its other end [eq. 33]."""
    return inertia / length**2


@dataclass(frozen=True)
class Plane:
    """Particles that move as one along a normal: what eq. 12 leaves of their motion, momentum kept."""

    normal: tuple[float, float, float]
    particles: frozenset[int]


def merged(planes: list[Plane], new: Plane) -> list[Plane]:
    """Planes with one more; parallel ones that share particles become one.

    Raises:
        InvalidInputError: planes that share a particle and are neither parallel nor perpendicular: taking away what
            leaves one of them would leave the other.
    """
    apart = []
    for plane in planes:
        cosine, shared = abs(np.dot(plane.normal, new.normal)), plane.particles & new.particles
        if not shared or cosine < 1e-9:
            apart.append(plane)
        elif cosine > 1 - 1e-9:
            new = Plane(plane.normal, plane.particles | new.particles)
        else:
            raise InvalidInputError(
                f"two planes through particles {sorted(shared)} are neither parallel nor perpendicular: "
                "give both the same normal, or a hinge held=False"
            )
    return [*apart, new]
