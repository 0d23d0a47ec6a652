"""Forces of a clip as the whole-clip filter finds them, in the form of an estimate."""

from __future__ import annotations

import numpy as np

from ukemi.dynamics_filter.placed import PlacedClip
from ukemi.dynamics_filter.quality import LEFTOVER
from ukemi.dynamics_filter.result import UNLOADED
from ukemi.dynamics_filter.trajectory.loads import loads_of
from ukemi.dynamics_filter.trajectory.props import infer_props
from ukemi.dynamics_filter.trajectory.solve import Solution, solve
from ukemi.forces.estimate import BEARS, ForceEstimate
from ukemi.forces.known import placed_origin
from ukemi.motion.pressure import gathered


def filtered_estimate(placed: PlacedClip, cutoff: float | None = None) -> tuple[ForceEstimate, Solution]:
    """Of a clip: the filter's motion with its forces, and its solve. What holds the body besides its ground, steps and
    seats, if anything, is in the residual. cutoff: of the clip, instead of the setting's [Hz]."""
    problem = placed.problem(cutoff=cutoff)
    solution = solve(problem, placed.clip.time)
    props = [] if solution.interrupted else infer_props(problem, solution.state)
    if props:
        seated = placed.with_props([prop.box for prop in props])
        again = seated.problem(cutoff=cutoff)
        better = solve(again, placed.clip.time)
        explains = better.supported < solution.supported and better.leftover <= max(solution.leftover, LEFTOVER)
        if explains and not better.interrupted:
            placed, problem, solution = seated, again, better
    state, inside = solution.state, problem.times <= placed.clip.time[-1] + 1e-9
    loads = loads_of(problem, state, inside)
    residual = state.residual[inside] * np.repeat((problem.weight, problem.moment), 3)
    origin = placed_origin(placed, loads.time)
    soles, groups = placed.figure.soles, problem.points.groups
    feet = [soles[side].link for side in ("right", "left") if side in soles]
    bears = {g: loads.force[:, [x == g for x in groups], 2].sum(axis=1).max() for g in dict.fromkeys(groups)}
    names = (*feet, *(g for g in bears if g not in feet and bears[g] > BEARS * problem.weight))
    clock, at = loads.time + placed.clip.start, loads.place + origin[:, None]
    forces = gathered(clock, names, groups, loads.force, at, UNLOADED * problem.weight)
    estimate = ForceEstimate(
        *(problem.model, soles, state.q[inside], state.v[inside], state.a[inside]),
        *(forces, origin, loads.tau, residual),
    )
    return estimate, solution
