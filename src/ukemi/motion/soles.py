"""Where the floor is, and the soles of the feet: read off the frames in which a foot stands still.

A skeleton ends at ankle and toe joints; what touches the ground lies below them. While a foot is low and still its sole
lies on the floor: the mean of the world's upward direction in the foot's frame is the sole's normal, the median height
of the ankle its distance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ukemi.model.arrays import Array, frozen
from ukemi.model.pose import Pose
from ukemi.motion.clip import Clip
from ukemi.motion.guess import body_size
from ukemi.motion.rotations import inverse, rotated

#: z of the ground [m] under places (..., 2); None stands for 0 everywhere.
Height = Callable[[Array], Array]
#: Height of the toe joint above the sole [m]. This and all below are an adult's, others' follow the size of the body.
TOE_HEIGHT = 0.012
#: A foot that nowhere stands lower than this above the other stands on a step [m].
STEP = 0.06
#: A rigid sole [m], on a figure of 1.741 m: heel behind the ankle and its half width, ball ahead of the toe joint and
#: its half width.
HEEL_BEHIND, HEEL_HALF = 0.055, 0.03
BALL_AHEAD, BALL_HALF = 0.02, 0.045
#: Of a sole whose foot turns (`ukemi.motion.pivots`): the first of the points that it turns on (ball,
#: heel), after the four corners.
PIVOT = 4
#: Still: toe and ankle slower than this [m/s]; low: within this of the lowest they come [m].
STILL, LOW = 0.2, 0.03
#: Fewer frames than this do not tell a pose; the limits are then widened.
ENOUGH = 5
#: A height is one at which a foot stands if it is there so often as this beside where it is most often.
OFTEN = 0.3


@dataclass(frozen=True, eq=False)
class Sole:
    """Four points of a rigid sole, in coordinates of the link that carries it.

    points: (4, 3) [m]: heel left, heel right, ball left, ball right; all in one plane.
    at: frame in that plane below the ankle: x towards the toes, z out of the floor.
    hand: whether it is a hand's (`ukemi.motion.hands`), knee's or elbow's (`ukemi.motion.knees`), which bear at one
    point: the four coincide.
    """

    link: str
    points: Array
    at: Pose
    hand: bool = False

    @property
    def normal(self) -> Array:
        """Out of the floor, in link coordinates."""
        return self.at.R[:, 2]


def foot_tip(clip: Clip, foot: int, toes: int | None) -> tuple[Array, bool]:
    """Where the foot's front is (frames, 3), and whether that is a toe joint (else: the tip of the foot)."""
    if toes is not None:
        return clip.positions[:, toes], True
    tips = [k for k, (j, p) in enumerate(clip.skeleton.ends) if j == foot and np.linalg.norm(p) > 0.01]
    if tips:
        return clip.end_positions[:, tips[0]], False
    # nothing is known of the foot: 15 cm ahead of the ankle, across the shank
    shank = clip.positions[:, foot] - clip.positions[:, clip.skeleton.parents[foot]]
    ahead = np.cross(np.cross(shank, (1.0, 0.0, 0.0)), shank)
    return clip.positions[:, foot] + 0.15 * ahead / np.linalg.norm(ahead, axis=1, keepdims=True), False


def ground_normals(places: Array, height: Height | None) -> Array:
    """Upward unit normals (..., 3) of the ground under places (..., 3)."""
    normals = np.zeros_like(places)
    normals[..., 2] = 1.0
    if height is not None:
        d = 1e-3
        for axis in range(2):
            e = d * np.eye(2)[axis]
            normals[..., axis] = (height(places[..., :2] - e) - height(places[..., :2] + e)) / (2 * d)
        normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    return normals


def above_ground(places: Array, height: Height | None) -> Array:
    """How far places (..., 3) are above the ground [m], measured upwards."""
    return places[..., 2] if height is None else places[..., 2] - height(places[..., :2])


def standing_frames(clip: Clip, ankle: Array, toe: Array, height: Height | None = None) -> NDArray[np.intp]:
    """Indices of the frames where the foot is low and still."""
    size = body_size(clip)
    speed = np.maximum(*(np.linalg.norm(_rate(p, clip.fps), axis=1) for p in (ankle, toe))) / np.sqrt(size)
    heights = (above_ground(p, height) for p in (ankle, toe))
    above = np.maximum(*(np.abs(h - _standing_height(h, speed, size)) for h in heights))
    for wider in (1.0, 2.0, 4.0, np.inf):  # the last: a treadmill's belt carries the foot along
        chosen = np.flatnonzero((speed < wider * STILL) & (above < min(wider, 2.0) * LOW * size))
        if len(chosen) >= min(ENOUGH, len(clip)):
            return chosen
    return np.argsort(above, kind="stable")[:ENOUGH]


def _standing_height(heights: Array, speed: Array, size: float) -> float:
    """The lowest height at which a joint of the foot is often still: captures go lower for moments, in rolls."""
    slow = heights[speed < STILL]
    low = float(np.quantile(heights, 0.02))
    if len(slow) < 2 * ENOUGH:
        return low
    width = 0.5 * LOW * size
    bins = np.floor((slow - slow.min()) / width).astype(int)
    often = np.convolve(np.bincount(bins), np.ones(3), mode="same")
    first = int(np.flatnonzero(often >= OFTEN * often.max())[0])
    inside = np.abs(bins - first) <= 1
    return float(np.quantile(slow[inside], 0.1))


def _rate(p: Array, fps: float) -> Array:
    return np.gradient(p, axis=0) * fps if len(p) > 1 else np.zeros_like(p)


@dataclass(frozen=True, eq=False)
class FootStance:
    """What the standing frames of one foot tell; directions and places in the foot's frame."""

    frames: NDArray[np.intp]
    normal: Array
    ankle_height: float  # above the ground of the clip, along its normal [m]
    toe: Array
    toe_is_joint: bool
    toe_height: float
    size: float  # of the body beside an adult's


def foot_stance(clip: Clip, foot: int, toes: int | None, height: Height | None = None) -> FootStance:
    ankle = clip.positions[:, foot]
    tip, is_joint = foot_tip(clip, foot, toes)
    frames = standing_frames(clip, ankle, tip, height)
    to_foot = inverse(clip.world_rotations[frames, foot])
    upwards = ground_normals(ankle[frames], height)
    normal = rotated(to_foot, upwards).mean(axis=0)
    return FootStance(
        frames,
        normal / np.linalg.norm(normal),
        float(np.median(above_ground(ankle[frames], height) * upwards[:, 2])),
        rotated(to_foot, tip[frames] - ankle[frames]).mean(axis=0),
        is_joint,
        float(np.median(above_ground(tip[frames], height) * upwards[:, 2])),
        body_size(clip),
    )


def floor_height(stances: list[FootStance]) -> float:
    """The floor in the clip's frame [m]: `TOE_HEIGHT` below the toes of the foot that stands lower.

    In captures the two feet stand up to 3 cm apart in height; from a mean floor the toes of one would sink in.
    """
    return min(s.toe_height - TOE_HEIGHT * s.size for s in stances)


def ground_under(stance: FootStance, floor: float) -> float:
    """What a foot stands on where it is lowest [m]: the floor, or a step that is clearly above it."""
    own = stance.toe_height - TOE_HEIGHT * stance.size
    return own if own - floor > STEP * stance.size else floor


def sole_of(link: str, stance: FootStance, floor: float, scale: float) -> Sole:
    """The four points; ``scale``: size of the figure relative to 1.741 m."""
    z = stance.normal
    x = stance.toe - (stance.toe @ z) * z
    reach = float(np.linalg.norm(x))
    x = x / reach
    y = np.cross(z, x)
    below = -(stance.ankle_height - floor) * z  # foot of the ankle on the sole
    heel = below - scale * HEEL_BEHIND * x
    ball = below + (reach + (scale * BALL_AHEAD if stance.toe_is_joint else 0.0)) * x
    corners = [heel + scale * HEEL_HALF * y, heel - scale * HEEL_HALF * y]
    corners += [ball + scale * BALL_HALF * y, ball - scale * BALL_HALF * y]
    return Sole(link, frozen(corners), Pose.from_rotation(frozen(np.stack([x, y, z], axis=1)), frozen(below)))
