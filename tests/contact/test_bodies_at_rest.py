"""Whole figures: they come to rest and stay there, balance their momentum, gain no energy, and repeat themselves."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contact.tumbles import GROUNDS, MOST_DEPTH, MOST_ENERGY, damped, scene, tumble

import ukemi as uk


def lying(damping: float = 5.0) -> uk.World:
    """On its back, limbs a little spread, 1 mm above the ground."""
    model = damped(uk.human(28), damping)
    q = model.neutral()
    q[:7] = (0, 0, 0.3, np.sqrt(0.5), 0, -np.sqrt(0.5), 0)
    world = uk.World()
    world.add(model, name="h", q=q)
    world.terrain = uk.Ground()
    world.separate()
    return world


def test_a_stack_of_boxes_stands_still() -> None:
    world = uk.World()
    world.terrain = uk.Ground()
    for k in range(4):
        b = uk.Builder("box")
        b.link("body", joint=uk.Free(), mass=1.0 + k, shapes=[uk.Box((0.3, 0.2, 0.1))])
        turn = (np.cos(0.1 * k), 0, 0, np.sin(0.1 * k))
        world.add(b.build(), name=f"box{k}", q=(0.01 * k, 0, 0.05 + 0.1 * k + 1e-3 * k, *turn))
    sim = uk.Simulation(world, 2e-3)
    sim.step(steps=250)
    start = world.q.copy()
    sim.step(steps=1000)
    assert np.abs(world.v).max() < 1e-6
    assert np.abs(world.q - start).max() < 1e-6
    assert sim.report.certificate.valid
    ground = next(c for c in sim.contacts if c.links[1] == "ground")
    assert ground.normal_force == pytest.approx(10 * 9.81, rel=1e-9)


@pytest.mark.parametrize("start", range(3))
def test_links_that_touch_in_several_patches_rest(start: int) -> None:
    """Roofs on each other, across a slope: both sides of a pair touch, with other forces and normals. Each goes on with
    its own. How they come to lie hangs on the last digits, so they start in several ways a nanometre apart."""
    rng = np.random.default_rng(start)
    tilt, slope, thick, wide, count = 0.5, 0.2, 0.04, 0.3, 9
    up = np.array((0, np.sin(slope), np.cos(slope)))

    def side(s: int) -> uk.Box:
        at = (0, s * 0.5 * wide * np.cos(tilt), -0.5 * wide * np.sin(tilt))
        return uk.Box((0.3, wide, thick), at=uk.Pose(at, (np.cos(tilt / 2), -s * np.sin(tilt / 2), 0, 0)))

    model = uk.Builder("roof").link("roof", joint=uk.Free(), mass=2.0, shapes=[side(1), side(-1)]).build()
    world = uk.World()
    world.terrain = uk.Ground(normal=tuple(up), friction=0.9)
    for i in range(count):
        at = (0.25 + i * (thick / np.cos(tilt) + 1e-4)) * up + 1e-9 * rng.normal(size=3)
        world.add(model, f"roof{i}", q=(*at, np.cos(slope / 2), -np.sin(slope / 2), 0, 0))
    world.separate()
    sim = uk.Simulation(world, 2e-3)
    sim.step(steps=500)
    trials = []
    for _ in range(100):
        sim.step()
        assert sim.report.certificate.valid
        assert np.abs(world.v).max() < 5e-6  # half of what counts as creeping; without the stillest forces 1 mm/s
        trials.append(sim.report.trials)
    pushing = [c for c in sim.contacts if c.normal_force > 0]
    assert len(pushing) == 2 * count - 1  # the lowest stands on one edge of each side, which are one patch
    assert np.mean(trials) < 5  # with the forces of the other side: about forty, and it creeps by millimetres a second


def test_a_damped_figure_comes_to_rest_without_jitter() -> None:
    world = lying()
    sim = uk.Simulation(world, 2e-3)
    sim.step(steps=3000)
    assert np.abs(world.v).max() < 1e-6  # asked
    start, depth = world.q.copy(), 0.0
    for _ in range(10):
        sim.step(steps=100)
        assert np.abs(world.v).max() < 1e-6
        assert sim.report.certificate.valid
        depth = max(depth, sim.report.penetration)
    assert np.abs(world.q - start).max() < 2e-6  # 2 s at less than 1e-6 m/s
    assert depth < 1e-4
    weight = sum((c.force for c in sim.contacts if c.links[1] == "ground"), np.zeros(3))
    assert np.abs(weight - (0, 0, world.model.mass * 9.81)).max() < 1e-3


@pytest.mark.parametrize("seed", [1, 2, 4, 5])
def test_tumbles(seed: int) -> None:
    """A few of bench/tumbles.py, which runs a thousand."""
    outcome = tumble(seed, GROUNDS[seed % 3], duration=0.7)
    assert outcome.finite
    assert outcome.invalid == 0
    assert outcome.gained < MOST_ENERGY
    assert outcome.depth < MOST_DEPTH
    assert outcome.unexplained < 1  # momentum balances to the order of the rule


def test_two_runs_are_the_same_to_the_last_bit() -> None:
    ends = []
    for _ in range(2):
        world = scene(3, "plane")
        uk.Simulation(world, 2e-3).step(steps=400)
        ends.append((world.q, world.v))
    assert np.array_equal(ends[0][0], ends[1][0])
    assert np.array_equal(ends[0][1], ends[1][1])


def test_steps_at_once_are_steps_one_by_one() -> None:
    ends = []
    for at_once in (1, 50):
        world = scene(5, "plane")
        sim = uk.Simulation(world, 2e-3)
        for _ in range(200 // at_once):
            sim.step(steps=at_once)
        ends.append(world.q)
    assert np.array_equal(ends[0], ends[1])


def test_hands_on_a_bar_and_feet_on_the_ground() -> None:
    """A connection and contacts in one system: the bar and the ground carry the figure together."""
    model = damped(uk.human(28), 5.0)
    world = uk.World()
    man = world.add(model, name="h", q=standing(model))
    world.terrain = uk.Ground()
    hands = [man[f"{side}_hand"] for side in ("left", "right")]
    with world.at_once():
        for hand in hands:
            world.connect(world.ground, hand, uk.Spherical(), at=uk.Pose(hand.X_W[:3, 3]))
    sim = uk.Simulation(world, 1e-3)
    sim.run(0.5, every=50)
    assert sim.report.certificate.valid
    assert max(world.gap(c) for c in world.connections) < 1e-6
    assert sim.report.penetration < 1e-4
    assert len(sim.contacts) > 0


def standing(model: uk.Model) -> np.ndarray:
    q = model.neutral()
    mark = model.landmarks["left_sole"]
    X = uk.link_poses(model, q)[model.link_index(mark.link)] @ mark.at.matrix
    q[2] -= X[2, 3]
    return q


def test_links_that_overlap_when_their_connection_is_cut_pass_through_each_other() -> None:
    """Two boxes that were welded 5 cm into each other fall apart as free bodies, and rest on the ground."""
    model = uk.Builder("box").link("box", joint=uk.Free(), shapes=[uk.Box((0.2, 0.2, 0.2))], density=300.0).build()
    world = uk.World()
    world.terrain = uk.Ground()
    a, b = (world.add(model, name, q=(x, 0, 0.4, 1, 0, 0, 0)) for name, x in (("a", 0.0), ("b", 0.15)))
    weld = world.connect(a["box"], b["box"], uk.Fixed())
    simulation = uk.Simulation(world, 1e-3)
    simulation.step(None, 50)
    world.cut(weld)
    simulation.run(1.0)
    assert simulation.report.certificate.valid
    assert a.q[:3] == pytest.approx((0.0, 0.0, 0.1), abs=1e-5)
    assert b.q[:3] == pytest.approx((0.15, 0.0, 0.1), abs=1e-5)
