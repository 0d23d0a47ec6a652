"""Springs and dampers of connections: closed forms, energy, every formulation."""

from __future__ import annotations

import numpy as np
import pytest

import ukemi as uk

#: two algorithms on well-posed structures
AGREE = 1e-9


def test_a_compliant_joint_oscillates_as_its_spring_says() -> None:
    """A mass on one spring direction: z = z0 cos(w t)."""
    b = uk.Builder("mass")
    b.link("mass", joint=uk.Free(), mass=2, inertia=(1, 1, 1))
    world = uk.World((0, 0, 0))
    mass = world.add(b.build())
    world.connect(world.ground, mass["mass"], uk.Directions(z=uk.Spring(50.0)))
    q = world.q.copy()
    q[2] = 0.1
    world.set_state(q=q)
    start = world.energy()
    assert start == pytest.approx(0.5 * 50 * 0.01)
    recording = uk.Simulation(world, 1e-3, "rk4").run(1.0)
    assert np.abs(recording.q[:, 2] - 0.1 * np.cos(5 * recording.time)).max() < 1e-9
    assert np.ptp(recording.energy) < 1e-9


def test_an_impulse_holds_no_part_of_the_springs() -> None:
    """A stretched spring pulls with a force, not with an impulse: connecting elsewhere at rest gives none."""
    b = uk.Builder("mass")
    b.link("mass", joint=uk.Free(), mass=2, inertia=(1, 1, 1))
    world = uk.World(allow_rigid=True)
    mass = world.add(b.build(), q=[0, 0, 1, 1, 0, 0, 0])
    spring = world.spring(world.ground, mass["mass"], 100.0, length=0.5)
    assert np.allclose(spring.wrench, (0, 0, 50, 0, 0, 0))  # on the ground: pulled up
    grip = world.connect(mass["mass"], world.ground, uk.Fixed())
    assert np.abs(grip.impulse).max() == 0
    assert np.allclose(grip.wrench[:3], (0, 0, 50 + 2 * 9.81))


def springy_world(joint: object) -> uk.World:
    b = uk.Builder("box")
    b.link("box", joint=uk.Free(), mass=2, com=(0.01, 0.02, 0), inertia=(0.1, 0.2, 0.15))
    world = uk.World((0.3, -0.2, -9.0))
    box = world.add(b.build(), name="box")
    world.connect(world.ground, box["box"], joint)  # type: ignore[arg-type]
    q = np.r_[0.0, 0, 0, uk.Pose.from_rpy((0, 0, 0), (0.5, 0.7, 0.0)).quaternion]
    world.q, world.v, _ = world.closed.project(q, np.random.default_rng(0).standard_normal(6))
    return world


@pytest.mark.parametrize(
    "joint",
    [
        uk.Spherical(stiffness=3.0, damping=0.2),
        uk.Directions(rx="free", ry="free"),
        uk.Directions(rx=uk.Spring(2), ry=uk.Spring(9), rz=uk.Spring(4)),
        uk.Directions(x=uk.Spring(20, 1), rx=uk.Spring(2), ry="free"),
        uk.Universal((1, 0, 0), (0, 1, 0)),
    ],
)
def test_springs_act_in_every_formulation(joint: object) -> None:
    world = springy_world(joint)
    tau = np.arange(6.0)
    a = world.forward_dynamics(tau)
    assert np.abs(world.forward_dynamics(tau, formulation="minimal") - a).max() < AGREE * (1 + np.abs(a).max())
    given = {i: float(tau[i]) for i in range(6)}
    assert np.abs(world.solve(torques=given, actuated=range(6)).a - a).max() < 1e-7 * (1 + np.abs(a).max())


def test_uneven_springs_keep_energy() -> None:
    world = springy_world(uk.Directions(rx=uk.Spring(2), ry=uk.Spring(9), rz=uk.Spring(4)))
    recording = uk.Simulation(world, 1e-3, "rk4").run(1.0)
    assert np.ptp(recording.energy) < 1e-8
