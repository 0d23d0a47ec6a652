"""Rotating bodies: the free asymmetric top, the heavy top, its steady precession."""

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


def top(joint: uk.Free | uk.Spherical, mass: float, com: Array, inertia: Array) -> uk.Model:
    b = uk.Builder("top")
    b.link("top", joint=joint, mass=mass, com=com, inertia=inertia)
    return b.build()


def same_rotation(a: Array, b: Array) -> float:
    """Distance of two quaternions, whose sign does not matter."""
    return float(min(np.abs(a - b).max(), np.abs(a + b).max()))


@pytest.mark.parametrize(("integrator", "dt", "asked"), [("rk4", 2e-3, 1e-9), ("adaptive", 0.1, 1e-8)])
def test_free_asymmetric_top(problem: Load, integrator: IntegratorName, dt: float, asked: float) -> None:
    p = problem("free_asymmetric_top")
    model = top(uk.Free(), 1.0, np.zeros(3), p.given["I"])
    v = np.array([0, 0, 0, *p.given["omega_body"]])
    rates, attitudes = p.answers("body angular velocity"), p.answers("orientation")
    states, _ = states_at(model, model.neutral(), v, [t for t, _ in rates], dt, integrator, gravity=(0, 0, 0))
    for (q_end, v_end), (_, rate), (_, attitude) in zip(states, rates, attitudes, strict=True):
        assert np.abs(v_end[3:] - rate).max() < asked
        assert same_rotation(q_end[3:], attitude) < asked
        momentum = uk.momentum(model, q_end, v_end)[3:]
        assert np.abs(momentum - [0.5, 2.0, 3.6]).max() < 10 * asked


def test_free_top_error_falls_with_the_order(problem: Load) -> None:
    p = problem("free_asymmetric_top")
    model = top(uk.Free(), 1.0, np.zeros(3), p.given["I"])
    v = np.array([0, 0, 0, *p.given["omega_body"]])
    t, attitude = p.answers("orientation")[1]

    def error(integrator: IntegratorName) -> Callable[[float], float]:
        def run(dt: float) -> float:
            states, _ = states_at(model, model.neutral(), v, [t], dt, integrator, gravity=(0, 0, 0))
            return same_rotation(states[0][0][3:], attitude)

        return run

    assert np.allclose(orders(error("semi-implicit"), 1e-2), 1, atol=0.2)
    assert np.allclose(orders(error("rk4"), 5e-2), 4, atol=0.3)


def test_heavy_top(problem: Load) -> None:
    p = problem("heavy_top")
    g = p.given
    model = top(uk.Spherical(), g["m"], g["X"], g["J_com"])
    v = np.array(g["omega_body"])
    places, rates = p.answers("CoM position"), p.answers("body angular velocity")
    states, drift = states_at(model, model.neutral(), v, [t for t, _ in places], 1e-4, "rk4")
    for (q_end, v_end), (_, place), (_, rate) in zip(states, places, rates, strict=True):
        assert np.abs(uk.center_of_mass(model, q_end) - place).max() < 1e-6
        assert np.abs(v_end - rate).max() < 1e-5  # spin of 150 rad/s: 1e-7 relative
    assert drift / p.data["invariants"][0]["value"] < 1e-9


@pytest.mark.parametrize("which", ["slow", "fast"])
def test_steady_precession(problem: Load, which: str) -> None:
    p = problem("heavy_top_steady_precession")
    g = p.given
    rate = float(p.answer(f"{which} precession"))
    central = (g["A_pivot"] - g["m"] * g["l"] ** 2,) * 2 + (g["C"],)
    model = top(uk.Spherical(), g["m"], np.array((0, 0, g["l"])), np.array(central))
    half = g["theta_rad"] / 2
    q = np.array([np.cos(half), 0, np.sin(half), 0])
    w = uk.link_poses(model, q)[0, :3, :3].T @ (0, 0, rate)
    w[2] = g["w3"]
    world = uk.World()
    world.add(model, q=q, v=w)
    recording = uk.Simulation(world, 2e-4, "rk4").run(2.0, every=50)
    axis = uk.link_poses(model, recording.q)[:, 0, :3, 2]
    assert np.abs(np.arccos(axis[:, 2]) - p.answer("tilt")).max() < 1e-9
    azimuth = np.unwrap(np.arctan2(axis[:, 1], axis[:, 0]))
    assert np.abs(azimuth - rate * recording.time).max() < 1e-7
