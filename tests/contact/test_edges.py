"""Points that run over edges, and feet that never slip."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.problems.bodies import PLANE, POINT, feet, loose

import ukemi as uk


@pytest.mark.parametrize("seed", range(8))
def test_a_rod_that_rolls_over_an_edge_stays_out_of_it(seed: int) -> None:
    """Nearly along the edge, where the point of contact runs centimetres in a step."""
    rng = np.random.default_rng(seed)
    b = uk.Builder("rod")
    b.link(
        "rod", joint=uk.Free(), mass=3.0, com=(0, 0, 0), inertia=(0.045, 0.045, 0.004), shapes=[uk.Capsule(0.05, 0.4)]
    )
    model = b.build()
    lean, yaw = rng.uniform(-0.3, 0.3, 2)
    attitude = Rotation.from_euler("xz", (np.pi / 2 + lean, yaw))
    q = (0.04, 0, 0.06, *attitude.as_quat(scalar_first=True))
    v = np.concatenate(
        [attitude.inv().apply((-0.5, *rng.normal(0, 0.5, 2))), attitude.inv().apply(rng.normal(0, 3, 3))]
    )
    world = uk.World()
    world.terrain = uk.Solids([uk.Box((1, 2, 1), at=uk.Pose((-0.5, 0, -0.5)))], uk.Surface(0.3))
    world.add(model, q=q, v=v)
    world.separate()
    sim = uk.Simulation(world, 1e-3)
    lowest, depth, touched = world.energy(), 0.0, False
    for _ in range(400):
        sim.step()
        touched |= bool(sim.contacts)
        depth = max(depth, sim.report.penetration)
        assert sim.report.certificate.valid
        assert world.energy() < lowest + 0.02  # rotations at 10 rad/s: the rule's own error
        lowest = min(lowest, world.energy())
    assert touched
    assert depth < 3e-4  # up to 5.7e-4 when the step does not look again in its middle


def test_a_wheel_of_spokes_with_endless_friction_rolls_over_its_foot() -> None:
    """Two feet touch at first; the rear one leaves, the front one neither slips nor lets go: energy tells its speed."""
    alpha, rate = np.pi / 8, 1.2
    angles = np.pi + np.array((-2 * alpha, 0.0, 2 * alpha))
    spokes = np.stack([np.sin(angles), 0 * angles, np.cos(angles)], axis=1)
    theta = -alpha  # of the standing spoke, leaning back; positive is clockwise
    world = loose(
        feet(spokes),
        uk.Ground(friction=np.inf),
        joint=PLANE,
        mass=1.0,
        com=(0, 0, 0),
        inertia=1e-7 * np.ones(3),  # spokes carry none
        q=(np.sin(theta), np.cos(theta) + POINT, -theta),
        v=(np.cos(theta) * rate, -np.sin(theta) * rate, -rate),
    )
    sim = uk.Simulation(world, 1e-3)
    sim.step(steps=200)
    expected = np.sqrt(rate**2 + 2 * 9.81 * (np.cos(theta) - np.cos(world.q[2])))
    assert -world.v[2] == pytest.approx(expected, rel=1e-5)  # second order in dt w
    assert world.q[0] == pytest.approx(-np.sin(world.q[2]), abs=1e-6)  # the foot is where it was
    assert sim.report.certificate.valid
