"""Closed chains: hanging by both hands, connecting and cutting, and rows of four-bars that grow."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio
from mechanism import Body
from peers.pinocchio_peer import Pinocchio
from result import Limit, Results

import ukemi as uk
from ukemi.model.arrays import Array

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
from linkages import four_bars  # type: ignore[import-not-found]

GOAL = 2.0
STATES = 32
WINDOWS = (2, 5, 10, 20, 50, 100, 200)
#: Linear: cost per loop of the longest row over that of the shortest ones.
LINEAR = 1.5
#: Connect, velocity jump and cut, in ordinary steps.
STEPS = 2.0
HANDS = ("left_forearm", "right_forearm")


def run(model: uk.Model, rows: list[Body], rounds: int, results: Results) -> None:
    _hanging("balls", uk.Spherical(), pinocchio.ContactType.CONTACT_3D, model, rows, rounds, results)
    _hanging("welds", uk.Fixed(), pinocchio.ContactType.CONTACT_6D, model, rows, rounds, results)
    _structure(model, rounds, results)
    _growing(max(3, rounds // 50), results)


def _hanging(
    grip: str,
    joint: uk.Spherical | uk.Fixed,
    kind: Any,
    model: uk.Model,
    rows: list[Body],
    rounds: int,
    results: Results,
) -> None:
    """Both hands held where they are in a random pose; the states are those of the swing that follows."""
    rng = np.random.default_rng(2003)
    q, v = model.random(rng)
    world = uk.World()
    figure = world.add(model, name="figure", q=q, v=v)
    with world.at_once():
        for hand in HANDS:
            world.connect(world.ground, figure[hand], joint)
    # the peers know no limits
    swing = uk.Simulation(world, 1e-3, "rk4", limits=False).run(0.01 * (STATES - 1), every=10)
    pin = Pinocchio(rows)
    models, datas = _pin_grips(pin, kind, pin.coordinates(swing.q[0]))
    data, other = pin.model.createData(), pin.model.createData()
    # lcaba stays within 1e-6 of the others with this regularisation; smaller ones make it fail
    exact, quick = pinocchio.ProximalSettings(1e-12, 1e-12, 10), pinocchio.ProximalSettings(1e-12, 1e-6, 10)
    pinocchio.initConstraintDynamics(pin.model, data, models, datas)
    pinocchio.computeJointMinimalOrdering(pin.model, other, models)

    def ukemi(q: Array, v: Array, tau: Array) -> Array:
        world.q, world.v = q, v
        return world.forward_dynamics(tau)

    runners: dict[str, list[Callable[[], Any]]] = {"ukemi": [], "Pinocchio": [], "Pinocchio constraintDynamics": []}
    worst = 0.0
    for state, velocity in zip(swing.q, swing.v, strict=True):
        tau = rng.normal(size=model.nv, scale=10.0)
        theirs = (pin.model, data, pin.coordinates(state), velocity, tau, models, datas, exact)
        a = ukemi(state, velocity, tau)
        worst = max(worst, float(np.abs(pinocchio.constraintDynamics(*theirs) - a).max() / np.abs(a).max()))
        runners["ukemi"].append(partial(ukemi, state, velocity, tau))
        runners["Pinocchio"].append(partial(pinocchio.lcaba, pin.model, other, *theirs[2:-1], quick))
        runners["Pinocchio constraintDynamics"].append(partial(pinocchio.constraintDynamics, *theirs))
    results.accuracy[f"hanging by both hands, {grip}"] = {"Pinocchio": worst}
    seconds = np.array([[_sweep(calls) for calls in runners.values()] for _ in range(rounds)])
    case = f"hanging by both hands ({grip}), one call from Python"
    results.add_race(case, list(runners), seconds, GOAL, ("Pinocchio",))


def _pin_grips(pin: Pinocchio, kind: Any, q: Any) -> tuple[Any, Any]:
    pinocchio.forwardKinematics(pin.model, pin.data, q)
    models, datas = pinocchio.StdVec_RigidConstraintModel(), pinocchio.StdVec_RigidConstraintData()
    for hand in HANDS:
        joint = pin.model.getJointId(hand)
        there = pin.data.oMi[joint].copy()
        frame = (
            pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED
            if kind == pinocchio.ContactType.CONTACT_3D
            else pinocchio.LOCAL
        )
        models.append(pinocchio.RigidConstraintModel(kind, pin.model, joint, pinocchio.SE3.Identity(), 0, there, frame))
        datas.append(models[-1].createData())
    return models, datas


def _structure(model: uk.Model, rounds: int, results: Results) -> None:
    """Connect, velocity jump and cut of one hand, against an ordinary RK4 step with the other hand held."""
    world = uk.World()
    figure = world.add(model, name="figure", v=np.full(model.nv, 0.1))
    world.connect(world.ground, figure["left_forearm"], uk.Spherical())
    sim = uk.Simulation(world, 1e-5, "rk4", limits=False)  # a joint at its stop makes steps dearer
    hand, ground, ball = figure["right_forearm"], world.ground, uk.Spherical()

    def change() -> None:
        world.cut(world.connect(ground, hand, ball))
        _ = world.closed  # what the next step needs

    seconds = []
    for _ in range(rounds):
        steps, changes = _sweep([sim.step] * 20), _sweep([change] * 5)
        seconds.append((steps, changes))
    step, changed = np.median(seconds, axis=0) * 1e6
    parts = {"step_us": float(step), "connect_jump_cut_us": float(changed)}
    results.limits.append(
        Limit("connect, velocity jump and cut, in steps", float(changed / step), STEPS, "steps", parts)
    )


def _growing(rounds: int, results: Results) -> None:
    """Forward dynamics of N four-bars in a row, per loop."""
    worlds = {n: four_bars(n) for n in WINDOWS}
    costs: dict[int, list[float]] = {n: [] for n in WINDOWS}
    for _ in range(rounds):
        for n, world in worlds.items():
            tau = np.zeros(world.model.nv)
            costs[n].append(_sweep([partial(world.forward_dynamics, tau)] * max(3, 200 // n)) / n * 1e9)
    per_loop = {str(n): float(np.median(ns)) for n, ns in costs.items()}
    unevenness = per_loop[str(WINDOWS[-1])] / min(per_loop.values())
    results.limits.append(Limit("four-bars in a row, cost per loop, 2 to 200", unevenness, LINEAR, "x", per_loop))


def _sweep(calls: list[Callable[[], Any]]) -> float:
    start = time.perf_counter()
    for call in calls:
        call()
    return (time.perf_counter() - start) / len(calls)
