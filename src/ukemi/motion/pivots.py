"""Feet that turn on their balls: the ball keeps its place on the floor while the foot yaws.

In a plane every motion turns about some point. A foot turns on its ball while that point is within reach of the middle
of the ball: there the speed of the middle is no more than its distance times the rate of yaw. Yaw is read off the line
across the ball, which stays level however high the heel is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ukemi.model.arrays import Array, frozen
from ukemi.motion.footfalls import Contacts, point_velocities, runs
from ukemi.motion.soles import Height, Sole, above_ground

#: The ball's height [m] and speed upwards [m/s] at most.
LOW, RISING = 0.03, 0.3
#: The foot turns faster than this [rad/s] about a point no farther than this from the middle of its ball [m].
FAST, REACH = 1.0, 0.08
#: Smaller turns are held as contacts that do not turn [rad].
LEAST = np.deg2rad(45)
#: Two turns to the same side with so little time between them are one [s].
GAP = 0.08


def turning(
    points: Array, fps: float, *, height: Height | None = None, hands: Sequence[bool] | None = None
) -> Contacts:
    """Which feet, whose points are (frames, feet, 4, 3), turn on their balls: (frames, feet). hands never do."""
    found = np.zeros(points.shape[:2], dtype=bool)
    if len(points) < 2:
        return found
    for foot in range(points.shape[1]):
        if hands is not None and hands[foot]:
            continue
        left, right = points[:, foot, 2], points[:, foot, 3]
        ball, across = 0.5 * (left + right), (left - right)[:, :2]
        yaw = np.unwrap(np.arctan2(across[:, 1], across[:, 0]))
        rate, velocity = np.gradient(yaw) * fps, point_velocities(ball, fps)
        slow = np.linalg.norm(velocity[:, :2], axis=1) < REACH * np.abs(rate)
        down = (above_ground(ball, height) < LOW) & (np.abs(velocity[:, 2]) < RISING)
        for side in (-1, 1):
            turns = down & slow & (side * rate > FAST)
            for first, end in runs(~turns):
                if first > 0 and end < len(turns) and (end - first) / fps < GAP and down[first:end].all():
                    turns[first:end] = True
            for first, end in runs(turns):
                if side * (yaw[end - 1] - yaw[first]) > LEAST:
                    found[first:end, foot] = True
    return found


def with_pivot(sole: Sole) -> Sole:
    """The sole with the middle of its ball as a fifth point (of a hand: its only point once more)."""
    return replace(sole, points=frozen(np.concatenate([sole.points, sole.points[2:].mean(axis=0, keepdims=True)])))
