"""Writes the contact problems of the scenes to a folder: bursts of consecutive steps, with the last forces."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import ukemi as uk

from .assemble import Rows, assemble, carry
from .problem import Problem
from .scenes import Scene, all_scenes

#: Steps of a burst.
BURST = 6
#: A scene that the engine moves more slowly than that is left [s].
PATIENCE = 90.0


def dump(folder: Path, only: str = "", first: int = 0) -> int:
    """How many problems were written."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for scene in all_scenes(first):
        if not scene.name.startswith(only):
            continue
        begun, before = time.perf_counter(), count
        for problem in problems_of(scene):
            problem.save(folder / f"{scene.name.replace('/', '-').replace(' ', '_')}-{problem.step:05d}.npz")
            count += 1
        took = time.perf_counter() - begun
        print(f"{scene.name}: {count - before} problems, {took:.0f} s", file=sys.stderr, flush=True)
    return count


def problems_of(scene: Scene) -> Iterator[Problem]:
    """Problems of the bursts of a scene, up to where the engine fails."""
    world = scene.make()
    simulation = uk.Simulation(world, scene.dt)
    begun, step = time.perf_counter(), 0
    for moment in scene.moments:
        try:
            while step < moment:
                simulation.step()
                step += 1
                if time.perf_counter() - begun > PATIENCE:
                    return
        except uk.UkemiError as error:
            print(f"{scene.name}: step {step}: {error}"[:150], file=sys.stderr)
            return
        last: tuple[Rows, np.ndarray] | None = None
        for _ in range(BURST):
            rows = assemble(world, scene.dt, scene.mu, scene.name.split("/")[0], step, scene.reach)
            start = time.thread_time()
            try:
                simulation.step()
            except uk.UkemiError:
                return
            took = time.thread_time() - start
            if rows is None:
                last = None
            else:
                mapped = None if last is None else carry(*last, rows)
                speed = float(np.abs(rows.problem.q).max()) or 1.0
                c = simulation.report.certificate
                yield replace(
                    rows.problem, last=mapped, reached=max(c.approach, c.complementarity) / speed, engine_ms=1e3 * took
                )
                found = uk.solve_contact(
                    rows.problem.W, rows.problem.q, rows.problem.mu, kinds=rows.problem.kinds, start=mapped
                )
                last = (rows, found.r)
            step += 1
