"""What is assumed of a clip and can be wrong: which way is up, its frame rate, the ground's velocity, frames that jump.

Each is looked at, and said in a warning where it is doubted or found.
"""

from __future__ import annotations

import warnings

import numpy as np

from ukemi.dynamics.kinematics import link_poses
from ukemi.dynamics_filter.trajectory.frame_rate import plausible_speed
from ukemi.dynamics_filter.trajectory.problem import Problem
from ukemi.errors import UkemiWarning
from ukemi.model.arrays import Array
from ukemi.model.model import Model
from ukemi.motion.clip import Clip
from ukemi.motion.figure import ClipFigure
from ukemi.motion.footfalls import runs, sole_points

#: A frame whose say in the reference is less than this is a glitch of the input.
GLITCH = 0.25
#: A belt is faster than this share of sqrt(g leg) (0.4 m/s for an adult); the lowest point's velocity stays within a
#: share of it in half of all frames, and the body goes less than a share of it. Treadmills seen: 1.1 to 4 m/s.
BELT, STEADY, IN_PLACE = 0.13, 0.25, 0.5
#: A clip shorter than a step tells no belt: a swinging foot may be all that there is [s], of an adult.
BRIEF = 0.5
#: Mean shift to the velocity that most frames have: its reach, as a share, and rounds.
NEAR, ROUNDS = 0.15, 20
#: Smallest and largest person that is believed [m]: from children and small robots to giants of games.
SIZES = (0.3, 3.5)


def check_upright(model: Model, q: Array) -> None:
    """A wrong up axis lays the whole clip on its side: the head is then rarely above the feet."""
    names = [x.name.lower() for x in model.links]
    heads = [i for i, name in enumerate(names) if "head" in name]
    feet = [i for i, name in enumerate(names) if "foot" in name or "ankle" in name]
    if not heads or not feet:
        return
    z = link_poses(model, q[:: max(len(q) // 1000, 1)])[:, :, 2, 3]
    share = float((z[:, heads].max(axis=1) > z[:, feet].max(axis=1)).mean())
    if share < 0.5:
        text = f"the head is above the feet in {100 * share:.0f} % of the frames only: if the body lies on its side"
        warnings.warn(f"filter_motion: {text}, say which axis is up (up='y' or 'z')", UkemiWarning, stacklevel=3)


def check_size(person: ClipFigure) -> None:
    """A wrong unit of length makes dwarfs and giants."""
    low, high = SIZES
    if not low < person.height < high:
        text = f"{person.clip.name}: the person is {person.height:.3g} m high: is the unit of length right (--unit)?"
        warnings.warn(f"filter_motion: {text}", UkemiWarning, stacklevel=4)


def say_glitches(problem: Problem, clip: Clip) -> None:
    """Frames that were lost, and joints that jump: neither have a say."""
    lost = runs(problem.reference.lost)
    if lost:
        which = ", ".join(f"{a} to {b - 1}" if b - a > 1 else f"{a}" for a, b in lost[:3])
        which += f" and {len(lost) - 3} more runs" if len(lost) > 3 else ""
        text = f"{clip.name}: frames {which} repeat the one before, then the motion jumps: they are taken for lost"
        warnings.warn(f"filter_motion: {text}", UkemiWarning, stacklevel=3)
    frames, links = np.nonzero((problem.reference.trust < GLITCH) & ~problem.reference.lost[:, None])
    if not len(frames):
        return
    names = problem.model.link_names
    some = [f"frame {f} {names[k].replace('_', ' ')}" for f, k in zip(frames[:3], links[:3], strict=True)]
    more = f" and {len(frames) - 3} more" if len(frames) > 3 else ""
    text = f"{clip.name}: joints jump and were smoothed over: {', '.join(some)}{more}"
    warnings.warn(f"filter_motion: {text}", UkemiWarning, stacklevel=3)


def doubt_frame_rate(problem: Problem, clip: Clip) -> float:
    """Frames per second at which gravity explains the motion; a warning where these are not the clip's."""
    from scipy.ndimage import minimum_filter1d

    trust = np.interp(problem.times, clip.time, problem.reference.trust[:, 0])
    beside = max(round(0.5 * problem.tau / problem.knots.step), 1)
    speed = plausible_speed(problem, minimum_filter1d(trust, 2 * beside + 1) > GLITCH)
    if speed != 1:
        fps = speed * clip.fps
        text = f"{clip.name}: at {clip.fps:g} frames a second the body moves as no ground and gravity could make it; "
        text += f"at {fps:g} they explain it much better: if the file is wrong, say fps={fps:g}"
        warnings.warn(f"filter_motion: {text}", UkemiWarning, stacklevel=3)
    return speed * clip.fps


def belt_of(figure: ClipFigure) -> Array:
    """(3,) velocity of a treadmill's belt, as the feet that stand on it tell [m/s]; zero where they do not."""
    clip, out = figure.clip, np.zeros(3)
    if len(clip) < 3 or clip.duration < BRIEF * np.sqrt(figure.height / 1.74):
        return out
    points = sole_points(figure.model, figure.soles.values(), figure.q()).reshape(len(clip), -1, 3)
    lowest = points[:-1, :, 2].argmin(axis=1)
    velocity = clip.fps * np.diff(points, axis=0)[np.arange(len(lowest)), lowest, :2]
    belt = np.median(velocity, axis=0)
    for _ in range(ROUNDS):  # to where most velocities are: a foot that lands or leaves is slower
        near = np.linalg.norm(velocity - belt, axis=1) <= NEAR * np.linalg.norm(belt)
        belt = velocity[near].mean(axis=0) if near.any() else belt
    size = float(np.linalg.norm(belt))
    steady = float(np.median(np.linalg.norm(velocity - belt, axis=1))) < STEADY * size
    way = clip.root[-1, :2] - clip.root[0, :2]
    stays = float(np.linalg.norm(way)) / clip.duration < IN_PLACE * size
    leg = 0.5 * figure.height
    if size < BELT * np.sqrt(9.81 * leg) or not steady or not stays:
        return out
    out[:2] = belt
    text = f"{clip.name}: the feet stand on ground that moves: a treadmill's belt at {belt[0]:.2f} m/s along x, "
    text += f"{belt[1]:.2f} along y is assumed (belt=False, --belt 0, if there is none)"
    warnings.warn(text, UkemiWarning, stacklevel=3)
    return out
