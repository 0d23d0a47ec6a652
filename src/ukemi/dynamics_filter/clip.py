"""A whole clip through the filter: `filter_motion`."""

from __future__ import annotations

import time as clock
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ukemi.contact.terrain import Terrain
from ukemi.dynamics.kinematics import link_poses
from ukemi.dynamics_filter.quality import Measured, quality_of
from ukemi.dynamics_filter.result import FilterResult
from ukemi.dynamics_filter.trajectory.ground import GroundUnder, brought_to, made_on
from ukemi.dynamics_filter.trajectory.loads import loads_of
from ukemi.dynamics_filter.trajectory.points import ContactPoints
from ukemi.dynamics_filter.trajectory.problem import Problem, make_problem
from ukemi.dynamics_filter.trajectory.setting import STANDARD, TrajectorySettings
from ukemi.dynamics_filter.trajectory.solve import Solution, solve
from ukemi.errors import InvalidInputError, UkemiWarning
from ukemi.model.arrays import Array, numbers
from ukemi.model.figures.anthropometry import Sex
from ukemi.model.kinds import choice, of_kind, truth
from ukemi.model.model import Model
from ukemi.motion.clip import Clip
from ukemi.motion.figure import ClipFigure, figure_from_clip
from ukemi.motion.footfalls import Footed
from ukemi.motion.guess import longest_stay

SOLVERS = ("trajectory", "online", "paper")
#: A frame whose say in the reference is less than this is a glitch of the input.
GLITCH = 0.25
#: Intervals of contact [s], by part of the body.
Intervals = Mapping[str, Sequence[tuple[float, float]]]


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
        contacts: part of the body -> intervals [s] in which it is in contact, and in no others; other parts are found.
        keep: part of the body ("arms", "legs", "trunk", "head", or a link) -> how many times closer to the clip it is
            held.
        mass: of the person in the clip [kg]; height [m]; sex: whose table of body masses.
        parts: body part -> joint of the clip (with a model: link of the model), where names do not tell.
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
    ground = GroundUnder(terrain)
    # a treadmill's belt is at rest for whoever walks along with it
    ways = {j: p - clip.time[:, None] * ground.velocity if j == 0 else p for j, p in clip.translations.items()}
    still = clip.with_motion(clip.rotations, ways) if ground.velocity.any() else clip
    stay = longest_stay(still)
    own = parts if model is None else None
    person = _person(still, stay, mass, height, sex=sex, parts=own)
    figure, q = _body(person, model, parts)
    if not ground.level:
        if made_on(ground, figure, q, clip.fps):
            person = _person(still, stay, mass, height, sex=sex, parts=own, ground=ground.heights)
            figure, q = _body(person, model, parts)
        elif ground.boxes:
            q = _on_steps(terrain, figure, q, clip.fps)
        else:
            q = brought_to(ground, q, clip.fps)
    _check_upright(figure.model, q)
    if solver != "trajectory":
        from ukemi.dynamics_filter.streamed import follow

        return follow(solver, figure, q, clip, terrain, person if model is None else None, progress)
    q[: stay.start], q[stay.stop :] = q[stay.start], q[stay.stop - 1]  # what is elsewhere has no say
    problem = make_problem(figure.model, figure.soles, q, clip.time, ground, s)
    problem.reference.trust[: stay.start], problem.reference.trust[stay.stop :] = 0.0, 0.0
    _given_contacts(problem, contacts)
    _kept_parts(problem, keep)
    problem.strength = amount
    _say_glitches(problem, clip)
    begun = clock.perf_counter()
    solution = _with_bar(lambda bar: solve(problem, clip.time, bar), progress)
    seconds = clock.perf_counter() - begun
    return _result(problem, solution, seconds, q, clip, terrain, person if model is None else None)


def _person(clip: Clip, stay: slice, mass: float | None, height: float | None, **options: Any) -> ClipFigure:
    """The person in a clip, as the frames tell in which the body does not stand elsewhere."""
    if stay == slice(0, len(clip)):
        return figure_from_clip(clip, mass, height, **options)
    outside = f"0 to {stay.start - 1}" if stay.start else f"{stay.stop} to {len(clip) - 1}"
    text = f"{clip.name}: the body jumps to another place: frames {outside} are held still"
    warnings.warn(f"filter_motion: {text}", UkemiWarning, stacklevel=3)
    return replace(figure_from_clip(clip[stay], mass, height, **options), clip=clip)


def _body(person: ClipFigure, model: Model | None, parts: Mapping[str, str] | None) -> tuple[Footed, Array]:
    if model is None:
        return person, np.array(person.q())
    from ukemi.motion.humanoid import model_soles
    from ukemi.motion.retarget import retarget

    model_soles(model, parts)  # says what is missing before the work begins
    if model.couplings or model.loops:
        what = "the filter leaves loops open and gives joints that follow others drives of their own"
        warnings.warn(f"filter_motion: {model.name!r}: {what}", UkemiWarning, stacklevel=3)
    moved = retarget(person, model, parts)
    return moved, np.array(moved.q)


def _on_steps(terrain: Terrain, figure: Footed, q: Array, fps: float) -> Array:
    """A motion made on a level floor, with footholds on boxes ([DF03] Fig. 10)."""
    from ukemi.dynamics_filter.floor import as_ground
    from ukemi.dynamics_filter.prepare import make_reference

    moved = make_reference(figure, q, fps, 1 / fps, as_ground(terrain)).q
    return moved[np.minimum(np.arange(len(q)), len(moved) - 1)]


def _check_upright(model: Model, q: Array) -> None:
    """A wrong up axis lays the whole clip on its side: the head is then rarely above the feet."""
    names = [x.name.lower() for x in model.links]
    heads = [i for i, name in enumerate(names) if "head" in name]
    feet = [i for i, name in enumerate(names) if "foot" in name or "ankle" in name]
    if not heads or not feet:
        return
    z = link_poses(model, q)[:, :, 2, 3]
    share = float((z[:, heads].max(axis=1) > z[:, feet].max(axis=1)).mean())
    if share < 0.5:
        text = f"the head is above the feet in {100 * share:.0f} % of the frames only: if the body lies on its side"
        warnings.warn(f"filter_motion: {text}, say which axis is up (up='y' or 'z')", UkemiWarning, stacklevel=3)


def _say_glitches(problem: Problem, clip: Clip) -> None:
    frames, links = np.nonzero(problem.reference.trust < GLITCH)
    if not len(frames):
        return
    names = problem.model.link_names
    some = [f"frame {f} {names[k].replace('_', ' ')}" for f, k in zip(frames[:3], links[:3], strict=True)]
    more = f" and {len(frames) - 3} more" if len(frames) > 3 else ""
    text = f"{clip.name}: joints jump and were smoothed over: {', '.join(some)}{more}"
    warnings.warn(f"filter_motion: {text}", UkemiWarning, stacklevel=3)


def _given_contacts(problem: Problem, contacts: Intervals | None) -> None:
    if contacts is None:
        return
    of_kind("contacts", contacts, Mapping, "{part: [(start, end), ...]}")  # type: ignore[type-abstract]
    groups = problem.points.groups
    for part, intervals in contacts.items():
        mine = np.array([part == g for g in groups])
        if not mine.any():
            known = ", ".join(dict.fromkeys(groups))
            raise InvalidInputError(f"contacts: no part {part!r} touches the ground; there are {known}")
        times = numbers(f"contacts[{part!r}]", np.array(intervals, dtype=np.float64).reshape(-1, 2))
        inside = np.zeros(len(problem.times), dtype=bool)
        for first, last in times:
            inside |= (problem.times >= first) & (problem.times <= last)
        problem.given[np.ix_(inside, mine)] = 1
        problem.given[np.ix_(~inside, mine)] = -1


def _kept_parts(problem: Problem, keep: Mapping[str, float] | None) -> None:
    if keep is None:
        return
    of_kind("keep", keep, Mapping, "{part: factor}")  # type: ignore[type-abstract]
    sides: dict[str, tuple[str, ...]] = {}
    sides |= {"arms": ("arm", "hand", "shoulder", "elbow", "wrist"), "legs": ("thigh", "shank", "foot", "toe", "knee")}
    sides |= {"trunk": ("pelvis", "abdomen", "chest", "torso", "waist"), "head": ("head", "neck")}
    for part, factor in keep.items():
        size = float(numbers(f"keep[{part!r}]", factor, ()))
        if size <= 0:
            raise InvalidInputError(f"keep[{part!r}]: expected a positive factor, got {size:g}")
        words = sides.get(part, (part,))
        chosen = [x for x in problem.model.links if any(w in x.name.lower() for w in words) and x.joint.nv]
        if not chosen:
            known = ", ".join([*sides, *problem.model.link_names])
            raise InvalidInputError(f"keep: no part {part!r}; there are {known}")
        for link in chosen:
            problem.spread[link.v] *= size
            problem.rates[link.v] *= size
            problem.jolts[link.v] *= size


def _with_bar(run: Callable[[Callable[[float], None] | None], Solution], show: bool) -> Solution:
    if not show:
        return run(None)
    from ukemi.report.progress import progress_bar

    with progress_bar("filter", 100) as bar:
        done = 0.0

        def advance(share: float) -> None:
            nonlocal done
            bar(max(100 * share - done, 0.0))
            done = max(done, 100 * share)

        return run(advance)


def _result(
    problem: Problem,
    solution: Solution,
    seconds: float,
    q_in: Array,
    clip: Clip,
    terrain: Terrain,
    figure: ClipFigure | None,
) -> FilterResult:
    state, model, belt = solution.state, problem.model, problem.ground.velocity
    inside = problem.times <= clip.time[-1] + 1e-9 if len(clip) > 1 else np.arange(len(problem.times)) < 1
    loads = loads_of(problem, state, inside)
    frames = np.array(state.frames[0])
    points: ContactPoints = problem.points
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
            loads.place_in_link,
            loads.place,
            state.residual[inside],
            state.supported[inside],
            loads.support,
            loads.tau,
            solution.iterations,
            solution.converged,
            seconds,
        )
    )
    q, place = np.array(state.q[inside]), loads.place
    if belt.any():
        q[:, :3] += loads.time[:, None] * belt
        place = place + loads.time[:, None, None] * belt
        frames[:, :3] += clip.time[:, None] * belt
        q_in = q_in.copy()
        q_in[:, :3] += clip.time[:, None] * belt
        figure = None if figure is None else _on_the_clip(figure, clip)
    return FilterResult(
        model,
        figure,
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
        loads.supports,
        terrain,
        solution.interrupted,
    )


def _on_the_clip(figure: ClipFigure, clip: Clip) -> ClipFigure:
    """The figure of a clip on a belt writes into the clip as it came."""
    return replace(figure, clip=clip)
