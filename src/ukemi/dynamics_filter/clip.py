"""A whole clip through the filter: `filter_motion`."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from ukemi.contact.terrain import Terrain
from ukemi.dynamics_filter.assumptions import GLITCH, doubt_frame_rate, say_glitches
from ukemi.dynamics_filter.control import Intervals, give_contacts, keep_parts
from ukemi.dynamics_filter.placed import PlacedClip, place
from ukemi.dynamics_filter.quality import LEFTOVER, Measured, quality_of
from ukemi.dynamics_filter.result import FilterResult
from ukemi.dynamics_filter.trajectory.loads import loads_of
from ukemi.dynamics_filter.trajectory.points import ContactPoints
from ukemi.dynamics_filter.trajectory.problem import Problem
from ukemi.dynamics_filter.trajectory.props import Prop, carried_by, infer_props
from ukemi.dynamics_filter.trajectory.setting import STANDARD, TrajectorySettings
from ukemi.dynamics_filter.trajectory.solve import Solution, solve
from ukemi.dynamics_filter.trajectory.state import away_from_input
from ukemi.errors import InvalidInputError
from ukemi.model.arrays import numbers, positive
from ukemi.model.figures.anthropometry import Sex
from ukemi.model.kinds import choice, of_kind, truth
from ukemi.model.model import Model
from ukemi.motion.clip import Clip

SOLVERS = ("trajectory", "online", "paper")
#: What holds a body for less than this share of the time may be none: the ground alone is tried, and believed where it
#: explains the motion within this many times the distance at which a support is looked for.
BRIEFLY, STILL_NEAR = 0.25, 2.0


def filter_motion(
    clip: Clip | str | Path,
    model: Model | None = None,
    terrain: Terrain = None,
    solver: str = "trajectory",
    *,
    settings: TrajectorySettings | None = None,
    strength: float = 1.0,
    contacts: Intervals | None = None,
    keep: Mapping[str, float] | None = None,
    mass: float | None = None,
    height: float | None = None,
    sex: Sex = "male",
    parts: Mapping[str, str] | None = None,
    belt: bool = True,
    cutoff: float | None = None,
    progress: bool = False,
) -> FilterResult:
    """The motion nearest to a clip that a body of its own can make on a floor it cannot pull at.

    Args:
        clip: a motion, or its file.
        model: whose motion it is to be; by default the person in the clip (`figure_from_clip`), else the clip is
            retargeted.
        terrain: the ground, level by default: planes, boxes such as `stairs`, height fields. A treadmill has a
            velocity. Its friction counts.
        solver: "trajectory" for the whole clip at once; "online" for the filter that sees the clip step by step, or
            "paper" for that of [DF03] VII as printed. The last two simulate forward, and may fall.
        settings: weights of the trajectory solver, in units of the body.
        strength: 1 for full physics; below it the root may lack some force, and it says how much; 0: feet that touch
            and stand, without physics.
        contacts: part of the body -> intervals [s] on the file's clock in which it is in contact, and in no others;
            other parts are found.
        keep: part of the body ("arms", "legs", "trunk", "head", or a link) -> how many times closer to the clip it is
            held.
        mass: of the person in the clip [kg]; height [m]; sex: whose table of body masses.
        parts: body part -> joint of the clip (with a model: link of the model), where names do not tell.
        belt: whether a treadmill's belt is looked for where the terrain has no velocity.
        cutoff: frequency at which the input is smoothed before it is followed [Hz]; by default 2.4 sqrt(g / leg), 8 Hz
            for an adult.
        progress: whether a bar is shown on a terminal.

    Ctrl-C ends the solve; the result holds what was reached, for all frames (``interrupted``).
    """
    choice("solver", solver, SOLVERS)
    if isinstance(clip, str | Path):
        from ukemi.motion.read import read_motion

        clip = read_motion(clip)
    of_kind("filter_motion", clip, Clip, "a clip or its file")
    if model is not None:
        of_kind("model", model, Model)
    s = STANDARD if settings is None else of_kind("settings", settings, TrajectorySettings)
    amount = float(numbers("strength", strength, ()))
    if not 0 <= amount <= 1:
        raise InvalidInputError(f"strength: expected 0 to 1, got {amount:g}")
    truth("progress", progress)
    placed = place(clip, model, terrain, mass=mass, height=height, sex=sex, parts=parts, belt=truth("belt", belt))
    if solver != "trajectory":
        from ukemi.dynamics_filter.streamed import follow

        return follow(solver, placed.figure, placed.q, clip, placed.terrain, placed.own, progress)
    limit = None if cutoff is None else positive("cutoff", cutoff)

    def problem_of(placed: PlacedClip, alone: bool = False) -> Problem:
        problem = placed.problem(s, limit)
        problem.alone = alone
        give_contacts(problem, contacts, clip.start)
        keep_parts(problem, keep)
        problem.strength = amount
        return problem

    problem = problem_of(placed)
    say_glitches(problem, clip)
    fps = doubt_frame_rate(problem, clip)
    begun = clock.perf_counter()
    solution = _with_bar(lambda bar: solve(problem, clip.time, bar), progress)
    props = [] if solution.interrupted else infer_props(problem, solution.state)
    if props:  # where these explain more they are taken for true
        on_props = placed.with_props([prop.box for prop in props])
        again = problem_of(on_props)
        better = _with_bar(lambda bar: solve(again, clip.time, bar), progress)
        explains = better.supported < solution.supported and better.leftover <= max(solution.leftover, LEFTOVER)
        if explains and not better.interrupted:
            placed, problem, solution = on_props, again, better
        else:
            props = []
    if 0 < solution.supported < BRIEFLY and not solution.interrupted and not props:  # does the ground do it alone?
        again = problem_of(placed, alone=True)
        alone = _with_bar(lambda bar: solve(again, clip.time, bar), progress)
        away = float(away_from_input(again, alone.state.q, again.times).max())
        if alone.leftover < LEFTOVER and away < STILL_NEAR * s.far * again.leg and not alone.interrupted:
            problem, solution = again, alone
    return _result(placed, problem, solution, clock.perf_counter() - begun, fps, props)


def _with_bar(run: Callable[[Callable[[float, float], None] | None], Solution], show: bool) -> Solution:
    if not show:
        return run(None)
    from ukemi.report.progress import progress_bar

    with progress_bar("filter", 100) as bar:
        done = 0.0

        def advance(share: float, residual: float) -> None:
            nonlocal done
            bar(max(100 * share - done, 0.0), f"filter, residual {residual:.0e} BW")
            done = max(done, 100 * share)

        return run(advance)


def _result(
    placed: PlacedClip, problem: Problem, solution: Solution, seconds: float, fps: float, props: list[Prop]
) -> FilterResult:
    state, model, belt = solution.state, problem.model, problem.ground.velocity
    clip, q_in = placed.clip, placed.q
    inside = problem.times <= clip.time[-1] + 1e-9 if len(clip) > 1 else np.arange(len(problem.times)) < 1
    loads = loads_of(problem, state, inside)
    frames = np.array(state.frames)
    points: ContactPoints = problem.points
    supports = sorted([*loads.supports, *carried_by(problem, loads, props)], key=lambda x: x.start)
    quality = quality_of(
        Measured(
            model,
            points,
            problem.ground,
            clip.fps,
            clip.time,
            q_in,
            frames,
            problem.reference.trust >= GLITCH,
            loads.time,
            loads.force,
            loads.place,
            state.normals[inside],
            state.residual[inside],
            state.supported[inside],
            loads.support,
            loads.tau,
            solution.iterations,
            solution.converged,
            seconds,
            fps,
            start=clip.start,
            props=len(props),
        )
    )
    q, place = np.array(state.q[inside]), loads.place
    if belt.any():
        q[:, :3] += loads.time[:, None] * belt
        place = place + loads.time[:, None, None] * belt
        frames[:, :3] += clip.time[:, None] * belt
        q_in = q_in.copy()
        q_in[:, :3] += clip.time[:, None] * belt
    return FilterResult(
        model,
        placed.own,
        "trajectory",
        loads.time,
        q,
        np.array(state.v[inside]),
        np.array(state.a[inside]),
        loads.tau,
        loads.force,
        place,
        loads.force[..., 2] > 1e-3 * problem.weight,
        points.links,
        points.groups,
        clip.time,
        frames,
        q_in,
        quality,
        tuple(replace(x, start=clip.start + x.start, end=clip.start + x.end) for x in supports),
        placed.terrain,
        solution.interrupted,
        clip.start,
    )
