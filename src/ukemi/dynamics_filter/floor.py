"""The ground as the filter knows it: a plane, and level boxes on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from ukemi.contact.terrain import Ground, HeightField, Terrain, pieces
from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array
from ukemi.model.shapes import Box
from ukemi.motion.soles import Height

#: A box counts for points over it that are no deeper than this below its top [m] (ground_under in core/filter.hpp).
DEEPEST = 0.06


@dataclass(frozen=True, eq=False)
class SteppedGround(Ground):
    """Level ground with boxes (n, 5) on it: x0, x1, y0, y1, z of the top."""

    _: KW_ONLY
    boxes: Array = field(default_factory=lambda: np.zeros((0, 5)))


def as_ground(terrain: Terrain) -> Ground | None:
    """What the filter can walk on: a plane, or a level one with upright boxes. Stairs alone stand on level ground."""
    if isinstance(terrain, str):
        raise InvalidInputError(f"terrain: expected a Ground, or boxes such as stairs(), got {terrain!r:.100}")
    items = pieces(terrain)
    if not items or (len(items) == 1 and isinstance(items[0], Ground)):
        return items[0] if items and isinstance(items[0], Ground) else None
    planes, boxes, friction = [item for item in items if isinstance(item, Ground)], [], []
    for item in items:
        friction.append(item.friction if isinstance(item, Ground) else item.surface.friction)
        if isinstance(item, HeightField) or np.any(item.velocity):
            raise InvalidInputError(f"terrain: the filter walks on planes and on boxes at rest, got {item!r:.100}")
        for shape in () if isinstance(item, Ground) else item.shapes:
            if not isinstance(shape, Box) or not np.allclose(np.abs(shape.at.R), np.eye(3), atol=1e-9):
                raise InvalidInputError(f"terrain: expected boxes along the axes of the world, got {shape!r:.100}")
            (x, y, z), half = shape.at.position, 0.5 * np.asarray(shape.size)
            boxes.append([x - half[0], x + half[0], y - half[1], y + half[1], z + half[2]])
    if len(planes) > 1 or (planes and np.asarray(planes[0].normal)[2] < 1 - 1e-12):
        raise InvalidInputError("terrain: expected boxes on one level ground")
    height = planes[0].height if planes else 0.0
    return SteppedGround(friction=min(friction), height=height, boxes=np.array(boxes).reshape(-1, 5))


def ground_height(ground: Ground | None) -> Height | None:
    """z over places (..., 2); None for level ground at 0."""
    if ground is None:
        return None
    n, offset = np.asarray(ground.normal, dtype=np.float64), float(getattr(ground, "height", 0.0))
    boxes = getattr(ground, "boxes", np.zeros((0, 5)))
    if n[2] < 0.3:
        raise InvalidInputError(f"terrain: expected ground that one can stand on, got the normal {n.tolist()}")
    if len(boxes):
        return lambda xy: _tops(xy, boxes, offset)
    if abs(n[2] - 1) < 1e-12 and offset == 0:
        return None
    return lambda xy: (offset - xy[..., 0] * n[0] - xy[..., 1] * n[1]) / n[2]


def _tops(xy: Array, boxes: Array, height: float) -> Array:
    """Of the highest box over places (..., 2), or the level ground."""
    x, y = xy[..., 0], xy[..., 1]
    top = np.full(np.shape(x), height)
    for x0, x1, y0, y1, z in boxes:
        top = np.where((x >= x0) & (x <= x1) & (y >= y0) & (y <= y1), np.maximum(top, z), top)
    return top


def floor_of(ground: Ground | None, boxes: Sequence[Array] = ()) -> Array:
    """For the core: normal, two tangents, velocity, offset; then the five numbers of every box."""
    n = np.array([0.0, 0.0, 1.0]) if ground is None else np.asarray(ground.normal, dtype=np.float64)
    t1 = np.array([1.0, 0.0, 0.0]) - n[0] * n
    t1 /= np.linalg.norm(t1)
    offset = 0.0 if ground is None else float(getattr(ground, "height", 0.0))
    steps = np.ravel(getattr(ground, "boxes", np.zeros(0)))
    return np.concatenate([n, t1, np.cross(n, t1), np.zeros(3), [offset], steps, *boxes])


def above_floor(floor: Array, places: Array) -> Array:
    """How far places (..., 3) are above what `floor_of` gives [m]."""
    above = places @ floor[:3] - floor[12]
    x, y, z = places[..., 0], places[..., 1], places[..., 2]
    for x0, x1, y0, y1, top in floor[13:].reshape(-1, 5):
        over = (x >= x0) & (x <= x1) & (y >= y0) & (y <= y1) & (z - top > -DEEPEST) & (z - top < above)
        above = np.where(over, z - top, above)
    return above
