"""The inertia in contact steps: through its matrix or through articulated bodies, the same motion [HAND07 4.1]."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.trees import random_model

import ukemi as uk
from ukemi.model.figures.hand import thesis_pose

#: of positions and velocities, after contacts and impacts have multiplied the rounding
AGREE = 1e-9


def ends(make: Callable[[], uk.World], steps: int, dt: float = 1e-3) -> list[tuple[uk.World, uk.Simulation]]:
    """After the same steps, by the matrix and by bodies."""
    out = []
    for by_bodies in (False, True):
        world = make()
        sim = uk.Simulation(world, dt)
        assert sim._scene is not None
        sim._scene.engine.by_bodies = by_bodies
        sim.step(steps=steps)
        out.append((world, sim))
    return out


def agree(make: Callable[[], uk.World], steps: int) -> int:
    """The number of contacts in the end, of both."""
    (matrix, by_matrix), (bodies, by_bodies) = ends(make, steps)
    assert bodies.q == pytest.approx(matrix.q, abs=AGREE)
    assert bodies.v == pytest.approx(matrix.v, abs=AGREE * (1 + np.abs(matrix.v).max()))
    assert len(by_matrix.contacts) == len(by_bodies.contacts)
    for one, other in zip(by_matrix.contacts, by_bodies.contacts, strict=True):
        assert other.wrench == pytest.approx(one.wrench, abs=1e-6 * (1 + np.abs(one.wrench).max()))
    return len(by_matrix.contacts)


def chain(links: int, joint: type[uk.Revolute] | type[uk.Spherical]) -> uk.World:
    """Links along x, each end of a quarter with a ball, falls on the ground."""
    b = uk.Builder("chain")
    for i in range(links):
        turn = uk.Revolute((0, 1, 0), damping=1e-3) if joint is uk.Revolute else uk.Spherical(damping=1e-3 * np.eye(3))
        ball = [uk.Sphere(0.02, at=uk.Pose((0.05, 0, 0)))] if i % (links // 4) == 0 else []
        parent, at = ("world", 0.0) if i == 0 else (f"link{i - 1}", 0.1)
        rod = {"mass": 0.1, "com": (0.05, 0, 0), "inertia": (1e-5, 1e-4, 1e-4)}
        b.link(f"link{i}", parent, turn if i else uk.Free(), uk.Pose((at, 0, 0)), shapes=ball, **rod)  # type: ignore[arg-type]
    world = uk.World()
    world.terrain = uk.Ground()
    world.collisions = False
    model = b.build()
    q = model.neutral()
    q[2] = 0.03
    world.add(model, q=q)
    return world


@pytest.mark.parametrize("dof", [16, 40])
def test_a_figure_falls_alike(dof: int) -> None:
    """Free, ball and hinge joints; feet that hit the ground."""

    def man() -> uk.World:
        world = uk.World()
        world.terrain = uk.Ground()
        world.add(uk.human(dof), "man")
        world.separate()
        return world

    assert agree(man, 200) >= 2


def test_stiff_joints_answer_alike() -> None:
    """The hand's dampers and coupled springs are implicit: joint inertias beside the diagonal."""

    def hand() -> uk.World:
        world = uk.World()
        model = uk.hand(mass=4.0)
        world.add(model, q=thesis_pose(model))
        world.terrain = uk.Ground(height=-0.3)
        world.separate()
        return world

    agree(hand, 300)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_every_joint_kind_answers_alike(seed: int) -> None:
    model = random_model(seed, 6, elastic=True)
    if model.nv == 0:
        return

    def thrown() -> uk.World:
        world = uk.World()
        world.terrain = uk.Ground(height=-50.0)
        q, v = model.random(np.random.default_rng(seed))
        world.add(model, q=q, v=v)
        return world

    agree(thrown, 3)


@pytest.mark.parametrize("joint", [uk.Revolute, uk.Spherical])
def test_long_chains_fall_alike(joint: type[uk.Revolute] | type[uk.Spherical]) -> None:
    assert agree(lambda: chain(24, joint), 100) >= 4


def test_the_choice_follows_the_depth() -> None:
    """A short chain is cheaper by its matrix, a long one by its bodies."""
    for world, by_bodies in ((chain(12, uk.Revolute), False), (chain(60, uk.Revolute), True)):
        sim = uk.Simulation(world, 1e-3)
        assert sim._scene is not None
        assert sim._scene.engine.by_bodies == by_bodies
