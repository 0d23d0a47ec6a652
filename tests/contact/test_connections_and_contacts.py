"""Connections, holds and springs where contacts share the load."""

from __future__ import annotations

import numpy as np
import pytest

import ukemi as uk
from ukemi.model.arrays import Array
from ukemi.sim.connection import Connection

WEIGHT = 10.0 * 9.81


def beam(friction: float) -> tuple[uk.World, Connection]:
    """A beam of 10 kg and 2 m, turned by 0.2 rad: its lower end on the ground, the other on a ball joint."""
    b = uk.Builder("beam")
    b.link("beam", "world", uk.Free(), mass=10.0, inertia=(0.1, 1, 1), shapes=[uk.Box((2, 0.1, 0.1))])
    model = b.build()
    q = model.neutral()
    q[3:7] = np.cos(0.1), 0, np.sin(0.1), 0
    q[2] = 0.05 * np.cos(0.2) + 1 * np.sin(0.2)
    world = uk.World()
    world.terrain = uk.Ground(friction=friction)
    figure = world.add(model, q=q)
    # at the other end of the lower face
    return world, world.connect(figure["beam"].at(uk.Pose((-1, 0, -0.05))), world.ground, uk.Spherical(), name="ball")


def in_world(connection: Connection) -> Array:
    """Force on link a in world axes."""
    return connection.a.X_W[:3, :3] @ connection.wrench[:3]


def test_a_beam_between_a_joint_and_the_ground_is_borne_by_halves() -> None:
    world, ball = beam(friction=0.0)
    # joint and edge are 2 cos(0.2) apart; the centre of mass, above the face, stands 0.05 sin(0.2) nearer to the edge
    share = 0.5 + 0.05 * np.sin(0.2) / (2 * np.cos(0.2))
    sim = uk.Simulation(world, 1e-3)
    before = in_world(ball)
    sim.step(steps=20)
    (contact,) = sim.contacts
    assert contact.force == pytest.approx([0, 0, share * WEIGHT], abs=1e-6 * WEIGHT)
    for force in (before, in_world(ball)):
        assert force == pytest.approx([0, 0, (1 - share) * WEIGHT], abs=1e-6 * WEIGHT)


def test_a_connection_breaks_by_the_force_that_it_bears_beside_a_contact() -> None:
    for limit, breaks in ((0.9 * WEIGHT / 2, True), (1.1 * WEIGHT / 2, False)):
        world, ball = beam(friction=0.0)
        ball.break_force = limit
        uk.Simulation(world, 1e-3).step(steps=3)
        assert ball.active is not breaks


@pytest.mark.parametrize(("torque", "left"), [(0.0, 1e-6), (5.0, 2e-3)])
def test_hands_on_rails_and_feet_on_the_ground_bear_weight_and_acceleration(torque: float, left: float) -> None:
    """Momentum of the whole: gravity, ground and rails give its change, step by step.

    Left of the balance, as a share of the weight, is what closing the loops after a step changes of the velocities: the
    more the faster the figure moves (up to 23 rad/s under the torques), and in proportion to dt.
    """
    model = uk.human(28)
    world = uk.World()
    world.terrain = uk.Ground()
    world.collisions = False
    man = world.add(model, "man")
    world.separate()
    rails = [world.connect(world.ground, man[f"{side}_hand"], uk.Spherical()) for side in ("left", "right")]
    sim = uk.Simulation(world, 1e-3)
    torques = np.concatenate([np.zeros(6), np.random.default_rng(3).uniform(-torque, torque, model.nv - 6)])
    weight = model.mass * np.array([0, 0, -9.81])
    shared = 0
    for _ in range(200):
        before = uk.momentum(model, world.q, world.v)[:3]
        sim.step(torques)
        change = (uk.momentum(model, world.q, world.v)[:3] - before) / sim.dt
        ground = sum((c.force for c in sim.contacts), np.zeros(3))
        hands = -sum((rail.wrench[:3] for rail in rails), np.zeros(3))
        if sim.report.splits or sim.report.impacts:  # forces of a divided step are those of its last part
            continue
        shared += int(min(np.linalg.norm(ground), np.linalg.norm(hands)) > 10)
        assert change == pytest.approx(weight + ground + hands, abs=left * 9.81 * model.mass)
    assert shared > 50


@pytest.mark.parametrize(("c", "order", "most"), [(0.0, 2, 1e-5), (1.0, 1, 1e-4)])
def test_springs_of_connections_act_in_contact_steps(c: float, order: int, most: float) -> None:
    """A ball on a spring and damper above the ground moves as the damped oscillator does.

    The spring acts at the middle of a step, of second order; the damper with the velocity at its start, of first.
    """
    k, m, x0 = 100.0, 1.0, 1.0
    b = uk.Builder("ball")
    b.link("ball", "world", uk.Free(), mass=m, inertia=(0.1, 0.1, 0.1), shapes=[uk.Sphere(0.1)])
    model = b.build()
    errors = []
    for dt in (2e-3, 1e-3):
        world = uk.World()
        world.terrain = uk.Ground()
        q = model.neutral()
        q[2] = x0
        ball = world.add(model, q=q)
        spring = world.spring(world.ground.at(uk.Pose((0, 0, 2))), ball["ball"], k, c)
        uk.Simulation(world, dt).step(steps=round(0.5 / dt))
        decay, rest = c / (2 * m), x0 - m * 9.81 / k
        w = np.sqrt(k / m - decay**2)
        x = rest + (x0 - rest) * np.exp(-decay * 0.5) * (np.cos(w * 0.5) + decay / w * np.sin(w * 0.5))
        errors.append(abs(world.q[2] - x))
        speed = world.v[2]
        # 2 m is the anchor, 1 m the length at which the spring is slack
        assert spring.wrench[2] == pytest.approx(-(k * (2 - world.q[2] - 1) - c * speed), rel=1e-9)
    assert errors[1] < most
    assert errors[0] / errors[1] == pytest.approx(2**order, rel=0.05)
