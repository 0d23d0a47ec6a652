"""One step of the dynamics filter beside PlaCo's whole-body solve: the 34-DOF figure on both feet."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from peers.placo_peer import NAMES, Placo
from result import Results

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.dynamics_filter.figures import standing_reference

import ukemi as uk
from ukemi.dynamics_filter.online import Follower
from ukemi.dynamics_filter.settings import STANDARD
from ukemi.model.arrays import Array

#: How many times faster than PlaCo is wanted.
GOAL = 2.0
CASE = "step of the filter, standing on both feet"
#: Steps in a row, so that neither clock nor caller count.
STEPS = 20


def run(rounds: int, results: Results) -> None:
    reference = standing_reference(1.0)
    model, q = reference.model, reference.q[0]
    s = STANDARD
    with tempfile.TemporaryDirectory() as name:
        try:
            placo = Placo(
                model,
                q,
                Path(name),
                dt=s.dt,
                friction=s.friction,
                com_weight=s.com_weight,
                root_weight=s.root_weight,
            )
        except (OSError, RuntimeError) as error:
            results.missing["PlaCo"] = f"{error}; PLACO_PYTHON may name an interpreter that has it"
            return
        results.accuracy[CASE] = {"PlaCo": difference(model, q, placo)}
        step = filter_step()
        seconds = np.array([(seconds_of(step), *placo.seconds(STEPS)) for _ in range(rounds)])
        placo.close()
    results.add_race(CASE, ["ukemi", *NAMES], seconds, GOAL, NAMES)


def difference(model: uk.Model, q: Array, placo: Placo) -> float:
    """Relative, of PlaCo's figure from ours: centre of mass, weight, inertia of the whole as seen from the root."""
    ours = [*uk.center_of_mass(model, q), 9.81 * model.mass, *np.linalg.eigvalsh(uk.mass_matrix(model, q)[:6, :6])]
    theirs = [*placo.built["com"], placo.built["weight"], *placo.built["inertia"]]
    if placo.built["freedoms"] != model.nv or not placo.built["success"]:
        return float("inf")
    return float(np.max(np.abs(np.subtract(ours, theirs)) / np.maximum(1.0, np.abs(ours))))


def filter_step() -> Callable[[], object]:
    """A step of the filter from standing: all of equations of motion, contacts, limits and integration."""
    reference = standing_reference(1.0)
    follower = Follower(reference, STANDARD)
    follower.advance(20)
    goal = np.ascontiguousarray(reference.centroid_goal[:1])
    row, shift = slice(0, 1), np.zeros((1, len(reference.points), 6))
    q, v, a, share = reference.q[row], reference.v[row], reference.a[row], follower.window.share[row]
    return lambda: follower.core.run(q, v, a, share, shift, goal, None)


def seconds_of(step: Callable[[], object]) -> float:
    start = time.perf_counter()
    for _ in range(STEPS):
        step()
    return (time.perf_counter() - start) / STEPS
