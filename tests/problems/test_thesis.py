"""Problems of the hand thesis with impacts and stops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.problems.conftest import Problem

import ukemi as uk

Load = Callable[[str], Problem]
TURN = (0, 1, 0)  # clockwise from the upward vertical, in x-z


def inverted_double_pendulum(problem: Problem) -> uk.Model:
    """Equal rods on a hinge at the ground; coordinates are phi1 and phi2 - phi1."""
    g = problem.given
    m, l, r = g["m"], g["l"], g["r"]
    across = m * (l**2 / 12 + r**2 / 4)
    rod = {"mass": m, "com": (0, 0, l / 2), "inertia": (across, across, m * r**2 / 2)}
    b = uk.Builder("inverted double pendulum")
    b.link("lower", joint=uk.Revolute(TURN), **rod)
    b.link("upper", "lower", uk.Revolute(TURN), uk.Pose((0, 0, l)), **rod)
    b.landmark("tip", "upper", uk.Pose((0, 0, l)))
    return b.build()


@pytest.mark.parametrize("e", [1.0, 0.5, 0.0])
def test_inverted_double_pendulum_hits_the_ground(problem: Load, e: float) -> None:
    p = problem("thesis_inverted_double_pendulum")
    model, l = inverted_double_pendulum(p), p.given["l"]
    world = uk.World()
    start = (p.given["phi1"], p.given["phi2"] - p.given["phi1"])
    figure = world.add(model, q=start)
    touch = uk.Touch(f"{figure.name}/upper", (0, 0, l))
    found: list[tuple[float, np.ndarray, np.ndarray, uk.Impact]] = []

    def depth(w: uk.World) -> float:
        """Positive when the tip is below the ground and going down."""
        speed = uk.jacobian(w.model, w.q, touch.link, touch.point)[2] @ w.v
        return -float(figure["tip"].X_W[2, 3]) if speed < 0 else -1.0

    def hit(w: uk.World) -> None:
        result = uk.impact(w.model, w.q, w.v, [touch], e)
        found.append((w.time, w.q.copy(), w.v.copy(), result))
        w.set_state(v=result.v)

    world.when(depth, hit, "the tip hits the ground", once=e == 0)
    sim = uk.Simulation(world, 1e-3, "rk4")
    sim.run(0.23)
    time, q, v, result = found[0]
    assert time == pytest.approx(float(p.answer("time of first impact")), abs=1e-9)
    absolute = np.array([[1.0, 0], [1, 1]])
    assert absolute @ q == pytest.approx(p.answer("angles at impact"), abs=1e-9)
    assert absolute @ v == pytest.approx(p.answer("rates before"), abs=1e-8)
    after = p.answer(f"e={e}, frictionless: rates after")
    assert absolute @ result.v == pytest.approx(after, abs=1e-8)
    assert result.impulses[0] == pytest.approx(float(p.answer(f"e={e}, frictionless: normal impulse")), abs=1e-8)
    assert result.after[0] == pytest.approx(-e * result.before[0], rel=1e-9, abs=1e-12)  # the thesis: 1.3e-5
    energies = uk.kinetic_energy(model, q, v), uk.kinetic_energy(model, q, result.v)
    assert energies == pytest.approx(p.answer(f"e={e}, frictionless: kinetic energy"), abs=1e-8)
    if e > 0:
        ((t, state),) = p.answers(f"e={e}, frictionless: state")
        rest = t - world.time
        uk.Simulation(world, rest / 100, "rk4").run(rest)
        assert [*(absolute @ world.q), *(absolute @ world.v)] == pytest.approx(state, abs=1e-7)
        assert len(found) == 1


def test_double_pendulum_hits_its_stop(problem: Load) -> None:
    """joint_limit_impact: a stop with restitution 0.5 at the second joint; absolute angles from the vertical."""
    p = problem("joint_limit_impact")
    g = p.given
    b = uk.Builder("double pendulum")
    for name, parent, k in (("one", "world", "1"), ("two", "one", "2")):
        limits = (-np.inf, g["limit_rad"]) if k == "2" else None
        joint = uk.Revolute((0, -1, 0), limits=limits, restitution=g["e"])
        at = uk.Pose((0, 0, -g["l1"] if k == "2" else 0))
        inertia = (g[f"I{k}"], g[f"I{k}"], 0)
        b.link(name, parent, joint, at, mass=g[f"m{k}"], com=(0, 0, -g[f"c{k}"]), inertia=inertia)
    model = b.build()
    world = uk.World((0, 0, -g["g"]))
    world.add(model, q=(g["theta1"], g["theta2"] - g["theta1"]))
    sim = uk.Simulation(world, 1e-3, "rk4")
    recording = sim.run(p.data["duration_s"])
    assert len(recording.events) == int(p.answer("number of impacts"))
    impulses = p.answers("   stop impulse")
    for event, (_, time), (_, impulse) in zip(
        recording.events, p.answers("impact at the stop: time"), impulses, strict=True
    ):
        assert event["time"] == pytest.approx(float(time), abs=1e-9)
        assert event["impulse"] == pytest.approx(-float(impulse), abs=1e-8)
    assert recording.q[:, 1].max() < 1e-9
    assert np.diff(recording.energy).max() < 1e-9

    # the states around each impact: up to it, and the jump itself
    absolute = np.array([[1.0, 0], [1, 1]])
    for (t, before), (_, after) in zip(p.answers("   state before"), p.answers("   rates after"), strict=True):
        world = uk.World((0, 0, -g["g"]))
        world.add(model, q=(g["theta1"], g["theta2"] - g["theta1"]))
        uk.Simulation(world, t / 1000, "rk4").run(t - 1e-9)
        uk.Simulation(world, 1e-10, "rk4").run(2e-9)
        assert absolute @ world.q == pytest.approx(before[:2], abs=1e-7)
        assert absolute @ world.v == pytest.approx(after, abs=1e-6)
