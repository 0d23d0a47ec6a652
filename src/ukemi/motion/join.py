"""New motions from old ones: turned, moved, and one walked into the next ([DF03] Fig. 11).

The seam is kinematic: poses cross-fade, feet slide, momentum jumps. Making that physical is the dynamics filter's work.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array, numbers
from ukemi.motion.clip import Clip
from ukemi.motion.rotations import about, angle_between, inverse, product, rotated, slerp
from ukemi.motion.sampling import sample


def turned(clip: Clip, angle: float, about_point: ArrayLike = (0, 0)) -> Clip:
    """The motion turned by an angle [rad] about a vertical line through a place (x, y)."""
    x, y = numbers("about_point", about_point, (2,))
    turn = np.broadcast_to(about(2, np.asarray(float(numbers("angle", angle, ())))), (len(clip), 4))
    centre = np.array((x, y, 0.0))
    rotations = np.array(clip.rotations)
    rotations[:, 0] = product(turn, rotations[:, 0])
    return clip.with_motion(rotations, {**clip.translations, 0: centre + rotated(turn, clip.root - centre)})


def moved(clip: Clip, shift: ArrayLike) -> Clip:
    """The motion at another place: shifted by (x, y, z) [m]."""
    return clip.with_motion(clip.rotations, {**clip.translations, 0: clip.root + numbers("shift", shift, (3,))})


def join(first: Clip, second: Clip, overlap: float = 0.5, *, turn: float = 0.0, match: bool = True) -> Clip:
    """One motion into the next: the last ``overlap`` seconds of the first fade into the second.

    The second is put where the first is then, with the same heading plus ``turn`` [rad]. match: start the second at the
    frame of its first half whose pose and its change are most like the first's.
    """
    if first.skeleton.names != second.skeleton.names:
        raise InvalidInputError("join: expected two clips on one skeleton, got other joints")
    if second.fps != first.fps:
        second = sample(second, np.arange(int(second.duration * first.fps) + 1) / first.fps, first.fps)
    n = round(float(numbers("overlap", overlap, ())) * first.fps)
    if not 1 <= n < min(len(first), len(second)):
        raise InvalidInputError(f"join: overlap {overlap:g} s: expected at least a frame and less than either clip")
    start = len(first) - n
    begin = _most_alike(first, start, second, n) if match else 0
    heading = _heading(product(first.rotations[start, 0], inverse(second.rotations[begin, 0]))) + turn
    placed = turned(second[begin:], heading, second.root[begin, :2])
    gap = _carrier(first)[start] - _carrier(placed)[0]
    placed = moved(placed, (gap[0], gap[1], 0.0))
    # 0 to 1 over the overlap, without a jump in velocity or acceleration
    s = (np.arange(n) + 0.5) / n
    share = s**3 * (10 - 15 * s + 6 * s**2)
    rotations = np.concatenate(
        [
            first.rotations[:start],
            slerp(first.rotations[start:], placed.rotations[:n], share[:, None]),
            placed.rotations[n:],
        ]
    )
    rotations /= np.linalg.norm(rotations, axis=-1, keepdims=True)
    translations = {
        j: np.concatenate([p[:start], (1 - share[:, None]) * p[start:] + share[:, None] * placed.translations[j][:n],
                           placed.translations[j][n:]])
        for j, p in first.translations.items()
    }  # fmt: skip
    return first.with_motion(rotations, translations)


def _heading(q: Array) -> float:
    """The turn about z that is in q."""
    return float(2 * np.arctan2(q[3], q[0]))


def _carrier(clip: Clip) -> Array:
    """Where the body is (frames, 3): its root, or the joint that moves on a root that stays."""
    from ukemi.motion.guess import body_root

    return clip.positions[:, body_root(clip)]


def _most_alike(first: Clip, start: int, second: Clip, overlap: int) -> int:
    """The frame of the second's first half that is most like the first's frame ``start``, in pose and in its change."""
    last = max(1, min(len(second) - overlap - 1, len(second) // 2))
    ahead = min(overlap, max(1, round(0.1 * first.fps)))
    costs = [
        sum(
            float((angle_between(first.rotations[start + d, 1:], second.rotations[k + d, 1:]) ** 2).sum())
            for d in (0, ahead - 1)
        )
        for k in range(last)
    ]
    return int(np.argmin(costs))
