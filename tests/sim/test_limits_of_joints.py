"""Limits of ball, universal and planar joints, and limits that depend on other joints."""

from __future__ import annotations

import numpy as np
import pytest

import ukemi as uk
from ukemi.chain.limits import limit_chain
from ukemi.model.arrays import Array
from ukemi.model.joints import Joint


def ball(joint: Joint, q: Array, v: Array) -> tuple[uk.World, uk.Model]:
    b = uk.Builder("ball")
    b.link("limb", joint=joint, mass=1.0, com=(0, 0, -0.3), inertia=(0.02, 0.02, 0.005), joint_name="shoulder")
    model = b.build()
    world = uk.World()
    world.add(model, q=q, v=v)
    return world, model


BALLS: dict[str, uk.Spherical] = {
    "angle": uk.Spherical(limits=(0, 0.7)),
    "round cone": uk.Spherical(swing=0.6, axis=(0, 0, -1)),
    "elliptic cone": uk.Spherical(swing=((-0.4, 1.2), (-0.9, 0.3)), axis=(0, 0, -1)),
    "twist": uk.Spherical(twist=(-0.5, 0.2), axis=(0, 0, -1)),
    "all": uk.Spherical(swing=((-0.4, 1.2), (-0.9, 0.3)), twist=(-0.5, 0.2), axis=(0, 0, -1), restitution=0.5),
    "oblique": uk.Spherical(swing=((-0.4, 1.0), (-0.5, 0.8)), twist=(-0.4, 0.6), axis=(1, 2, -2), across=(1, 1, 0)),
}


@pytest.mark.parametrize("kind", BALLS)
def test_ball_joints_stay_within_swing_and_twist(kind: str) -> None:
    joint = BALLS[kind]
    rng = np.random.default_rng(1)
    for _ in range(3):
        world, _ = ball(joint, np.array([1.0, 0, 0, 0]), 4 * rng.standard_normal(3))
        _, limits = limit_chain(world.model)
        recording = uk.Simulation(world, 2.5e-4, "rk4").run(1.2, every=10)
        assert any("limit reached" in event["what"] for event in recording.events)
        outside = [limits.state(q, v)[0].max() for q, v in zip(recording.q, recording.v, strict=True)]
        assert max(outside) < 1e-8
        # where joints slide along their stops without friction nothing is lost; at stops it falls
        assert np.diff(recording.energy).max() < 1e-7


@pytest.mark.parametrize("kind", BALLS)
def test_rows_of_ball_joints_are_derivatives_of_their_measures(kind: str) -> None:
    model = ball(BALLS[kind], np.array([1.0, 0, 0, 0]), np.zeros(3))[1]
    _, limits = limit_chain(model)
    rng = np.random.default_rng(0)
    h = 1e-6
    for _ in range(20):
        axis, v = rng.standard_normal(3), rng.standard_normal(3)
        half = rng.uniform(0.01, 1.0)
        q = np.array([np.cos(half), *(np.sin(half) * axis / np.linalg.norm(axis))])
        J, product = limits.jacobian(q, v)
        forth, back = uk.integrate(model, q, v, h), uk.integrate(model, q, v, -h)
        (e1, r1), (e0, r0) = limits.state(forth, v), limits.state(back, v)
        assert limits.state(q, v)[1] == pytest.approx(J @ v, abs=1e-12)
        assert J @ v == pytest.approx((e1 - e0) / (2 * h), abs=1e-7)
        assert product == pytest.approx((r1 - r0) / (2 * h), abs=1e-6)


def test_swing_and_twist_are_the_angles_they_say() -> None:
    joint = uk.Spherical(swing=((-0.4, 1.2), (-0.9, 0.3)), twist=(-0.5, 0.2), axis=(0, 0, 1), across=(1, 0, 0))
    model = ball(joint, np.array([1.0, 0, 0, 0]), np.zeros(3))[1]
    rows, limits = limit_chain(model)
    assert [limit.label for limit in rows] == ["shoulder swing", "shoulder twist lower", "shoulder twist upper"]

    def turned(axis: tuple[float, float, float], angle: float) -> Array:
        return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * np.array(axis))])

    for angle, edge in ((1.2, 1.0), (0.6, 0.5), (-0.2, 0.5), (-0.4, 1.0)):  # about across
        assert limits.state(turned((1, 0, 0), angle), np.zeros(3))[0][0] == pytest.approx(edge - 1, abs=1e-12)
    for angle, edge in ((0.3, 1.0), (-0.45, 0.5)):  # about axis x across
        assert limits.state(turned((0, 1, 0), angle), np.zeros(3))[0][0] == pytest.approx(edge - 1, abs=1e-12)
    state = limits.state(turned((0, 0, 1), 0.15), np.zeros(3))[0]
    assert state == pytest.approx([-1, -0.65, -0.05], abs=1e-12)


def test_universal_and_planar_joints_stop_per_axis() -> None:
    b = uk.Builder("both")
    universal = uk.Universal((1, 0, 0), (0, 1, 0), limits=((-0.3, 0.3), (-np.inf, 0.5)))
    b.link("limb", joint=universal, mass=1, com=(0.1, 0.1, -0.2), inertia=(0.01, 0.01, 0.01))
    planar = uk.Planar(limits=((-1, 1), (-0.1, np.inf), (-0.2, 0.2)))
    b.link("puck", joint=planar, mass=1, com=(0.02, 0, 0), inertia=(0.01, 0.01, 0.01))
    world = uk.World()
    world.add(b.build(), v=[1, 2, 3, -1, 2])
    recording = uk.Simulation(world, 1e-3, "rk4").run(2.0)
    bounds = world.model.limits()
    assert (recording.q < bounds[:, 1] + 1e-8).all()
    assert (recording.q > bounds[:, 0] - 1e-8).all()
    assert {event["what"].split(":")[0] for event in recording.events} >= {"both/puck[0] upper", "both/puck[1] lower"}
    assert np.diff(recording.energy).max() < 1e-7


def test_a_knuckle_whose_abduction_narrows_with_flexion() -> None:
    """The thesis's future work: |abduction| <= 0.3 - 0.15 flexion - 0.02 flexion^2, while both move."""
    b = uk.Builder("finger")
    knuckle = uk.Universal((1, 0, 0), (0, 1, 0), limits=((-0.3, 0.3), (0, 1.5)))
    b.link("phalanx", joint=knuckle, mass=0.1, com=(0, 0.005, -0.03), inertia=(1e-4, 1e-4, 1e-5), joint_name="mcp")
    for side in (1, -1):
        b.limit({("mcp", 0): side, ("mcp", 1): (0.15, 0.02)}, 0.3)
    model = b.build()
    world = uk.World((0, 3.0, 0))
    world.add(model, q=[0.1, 0.2])
    pull = np.array([0.002, 0.02])
    recording = uk.Simulation(world, 1e-3, "rk4").run(1.0, lambda t, q, v: pull - 1e-3 * v)
    wide = 0.3 - 0.15 * recording.q[:, 1] - 0.02 * recording.q[:, 1] ** 2
    assert np.abs(recording.q[:, 0]).max() > 0.1
    assert (np.abs(recording.q[:, 0]) - wide).max() < 1e-9
    # it slides along the narrowing edge until it lies in the corner, held by both
    assert {stop.limit.label for stop in world.stops} == {"finger/mcp (limit 0)", "finger/mcp[1] upper"}
    assert abs(recording.q[-1, 0] - wide[-1]) < 1e-9
