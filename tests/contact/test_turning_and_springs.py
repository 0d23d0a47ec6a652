"""Contacts of round surfaces while bodies turn, springs beside contacts, and impacts without a net normal impulse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from tests.problems.bodies import loose

import ukemi as uk
from ukemi.model.arrays import Array
from ukemi.model.shapes import Shape


def body(name: str, shape: Shape, mass: float) -> uk.Model:
    b = uk.Builder(name)
    b.link("body", joint=uk.Free(), shapes=[shape], mass=mass)
    return b.build()


def test_a_ball_slides_on_a_face_that_turns() -> None:
    """Without friction, on a body that nothing slows: x'' = w^2 x along the face, N = m (2 w x' - w^2 z)."""
    w, r, half, dt = 15.0, 0.1, 0.1, 1e-3
    world = uk.World(gravity=(0, 0, 0))
    world.collisions, world.surface = True, uk.Surface(0.0)
    world.add(body("ball", uk.Sphere(r), 1.0), q=(0.3, 0, half + r, 1, 0, 0, 0))
    world.add(body("slab", uk.Box((2, 2, 2 * half)), 1e6), v=(0, 0, 0, 0, -w, 0))
    sim = uk.Simulation(world, dt)
    sim.run(0.03)
    t = 0.03 - dt / 2  # forces are means over the step
    along = 0.3 * w * np.sinh(w * t) + w * (half + r) * np.cosh(w * t)
    assert sim.contacts[0].normal_force == pytest.approx(2 * w * along - w**2 * (half + r), rel=1e-4)
    assert sim.report.penetration < 5e-6


@pytest.mark.parametrize("dt", [1e-3, 5e-4])
def test_a_ball_circles_on_a_turntable(dt: float) -> None:
    """A ball that rolls on a turntable goes round at 2/7 of its rate."""
    turning, r, speed = 3.0, 0.1, 0.5
    table = uk.Builder("table")
    slab = uk.Box((20, 20, 0.2), at=uk.Pose((0, 0, -0.1)))
    table.link("table", joint=uk.Revolute((0, 0, 1)), mass=1e6, com=(0, 0, 0), inertia=(1e6,) * 3, shapes=[slab])
    world = uk.World()
    world.collisions, world.surface = True, uk.Surface(1.0)
    world.add(table.build(), v=(turning,))
    spin = (turning - speed) / r  # no slip at the start
    ball = world.add(body("ball", uk.Sphere(r), 1.0), q=(1, 0, r, 1, 0, 0, 0), v=(0, speed, 0, spin, 0, 0))
    k = 2 / 7 * turning
    uk.Simulation(world, dt).run(np.pi / k)
    angle = k * world.time
    place = np.array((1, 0)) + speed / k * np.array((np.cos(angle) - 1, np.sin(angle)))
    assert ball.q[:2] == pytest.approx(place, abs=100 * dt**2)


def test_a_round_foot_rolls_with_order_two() -> None:
    """Three universal joints and a ball that rolls on the ground: halving the step quarters the error."""

    def end(dt: float) -> Array:
        b, r = uk.Builder("leg"), 0.15
        rod: dict[str, Any] = {"mass": 1.0, "com": (0.25, 0, 0), "inertia": (0.012, 0.03, 0.02)}
        b.link("a", joint=uk.Universal((0, 0, 1), (0, 1, 0)), at=uk.Pose((0, 0, 0.35)), **rod)
        b.link("b", parent="a", joint=uk.Universal((0, 0, 1), (1, 0, 0)), at=uk.Pose((0.5, 0, 0)), **rod)
        foot = uk.Sphere(r, at=uk.Pose((0.2, 0, 0)))
        joint = uk.Universal((0, 1, 0), (1, 0, 0))
        at, inertia = uk.Pose((0.3, 0, 0)), (0.01, 0.02, 0.02)
        b.link("c", parent="b", joint=joint, at=at, mass=3.0, com=(0.2, 0, 0), inertia=inertia, shapes=[foot])
        model = b.build()

        def centre(bend: float) -> tuple[Array, Array]:
            q = np.array((0.3, bend, 0.4, 0.3, -0.2, 0.5))
            X = uk.link_poses(model, q)[2]
            return q, X[:3, :3] @ (0.2, 0, 0) + X[:3, 3]

        q, c = centre(float(brentq(lambda bend: centre(bend)[1][2] - r, -0.2, 1.0)))
        X = uk.link_poses(model, q)[2]
        J = uk.jacobian(model, q, "c", X[:3, :3].T @ (c - (0, 0, r) - X[:3, 3]))[:3]
        world = uk.World(gravity=(0, 0, -60))
        world.terrain = uk.Ground(friction=np.inf)
        world.add(model, q=q, v=np.linalg.svd(J)[2][3:].T @ (3.0, -4.0, 5.0))
        uk.Simulation(world, dt).run(0.15)
        return world.q.copy()

    ends = [end(dt) for dt in (2e-3, 1e-3, 5e-4)]
    order = np.log2(np.abs(ends[0] - ends[1]).max() / np.abs(ends[1] - ends[2]).max())
    assert order == pytest.approx(2, abs=0.1)


def test_a_spring_beside_contacts_keeps_its_energy() -> None:
    b = uk.Builder("bob")
    b.link("bob", joint=uk.Prismatic((0, 0, 1), stiffness=100.0), mass=1.0, shapes=[uk.Sphere(0.01)])
    world = uk.World(gravity=(0, 0, 0))
    world.terrain = uk.Ground(height=-5)
    world.add(b.build(), q=(0.1,))
    recording = uk.Simulation(world, 1e-3).run(10.0)
    assert np.ptp(recording.energy) < 1e-9
    assert world.q[0] == pytest.approx(0.1 * np.cos(10 * 10.0), abs=1e-4)


@pytest.mark.parametrize("friction", [0.2, 1.0])
def test_a_block_that_turns_about_its_base_tips_over_an_edge(friction: float) -> None:
    """If the face stuck the net normal impulse would be none: the edge that goes down bears, and all turns about it."""
    width, height, spin, mass = 0.03, 0.2, 6.0, 0.1
    box = uk.Box((width, 0.1, height))
    q, v = (0, 0, height / 2, 1, 0, 0, 0), (spin * height / 2, 0, 0, 0, spin, 0)
    world = loose([box], uk.Ground(friction=friction), mass=mass, q=q, v=v)
    sim = uk.Simulation(world, 1e-4)
    sim.step()
    own, edge = mass * (height**2 + width**2) / 12, mass * (height**2 + width**2) / 4
    after = (own * spin + mass * v[0] * height / 2) / (own + edge)
    assert world.v[4] == pytest.approx(after, abs=1e-3)  # gravity in the step
