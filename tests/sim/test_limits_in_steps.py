"""Limits without events: implicit and contact steps keep them within 1e-6, energy never rises, both ways agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.sim.test_limits_of_joints import BALLS
from tests.trees import random_model

import ukemi as uk
from ukemi.chain.limits import limit_chain
from ukemi.model.arrays import Array
from ukemi.model.figures.hand import HandKind, add_hand, thesis_pose

#: a limit is never exceeded by more than this [rad, m; shares of a swing]
EXCEEDED = 1e-6


def farthest(world: uk.World, recording: uk.Recording) -> float:
    """How far limits were passed at most."""
    _, limits = limit_chain(world.model)
    return max(float(limits.state(q, v)[0].max()) for q, v in zip(recording.q, recording.v, strict=True))


def swung(kind: str, seed: int, touching: bool, speed: float = 2.5) -> uk.World:
    """A limb thrown from hanging, too slow to swing over the top, where no twist is defined."""
    b = uk.Builder("ball")
    b.link("limb", joint=BALLS[kind], mass=1.0, com=(0, 0, -0.3), inertia=(0.02, 0.02, 0.005), joint_name="shoulder")
    world = uk.World()
    world.add(b.build(), v=speed * np.random.default_rng(seed).standard_normal(3))
    if touching:
        world.terrain = uk.Ground(height=-5.0)
    return world


@pytest.mark.parametrize("touching", [False, True], ids=["implicit", "contact"])
@pytest.mark.parametrize("kind", BALLS)
def test_ball_joints_keep_swing_and_twist(kind: str, touching: bool) -> None:
    reached = 0
    for seed in range(6):
        for dt in (1e-3, 5e-3):
            world = swung(kind, seed, touching)
            recording = uk.Simulation(world, dt, "implicit").run(1.0)
            passed = farthest(world, recording)
            assert passed < EXCEEDED
            reached += passed > -1e-3
    assert reached


#: at up to 0.15 rad a step, as a share of the energy: the step's own error where no limit acts
FAST_GAIN = 0.002


@settings(max_examples=60, deadline=None)
@given(kind=st.sampled_from(sorted(BALLS)), seed=st.integers(0, 10**6), speed=st.floats(1, 30))
@example(kind="angle", seed=3, speed=30.0)  # the push along the gradient at the start has no end within
def test_fast_spins_stay_within_limits_and_do_not_blow_up(kind: str, seed: int, speed: float) -> None:
    """Up to 30 rad/s at 5 ms without gravity: corrections converge, and what is left of velocity products is little."""
    world = swung(kind, seed, touching=False)
    world.gravity = (0, 0, 0)
    world.set_state(v=speed * world.v / np.linalg.norm(world.v))
    recording = uk.Simulation(world, 5e-3, "implicit").run(0.5)
    assert farthest(world, recording) < EXCEEDED
    assert recording.energy.max() < (1 + FAST_GAIN) * recording.energy[0]


@pytest.mark.parametrize("kind", ["elliptic cone", "twist"])
def test_contact_steps_at_limits_of_ball_joints_converge_to_the_events(kind: str) -> None:
    """The same plastic stops as located events, from another solver."""
    exact = swung(kind, 1, touching=False, speed=4.0)
    events = uk.Simulation(exact, 5e-4, "rk4").run(0.6).events
    assert any("reached" in event["what"] for event in events)
    errors = []
    for dt in (2e-3, 1e-3, 5e-4):
        world = swung(kind, 1, touching=True, speed=4.0)
        uk.Simulation(world, dt).run(0.6)
        errors.append(np.abs(world.q - exact.q).max())
    assert errors[2] < 0.5 * errors[0]
    assert errors[2] < 1e-3


def finger(touching: bool) -> uk.World:
    """|abduction| <= 0.3 - 0.15 flexion - 0.02 flexion^2."""
    b = uk.Builder("finger")
    knuckle = uk.Universal((1, 0, 0), (0, 1, 0), limits=((-0.3, 0.3), (0, 1.5)), damping=1e-3)
    b.link("phalanx", joint=knuckle, mass=0.1, com=(0, 0.005, -0.03), inertia=(1e-4, 1e-4, 1e-5), joint_name="mcp")
    for side in (1, -1):
        b.limit({("mcp", 0): side, ("mcp", 1): (0.15, 0.02)}, 0.3)
    world = uk.World((0, 3.0, 0))
    world.add(b.build(), q=[0.1, 0.2])
    if touching:
        world.terrain = uk.Ground(height=-5.0)
    return world


@pytest.mark.parametrize("touching", [False, True], ids=["implicit", "contact"])
def test_limits_that_depend_on_other_coordinates(touching: bool) -> None:
    """The knuckle slides along the narrowing edge into the corner, as it does with events."""
    world = finger(touching)
    simulation = uk.Simulation(world, 1e-3, "implicit")
    recording = simulation.run(1.0, [0.002, 0.02])
    assert farthest(world, recording) < EXCEEDED
    exact = finger(touching=False)
    located = uk.Simulation(exact, 1e-3, "rk4")
    located.run(1.0, [0.002, 0.02])
    assert world.q == pytest.approx(exact.q, abs=EXCEEDED)
    assert set(simulation.reactions()) == {"finger/mcp (limit 0)", "finger/mcp[1] upper"}
    assert simulation.reactions() == pytest.approx(located.reactions(), rel=1e-4)


@pytest.mark.parametrize("limits", ["thesis", "anatomical"])
@pytest.mark.parametrize("damping", [0.05, 3.0])
def test_a_hand_dropped_on_the_ground(limits: str, damping: float) -> None:
    """Stiff joints, limits and contacts in one step of 1 ms: it comes to rest, energy only falls."""
    b = uk.Builder("arm")
    flesh = [uk.Capsule(0.03, 0.2, at=uk.Pose((0, 0, 0.12)))]
    b.link("forearm", joint=uk.Free(), mass=1.0, com=(0, 0, 0.12), inertia=(6e-3, 6e-3, 1e-3), shapes=flesh)
    add_hand(b, "forearm", uk.Pose(), "right", 0.19, None, HandKind(False, damping, limits))  # type: ignore[arg-type]
    model = b.build()
    world = uk.World()
    world.terrain = uk.Ground(friction=0.6)
    q = model.neutral()
    q[2:7] = (0.3, *np.array((1.0, 0.6, -0.4, 0.2)) / np.sqrt(1.56))
    for link in model.links[1:]:
        lower, upper = np.asarray(link.joint.limits).T
        q[link.q] = np.clip(np.array((0.0, 0.3))[-link.joint.nv :], lower, upper)
    world.add(model, q=q)
    simulation = uk.Simulation(world, 1e-3)
    recording = simulation.run(0.8)
    assert any(recording.contacts)
    assert farthest(world, recording) < EXCEEDED
    assert np.diff(recording.energy).max() < 3e-6  # of 4 J: the midpoint rule's own error, 1.5e-6 at most
    assert recording.energy[0] - recording.energy[-1] > 2.0
    assert simulation.report.penetration < 1e-4


@pytest.mark.parametrize("mass", [0.45, 8.0])
def test_implicit_steps_at_stops_never_gain_energy(mass: float) -> None:
    """The thesis's damped hand without its one-way spring, falling against its stops."""
    model = uk.hand(mass=mass, elastic=False)
    world = uk.World((0, 0, 9.81))
    world.add(model, q=thesis_pose(model))
    recording = uk.Simulation(world, 2e-3, "implicit").run(4.0)
    assert world.stops
    assert np.diff(recording.energy).max() < 1e-12
    assert farthest(world, recording) < EXCEEDED


def stopped_tree(seed: int, coupled: bool) -> uk.World:
    """A random damped tree within narrow ranges; coupled: with a spring across joints too weak to matter."""
    plain = random_model(seed, 8, kinds=("revolute", "prismatic", "universal"))
    b = uk.Builder("tree")
    for link in plain.links:
        joint = link.joint
        axes = {name: getattr(joint, name) for name in ("axis", "first", "second") if hasattr(joint, name)}
        K = np.full((joint.nv, joint.nv), 0.5) + 2 * np.eye(joint.nv)
        kind = type(joint)(**axes, limits=[(-0.3, 0.4)] * joint.nv, stiffness=K, damping=0.2 * K)
        m = link.mass_properties
        parent = link.parent.name if link.parent else "world"
        b.link(link.name, parent, kind, link.at, mass=m.mass, com=m.com, inertia=m.inertia)
    if coupled:
        ends = [(plain.links[k].joint_name, 0) for k in (0, 1)]
        b.spring(ends, 1e-9 * np.array(((1, -1), (-1, 1))))
    world = uk.World()
    model = b.build()
    world.add(model, v=3 * np.random.default_rng(seed).standard_normal(model.nv))
    return world


@pytest.mark.parametrize("seed", range(6))
def test_held_freedoms_move_as_rows_of_a_closed_chain(seed: int) -> None:
    """Stops as given accelerations inside the articulated bodies, against constraint forces."""

    def end(coupled: bool) -> tuple[Array, Array, dict[str, float]]:
        world = stopped_tree(seed, coupled)
        simulation = uk.Simulation(world, 2e-3, "implicit")
        simulation.run(0.3)
        assert world.stops
        return world.q, world.v, simulation.reactions()

    (q, v, forces), (q_chain, v_chain, forces_chain) = end(False), end(True)
    assert q == pytest.approx(q_chain, abs=1e-8)
    assert v == pytest.approx(v_chain, abs=1e-6)
    assert forces == pytest.approx(forces_chain, rel=1e-5, abs=1e-5)
    assert min(forces.values()) > 0


def thrown_tree(seed: int, e: float, damping: float = 2.0) -> uk.World:
    """A random tree within narrow ranges, thrown without gravity."""
    plain = random_model(seed, 6, kinds=("revolute", "prismatic", "universal"))
    b = uk.Builder("tree")
    for link in plain.links:
        joint = link.joint
        axes = {name: getattr(joint, name) for name in ("axis", "first", "second") if hasattr(joint, name)}
        kind = type(joint)(**axes, limits=[(-0.3, 0.4)] * joint.nv, damping=damping, restitution=e)
        m = link.mass_properties
        parent = link.parent.name if link.parent else "world"
        b.link(link.name, parent, kind, link.at, mass=m.mass, com=m.com, inertia=m.inertia)
    world = uk.World((0, 0, 0))
    model = b.build()
    world.add(model, v=5 * np.random.default_rng(seed).standard_normal(model.nv))
    return world


@pytest.mark.parametrize("e", [0.0, 0.5])
def test_implicit_steps_at_stops_of_trees_never_gain_energy(e: float) -> None:
    for seed in range(12):
        world = thrown_tree(seed, e)
        recording = uk.Simulation(world, 1e-3, "implicit").run(0.4)
        assert any("reached" in event["what"] for event in recording.events)
        assert np.diff(recording.energy).max() <= 0


def test_bounces_of_implicit_steps_add_nothing_to_the_error_of_the_step() -> None:
    """Undamped trees with e = 1: what energy rises by in a step, with bounces or without, is of second order.
    A bounce that added energy itself would leave a rise of the first."""
    rises = []
    for dt in (1e-3, 5e-4, 2.5e-4):
        runs = [uk.Simulation(thrown_tree(seed, 1.0, 0.0), dt, "implicit").run(0.2) for seed in range(12)]
        assert all(any("reached" in event["what"] for event in run.events) for run in runs)
        rises.append(sum(np.diff(run.energy).max() / run.energy[0] for run in runs))
    assert rises[0] > 3 * rises[1] > 9 * rises[2]


#: share of their energy that undamped, thrown trees gain in steps without a stop: at most 0.072 at 1 ms, 0.020 at 5 ms
BETWEEN_STOPS = 0.1


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_bouncing_trees_do_not_gain_energy_without_end(dt: float) -> None:
    """Without a ceiling at stops the worst gained eight times its energy at 1 ms, 67 % at 5 ms."""
    for seed in range(12):
        energy = uk.Simulation(thrown_tree(seed, 1.0, 0.0), dt, "implicit").run(0.4).energy
        assert energy.max() < (1 + BETWEEN_STOPS) * energy[0]


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_implicit_bounces_never_gain_energy(e: float) -> None:
    """Thrice the same stop: rows that depend on each other. A bounce within a step is braked by what drives it."""
    b = uk.Builder("sled")
    slide = uk.Prismatic((0, 0, 1), limits=(0, np.inf), restitution=e)
    b.link("mass", joint=slide, mass=2.0, inertia=(0.1, 0.1, 0.1), joint_name="slide")
    for factor in (-1.0, -2.0):
        b.limit({"slide": factor}, 0.0, restitution=e)
    world = uk.World()
    world.add(b.build(), q=[0.3])
    recording = uk.Simulation(world, 1e-3, "implicit").run(2.0)
    assert np.diff(recording.energy).max() < 1e-15
    assert recording.q.min() > -1e-15
    if e == 1:
        assert recording.energy[-1] == pytest.approx(recording.energy[0], rel=0.1)  # first order
    else:
        assert recording.energy[-1] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("dt", [1e-3, 4e-3])
def test_limits_inside_a_loop_in_contact_steps(dt: float) -> None:
    """A four-bar on a ball joint that reaches its cone, its rocker against a stop: all in one system with contacts."""
    b = uk.Builder("four-bar")
    rod = {"mass": 1.0, "inertia": np.eye(3) / 12}
    turn = uk.Revolute((0, 0, -1))
    cone = uk.Spherical(swing=0.3, twist=(-0.2, 0.2), axis=(0, 1, 0))
    b.link("base", joint=cone, com=(0.5, 0, 0), **rod)  # type: ignore[arg-type]
    b.link("crank", "base", turn, com=(0, 0.25, 0), **rod)  # type: ignore[arg-type]
    b.link("coupler", "crank", turn, uk.Pose((0, 0.5, 0)), com=(0.5, 0, 0), **rod)  # type: ignore[arg-type]
    stopped = uk.Revolute((0, 0, -1), limits=(-0.6, 0.4), restitution=0.3)
    b.link("rocker", "base", stopped, uk.Pose((1, 0, 0)), com=(0, 0.25, 0), **rod)  # type: ignore[arg-type]
    world = uk.World((0, -9.81, 0))
    world.terrain = uk.Ground(height=-9.0)
    world.collisions = False
    figure = world.add(b.build())
    ends = figure["coupler"].at(uk.Pose((1, 0, 0))), figure["rocker"].at(uk.Pose((0, 0.5, 0)))
    world.connect(*ends, uk.Revolute((0, 0, 1)), at="frames")
    world.set_state(v=[0.2, 0.5, -0.4, 1.0, -1.0, 1.0])
    simulation = uk.Simulation(world, dt)
    recording = simulation.run(1.0)
    assert farthest(world, recording) < EXCEEDED
    gaps = [np.abs(world.closed.state(q, v)[0]).max() for q, v in zip(recording.q, recording.v, strict=True)]
    assert max(gaps) < 1e-9
    assert "four-bar/base swing" in simulation.reactions()
    assert recording.q[:, -1].max() > 0.4 - EXCEEDED  # the rocker was at its stop
    assert np.diff(recording.energy).max() < 2 * dt**2  # of 10 J; a fourth at half the step
