"""A batch of forward dynamics in one call from Python on one core, against the peers' loops in compiled code."""

from __future__ import annotations

import time

import numpy as np
from inside.session import Session
from result import Results

import ukemi as uk

GOAL = 6.0
STATES = 4096


def run(model: uk.Model, session: Session, rounds: int, results: Results) -> None:
    """``session`` holds the peers, after ukemi, with as many states."""
    rng = np.random.default_rng(2000)
    q, v = (np.array(x) for x in zip(*(model.random(rng) for _ in range(STATES)), strict=True))
    tau = rng.normal(size=v.shape, scale=10.0)
    one_by_one = np.array([uk.forward_dynamics(model, *state) for state in zip(q[:64], v[:64], tau[:64], strict=True)])
    together = uk.forward_dynamics(model, q, v, tau)
    case = f"batch of {STATES} forward dynamics, per state"
    worst = np.abs(together[:64] - one_by_one).max() / np.abs(one_by_one).max()
    peers = {name: x for name, x in session.check("batch").items() if name != "ukemi"}
    results.accuracy[case] = {"ukemi, state by state": float(worst), **peers}
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        uk.forward_dynamics(model, q, v, tau)
        mine = (time.perf_counter() - start) / STATES
        seconds.append([mine, *session.rounds("forward", 1)[0, 1:]])
    results.add_race(case, session.engines, np.array(seconds), GOAL)
