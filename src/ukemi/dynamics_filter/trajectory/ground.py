"""The ground under points of a motion: how far they are above it, and its normal there."""

from __future__ import annotations

import numpy as np

from ukemi.contact.terrain import Ground, HeightField, Solids, Terrain, pieces
from ukemi.dynamics.kinematics import link_poses
from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array
from ukemi.model.shapes import Box
from ukemi.motion.footfalls import Footed, point_velocities, sole_points
from ukemi.motion.trajectory import low_pass

#: The sides of a box go on below it by this [m]: it stands on something, and what sinks a little is still beside it.
SKIRT = 0.05


class GroundUnder:
    """Planes, tops of boxes and height fields. friction: of all of it; velocity (3,): of a belt [m/s]."""

    def __init__(self, terrain: Terrain) -> None:
        items = pieces(terrain) or (Ground(),)
        self.planes = [p for p in items if isinstance(p, Ground)]
        self.fields = [p for p in items if isinstance(p, HeightField)]
        boxes = []
        for item in items:
            for shape in item.shapes if isinstance(item, Solids) else ():
                if not isinstance(shape, Box) or np.asarray(shape.at.R)[2].max() < 1 - 1e-9:
                    raise InvalidInputError(f"terrain: expected boxes that stand upright, got {shape!r:.100}")
                boxes.append(shape)
        self.boxes = boxes
        if not self.planes and not self.fields:
            self.planes = [Ground(friction=min(p.surface.friction for p in items))]
        for plane in self.planes:
            if np.asarray(plane.normal)[2] < 0.3:
                n = np.asarray(plane.normal).tolist()
                raise InvalidInputError(f"terrain: expected ground that one can stand on, got the normal {n}")
        self.friction = float(min(min(p.surface.friction for p in items), 10.0))
        speeds = [np.asarray(p.velocity, dtype=np.float64) for p in items]
        self.velocity = speeds[0]
        if any(np.any(v != self.velocity) for v in speeds):
            raise InvalidInputError("terrain: expected one velocity of all pieces: the filter knows one belt")

    @property
    def level(self) -> bool:
        """Whether it is the plane z = 0 alone."""
        plain = len(self.planes) == 1 and not self.fields and not self.boxes
        return plain and bool(np.asarray(self.planes[0].normal)[2] > 1 - 1e-12) and self.planes[0].height == 0

    def heights(self, xy: Array) -> Array:
        """z of the ground under places (..., 2)."""
        top = np.full(xy.shape[:-1], -np.inf)
        for plane in self.planes:
            n = np.asarray(plane.normal)
            top = np.maximum(top, (plane.height - xy[..., 0] * n[0] - xy[..., 1] * n[1]) / n[2])
        for field in self.fields:
            top = np.maximum(top, _field_under(field, xy)[0])
        for box in self.boxes:
            position, half = np.asarray(box.at.position), 0.5 * np.asarray(box.size)
            at = (xy - position[:2]) @ np.asarray(box.at.R)[:2, :2]
            over = (np.abs(at) <= half[:2]).all(axis=-1)
            top = np.where(over, np.maximum(top, position[2] + half[2]), top)
        return top

    def look(self, points: Array) -> tuple[Array, Array]:
        """Heights above the ground along its normal (...) [m] and normals (..., 3), under points (..., 3)."""
        above = np.full(points.shape[:-1], np.inf)
        normals = np.zeros_like(points)
        normals[..., 2] = 1.0
        for plane in self.planes:
            n = np.asarray(plane.normal)
            self._nearer(above, normals, points @ n - plane.height, n)
        for field in self.fields:
            z, n = _field_under(field, points)
            self._nearer(above, normals, (points[..., 2] - z) * n[..., 2], n)
        for box in self.boxes:
            R, half = np.asarray(box.at.R), 0.5 * np.asarray(box.size)
            at = (points - np.asarray(box.at.position)) @ R
            beside = half[:2] - np.abs(at[..., :2])  # how far inside of each pair of sides
            over = (beside >= 0).all(axis=-1)
            height = at[..., 2] - half[2]
            self._nearer(above, normals, np.where(over & (height >= 0), height, np.inf), np.array((0.0, 0.0, 1.0)))
            # inside, the nearest face is the way out: the top, or a side of a step that a foot runs into
            inside = over & (height < 0) & (at[..., 2] > -half[2] - SKIRT)
            depths = np.concatenate([beside, -height[..., None]], axis=-1)
            face = depths.argmin(axis=-1)
            out = np.zeros_like(at)
            np.put_along_axis(out, face[..., None], 1.0, axis=-1)
            out[..., :2] *= np.sign(at[..., :2])
            depth = np.take_along_axis(depths, face[..., None], axis=-1)[..., 0]
            above[inside] = -depth[inside]
            normals[inside] = (out @ R.T)[inside]
        return above, normals

    @staticmethod
    def _nearer(above: Array, normals: Array, height: Array, normal: Array) -> None:
        mine = height < above
        above[mine] = height[mine]
        normals[mine] = np.broadcast_to(normal, normals.shape)[mine]


#: Sole points slower than this stand [m/s]; the body's way over uneven ground is cut off here [Hz].
STANDS, SETTLE = 0.3, 1.5


def made_on(ground: GroundUnder, figure: Footed, q: Array, fps: float) -> bool:
    """Whether a motion q (frames, nq) was made on this ground: its standing feet are at one height above it, and not at
    one height above a level floor."""
    links = [figure.model.link_index(sole.link) for sole in figure.soles.values()]
    ankles = link_poses(figure.model, q)[:, links][..., :3, 3]  # soles are already fitted to a level floor
    soles = sole_points(figure.model, list(figure.soles.values()), q)
    slow = np.linalg.norm(point_velocities(soles, fps), axis=-1).max(axis=-1) < STANDS
    if not slow.any():
        return False
    z, under = ankles[slow][:, 2], ground.heights(ankles[slow][:, :2])
    over_level, over_ground = (float(np.subtract(*np.percentile(h, (90, 10)))) for h in (z, z - under))
    return over_ground < over_level


def brought_to(ground: GroundUnder, q: Array, fps: float) -> Array:
    """A motion made on a level floor, with the body's height over this ground instead ([DF03] Fig. 10)."""
    out = np.array(q)
    out[:, 2] += low_pass(ground.heights(q[:, :2]), fps, SETTLE)
    return out


def _field_under(field: HeightField, points: Array) -> tuple[Array, Array]:
    """Height and normal of a field under points, bilinear in its cells; outside as at its edge."""
    heights, spacing = np.asarray(field.heights), np.asarray(field.spacing)
    at = (points[..., :2] - np.asarray(field.corner)) / spacing
    cell = np.clip(np.floor(at).astype(int), 0, np.array(heights.shape) - 2)
    s = np.clip(at - cell, 0.0, 1.0)
    i, j = cell[..., 0], cell[..., 1]
    h00, h10, h01, h11 = heights[i, j], heights[i + 1, j], heights[i, j + 1], heights[i + 1, j + 1]
    x, y = s[..., 0], s[..., 1]
    z = (1 - x) * ((1 - y) * h00 + y * h01) + x * ((1 - y) * h10 + y * h11)
    slope_x = ((1 - y) * (h10 - h00) + y * (h11 - h01)) / spacing[0]
    slope_y = ((1 - x) * (h01 - h00) + x * (h11 - h10)) / spacing[1]
    n = np.stack([-slope_x, -slope_y, np.ones_like(z)], axis=-1)
    return z, n / np.linalg.norm(n, axis=-1, keepdims=True)
