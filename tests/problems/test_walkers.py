"""Passive walkers on rigid contact: feet that strike, stick and leave.

Swing feet would scuff the ground in the middle of a step (the problems ignore it): each foot has its own row of
stepping stones, and none stands where it passes. Massless legs get a small mass; the answer is extrapolated to none.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.problems.bodies import PLANE, POINT, feet, loose, on_slope
from tests.problems.conftest import Problem

import ukemi as uk
from ukemi.model.arrays import Array

Load = Callable[[str], Problem]
CCW = uk.Revolute((0, -1, 0))
ROW = 0.2  # of stones to the left and to the right [m]


def test_rimless_wheel(problem: Load) -> None:
    p = problem("rimless_wheel")
    g = p.given
    n, l, alpha = g["n"], g["l"], g["alpha"]
    angles = 2 * np.pi * np.arange(n) / n
    tips = l * np.stack([np.sin(angles), 0 * angles, np.cos(angles)], axis=1)
    small = 1e-7  # inertia of the hub, whose spokes carry none
    theta, omega = g["theta"] - g["gamma"], g["omega"]  # from the slope's normal
    # spoke n/2 points down; positive angles go downhill, which is clockwise
    world = loose(
        feet(tips),
        uk.Ground(friction=np.inf),
        gravity=on_slope(g["gamma"]),
        joint=PLANE,
        mass=g["m"],
        com=(0, 0, 0),
        inertia=small * np.ones(3),
        q=(l * np.sin(theta), l * np.cos(theta) + POINT, -theta),
        v=(l * np.cos(theta) * omega, -l * np.sin(theta) * omega, -omega),
    )
    dt = 5e-4  # the rule is of second order; at 1 ms the fifth step time is wrong by 1.05e-5 s
    sim = uk.Simulation(world, dt, events=True)
    recording = sim.run(p.data["duration_s"])
    strikes = strikes_of(recording)
    periods = np.diff([0.0, *strikes])
    assert np.abs(periods[:5] - p.answer("first five step times")).max() < 1e-5
    assert abs(periods[-1] - p.answer("step period")) < 1e-5
    k = int(np.searchsorted(recording.time, strikes[-1]))
    gravity_part = 9.81 / l * np.sin(alpha + g["gamma"]) * dt  # what a step changes
    assert abs(-recording.v[k, 2] - p.answer("omega just after")) < gravity_part
    assert abs(-recording.v[k - 1, 2] - p.answer("omega just before")) < gravity_part
    steps = recording.q[int(np.searchsorted(recording.time, strikes[-2])), 0], recording.q[k, 0]
    assert abs(steps[1] - steps[0] - p.answer("step length")) < 3e-3  # sampled each ms
    assert np.abs(sim.report.certificate.approach) < 1e-9


def walker(
    masses: tuple[float, float], hip: float, a: float, l: float, gravity: Array, stones: list[Array]
) -> uk.World:
    """Two legs on a hip, point masses a above the feet; the slope's normal is z."""
    b = uk.Builder("walker")
    b.link("hip", joint=PLANE, mass=hip, com=(0, 0, 0), inertia=np.full(3, 1e-9 * hip * l**2))
    for side, y, m in (("left", ROW, masses[0]), ("right", -ROW, masses[1])):
        shapes = feet([(0, y, -l)])
        tiny = np.full(3, 1e-9 * m * l**2)
        b.link(side, "hip", CCW, mass=m, com=(0, y, a - l), inertia=tiny, shapes=shapes)
    world = uk.World(gravity)
    size = np.array((0.12 * l, 0.1, 0.1))
    world.terrain = uk.Solids([uk.Box(size, at=uk.Pose((x, y, -size[2] / 2))) for x, y in stones], uk.Surface(np.inf))
    world.collisions = False
    world.add(b.build(), name="w")
    return world


def stand(world: uk.World, l: float, stance: float, swing: float, rates: tuple[float, float]) -> None:
    """Left foot at the origin; angles of the legs from z, counter-clockwise; hip = foot + l (-sin, cos)."""
    q = (-l * np.sin(stance), l * np.cos(stance) + POINT, 0, stance, swing)
    v = (-l * np.cos(stance) * rates[0], -l * np.sin(stance) * rates[0], 0, *rates)
    world.set_state(q, v)


def test_compass_gait(problem: Load) -> None:
    p = problem("compass_gait")
    g = p.given
    gamma, l = np.deg2rad(g["gamma_deg"]), g["a"] + g["b"]
    step, period = float(p.answer("step length")), float(p.answer("step period"))
    after, before = p.answer("state after impact"), p.answer("state just before")
    stones = [np.array((k * step, ROW if k % 2 == 0 else -ROW)) for k in range(-1, 5)]
    world = walker((g["m"], g["m"]), g["mH"], g["a"], l, np.array(on_slope(gamma)), stones)
    # the problem's angles are from the vertical; the slope's normal leans by gamma downhill (clockwise)
    stand(world, l, after[0] + gamma, after[1] + gamma, (after[2], after[3]))
    hip_free = world.v[2]
    assert hip_free == 0
    sim = uk.Simulation(world, 5e-4, events=True)
    recording = sim.run(3.5 * period)
    strikes = strikes_of(recording)
    assert abs(strikes[0] - period) < 1e-5
    k = int(np.searchsorted(recording.time, strikes[0]))
    late = strikes[0] - recording.time[k - 1]
    assert np.abs(recording.v[k - 1, 3:] - before[2:]).max() < 20 * late + 1e-3
    # after three steps the gait is still the cycle
    assert np.abs(np.diff([0.0, *strikes[:3]]) - period).max() < 1e-4
    k = int(np.searchsorted(recording.time, strikes[1]))
    soon = recording.time[k] - strikes[1]
    assert np.abs(recording.q[k, 3:] - gamma - after[:2]).max() < 2 * soon + 1e-4
    assert np.abs(recording.v[k, 3:] - after[2:]).max() < 20 * soon + 1e-3


def strikes_of(recording: uk.Recording) -> Array:
    times = np.array([event["time"] for event in recording.events])
    return times[np.diff([-1.0, *times]) > 0.05]


def simplest_step(gamma: float, length: float, state: Array, beta: float, dt: float) -> tuple[float, Array]:
    """Time of the first heelstrike from (theta, thetadot) after the last one, and the same just after it.

    length: of the step for which the stones lie; beta: mass of a foot in those of the hip.
    """
    theta, rate = state
    stones = [np.array((0.0, ROW)), np.array((length, -ROW))]
    world = walker((beta, beta), 1.0, 0.0, 1.0, np.array(on_slope(gamma, 1.0)), stones)
    # theta, counter-clockwise from the normal; phi = theta - swing, phi = 2 theta, phidot = (1 - cos 2 theta) thetadot
    stand(world, 1.0, theta, -theta, (rate, np.cos(2 * theta) * rate))
    recording = uk.Simulation(world, dt, events=True).run(4.0)
    strike = strikes_of(recording)[0]
    k = int(np.searchsorted(recording.time, strike))
    late = recording.time[k] - strike
    # the right leg stands now, and falls since the strike by the problem's theta'' = sin(theta - gamma)
    a = np.sin(recording.q[k, 4] - gamma)
    after = (recording.q[k, 4] - late * recording.v[k, 4] + late**2 / 2 * a, recording.v[k, 4] - late * a)
    return float(strike), np.array(after)


@pytest.mark.parametrize("kind", ["long", "short"])
def test_simplest_walker(problem: Load, kind: str) -> None:
    """One step from the fixed point, and the eigenvalues of the return map there; feet of mass beta M, beta to 0."""
    p = problem("simplest_walker")
    gamma = p.given["gamma"]
    start = np.array([float(p.answer(f"{kind}-period gait: theta")), float(p.answer(f"{kind}: thetadot"))])
    length = 2 * np.sin(start[0])

    def without_mass(state: Array, dt: float) -> tuple[float, Array]:
        (t2, x2), (t1, x1) = (simplest_step(gamma, length, state, beta, dt) for beta in (2e-4, 1e-4))
        return 2 * t1 - t2, 2 * x1 - x2  # linear in beta

    period, after = without_mass(start, 1e-3)
    assert abs(period - p.answer(f"{kind}: step period")) < 1e-4
    assert np.abs(after - start).max() < 1e-4
    by = 3e-4  # the central difference is wrong by by^2, 1e-3 of the largest eigenvalue
    columns = [(without_mass(start + d, 2e-3)[1] - without_mass(start - d, 2e-3)[1]) / (2 * by) for d in by * np.eye(2)]
    found = np.sort_complex(np.linalg.eigvals(np.stack(columns, axis=1)))
    wanted = np.sort_complex(p.answer(f"{kind}: return-map") @ (1, 1j))
    assert np.abs(found - wanted).max() < 2e-3 * np.abs(wanted).max()
