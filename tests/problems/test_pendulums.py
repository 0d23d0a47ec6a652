"""Pendulums: A01, the cylinder of the hand thesis, the double and the spherical pendulum."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.problems.conftest import Problem
from tests.problems.runs import orders, states_at

import ukemi as uk
from ukemi.model.arrays import Array
from ukemi.sim.simulation import IntegratorName

Load = Callable[[str], Problem]
#: what the problems' README asks of smooth problems, relative to quantities of order one
ASKED = 1e-6
#: in x-z with z up, counter-clockwise (x towards z) is a rotation about -y
CCW = (0, -1, 0)


def simple_pendulum(problem: Problem) -> uk.Model:
    g = problem.given
    b = uk.Builder("pendulum")
    b.link("bob", joint=uk.Revolute(CCW), mass=g["m"], com=(0, 0, -g["L"]))
    return b.build()


@pytest.mark.parametrize(("integrator", "dt", "asked"), [("rk4", 2e-3, 1e-8), ("adaptive", 5e-2, 1e-8)])
def test_a01(problem: Load, integrator: IntegratorName, dt: float, asked: float) -> None:
    p = problem("A01_simple_pendulum")
    angles, rates = p.answers("theta (from"), p.answers("theta_dot")
    model = simple_pendulum(p)
    q, v = np.array([p.given["theta"]]), np.array([p.given["theta_dot"]])
    states, drift = states_at(model, q, v, [t for t, _ in angles], dt, integrator)
    for (q_end, v_end), (_, angle), (_, rate) in zip(states, angles, rates, strict=True):
        assert abs(q_end[0] - angle) < asked
        assert abs(v_end[0] - rate) < 10 * asked  # rates of up to 4.4 rad/s
    assert drift < 1e-7


@pytest.mark.parametrize(("integrator", "dt", "order"), [("semi-implicit", 1e-2, 1), ("rk4", 1e-2, 4)])
def test_a01_error_falls_with_the_order(problem: Load, integrator: IntegratorName, dt: float, order: int) -> None:
    p = problem("A01_simple_pendulum")
    model = simple_pendulum(p)
    t, angle = p.answers("theta (from")[1]

    def error(step: float) -> float:
        states, _ = states_at(model, np.array([p.given["theta"]]), np.zeros(1), [t], step, integrator)
        return abs(float(states[0][0][0] - angle))

    assert np.allclose(orders(error, dt), order, atol=0.25)


def test_cylinder_of_the_hand_thesis(problem: Load) -> None:
    p = problem("thesis_cylinder_pendulum")
    g = p.given
    b = uk.Builder("cylinder")
    shape = uk.Cylinder(g["r"], g["l"], at=uk.Pose((0, 0, g["l"] / 2)))
    b.link("rod", joint=uk.Revolute((0, 1, 0)), mass=g["m"], shapes=[shape])  # theta from upright
    model = b.build()
    q, v = np.array([g["theta0"]]), np.array([0.0])
    assert abs(uk.mass_matrix(model, q)[0, 0] - p.answer("I about the hinge")) < 1e-15
    assert abs(uk.forward_dynamics(model, q, v, [0.0])[0] - p.answer("initial angular")) < 1e-12
    times = [float(p.answer("time to horizontal")), float(p.answer("time to hanging"))]
    states, _ = states_at(model, q, v, times, 1e-3, "rk4")
    speeds = p.answer("angular speed at")
    for (q_end, v_end), angle, speed in zip(states, (np.pi / 2, np.pi), speeds, strict=True):
        assert abs(q_end[0] - angle) < 1e-9
        assert abs(v_end[0] - speed) < 1e-9


def double_pendulum(problem: Problem) -> uk.Model:
    g = problem.given
    b = uk.Builder("double")
    for k, (parent, at) in enumerate((("world", 0.0), ("link1", g["l1"])), start=1):
        central = (g[f"I{k}"], g[f"I{k}"], 0.0)
        b.link(
            f"link{k}",
            parent,
            uk.Revolute(CCW),
            uk.Pose((0, 0, -at)),
            mass=g[f"m{k}"],
            com=(0, 0, -g[f"c{k}"]),
            inertia=central,
        )
    return b.build()


def start(problem: Problem) -> tuple[Array, Array]:
    """The problem's angles are absolute, the model's relative."""
    g = problem.given
    return (
        np.array([g["theta1"], g["theta2"] - g["theta1"]]),
        np.array([g["theta1_dot"], g["theta2_dot"] - g["theta1_dot"]], dtype=float),
    )


def test_double_pendulum(problem: Load) -> None:
    p = problem("double_pendulum")
    model = double_pendulum(p)
    q, v = start(p)
    a = uk.forward_dynamics(model, q, v, np.zeros(2))
    assert np.abs(np.cumsum(a) - p.answer("initial accelerations")).max() < 1e-12
    answers = p.answers("[theta1")
    states, drift = states_at(model, q, v, [t for t, _ in answers], 1e-3, "rk4")
    for (q_end, v_end), (_, expected) in zip(states, answers, strict=True):
        assert np.abs(np.concatenate([np.cumsum(q_end), np.cumsum(v_end)]) - expected).max() < 1e-7
    assert drift < 1e-8


def test_energy_drift_of_the_double_pendulum_falls_with_the_fourth_power(problem: Load) -> None:
    p = problem("double_pendulum")
    model = double_pendulum(p)
    q, v = start(p)
    observed = orders(lambda dt: states_at(model, q, v, [10.0], dt, "rk4")[1], 1e-2)
    # the energy error of RK4 has the method's order 4; its secular part can vanish to order 5
    assert all(3.6 < k < 5.4 for k in observed), observed


def test_spherical_pendulum(problem: Load) -> None:
    """A ball joint needs an inertia about the rod: the same pendulum with a rigid bob whose reduced length is L."""
    p = problem("spherical_pendulum")
    g = p.given
    m, L, near = g["m"], g["L"], 0.9 * g["L"]
    across = m * near * (L - near)  # so that I_pivot / (m l) = L
    b = uk.Builder("spherical")
    b.link("bob", joint=uk.Spherical(), mass=m, com=(0, 0, -near), inertia=(across, across, across / 2))
    model = b.build()
    half = -g["theta0_from_down_rad"] / 2  # about -y: towards +x
    q = np.array([np.cos(half), 0, np.sin(half), 0])
    R = uk.link_poses(model, q)[0, :3, :3]
    bob = R @ (0, 0, -L)
    assert np.allclose(bob, [L * np.sin(-2 * half), 0, -L * np.cos(2 * half)])
    v = R.T @ np.cross(bob, (0, g["vt"], 0)) / L**2
    answers = p.answers("position")
    states, drift = states_at(model, q, v, [t for t, _ in answers], 1e-3, "rk4")
    for (q_end, _), (_, expected) in zip(states, answers, strict=True):
        assert np.abs(uk.link_poses(model, q_end)[0, :3, :3] @ (0, 0, -L) - expected).max() < 1e-8
    assert drift < 1e-8

    world = uk.World()
    world.add(model, q=q, v=v)
    recording = uk.Simulation(world, 1e-3, "rk4").run(2.0)
    z = -L * uk.link_poses(model, recording.q)[:, 0, 2, 2]
    assert np.abs(np.array([z.min(), z.max()]) - p.answer("lowest / highest")).max() < ASKED
