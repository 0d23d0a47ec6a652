"""Heaps: large islands are solved point by point, crowds land without dividing steps, pairs come by sweep and prune."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.spatial.transform import Rotation

import ukemi as uk
from ukemi.model.arrays import Array

G = 9.81
#: What a crowd may go deep in a step before it touches down [m], and what taking it back may lift.
DEEP = 1e-3


def balls(places: Array, radius: float, restitution: float = 0.0, mass: float = 1.0) -> uk.World:
    world = uk.World()
    world.terrain = uk.Ground(friction=0.5, restitution=restitution)
    b = uk.Builder("ball")
    inertia = 0.4 * mass * radius**2 * np.eye(3)
    b.link("ball", joint=uk.Free(), mass=mass, inertia=inertia, shapes=[uk.Sphere(radius)])
    model = b.build()
    for i, at in enumerate(places):
        world.add(model, f"b{i}", q=(*at, 1, 0, 0, 0))
    return world


def pile(count: int) -> Array:
    """Balls of 0.1 m one above the other in three leaning columns, a little apart."""
    rng = np.random.default_rng(4)
    column, layer = np.arange(count) % 3, np.arange(count) // 3
    angle = 2 * np.pi * column / 3
    across = 0.118 * np.stack((np.cos(angle), np.sin(angle)), axis=1)
    return np.column_stack((across + rng.normal(0, 2e-3, (count, 2)), 0.105 + 0.205 * layer))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_sweep_and_prune_finds_every_pair(seed: int) -> None:
    rng = np.random.default_rng(seed)
    places = rng.uniform((-0.5, -0.5, 1.0), (0.5, 0.5, 2.0), (25, 3))
    radius = 0.1
    world = balls(places, radius)
    distance = np.linalg.norm(places[:, None] - places[None], axis=2)
    near = {(i, j) for i, j in zip(*np.nonzero(distance < 2 * radius), strict=True) if i < j}
    scene = world.scene()
    scene.engine.look(world.q, world.v)
    found = {tuple(sorted(int(name.split("/")[0][1:]) for name in c.links)) for c in scene.contacts()}
    assert found == near


SHAPES = (
    uk.Sphere(0.1),
    uk.Capsule(0.06, 0.2),
    uk.Box((0.2, 0.14, 0.1)),
    uk.Cylinder(0.08, 0.2),
    uk.ConvexMesh([(0.15, 0, -0.1), (-0.1, 0.1, -0.1), (-0.1, -0.1, -0.1), (0, 0, 0.15)]),
)


@pytest.mark.parametrize("seed", range(12))
def test_what_is_found_does_not_depend_on_what_was(seed: int) -> None:
    """Solids of all kinds that drift, turn and now and then leap through each other: an engine that has seen all of it
    and one that has seen nothing find the same contacts."""
    rng = np.random.default_rng(seed)
    world, count = uk.World(), 3 * len(SHAPES)
    world.collisions = True
    for i in range(count):
        b = uk.Builder("b").link("b", joint=uk.Free(), mass=1.0, shapes=[SHAPES[i % len(SHAPES)]])
        world.add(b.build(), f"b{i}")
    place, turn, near = rng.uniform(-0.25, 0.25, (count, 3)), Rotation.random(count, random_state=seed), 0
    seen = world.scene()
    for look in range(40):
        if look % 10 == 0:
            speed, spin = rng.normal(0, 2e-3, (2, count, 3))
        leap = 20 if look % 10 == 9 else 1
        place, turn = place + leap * speed, Rotation.from_rotvec(leap * spin) * turn
        q = np.column_stack((place, turn.as_quat(scalar_first=True))).ravel()
        new = world.scene()
        for scene in (seen, new):
            scene.engine.options(0.01, 0.01, 0, False)  # all that is looked at closely counts as contact
            scene.engine.look(q, world.v)
        for one, other in zip(seen.contacts(), new.contacts(), strict=True):
            near += 1
            assert one.links == other.links
            assert one.gap == pytest.approx(other.gap, abs=1e-12)
            assert one.points == pytest.approx(other.points, abs=1e-12)
    assert near > 40


def test_a_crowd_lands_in_one_step() -> None:
    """Sixty balls that reach the ground within one step: it is divided twice, and all of them come to rest on it."""
    rng = np.random.default_rng(0)
    places = np.array([(0.3 * i, 0.3 * j, 0.1) for i in range(10) for j in range(6)])
    places[:, 2] += 0.1 + rng.uniform(0, 3e-3, 60)  # they fall 0.1 m: 1.4 m/s, 2.8 mm in a step
    world = balls(places, 0.1)
    sim = uk.Simulation(world, 2e-3)
    splits, energy = [], [world.energy()]
    for _ in range(200):
        sim.step()
        splits.append(sim.report.splits)
        energy.append(world.energy())
        assert sim.report.certificate.valid
        assert sim.report.penetration < 1e-4
    assert max(splits) <= 2
    assert np.diff(energy).max() < 1e-9
    assert world.q.reshape(-1, 7)[:, 2] == pytest.approx(0.1, abs=2e-5)
    assert np.abs(world.v).max() < 1e-6


@pytest.mark.parametrize("e", [0.0, 1.0])
def test_many_bodies_land_without_dividing_steps_unless_they_rebound(e: float) -> None:
    """Balls that reach the ground one after the other, none of which touches before: a crowd by its number."""
    places = np.array([(0.3 * i, 0.3 * j, 0.101 + 0.004 * (8 * i + j)) for i in range(8) for j in range(8)])
    world = balls(places, 0.1, restitution=e)
    sim = uk.Simulation(world, 2e-3)
    energy, splits = world.energy(), 0
    for _ in range(150):  # the highest falls for 0.23 s
        sim.step()
        splits += sim.report.splits
        assert sim.report.certificate.valid
        assert sim.report.penetration < 1e-4
        assert world.energy() < energy + 1e-9 * abs(energy)  # rounding of 64 landings
        if e == 1:
            assert world.energy() == pytest.approx(energy, rel=1e-9)
    assert (splits > 0) == (e > 0)
    if e == 0:
        assert world.q[2::7] == pytest.approx(np.full(64, 0.1), abs=1e-4)  # what a crowd accepts
        assert np.abs(world.v).max() < 1e-6


def test_what_rebounds_is_located_in_a_crowd_too() -> None:
    """Restitution needs the speed of arrival: eight balls dropped from different heights rise to e^2 of them."""
    drop, e = np.linspace(0.05, 0.4, 8), 0.6
    places = np.column_stack((0.3 * np.arange(8), np.zeros(8), 0.1 + drop))
    world = balls(places, 0.1, restitution=e)
    sim = uk.Simulation(world, 1e-3)
    recording = sim.run(0.9)
    height = recording.q.reshape(len(recording.time), 8, 7)[:, :, 2] - 0.1
    for i in range(8):
        down = int(np.argmin(height[:, i] > 1e-3))
        rise = height[down : down + int(1.6 * e * np.sqrt(2 * drop[i] / G) / 1e-3), i].max()
        assert rise == pytest.approx(e**2 * drop[i], rel=1e-2)


def among_resting_balls(model: uk.Model, q: Array, restitution: float = 0.0) -> uk.World:
    """Twenty-five balls at rest on the ground make a crowd; and something else."""
    world = balls(np.array([(0.3 * i, 0.3 * j, 0.1) for i in range(5) for j in range(5)]), 0.1, restitution)
    world.add(model, "guest", q=q)
    return world


@pytest.mark.parametrize("height", np.linspace(0.05, 0.052, 5))  # at another moment of the step each
def test_in_a_crowd_a_ball_lands_at_rest(height: float) -> None:
    """No impact, no touch-down: it is slowed down within two steps, so that it is at rest when it arrives."""
    ball = uk.Builder("ball").link("ball", joint=uk.Free(), mass=1.0, shapes=[uk.Sphere(0.1)]).build()
    world = among_resting_balls(ball, np.array((-0.5, 0, 0.1 + height, 1, 0, 0, 0)))
    sim = uk.Simulation(world, 2e-3)
    speed, energy = [], [world.energy()]
    for _ in range(70):
        sim.step()
        speed.append(-world.v[-4])
        energy.append(world.energy())
        assert sim.report.certificate.valid
        assert sim.report.impacts == sim.report.splits == 0
        assert world.q[-5] > 0.1 - 1e-6
    slower = np.flatnonzero(np.diff(speed) < -1e-9)
    assert max(speed) == pytest.approx(
        np.sqrt(2 * G * height), abs=1.5 * G * 2e-3
    )  # slowed down at most 1.5 steps early
    assert len(slower) <= 2
    assert slower[-1] - slower[0] <= 1
    assert np.abs(speed[slower[-1] + 1 :]).max() < 1e-4  # m/s: it arrives within 10 um
    assert np.diff(energy).max() < 1e-9


def test_in_a_crowd_a_joint_stops_at_its_stop() -> None:
    """Exactly there, and without an impact: the last two steps before it slow it down."""
    b = uk.Builder("arm")
    b.link(
        "arm",
        parent="world",
        joint=uk.Revolute((0, 1, 0), limits=(-3, 0.5)),
        at=uk.Pose((-1, 0, 2)),
        mass=1.0,
        com=(0, 0, -0.3),
    )
    world = among_resting_balls(b.build(), np.array([-1.5]))
    sim = uk.Simulation(world, 2e-3)
    angles, speeds = [], []
    for _ in range(400):
        sim.step()
        angles.append(world.q[-1])
        speeds.append(world.v[-1])
        assert sim.report.certificate.valid
        assert sim.report.impacts == 0
    assert max(speeds) > 3
    assert max(angles) == pytest.approx(0.5, abs=1e-9)
    assert max(angles) <= 0.5 + 1e-12
    at = int(np.argmax(np.array(angles) > 0.5 - 1e-9))
    assert abs(speeds[at]) < 1e-9  # no rebound: from here it swings back by its weight alone
    assert speeds[at + 1] < 0


@pytest.mark.parametrize("e", [0.0, 0.5])
def test_in_a_crowd_a_limit_across_joints_holds(e: float) -> None:
    """A double pendulum whose two angles together may not pass half a radian: it stops there, or comes back with e."""
    b = uk.Builder("arm")
    b.link("upper", parent="world", joint=uk.Revolute((0, 1, 0)), at=uk.Pose((-1, 0, 2)), mass=1.0, com=(0, 0, -0.3))
    b.link("lower", parent="upper", joint=uk.Revolute((0, 1, 0)), at=uk.Pose((0, 0, -0.6)), mass=1.0, com=(0, 0, -0.3))
    b.limit({"upper": 1.0, "lower": 1.0}, 0.5, restitution=e)
    world = among_resting_balls(b.build(), np.array([-1.0, -0.5]))
    sim = uk.Simulation(world, 1e-3)
    before, hits, energy = 0.0, [], [world.energy()]
    for _ in range(900):
        sim.step()
        angle, rate = world.q[-2:].sum(), world.v[-2:].sum()
        assert sim.report.certificate.valid
        assert angle < 0.5 + 1e-6
        if before > 0.5 and rate < 0.2 * before:
            hits.append(rate / before)
        before = rate
        energy.append(world.energy())
    assert hits
    assert hits[0] == pytest.approx(-e, abs=0.02)  # the step that it hits in also swings
    assert np.diff(energy).max() < 1e-3  # J: the rule's own error where nothing touches


def test_in_a_crowd_what_rebounds_rebounds() -> None:
    ball = uk.Builder("ball").link("ball", joint=uk.Free(), mass=1.0, shapes=[uk.Sphere(0.1)]).build()
    drop, e = 0.2, 0.6
    world = among_resting_balls(ball, np.array((-0.5, 0, 0.1 + drop, 1, 0, 0, 0)), e)
    recording = uk.Simulation(world, 1e-3).run(0.45)
    height = recording.q[:, -5] - 0.1
    down = int(np.argmin(height > 1e-3))
    assert height[down:].max() == pytest.approx(e**2 * drop, rel=1e-2)


def test_a_heap_in_one_place_is_separated() -> None:
    places = np.random.default_rng(7).uniform((-0.1, -0.1, 0.1), (0.1, 0.1, 0.3), (40, 3))
    world = balls(places, 0.1)
    assert world.separate() == 0
    centres = world.q.reshape(-1, 7)[:, :3]
    apart = np.linalg.norm(centres[:, None] - centres, axis=2)[np.triu_indices(40, 1)]
    assert apart.min() >= 0.2 - 1e-12
    assert centres[:, 2].min() >= 0.1 - 1e-12


def test_a_large_island_is_certified() -> None:
    """Columns of balls that lean on each other and fall over: up to a hundred contacts feel each other."""
    world = balls(pile(30), 0.1)
    sim = uk.Simulation(world, 1e-3)
    energy, most, swept = [world.energy()], 0, 0
    for _ in range(250):
        sim.step()
        energy.append(world.energy())
        most, swept = max(most, len(sim.contacts)), swept + sim.report.swept
        assert sim.report.certificate.valid
        assert sim.report.penetration < DEEP
    assert most >= 30
    assert swept > 0  # heaps are solved point by point
    assert np.diff(energy).max() < 1e-3  # J, of 800: what takes a penetration back


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6))
def test_an_impact_of_a_large_island_is_the_nearest_motion(seed: int) -> None:
    """27 balls that touch in a grid and move at random, without friction: the velocity after is, by kinetic energy, the
    nearest in which no two approach (Moreau): v + J^T f with the f >= 0 that makes it smallest."""
    radius = 0.1
    grid = np.array([(0.2 * i, 0.2 * j, 5 + 0.2 * k) for i in range(3) for j in range(3) for k in range(3)])
    world = balls(grid, radius)
    world.gravity = (0, 0, 0)
    world.surface = uk.Surface(0.0)
    v = np.random.default_rng(seed).normal(size=(27, 3))
    world.v = np.concatenate((v, np.zeros((27, 3))), axis=1).ravel()
    pairs = [(i, j) for i in range(27) for j in range(i) if np.linalg.norm(grid[i] - grid[j]) < 2.1 * radius]
    J = np.zeros((len(pairs), 81))
    for row, (i, j) in zip(J, pairs, strict=True):
        normal = (grid[i] - grid[j]) / (2 * radius)
        row[3 * i : 3 * i + 3], row[3 * j : 3 * j + 3] = normal, -normal
    sim = uk.Simulation(world, 1e-7)
    sim.step()
    assert sim.report.certificate.valid
    assert sim.report.swept > 0
    after = v.ravel() + J.T @ nnls(J.T, -v.ravel())[0]
    motion = world.v.reshape(27, 6)[:, :3].ravel()
    assert motion == pytest.approx(
        after, abs=1e-5
    )  # m/s: normals turn by 1e-6 in the step, light contacts may be left so fast


def test_momentum_of_a_large_island() -> None:
    """Forces between the balls cancel: the ground's and the weight make the momentum."""
    world = balls(pile(18), 0.1)
    sim = uk.Simulation(world, 1e-3)
    sim.step(steps=60)
    quiet = 0
    for _ in range(40):
        before = uk.momentum(world.model, world.q, world.v)[:3]
        sim.step()
        if sim.report.impacts or sim.report.splits:  # forces of a divided step are those of its last part
            continue
        quiet += 1
        ground = sum((c.force for c in sim.contacts if c.links[1] == "ground"), np.zeros(3))
        change = uk.momentum(world.model, world.q, world.v)[:3] - before
        assert change == pytest.approx(1e-3 * (ground - (0, 0, 18 * G)), abs=1e-6)  # the balls hardly turn
    assert quiet > 5


def test_a_heap_starts_from_forces_whatever_the_step() -> None:
    """A pyramid of bricks at rest: a tenth of the step asks for a tenth of the impulses, which are known at once."""
    size, mass = np.array((0.25, 0.12, 0.06)), 2.0
    b = uk.Builder("brick")
    inertia = mass / 12 * np.diag(size @ size - size**2)
    b.link("brick", joint=uk.Free(), mass=mass, inertia=inertia, shapes=[uk.Box(size)])
    brick, world, layers = b.build(), uk.World(), 6
    world.terrain = uk.Ground(friction=0.6)
    for layer in range(layers):
        for i in range(layers - layer):
            world.add(brick, f"b{layer}{i}", q=(0.26 * i + 0.13 * layer, 0, 0.03 + 0.06 * layer, 1, 0, 0, 0))
    sim = uk.Simulation(world, 2e-3)
    sim.step(steps=50)
    sim.step()
    assert np.abs(world.v).max() < 1e-6
    assert sim.report.exact == 1  # solved point by point
    trials = sim.report.trials
    sim.dt = 2e-4
    sim.step()
    assert sim.report.certificate.valid
    assert sim.report.trials <= trials + 1
    weight = sum(c.force[2] for c in sim.contacts if c.links[1] == "ground")
    assert weight == pytest.approx(G * mass * layers * (layers + 1) / 2, rel=1e-6)


def flush_bricks(layers: list[list[float]]) -> uk.World:
    """Bricks side by side that touch each other, of these lengths, from the ground up."""
    world = uk.World()
    world.terrain = uk.Ground()
    for layer, lengths in enumerate(layers):
        for i, (start, length) in enumerate(zip(np.cumsum([0.0, *lengths[:-1]]), lengths, strict=True)):
            b = uk.Builder("b").link("b", joint=uk.Free(), mass=10 * length, shapes=[uk.Box((length, 0.1, 0.1))])
            world.add(b.build(), f"b{layer}_{i}", q=[start + length / 2, 0, 0.05 + 0.1 * layer, 1, 0, 0, 0])
    return world


def test_a_wall_of_flush_bricks_stays_at_rest() -> None:
    """Side faces that touch and bear nothing: forces are not unique, rest is."""
    world = flush_bricks([[0.2] * 4, [0.1, 0.2, 0.2, 0.2, 0.1]] * 2)
    start = world.q.copy()
    sim = uk.Simulation(world, 1e-3)
    weight = G * sum(link.mass_properties.mass for link in world.model.links)
    for _ in range(300):
        sim.step()
        assert sim.report.certificate.valid
        assert sim.report.trials < 60
        assert np.abs(world.v).max() < 5e-6  # half of what counts as creeping
    assert np.abs(world.v).max() < 1e-6
    assert np.abs(world.q - start).max() < 1e-8
    force = sum((c.force for c in sim.contacts if c.links[1] == "ground"), np.zeros(3))
    assert force == pytest.approx((0, 0, weight), rel=1e-6, abs=1e-6 * weight)


@pytest.mark.slow
def test_five_flush_bricks_stay_valid() -> None:
    """A twist that no pressure bears is no friction, not even where infinity meets nothing."""
    sim = uk.Simulation(flush_bricks([[0.2, 0.2], [0.1, 0.2, 0.1]]), 1e-3)
    for _ in range(2000):
        sim.step()
        assert sim.report.certificate.valid


@pytest.mark.slow
def test_a_ball_breaks_walls_of_flush_bricks() -> None:
    """Two hundred points and more feel each other as it hits; hardly a step is left without valid forces."""
    ball = uk.Builder("ball").link("ball", joint=uk.Free(), mass=8, shapes=[uk.Sphere(0.12)]).build()
    invalid = 0
    for x in (0.42, 0.47):
        world = flush_bricks([[0.2] * 5, [0.1, 0.2, 0.2, 0.2, 0.2, 0.1]] * 3)
        world.add(ball, "ball", q=[x, -0.4, 0.36, 1, 0, 0, 0], v=[0, 8, 0, 0, 0, 0])
        sim = uk.Simulation(world, 2e-3)
        for _ in range(25):
            sim.step()
            invalid += not sim.report.certificate.valid
        assert world.v[:-6][1::6].max() > 0.5  # bricks fly
    # 3 of 300 steps at twelve places of the ball, with this core and the one before it: which, hangs on rounding
    assert invalid <= 2


@pytest.mark.slow
def test_figures_that_jam_are_solved_in_their_step() -> None:
    """Ten limp figures come to lie on each other until a hundred contacts jam: hardly a step is halved for it."""
    model = uk.human(28)
    world = uk.World()
    world.terrain = uk.Ground()
    for k in range(10):
        layer, side = divmod(k, 2)
        turned = Rotation.from_euler("ZY", (layer * np.pi / 2 + 0.1 * k, np.pi / 2)).as_quat(scalar_first=True)
        across = (0.0, 0.6 * side - 0.3) if layer % 2 == 0 else (0.6 * side - 0.3, 0.0)
        q = model.neutral()
        q[:7] = *across, 0.3 + 0.3 * layer, *turned
        world.add(model, f"man{k}", q=q)
    world.separate()
    sim = uk.Simulation(world, 2e-3)
    energy, trials, splits, deepest = [world.energy()], [], [], 0.0
    for _ in range(1000):
        sim.step()
        assert sim.report.certificate.valid
        energy.append(world.energy())
        trials.append(sim.report.trials)
        splits.append(sim.report.splits)
        deepest = max(deepest, sim.report.penetration)
    assert len(sim.contacts) > 80
    assert np.diff(energy).max() < 1e-3
    assert deepest < DEEP
    assert np.mean(trials[-300:]) < 100
    assert np.mean(splits[-300:]) < 0.5
