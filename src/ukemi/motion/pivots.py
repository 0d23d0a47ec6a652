"""Feet that turn on their balls or heels: ball or heel keeps its place on the floor while the foot yaws.

In a plane every motion turns about some point. A foot turns on its ball while that point is within reach of the middle
of the ball: there the speed of the middle is no more than its distance times the rate of yaw; on its heel in the same
way. Yaw is read off the line across the ball, which stays level however high heel or ball is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ukemi.model.arrays import Array, frozen
from ukemi.motion.footfalls import Contacts, point_velocities, runs
from ukemi.motion.soles import Height, Sole, above_ground

#: Height [m] of what the foot turns on and speed upwards [m/s] at most.
LOW, RISING = 0.03, 0.3
#: The foot turns faster than this [rad/s] about a point no farther than this from the middle of its ball or heel [m].
FAST, REACH = 1.0, 0.08
#: Smaller turns are held as contacts that do not turn [rad].
LEAST = np.deg2rad(45)
#: Corners of a sole about which it turns: the ball's, the heel's.
PARTS = (slice(2, 4), slice(0, 2))
#: Two turns to the same side with so little time between them are one [s].
GAP = 0.08


def turning(
    points: Array, fps: float, *, height: Height | None = None, hands: Sequence[bool] | None = None
) -> Contacts:
    """Which feet, whose points are (frames, feet, 4, 3), turn on their balls and on their heels: (frames, feet, 2).
    hands never do."""
    found = np.zeros((*points.shape[:2], len(PARTS)), dtype=bool)
    if len(points) < 2:
        return found
    for foot in range(points.shape[1]):
        if hands is not None and hands[foot]:
            continue
        across = (points[:, foot, 2] - points[:, foot, 3])[:, :2]
        yaw = np.unwrap(np.arctan2(across[:, 1], across[:, 0]))
        rate = np.gradient(yaw) * fps
        for part, corners in enumerate(PARTS):
            middle = points[:, foot, corners].mean(axis=1)
            velocity = point_velocities(middle, fps)
            slow = np.linalg.norm(velocity[:, :2], axis=1) < REACH * np.abs(rate)
            down = (above_ground(middle, height) < LOW) & (np.abs(velocity[:, 2]) < RISING)
            for side in (-1, 1):
                turns = down & slow & (side * rate > FAST)
                for first, end in runs(~turns):
                    if first > 0 and end < len(turns) and (end - first) / fps < GAP and down[first:end].all():
                        turns[first:end] = True
                for first, end in runs(turns):
                    if side * (yaw[end - 1] - yaw[first]) > LEAST:
                        found[first:end, foot, part] = True
    found[..., 1] &= ~found[..., 0]  # gaps that were filled
    return found


def with_pivot(sole: Sole) -> Sole:
    """The sole with the middles of its ball and of its heel as fifth and sixth point (of a hand: its only point twice
    more)."""
    middles = [sole.points[corners].mean(axis=0) for corners in PARTS]
    return replace(sole, points=frozen(np.concatenate([sole.points, middles])))
