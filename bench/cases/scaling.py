"""Cost per body of trees from 10 to 1000 links, with rounds of all sizes in turn so that noise meets all alike."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import numpy as np
from inside.session import Session
from mechanism import bodies, random_tree, text
from result import Limit, Results

import ukemi as uk

LINKS = (10, 30, 100, 300, 1000)
#: Flat: the dearest size costs at most this many times the cheapest, per body.
FLAT = 1.5
#: Bodies that one sweep goes through, in several states.
BODIES_PER_SWEEP = 4000
#: Poses near zero: deep trees then stay well conditioned.
SPREAD = 0.2


def run(program: Path, folder: Path, rounds: int, results: Results) -> None:
    with ExitStack() as stack:
        sessions = {}
        for links in LINKS:
            model = random_tree(links)
            results.accuracy[f"tree of {links} links"] = {"inverse of forward dynamics": _round_trip(model)}
            path = folder / f"tree{links}.txt"
            path.write_text(text(bodies(model)))
            states = max(4, BODIES_PER_SWEEP // links)
            sessions[links] = stack.enter_context(Session(program, path, states, SPREAD, ["ukemi"]))
        for case, work in (("ABA", "forward"), ("RNEA", "inverse")):
            costs: dict[int, list[float]] = {links: [] for links in LINKS}
            for _ in range(rounds):
                for links, session in sessions.items():
                    costs[links].append(float(session.rounds(work, 1)[0, 0]) / links * 1e9)
            per_body = {str(links): float(np.median(ns)) for links, ns in costs.items()}
            unevenness = max(per_body.values()) / min(per_body.values())
            results.limits.append(Limit(f"{case}, cost per body, 10 to 1000 links", unevenness, FLAT, "x", per_body))


def _round_trip(model: uk.Model) -> float:
    """max |tau - ID(FD(tau))| / max |bias| of one state near the zero pose."""
    rng = np.random.default_rng(model.nlinks)
    v = SPREAD * rng.standard_normal(model.nv)
    tau = rng.standard_normal(model.nv)
    q = uk.integrate(model, model.neutral(), v, 1.0)
    again = uk.inverse_dynamics(model, q, v, uk.forward_dynamics(model, q, v, tau))
    return float(np.abs(again - tau).max() / np.abs(uk.bias(model, q, v)).max())
