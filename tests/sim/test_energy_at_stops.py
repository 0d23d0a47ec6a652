"""At a stop the energy never rises: not in the step that reaches it or bounces, and while it holds never above what it
was then, plus the work of the motors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tests.trees import random_model

import ukemi as uk
from ukemi.dynamics.kinematics import difference
from ukemi.dynamics.momentum import kinetic_energy, momentum
from ukemi.model.arrays import Array
from ukemi.model.figures.hand import thesis_pose
from ukemi.model.joints import Joint

#: what an energy is known to, as a share of its parts
ROUNDING = 1e-13
#: impulses between bodies leave the momentum to this share; velocities are differences of places, divided by the step
KEPT = 1e-9


def stopped(joint: Joint, e: float, spring: float, damping: float) -> Joint:
    """The same kind of joint with narrow limits and an armature; a universal one's spring also acts one way."""
    axes = {name: getattr(joint, name) for name in ("axis", "first", "second", "normal", "x") if hasattr(joint, name)}
    if isinstance(joint, uk.Spherical):
        axes = {"swing": 0.4, "twist": (-0.3, 0.3), "axis": (0, 1, 0)}
    else:
        axes["limits"] = [(-0.3, 0.4)] * joint.nv
    K = spring * np.eye(joint.nv)
    if isinstance(joint, uk.Universal):
        K = spring * np.array(((1, 0.5), (-0.2, 1)))
    return type(joint)(**axes, restitution=e, stiffness=K, damping=damping, armature=0.02)


def tree(
    seed: int, e: float, *, links: int = 6, floats: bool = False, spring: float = 0.0, damping: float = 0.0
) -> uk.Model:
    plain = random_model(seed, links, kinds=("revolute", "prismatic", "universal", "spherical", "planar"))
    b = uk.Builder("tree")
    if floats:
        b.link("base", joint=uk.Free(), mass=2.0, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.25))
    for link in plain.links:
        parent = link.parent.name if link.parent else "base" if floats else "world"
        m = link.mass_properties
        b.link(
            link.name,
            parent,
            stopped(link.joint, e, spring, damping),
            link.at,
            mass=m.mass,
            com=m.com,
            inertia=m.inertia,
        )
    return b.build()


def work(model: uk.Model, q: Array, q_new: Array, tau: Array) -> float:
    """Of motors, and of what springs of universal joints do one way, along the displacement of a step."""
    way = difference(model, q, q_new)
    done = float(tau @ way)
    for link in model.links:
        if isinstance(link.joint, uk.Universal):
            K = np.asarray(link.joint.stiffness)
            done -= float(way[link.v] @ (0.5 * (K - K.T) @ q[link.q]))
    return done


def rises_at_stops(world: uk.World, dt: float, steps: int, tau: Array | None = None) -> tuple[float, int]:
    """By how much energy was above its ceiling at most, as a share of its parts; how many steps reached a stop."""
    model = world.model
    simulation = uk.Simulation(world, dt, "implicit")
    tau = np.zeros(model.nv) if tau is None else tau
    energy, most, worst, reaches = world.energy(), np.inf, 0.0, 0
    for _ in range(steps):
        q, events, before = world.q, len(world.events), energy
        simulation.step(tau)
        energy = world.energy()
        reached = any("reached" in event["what"] for event in world.events[events:])
        if reached:
            most, reaches = before, reaches + 1
        elif not world.stops:
            most = np.inf
        most += work(model, q, world.q, tau)
        kinetic = float(kinetic_energy(model, world.q, world.v))
        worst = max(worst, (energy - most) / (kinetic + abs(energy - kinetic) + abs(before)))
        if reached:
            most = min(most, energy)
    return worst, reaches


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    e=st.sampled_from((0.0, 0.5, 1.0)),
    dt=st.sampled_from((1e-3, 5e-3)),
    speed=st.floats(2, 8),
    spring=st.sampled_from((0.0, 20.0)),
    damping=st.sampled_from((0.0, 0.2)),
    floats=st.booleans(),
    driven=st.booleans(),
)
@example(seed=2, e=1.0, dt=1e-3, speed=5.0, spring=0.0, damping=0.0, floats=False, driven=False)
@example(seed=1724, e=0.0, dt=5e-3, speed=7.0, spring=0.0, damping=0.0, floats=True, driven=False)  # no joint moves
def test_energy_never_rises_at_stops_of_random_trees(
    seed: int, e: float, dt: float, speed: float, spring: float, damping: float, floats: bool, driven: bool
) -> None:
    model = tree(seed, e, floats=floats, spring=spring, damping=damping)
    rng = np.random.default_rng(seed)
    world = uk.World()
    world.add(model, v=speed * rng.standard_normal(model.nv))
    tau = 5.0 * driven * rng.standard_normal(model.nv)
    if floats:
        tau[:6] = 0
    rise, reaches = rises_at_stops(world, dt, int(0.25 / dt), tau)
    assume(reaches)
    assert rise < ROUNDING


@pytest.mark.parametrize("e", [0.0, 1.0])
def test_what_is_taken_leaves_the_momentum_of_figures_that_float(e: float) -> None:
    """Steps end at q + dt v, so that q tells which v it was before energy was taken back."""
    taken, dt = 0, 5e-3
    for seed in range(12):
        model = tree(seed, e, floats=True)
        world = uk.World((0, 0, 0))
        world.add(model, v=5 * np.random.default_rng(seed).standard_normal(model.nv))
        simulation = uk.Simulation(world, dt, "implicit")
        for _ in range(60):
            q = world.q
            simulation.step()
            v = difference(model, q, world.q) / dt
            there, here = (momentum(model, world.q, x, (0, 0, 0)) for x in (v, world.v))
            joints_move = np.abs(world.v[6:]).max() > KEPT
            kept = slice(
                6 if joints_move else 3
            )  # joints that are at rest have nothing to give: the whole turns slower
            assert here[kept] == pytest.approx(there[kept], abs=KEPT * np.abs(there).max())
            if joints_move and np.abs(world.v - v).max() > KEPT * np.abs(v).max():
                taken += 1
                share = float(world.v[6:] @ v[6:] / (v[6:] @ v[6:]))
                assert 0 <= share < 1
                assert world.v[6:] == pytest.approx(share * v[6:], abs=KEPT * np.abs(v).max())  # every joint alike
    assert taken > 20


@pytest.mark.parametrize("mass", [0.45, 8.0])
def test_the_hand_with_its_one_way_spring(mass: float) -> None:
    model = uk.hand(mass=mass)
    world = uk.World((0, 0, 9.81))
    world.add(model, q=thesis_pose(model))
    rise, reaches = rises_at_stops(world, 2e-3, 1000)
    assert rise < ROUNDING
    assert reaches


def leg(knee: Joint) -> uk.World:
    b = uk.Builder("leg")
    b.link("thigh", joint=uk.Revolute((0, 1, 0)), mass=5.0, com=(0, 0, -0.2), inertia=(0.1, 0.1, 0.01))
    b.link("shank", "thigh", knee, uk.Pose((0, 0, -0.4)), mass=5.0, com=(0, 0, -0.2), inertia=(0.1, 0.1, 0.01))
    world = uk.World()
    world.add(b.build(), q=[1.2, 0.0][: 1 + knee.nv])
    return world


def test_a_stop_that_holds_takes_no_energy() -> None:
    """A leg that swings 10 s with its knee pressed against its stop, and one without a knee. Were every rise of a step
    taken back, the swing would be damped: by 9 % in 20 s (once)."""
    amplitude = []
    for knee, tau in ((uk.Revolute((0, 1, 0), limits=(0, 2.5)), [0.0, -60.0]), (uk.Fixed(), None)):
        world = leg(knee)
        start, lowest = world.energy(), -9.81 * 5.0 * (0.2 + 0.6)
        energy = uk.Simulation(world, 1e-3, "implicit").run(10.0, tau).energy
        amplitude.append((energy[-1500:].mean() - lowest) / (start - lowest))
    assert amplitude[1] == pytest.approx(1, abs=1e-3)
    assert amplitude[0] == pytest.approx(1, abs=3e-3)  # it was lowered once, where the knee came to its stop


def test_stops_beside_loops_and_springs_of_connections() -> None:
    """A four-bar whose rocker bounces between stops, on a spring that steps take explicitly."""
    b = uk.Builder("four-bar")
    rod = {"mass": 1.0, "inertia": np.eye(3) / 12}
    turn = uk.Revolute((0, 0, -1))
    b.link("crank", "world", turn, com=(0, 0.25, 0), **rod)  # type: ignore[arg-type]
    b.link("coupler", "crank", turn, uk.Pose((0, 0.5, 0)), com=(0.5, 0, 0), **rod)  # type: ignore[arg-type]
    swing = uk.Revolute((0, 0, -1), limits=(-0.1, 0.1), restitution=1.0)
    b.link("rocker", "world", swing, uk.Pose((1, 0, 0)), com=(0, 0.25, 0), **rod)  # type: ignore[arg-type]
    world = uk.World((0, -9.81, 0))
    figure = world.add(b.build())
    tip = figure["rocker"].at(uk.Pose((0, 0.5, 0)))
    world.connect(figure["coupler"].at(uk.Pose((1, 0, 0))), tip, uk.Revolute((0, 0, 1)), at="frames")
    world.spring(figure["crank"].at(uk.Pose((0, 0.5, 0))), world.ground.at(uk.Pose((-0.5, 0.5, 0))), stiffness=200.0)
    world.set_state(v=[3.0, -3.0, 3.0])
    rise, reaches = rises_at_stops(world, 2e-3, 500)
    assert reaches > 3
    assert rise < ROUNDING
