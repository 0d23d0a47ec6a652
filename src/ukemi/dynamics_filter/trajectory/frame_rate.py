"""Whether a clip's frame rate can be right: what flies falls with gravity, and who leans falls over.

Played at s times its speed, a motion has s times its velocities and s^2 times its accelerations, under the same
gravity. The wrench that no point near the ground explains is then least near the rate at which the motion was captured.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ukemi.dynamics_filter.trajectory.contacts import DEAREST
from ukemi.dynamics_filter.trajectory.problem import Problem
from ukemi.model.arrays import Array

#: Rates that files are wrong by: frames left out, or counted twice.
SPEEDS = (0.5, 2.0)
#: Leftover [body weights, RMS] above which a rate is doubted, and the share of it that another must leave. Of 300
#: random CMU captures (`python bench/frame_rates.py`) those of subjects that were captured at 60 frames a second leave
#: 0.2 to 1.6 at the 120 that their files say, and less than a quarter of that at 60; walks and runs at their own rate
#: less than 0.2.
DOUBTED, BETTER = 0.2, 0.25
#: A body whose points are all higher than this flies [l]; so long in all must it fly for its fall to be believed [tau],
#: and so much must it fall faster than gravity lets it [g]: captured at half the rate it falls with 4 g. Back flips of
#: CMU that were captured at 60 frames a second fall with 4.0 and 5.0 g at 120, other flips and kicks with 0.8 to 0.95.
ALOFT, FLIES, TOO_FAST = 0.13, 0.3, 1.0
#: More than this is a glitch [body weights]. Weight of the root equations, and barrier of the forces.
MOST, STIFFNESS, BARRIER = 3.0, 1e3, 1e-4
#: Samples that are looked at together.
CHUNK = 1000


def leftover_at(problem: Problem, speed: float, sure: NDArray[np.bool_] | None = None) -> float:
    """RMS of the wrench that the ground cannot explain, with the reference played at some times its speed [BW].

    sure (n,): samples that count, by default all.
    """
    n, total = len(problem.times), 0.0
    counts = np.ones(n, dtype=bool) if sure is None or not sure.any() else sure
    for first in range(0, n, CHUNK):  # bounded memory
        part = slice(first, min(first + CHUNK, n))
        total += float((_lack(problem, speed, part)[counts[part]] ** 2).sum())
    return float(np.sqrt(total / counts.sum()))


def _lack(problem: Problem, speed: float, samples: slice) -> Array:
    p = problem
    q, v, a = p.reference.at(p.times[samples])
    n, points = len(q), len(p.points)
    up = np.broadcast_to(np.array((0.0, 0.0, 1.0)), (n, points, 3))
    wrench, point, velocity, _ = p.core.kinematics(q, speed * v, speed**2 * a, p.points.places(q, up))
    above, normals = p.ground.look(point)
    unlikely = p.unlikelihood(above, velocity, samples)
    cost = np.where(unlikely < 2 * DEAREST, p.settings.force * np.exp(np.minimum(unlikely, DEAREST)), -1.0)
    lam, dual = np.zeros((2, n, points, 4))
    solved = p.core.forces(
        *(wrench, point - q[:, None, :3], normals, cost, np.zeros((n, points)), np.zeros((n, points, 3)), normals),
        *(np.zeros((n, 6)), np.full((n, 6), STIFFNESS), lam, dual),
        np.array([p.settings.line, 0.0, p.ground.friction, BARRIER]),
    )
    out: Array = np.clip(solved["residual"], -MOST, MOST)
    return out


def plausible_speed(problem: Problem, sure: NDArray[np.bool_] | None = None) -> float:
    """1, or how many times faster than its file a clip must be played so that gravity explains it much better."""
    if _falls_too_fast(problem, sure):
        return min(SPEEDS)
    given = leftover_at(problem, 1.0, sure)
    if given < DOUBTED:
        return 1.0
    others = {speed: leftover_at(problem, speed, sure) for speed in SPEEDS}
    best = min(others, key=lambda speed: others[speed])
    return best if others[best] < BETTER * given else 1.0


def _falls_too_fast(problem: Problem, sure: NDArray[np.bool_] | None) -> bool:
    """Whether the body, where it flies, is pulled down by more than its weight: no ground does that."""
    p, pull, samples = problem, 0.0, 0
    for first in range(0, len(p.times), CHUNK):
        part = slice(first, min(first + CHUNK, len(p.times)))
        q, v, a = p.reference.at(p.times[part])
        up = np.broadcast_to(np.array((0.0, 0.0, 1.0)), (len(q), len(p.points), 3))
        wrench, point, _, _ = p.core.kinematics(q, v, a, p.points.places(q, up))
        flies = p.ground.look(point)[0].min(axis=1) > ALOFT * p.leg
        if sure is not None:
            flies &= sure[part]
        pull -= float(wrench[flies, 2].sum())
        samples += int(flies.sum())
    return samples * p.knots.step > FLIES * p.tau and pull > TOO_FAST * samples
