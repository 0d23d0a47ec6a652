"""Steps that a clip shows to be there: level places above the floor where feet come to rest."""

from __future__ import annotations

import numpy as np

from ukemi.contact.terrain import Ground
from ukemi.dynamics_filter.floor import SteppedGround
from ukemi.dynamics_filter.reference import runs
from ukemi.model.arrays import Array
from ukemi.motion.footfalls import point_velocities

#: A foot stands on something that is so far above the floor, level within this, slower than this, for so long
#: [m, m, m/s, s].
HIGH, LEVEL, SLOW, LONG = 0.06, 0.03, 0.2, 0.12
#: A step reaches so far beyond the foot on it; feet so near in height and place stand on the same one [m].
BEYOND, SAME, NEAR = 0.015, 0.03, 0.1


def shown_steps(feet: Array, fps: float, ground: Ground | None) -> SteppedGround | None:
    """Boxes under points (frames, feet, 4, 3) of soles that rest above level ground at 0; None if none does."""
    boxes: list[Array] = []
    for foot in feet.swapaxes(0, 1):
        low = foot[..., 2].min(axis=1)
        speed = np.linalg.norm(point_velocities(foot, fps), axis=2).max(axis=1)
        rests = (low > HIGH) & (np.ptp(foot[..., 2], axis=1) < LEVEL) & (speed < SLOW)
        for first, end in runs(rests):
            if end - first >= LONG * fps:
                xy = foot[first:end, :, :2].reshape(-1, 2)
                (x0, y0), (x1, y1) = xy.min(axis=0) - BEYOND, xy.max(axis=0) + BEYOND
                _add(boxes, np.array([x0, x1, y0, y1, float(np.median(foot[first:end, :, 2]))]))
    friction = 0.8 if ground is None else ground.friction
    return SteppedGround(friction=friction, boxes=np.array(boxes)) if boxes else None


def _add(boxes: list[Array], box: Array) -> None:
    for k, other in enumerate(boxes):
        apart = np.maximum(box[[0, 2]] - other[[1, 3]], other[[0, 2]] - box[[1, 3]]).max()
        if abs(box[4] - other[4]) < SAME and apart < NEAR:
            low, high = np.minimum(box, other), np.maximum(box, other)
            boxes[k] = np.array([low[0], high[1], low[2], high[3], other[4]])
            return
    boxes.append(box)
