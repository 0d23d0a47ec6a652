"""Connecting and cutting: momentum, velocity jumps, loops cut elsewhere, joints cut and closed again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.trees import random_joint

import ukemi as uk
from ukemi.model.arrays import Array

#: entries of order one: rounding
EXACT = 1e-12


def total(world: uk.World) -> Array:
    return uk.momentum(world.model, world.q, world.v, about=(0, 0, 0))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_a_figure_caught_and_released_keeps_momentum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    world = uk.World((0, 0, 0))
    figures = []
    for name, dof in (("a", 16), ("b", 28)):
        model = uk.human(dof)
        q, v = model.random(rng)
        figures.append(world.add(model, name=name, q=q, v=v))
    before = total(world)
    size = 1 + np.abs(before).max()
    joint = random_joint(("revolute", "spherical", "fixed", "prismatic", "universal", "planar")[seed % 6], rng, False)
    grip = world.connect(figures[0]["left_hand"], figures[1]["right_hand"], joint)
    assert np.abs(total(world) - before).max() < EXACT * size
    assert grip.energy_lost >= 0
    uk.Simulation(world, 1e-3, "adaptive", rtol=1e-11, atol=1e-13).run(0.01)
    assert np.abs(total(world) - before).max() < 1e-9 * size  # integrators keep momentum to their truncation
    after = total(world)
    world.cut(grip)
    assert (total(world) == after).all()


def test_connect_then_cut_gives_back_the_state_when_nothing_jumps() -> None:
    world = uk.World()
    man = world.add(uk.human(28))
    q, v = world.q.copy(), world.v.copy()
    grip = world.connect(world.ground, man["left_hand"], uk.Spherical())
    assert grip.energy_lost == 0
    world.cut(grip)
    assert (world.q == q).all()
    assert (world.v == v).all()


def test_a_loop_cut_at_another_joint_moves_the_same() -> None:
    """A triangle of bars closed by a pin at any of its corners."""
    ends: list[tuple[Array]] = []
    for closed_at in range(2):
        world = uk.World((0, -9.81, 0))
        b = uk.Builder("bars")
        bar = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.01, 0.1, 0.1)}
        pin = uk.Revolute((0, 0, 1))
        b.link("crank", joint=pin, **bar)  # type: ignore[arg-type]
        if closed_at == 0:
            b.link("coupler", "crank", pin, uk.Pose((1, 0, 0)), **bar)  # type: ignore[arg-type]
            b.link("rocker", joint=pin, at=uk.Pose((1, 0, 0)), **bar)  # type: ignore[arg-type]
            q = np.array((np.pi / 3, -2 * np.pi / 3 + np.pi / 6, np.pi / 3 + 0.2))
        else:
            b.link("rocker", joint=pin, at=uk.Pose((1, 0, 0)), **bar)  # type: ignore[arg-type]
            b.link("coupler", "rocker", pin, uk.Pose((1, 0, 0)), mass=1.0, com=(-0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
            q = np.zeros(3)
        model = b.build()
        if closed_at == 1:
            crank, coupler, rocker = ends[0][0]
            q = np.array((crank, rocker, crank + coupler - rocker))
        figure = world.add(model, name="f", q=q)
        if closed_at == 0:
            world.connect(
                figure["coupler"].at(uk.Pose((1, 0, 0))),
                figure["rocker"].at(uk.Pose((1, 0, 0))),
                pin,
                at="frames",
                snap=True,
            )
            ends.append((world.q.copy(),))
        else:
            world.connect(
                figure["coupler"].at(uk.Pose((-1, 0, 0))),
                figure["crank"].at(uk.Pose((1, 0, 0))),
                pin,
                at="frames",
                snap=True,
            )
        uk.Simulation(world, 1e-3, "rk4").run(0.3)
        ends.append((world.q.copy(),))
    crank, coupler, rocker = ends[1][0]
    assert np.abs(ends[2][0] - [crank, rocker, crank + coupler - rocker]).max() < 1e-8


def test_a_cut_joint_goes_on_freely_and_can_be_closed_again() -> None:
    model = uk.human(28)
    rng = np.random.default_rng(3)
    q, v = model.random(rng)
    world = uk.World((0, 0, 0))
    man = world.add(model, name="man", q=q, v=v)
    before, poses = total(world), uk.link_poses(world.model, world.q)
    names = world.model.link_names
    world.cut(man.joint("left_elbow"))
    assert world.model.nv == model.nv + 5
    order = [world.model.link_index(n) for n in names]
    assert np.abs(uk.link_poses(world.model, world.q)[order] - poses).max() < EXACT
    assert np.abs(total(world) - before).max() < 1e-11 * (1 + np.abs(before).max())
    arm = man["left_upper_arm"].at(model.link("left_forearm").at)
    again = world.connect(arm, man["left_forearm"], uk.Revolute((0, -1, 0)), at="frames")
    assert again.energy_lost == pytest.approx(0, abs=1e-9)
    assert world.mobility().dof == model.nv


def test_several_connections_at_once_share_one_jump() -> None:
    def hanging() -> tuple[uk.World, uk.Figure]:
        world = uk.World()
        man = world.add(uk.human(28), v=np.r_[1.0, 0.5, -1, 0.2, 0.3, 0.1, np.zeros(28)])
        return world, man

    world, man = hanging()
    with world.at_once():
        left = world.connect(world.ground, man["left_hand"], uk.Spherical())
        right = world.connect(world.ground, man["right_hand"], uk.Spherical())
    assert left.energy_lost == right.energy_lost > 0
    assert np.abs(world.closed.state(world.q, world.v)[1]).max() < EXACT
    other, figure = hanging()
    hands = [other.connect(other.ground, figure[f"{side}_hand"], uk.Spherical()) for side in ("left", "right")]
    # without restitution the jumps are projections: one after the other ends where both at once do
    assert np.abs(other.v - world.v).max() < EXACT
    assert sum(hand.energy_lost for hand in hands) == pytest.approx(left.energy_lost)


def test_restitution_returns_the_relative_velocity() -> None:
    world = uk.World((0, 0, 0))
    b = uk.Builder("ball")
    b.link("ball", joint=uk.Free(), mass=2, inertia=(1, 1, 1))
    ball = world.add(b.build(), v=[1, 2, 3, 0, 0, 0])
    world.connect(
        world.ground, ball["ball"], uk.Directions(y="free", z="free", rx="free", ry="free", rz="free"), restitution=0.5
    )
    assert np.allclose(world.v[:3], (-0.5, 2, 3))


def test_setting_a_state_closes_the_loops() -> None:
    world = uk.World()
    man = world.add(uk.human(16))
    grip = world.connect(world.ground, man["left_hand"], uk.Spherical())
    q = man.q.copy()
    q[0] += 0.05
    man.q = q
    assert grip.gap < 1e-12
    man.v = np.ones(len(man.v))
    assert np.abs(world.closed.state(world.q, world.v)[1]).max() < EXACT


def test_gravity_may_change() -> None:
    world = uk.World()
    world.add(uk.human(16))
    sim = uk.Simulation(world)
    world.gravity = (0, 0, 0)
    sim.step()
    assert np.abs(world.v).max() < 1e-12
