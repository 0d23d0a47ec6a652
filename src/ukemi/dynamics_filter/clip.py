"""A whole clip through the filter: `filter_motion`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from ukemi.contact.terrain import Ground, Terrain
from ukemi.dynamics_filter.bearing import sole_contacts
from ukemi.dynamics_filter.floor import above_floor, as_ground
from ukemi.dynamics_filter.online import Follower
from ukemi.dynamics_filter.pace import likely_pace
from ukemi.dynamics_filter.reference import GLIDE, Reference
from ukemi.dynamics_filter.result import (
    FilterResult,
    Quality,
    joint_rms,
    plate_force,
    residual_bw,
)
from ukemi.dynamics_filter.run import Run, run_to_the_end
from ukemi.dynamics_filter.settings import LOOSE, SAFE, STANDARD, Settings
from ukemi.dynamics_filter.supports import supported_reference
from ukemi.dynamics_filter.whole import follow_plan, whole_plan
from ukemi.errors import InvalidInputError, UkemiWarning
from ukemi.model.arrays import Array, positive
from ukemi.model.kinds import choice, of_kind, truth
from ukemi.model.model import Model
from ukemi.motion.clip import Clip
from ukemi.motion.figure import ClipFigure, figure_from_clip
from ukemi.motion.footfalls import Footed, FootMeasures, foot_measures, sole_points


class Interrupted(KeyboardInterrupt):
    """Ctrl-C before the first step. reference: the motion that was to be filtered, its feet held; figure: whose."""

    def __init__(self, reference: Reference, figure: ClipFigure | None) -> None:
        super().__init__("stopped before the first step")
        self.reference, self.figure = reference, figure

    @property
    def motion(self) -> Clip | None:
        """The reference on the clip's own skeleton: feet that stand, but no forces that would carry it."""
        if self.figure is None:
            return None
        times = self.figure.clip.time
        nearest = np.clip(np.round(times / self.reference.dt).astype(int), 0, len(self.reference) - 1)
        return self.figure.to_clip(self.reference.q[nearest], fps=self.figure.clip.fps)


def filter_motion(
    clip: Clip | str | Path,
    model: Model | None = None,
    terrain: Terrain = None,
    preview: float = 0.8,
    solver: str = "qp",
    *,
    settings: Settings | None = None,
    mass: float | None = None,
    height: float | None = None,
    pace: float | None = None,
    progress: bool = False,
) -> FilterResult:
    """The motion nearest to a clip that a body of its own can make on a floor it cannot pull at.

    Args:
        clip: a motion, or its file.
        model: whose motion it is to be; by default the person in the clip (`figure_from_clip`), else the clip is
            retargeted.
        terrain: the ground, level by default; a slope leans its normal, a treadmill has a velocity; or boxes on level
            ground, such as `stairs`. Its friction counts.
        preview: seconds that the filter looks ahead; 0: none, as in [DF03]; infinity: the whole clip is planned first;
            with less than the 0.8 s of the default it is never.
        solver: "qp", or "paper" for the filter of [DF03] VII as printed (`ukemi.dynamics_filter.paper`).
        settings: gains and weights; by default `STANDARD`; if the figure falls also with the whole clip planned
            first, with `LOOSE`, with `SAFE` and with `SAFE` planned first, and the longest run counts.
        mass: of the person in the clip [kg].
        height: of the person in the clip [m].
        pace: how fast the clip is played: 0.5 for one whose frame rate is twice the true one. By default 1; if the
            figure falls and another pace is clearly nearer to possible (`ukemi.dynamics_filter.pace`), that one.
        progress: whether a bar is shown on a terminal.

    Ctrl-C ends the run; the result holds what was done (``interrupted``). Before the first step there is no result:
    then it raises `Interrupted`, with the reference if that was made.
    """
    choice("solver", solver, ("qp", "paper"))
    try:
        ahead = float(preview)
    except (TypeError, ValueError, OverflowError):
        ahead = np.nan
    if not ahead >= 0:
        raise InvalidInputError(f"preview: expected seconds from 0 to infinity, got {preview!r:.100}")
    preview = ahead
    if isinstance(clip, str | Path):
        from ukemi.motion.read import read_motion

        clip = read_motion(clip)
    of_kind("filter_motion", clip, Clip, "a clip or its file")
    if model is not None:
        of_kind("model", model, Model)
    if settings is not None:
        of_kind("settings", settings, Settings)
    truth("progress", progress)
    ground = as_ground(terrain)
    given = clip
    if pace is not None:
        clip = clip.with_motion(clip.rotations, clip.translations, clip.fps * positive("pace", pace))
    # a treadmill's belt is at rest for whoever walks along with it
    belt = np.zeros(3) if ground is None else np.asarray(ground.velocity, dtype=np.float64)
    if belt.any():
        ways = {j: p - clip.time[:, None] * belt if j == 0 else p for j, p in clip.translations.items()}
        clip = clip.with_motion(clip.rotations, ways)
    person = figure_from_clip(clip, mass, height)
    figure, q = _body(person, model)
    friction = STANDARD.friction if ground is None else float(min(ground.friction, 10.0))
    presets = _presets(preview) if settings is None else [("given", replace(settings, preview=preview))]
    presets = [(name, replace(s, friction=friction)) for name, s in presets]
    motion = supported_reference(figure, q, clip.fps, presets[0][1], ground, only_feet=solver == "paper")
    reference, plan_shift, ground = motion.reference, motion.shift, motion.ground
    before = _measure_clip(figure, q, clip.fps)
    if solver == "paper":
        from ukemi.dynamics_filter.paper import follow_paper

        tries: list[tuple[str, Callable[[Callable[[float], None]], Run]]] = [
            ("paper", lambda bar: follow_paper(reference, ground, bar))
        ]
    else:
        tries = [(name, _runner(reference, s, ground)) for name, s in presets]
    best: tuple[str, Run] | None = None
    for name, run in tries:
        try:
            done = _with_bar(run, len(reference), progress)
        except KeyboardInterrupt:
            if best is None:
                raise Interrupted(reference, person if model is None else None) from None
            best[1].interrupted = True
            break
        if best is None or (done.fell_at or np.inf) > (best[1].fell_at or np.inf):
            best = (name, done)
        if done.fell_at is None or done.interrupted:
            break
        if pace is None and solver == "qp" and run is tries[0][1]:
            try:
                likely = likely_pace(figure, q, clip.fps, presets[0][1], ground, plan_shift)
                if likely < 1:
                    slowed = filter_motion(
                        given, model, terrain, preview, settings=settings, mass=mass, height=height, pace=likely
                    )
                    if not slowed.quality.fell:
                        return slowed
            except KeyboardInterrupt:
                done.interrupted = True
                break
    assert best is not None
    own = _result(reference, best, before, plan_shift, clip.fps, friction, belt, person if model is None else None)
    own = replace(own, ground=ground)
    return own if pace is None else replace(own, quality=replace(own.quality, pace=pace))


def _presets(preview: float) -> list[tuple[str, Settings]]:
    """What is tried in turn until the figure stays up."""
    planned = [("planned", replace(STANDARD, preview=np.inf)), ("safe, planned", replace(SAFE, preview=np.inf))]
    near = [(n, replace(s, preview=preview)) for n, s in (("standard", STANDARD), ("loose", LOOSE), ("safe", SAFE))]
    if not STANDARD.preview <= preview < np.inf:
        return near
    return [near[0], planned[0], *near[1:], planned[1]]


def _runner(
    reference: Reference, settings: Settings, ground: Ground | None
) -> Callable[[Callable[[float], None]], Run]:
    def run(bar: Callable[[float], None]) -> Run:
        aim = reference
        if np.isinf(settings.preview):
            aim = follow_plan(reference, whole_plan(reference, settings, ground))
        s = settings if np.isfinite(settings.preview) else replace(settings, preview=STANDARD.preview)
        follower = Follower(aim, s, ground)
        return run_to_the_end(follower, reference, bar)

    return run


def _with_bar(run: Callable[[Callable[[float], None]], Run], total: int, show: bool) -> Run:
    if not show:
        return run(lambda _: None)
    from ukemi.report.progress import progress_bar

    with progress_bar("filter", total) as bar:
        return run(bar)


def _body(person: ClipFigure, model: Model | None) -> tuple[Footed, Array]:
    if model is None:
        return person, np.array(person.q())
    from ukemi.motion.humanoid import model_soles
    from ukemi.motion.retarget import retarget

    model_soles(model)  # says what is missing before the work begins
    if model.couplings or model.loops:
        what = "the filter leaves loops open and gives joints that follow others drives of their own"
        warnings.warn(f"filter_motion: {model.name!r}: {what}", UkemiWarning, stacklevel=3)
    moved = retarget(person, model)
    return moved, np.array(moved.q)


def _measure_clip(figure: Footed, q: Array, fps: float) -> FootMeasures:
    points = sole_points(figure.model, list(figure.soles.values()), q)
    return foot_measures(points, sole_contacts(points, fps), fps)


def _result(
    reference: Reference,
    best: tuple[str, Run],
    before: FootMeasures,
    shift: float,
    fps: float,
    friction: float,
    belt: Array,
    figure: ClipFigure | None,
) -> FilterResult:
    preset, run = best
    rows, n = run.rows, len(run.rows["q"])
    time: Array = reference.dt * np.arange(n, dtype=np.float64)
    quality = _quality(reference, run, preset, before, shift, fps, friction)
    if belt.any():
        rows["q"] = rows["q"].copy()
        rows["q"][:, :3] += time[:, None] * belt
        rows["place"] = rows["place"] + time[:, None, None] * belt
    return FilterResult(
        reference,
        time,
        rows["q"],
        rows["v"],
        rows["a"],
        rows["tau"],
        rows["force"],
        rows["impulse"],
        rows["place"],
        rows["down"] > 0,
        run.end,
        quality,
        figure,
        run.interrupted,
    )


def _quality(
    reference: Reference, run: Run, preset: str, before: FootMeasures, shift: float, fps: float, friction: float
) -> Quality:
    rows = run.rows
    n = len(rows["q"])
    weight = reference.model.mass * 9.81
    com = rows["centroid"][:, :3] - reference.centroid[:n, :3]
    total = rows["force"] + rows["impulse"] / reference.dt
    down, solid = rows["down"] > 0, ~reference.points.tip & ~reference.points.turns
    normal = run.floor[:3]
    above = above_floor(run.floor, rows["place"])
    stands = down & (reference.points.kind != GLIDE)
    steps = np.linalg.norm(np.diff(rows["place"], axis=0), axis=2)[stands[1:] & stands[:-1]]
    f_n = total @ normal
    f_t = np.linalg.norm(total - f_n[..., None] * normal, axis=2)
    bears = f_n > 1e-3 * weight
    feet = np.stack([(down & (reference.points.group == g)).any(axis=1) for g in range(reference.points.groups)])
    lowest = np.stack(
        [
            np.where(down & (reference.points.group == g), above, np.inf).min(axis=1)
            for g in range(reference.points.groups)
        ]
    )
    return Quality(
        fell=run.fell_at is not None,
        fell_at=run.fell_at,
        stopped=run.stopped,
        preset=preset,
        residual_bw=residual_bw(reference, rows),
        joint_rms_deg=float(np.rad2deg(joint_rms(reference, rows["q"]))),
        com_rms_cm=float(100 * np.sqrt((com**2).sum(axis=1).mean())),
        skate_mm=float(1e3 * steps.mean() / (reference.dt * fps)) if len(steps) else 0.0,
        penetration_mm=float(1e3 * max(0.0, -above[:, solid].min())),
        float_mm=float(1e3 * np.maximum(lowest[feet], 0).mean()) if feet.any() else 0.0,
        peak_bw=float(plate_force(f_n.sum(axis=1), reference.dt).max() / weight),
        impulse_ns=float((rows["impulse"] @ normal).sum(axis=1).max()),
        friction_use=float((f_t[bears] / f_n[bears]).max(initial=0.0)),
        contact_bw=float(max(-f_n.min(), (f_t - friction * f_n).max(), 0.0) / weight),
        contact_gap_mm=float(1e3 * np.abs(above[bears]).max(initial=0.0)),
        skate_before_mm=float(1e3 * before.skate / fps),
        penetration_before_mm=float(1e3 * before.penetration),
        float_before_mm=float(1e3 * before.float_height),
        feasible_shift_cm=float(100 * shift),
        realtime_factor=float(n * reference.dt / max(run.seconds, 1e-9)),
    )
