"""What motion files do not say: which way is up, how long a unit is, whether the first frame is an added rest pose."""

from __future__ import annotations

import numpy as np

from ukemi.motion.clip import Clip
from ukemi.motion.rotations import angle_between

#: Metres per unit. The CMU captures are in 1/0.45 inch (`length 0.45` in their ASF files).
UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "inch": 0.0254, "foot": 0.3048, "cmu": 0.0254 / 0.45}
#: The longest way from the root to a tip, along the bones, of an adult: 1.1 to 1.4 m on the skeletons seen (legs with
#: toes, or spine and arm with fingers).
LONGEST_WAY = 1.25
#: A body stands along an axis: so many times longer than across; as long as in its zero pose; in so many of its frames.
CLEARLY, STANDS, MOSTLY = 2.0, 0.9, 0.7
#: Nobody moves faster [m/s]; a body that does, and goes so far within a frame [m], was put elsewhere.
FASTEST, JUMP = 20.0, 0.3


def guess_unit(clip: Clip) -> float:
    """Metres per unit: the one that makes the longest way from the root to a tip most like an adult's.

    Neighbouring units differ by 2.2 or more, so figures of 0.85 to 1.85 m longest way are told apart.
    """
    longest = _longest_way(clip)
    if longest <= 0:
        return 1.0
    return min(UNITS.values(), key=lambda unit: abs(np.log(unit * longest / LONGEST_WAY)))


def body_root(clip: Clip) -> int:
    """The joint that carries the body: the root, or the one that moves on a root that stays on the floor."""
    bones = np.linalg.norm(clip.skeleton.offsets[1:], axis=1).sum()
    moving = [j for j, place in clip.translations.items() if j and np.ptp(place, axis=0).max() > 0.05 * bones]
    return moving[0] if moving else 0


def _below(clip: Clip, top: int) -> list[int]:
    """The joint and all that hang on it."""
    inside = {top}
    for j, parent in enumerate(clip.skeleton.parents):
        if parent in inside:
            inside.add(j)
    return sorted(inside)


def _longest_way(clip: Clip) -> float:
    skeleton, top = clip.skeleton, body_root(clip)
    reach = {top: 0.0}
    for j in _below(clip, top)[1:]:
        reach[j] = reach[skeleton.parents[j]] + float(np.linalg.norm(skeleton.offsets[j]))
    tips = [reach[j] + float(np.linalg.norm(p)) for j, p in skeleton.ends if j in reach]
    return max([*reach.values(), *tips])


def body_size(clip: Clip) -> float:
    """How large the body in a clip is beside an adult: 1 for one whose longest way along the bones is usual."""
    return max(_longest_way(clip), 1e-9) / LONGEST_WAY


def guess_up(clip: Clip) -> str:
    """``"y"`` or ``"z"`` (the clip must still be in the axes of its file): the axis along which the body stands in its
    zero pose, if it clearly does along one of them; unless the motion stands upright along the other in most frames.

    A skeleton without such a zero pose stands along the axis along which it is longest in most frames. So who crawls or
    lies for a whole clip is not put upright.
    """
    some = np.unique(np.linspace(0, len(clip) - 1, min(len(clip), 200)).astype(int))
    inside = _below(clip, body_root(clip))
    spread = np.ptp(clip.positions[some][:, inside], axis=1)
    rest = np.zeros((len(clip.skeleton), 3))
    for j, parent in enumerate(clip.skeleton.parents):
        if parent >= 0:
            rest[j] = rest[parent] + clip.skeleton.offsets[j]
    length = np.ptp(rest[inside], axis=0)
    for up, other in ((1, 2), (2, 1)):
        if length[up] > CLEARLY * length[other]:
            stands = (spread[:, other] > STANDS * length[up]) & (spread[:, other] > CLEARLY * spread[:, up])
            return "yz"[(other if stands.mean() > MOSTLY else up) - 1]
    middle = np.median(spread, axis=0)
    return "y" if middle[1] >= middle[2] else "z"


def whole_fps(frame_time: float, decimals: int) -> float:
    """1 / frame_time; the whole number whose inverse is written so, if there is one (0.0083333 is 120)."""
    whole = round(1.0 / frame_time)
    if whole >= 1 and abs(1.0 / whole - frame_time) < 10.0**-decimals:
        return float(whole)
    return 1.0 / frame_time


def longest_stay(clip: Clip) -> slice:
    """The frames between two jumps of the body that no one can make: the longest such stretch, all of them as a rule.

    In some captures the body stands elsewhere, in a rest pose, for some seconds before the motion begins.
    """
    place = clip.positions[:, body_root(clip)]
    size = body_size(clip)
    ways = np.linalg.norm(np.diff(place, axis=0), axis=1)
    jumps = np.flatnonzero((ways > JUMP * size) & (ways * clip.fps > FASTEST * np.sqrt(size))) + 1
    edges = [0, *(int(k) for k in jumps), len(clip)]
    lengths = np.diff(edges)
    longest = int(lengths.argmax())
    return slice(edges[longest], edges[longest + 1])


def added_rest_pose(clip: Clip) -> bool:
    """Whether frame 0 is a pose that a converter put before the motion.

    Either it is written in whole degrees where the motion is not, or the body jumps out of it: it moves farther to the
    next frame than anybody can, or the joints turn by more than 5 degrees on average, and five times more than between
    any two others.
    """
    if len(clip) < 3:
        return False
    ways = np.linalg.norm(np.diff(clip.positions[:, body_root(clip)], axis=0), axis=1)
    if ways[0] > max(FASTEST / clip.fps, 5 * float(np.median(ways))) and ways[0] > JUMP:
        return True
    if clip.raw is not None:
        turns = [n.endswith("rotation") for names in clip.layout.channels for n in names]
        whole = (clip.raw[:2, turns] == np.round(clip.raw[:2, turns])).mean(axis=1)
        if whole[0] > 0.95 and whole[1] < 0.5 and np.abs(clip.raw[0, turns]).max(initial=0) > 0:
            return True
    steps = angle_between(clip.rotations[1:], clip.rotations[:-1]).mean(axis=1)
    return bool(steps[0] > np.deg2rad(5) and steps[0] > 5 * steps[1:].max())
