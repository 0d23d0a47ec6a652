"""Terrain: what stands in the world and may be touched. Each piece may move along itself, as a treadmill does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ukemi.errors import InvalidInputError
from ukemi.model.arrays import numbers, positive
from ukemi.model.kinds import items_of, of_kind
from ukemi.model.pose import Pose
from ukemi.model.shapes import Box, Shape


@dataclass(frozen=True)
class Surface:
    """How two things touch.

    friction: coefficient while they stick; dynamic_friction: while they slip (None: the same). restitution: share of
    the normal speed that an impact gives back, 0 to 1.
    """

    friction: float = 0.8
    dynamic_friction: float | None = None
    restitution: float = 0.0

    def __post_init__(self) -> None:
        name = type(self).__name__
        mu = _not_negative(f"{name}.friction", self.friction)
        slip = mu if self.dynamic_friction is None else _not_negative(f"{name}.dynamic_friction", self.dynamic_friction)
        if slip > mu:
            raise InvalidInputError(f"{name}.dynamic_friction: expected at most friction = {mu:g}, got {slip:g}")
        e = _not_negative(f"{name}.restitution", self.restitution)
        if e > 1:
            raise InvalidInputError(f"{name}.restitution: expected 0 to 1, got {e:g}")
        object.__setattr__(self, "friction", mu)
        object.__setattr__(self, "restitution", e)

    @property
    def material(self) -> tuple[float, float, float]:
        """Static and dynamic friction, restitution."""
        slip = self.friction if self.dynamic_friction is None else self.dynamic_friction
        return (self.friction, float(slip), self.restitution)


#: Friction above this counts as this, and so does infinity: what slips at 89.99 degrees does not. It is the largest of
#: the core's cone problem; with more the certificate asked for friction that no solution had.
HUGE_FRICTION = 1e4


def _not_negative(name: str, value: float) -> float:
    if isinstance(value, float | int | np.floating) and value == np.inf:
        return HUGE_FRICTION
    number = float(numbers(name, value, ()))
    if number < 0:
        raise InvalidInputError(f"{name}: expected a number of at least 0, got {number:g}")
    return min(number, HUGE_FRICTION)


@dataclass(frozen=True, eq=False)
class Ground:
    """A plane: the points x with normal . x = height are its surface; a slope when the normal leans.

    velocity (3,): of the surface, in the plane [m/s].
    """

    normal: ArrayLike = (0, 0, 1)
    friction: float = 0.8
    dynamic_friction: float | None = None
    restitution: float = 0.0
    velocity: ArrayLike = (0, 0, 0)
    _: KW_ONLY
    height: float = 0.0

    def __post_init__(self) -> None:
        normal = numbers("Ground.normal", self.normal, (3,))
        length = float(np.linalg.norm(normal))
        if length < 1e-12:
            raise InvalidInputError(f"Ground.normal: expected a direction, got {normal.tolist()}")
        normal = normal / length
        velocity = numbers("Ground.velocity", self.velocity, (3,))
        if abs(float(normal @ velocity)) > 1e-9 * (1 + float(np.linalg.norm(velocity))):
            raise InvalidInputError(f"Ground.velocity: expected a velocity in the plane, got {velocity.tolist()}")
        object.__setattr__(self, "normal", normal)
        object.__setattr__(self, "velocity", velocity)
        object.__setattr__(self, "height", float(numbers("Ground.height", self.height, ())))
        self.surface  # noqa: B018  its numbers are checked there

    @property
    def surface(self) -> Surface:
        return Surface(self.friction, self.dynamic_friction, self.restitution)


@dataclass(frozen=True, eq=False)
class Solids:
    """Shapes that stand in the world: boxes, steps, curbs. Each shape's ``at`` is its pose in the world."""

    shapes: Sequence[Shape]
    surface: Surface = field(default_factory=Surface)
    velocity: ArrayLike = (0, 0, 0)

    def __post_init__(self) -> None:
        shapes = items_of("Solids.shapes", self.shapes, "shapes")
        if not shapes or not all(isinstance(s, Shape) for s in shapes):
            raise InvalidInputError(f"Solids.shapes: expected shapes, got {self.shapes!r:.100}")
        of_kind("Solids.surface", self.surface, Surface)
        object.__setattr__(self, "shapes", shapes)
        object.__setattr__(self, "velocity", numbers("Solids.velocity", self.velocity, (3,)))


#: More steps than any staircase has (the Niesen's: 11 674).
MOST_STEPS = 20_000


def stairs(
    steps: int = 8,
    rise: float = 0.17,
    going: float = 0.29,
    width: float = 2.0,
    *,
    start: ArrayLike = (0, 0, 0),
    surface: Surface | None = None,
) -> Solids:
    """Steps that go up along x from ``start``, each ``rise`` higher and ``going`` deep [m]."""
    if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= MOST_STEPS:
        raise InvalidInputError(f"stairs: expected 1 to {MOST_STEPS} steps, got {steps!r:.100}")
    rise, going, width = positive("rise", rise), positive("going", going), positive("width", width)
    origin = numbers("start", start, (3,))
    boxes = [
        Box((going, width, rise * k), at=Pose(origin + np.array((going * (k - 0.5), 0, 0.5 * rise * k))))
        for k in range(1, steps + 1)
    ]
    return Solids(boxes, Surface() if surface is None else surface)


@dataclass(frozen=True, eq=False)
class HeightField:
    """Heights (nx, ny) over a grid that starts at ``corner`` (x, y) with ``spacing`` (dx, dy) [m]; two triangles
    a cell.

    Corners of shapes, and the balls at the ends of round ones, are kept above it.
    """

    heights: ArrayLike
    corner: ArrayLike = (0, 0)
    spacing: ArrayLike = (1, 1)
    surface: Surface = field(default_factory=Surface)
    velocity: ArrayLike = (0, 0, 0)

    def __post_init__(self) -> None:
        heights = numbers("HeightField.heights", self.heights)
        if heights.ndim != 2 or min(heights.shape) < 2:
            raise InvalidInputError(f"HeightField.heights: expected (nx >= 2, ny >= 2), got shape {heights.shape}")
        spacing = numbers("HeightField.spacing", self.spacing, (2,))
        if (spacing <= 0).any():
            raise InvalidInputError(f"HeightField.spacing: expected positive distances, got {spacing.tolist()}")
        of_kind("HeightField.surface", self.surface, Surface)
        object.__setattr__(self, "heights", heights)
        object.__setattr__(self, "spacing", spacing)
        object.__setattr__(self, "corner", numbers("HeightField.corner", self.corner, (2,)))
        object.__setattr__(self, "velocity", numbers("HeightField.velocity", self.velocity, (3,)))


Piece = Ground | Solids | HeightField
Terrain = Piece | Sequence[Piece] | None


def pieces(terrain: Terrain) -> tuple[Piece, ...]:
    """The pieces of a terrain, checked."""
    if terrain is None:
        return ()
    items = tuple(terrain) if isinstance(terrain, Sequence) else (terrain,)
    for item in items:
        if not isinstance(item, Ground | Solids | HeightField):
            raise InvalidInputError(f"terrain: expected Ground, Solids, stairs() or HeightField, got {item!r:.100}")
    return items
