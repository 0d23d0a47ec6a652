"""Forward dynamics, one call from Python at a time: each engine through its own binding."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pinocchio
from mechanism import Body
from peers.mujoco_peer import Mujoco
from peers.pinocchio_peer import Pinocchio
from result import Results

import ukemi as uk
from ukemi.model.arrays import Array

GOAL = 2.5
STATES = 64
Call = Callable[..., Array]
Inputs = list[tuple[Any, ...]]


def run(model: uk.Model, rows: list[Body], rounds: int, results: Results) -> None:
    rng = np.random.default_rng(2000)
    states = [(*model.random(rng), rng.normal(size=model.nv, scale=10.0)) for _ in range(STATES)]
    pin, mj = Pinocchio(rows), Mujoco(rows)
    # WORLD is the faster of Pinocchio's conventions for aba, as in inside/pinocchio_engine.cpp.
    for_pin = [(pin.coordinates(q), v, tau, pinocchio.Convention.WORLD) for q, v, tau in states]
    for_mj = [(q, mj.turned(q, v), mj.turned(q, tau)) for q, v, tau in states]
    runners: list[tuple[str, Call, Inputs]] = [
        ("ukemi", partial(uk.forward_dynamics, model), states),
        ("Pinocchio", partial(pinocchio.aba, pin.model, pin.data), for_pin),
        ("MuJoCo", mj.forward_dynamics, for_mj),
    ]

    differences = {"Pinocchio": 0.0, "MuJoCo": 0.0}
    for (q, v, tau), in_pin, in_mj in zip(states, for_pin, for_mj, strict=True):
        a = uk.forward_dynamics(model, q, v, tau)
        found = {
            "Pinocchio": pinocchio.aba(pin.model, pin.data, *in_pin),
            "MuJoCo": mj.accelerations(q, v, mj.forward_dynamics(*in_mj)),
        }
        for name, other in found.items():
            differences[name] = max(differences[name], float(np.abs(other - a).max() / np.abs(a).max()))
    results.accuracy["forward dynamics from Python"] = differences

    seconds = np.array([[_sweep(call, inputs) for _, call, inputs in runners] for _ in range(rounds)])
    results.add_race("forward dynamics, one call from Python", [name for name, _, _ in runners], seconds, GOAL)


def _sweep(call: Call, inputs: Inputs) -> float:
    start = time.perf_counter()
    for arguments in inputs:
        call(*arguments)
    return (time.perf_counter() - start) / len(inputs)
