"""A clip through the solvers that simulate forward, online or as [DF03] prints it, on the same quality sheet.

Whoever simulates forward can fall: the frames after a fall hold the last pose, and the verdict says when it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ukemi.contact.terrain import Terrain
from ukemi.dynamics_filter.floor import as_ground
from ukemi.dynamics_filter.online import Follower
from ukemi.dynamics_filter.prepare import make_reference
from ukemi.dynamics_filter.quality import Measured, quality_of
from ukemi.dynamics_filter.reference import Reference
from ukemi.dynamics_filter.result import FilterResult
from ukemi.dynamics_filter.run import Run, run_to_the_end
from ukemi.dynamics_filter.settings import STANDARD, Settings
from ukemi.dynamics_filter.trajectory.ground import GroundUnder
from ukemi.dynamics_filter.trajectory.points import ContactPoints
from ukemi.model.arrays import Array
from ukemi.motion.clip import Clip
from ukemi.motion.figure import ClipFigure
from ukemi.motion.footfalls import Footed


def follow(
    solver: str,
    figure: Footed,
    q: Array,
    clip: Clip,
    terrain: Terrain,
    own: ClipFigure | None,
    progress: bool,
    settings: Settings = STANDARD,
) -> FilterResult:
    """A figure's motion q (frames, nq) on a terrain. own: the clip's figure, if the motion is on its skeleton."""
    ground = as_ground(terrain)
    friction = settings.friction if ground is None else float(min(ground.friction, 10.0))
    s = replace(settings, friction=friction)
    reference = make_reference(figure, q, clip.fps, s.dt, ground, only_feet=solver == "paper")

    def run(bar: Callable[[float], None]) -> Run:
        if solver == "paper":
            from ukemi.dynamics_filter.paper import follow_paper

            return follow_paper(reference, ground, bar)
        return run_to_the_end(Follower(reference, s, ground), reference, bar)

    if progress:
        from ukemi.report.progress import progress_bar

        with progress_bar("filter", len(reference)) as bar:
            done = run(bar)
    else:
        done = run(lambda _: None)
    return _result(reference, done, q, clip, terrain, own, solver)


def _result(
    reference: Reference, run: Run, q_in: Array, clip: Clip, terrain: Terrain, own: ClipFigure | None, solver: str
) -> FilterResult:
    model, rows, dt = reference.model, run.rows, reference.dt
    n = len(rows["q"])
    time = dt * np.arange(n, dtype=np.float64)
    force = rows["force"] + rows["impulse"] / dt
    at = np.clip(np.round(clip.time / dt).astype(int), 0, n - 1)
    frames = np.array(rows["q"][at])
    kinds = reference.points
    names = [model.link_names[kinds.links[kinds.group == g][0]] for g in range(kinds.groups)]
    groups = tuple(names[g] for g in kinds.group)
    count = len(kinds)
    points = ContactPoints(
        model,
        kinds.links,
        np.asarray(kinds.places),
        np.zeros(count),
        np.array(["foot" in g or "ankle" in g for g in groups]),
        np.full(count, -1, dtype=np.intp),
    )
    quality = quality_of(
        Measured(
            model,
            points,
            GroundUnder(terrain),
            clip.fps,
            clip.time,
            q_in,
            frames,
            np.ones((len(q_in), model.nlinks), dtype=bool),
            time,
            force,
            rows["place"],
            GroundUnder(terrain).look(rows["place"])[1],
            rows["tau"][:, :6] / (model.mass * 9.81),
            np.zeros(n, dtype=bool),
            None,
            rows["tau"],
            n,
            run.fell_at is None,
            run.seconds,
            clip.fps,
            run.fell_at,
        )
    )
    belt = GroundUnder(terrain).velocity
    q_out, place = np.array(rows["q"]), rows["place"]
    if belt.any():
        q_out[:, :3] += time[:, None] * belt
        place = place + time[:, None, None] * belt
        frames[:, :3] += clip.time[:, None] * belt
        q_in = q_in + np.pad(clip.time[:, None] * belt, ((0, 0), (0, model.nq - 3)))
    return FilterResult(
        model,
        None if own is None else replace(own, clip=clip),
        solver,
        time,
        q_out,
        rows["v"],
        rows["a"],
        rows["tau"],
        force,
        place,
        rows["down"] > 0,
        kinds.links,
        groups,
        clip.time,
        frames,
        q_in,
        quality,
        (),
        terrain,
        run.interrupted,
    )
