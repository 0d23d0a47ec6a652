"""Worlds and simulations that are copied or sent elsewhere go on as the original does, and leave it alone."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ukemi as uk


def sent(what: Any) -> Any:
    return pickle.loads(pickle.dumps(what))


def at_twenty(world: uk.World) -> float:
    return world.time - 0.02


def hanging(terrain: uk.Ground | None) -> uk.World:
    """A figure that hangs by one hand until 20 ms, holds one elbow, and has run already."""
    world = uk.World()
    world.terrain = terrain
    man = world.add(uk.human(28), name="man")
    world.separate()
    grip = world.connect(world.ground, man["left_hand"], uk.Spherical())
    world.spring(world.ground, man["right_hand"], 300.0)
    world.hold(man.joint("left_elbow"))
    world.cut(grip, when=at_twenty)
    uk.Simulation(world, 1e-3).run(0.01)
    return world


@pytest.mark.parametrize("copied", [copy.deepcopy, sent])
@pytest.mark.parametrize("terrain", [None, uk.Ground()])
def test_a_copied_world_goes_on_as_the_original(copied: Callable[[Any], Any], terrain: uk.Ground | None) -> None:
    world = hanging(terrain)
    other: uk.World = copied(world)
    before = world.q.copy()
    uk.Simulation(other, 1e-3).run(0.05)
    assert (world.q == before).all()
    assert [c.name for c in world.connections] == ["ground-man/left_forearm", "ground-man/right_forearm"]
    uk.Simulation(world, 1e-3).run(0.05)
    assert np.array_equal(other.q, world.q)
    assert [c.name for c in other.connections] == [c.name for c in world.connections] == ["ground-man/right_forearm"]
    assert other.figure("man").world is other
    assert np.allclose(other.connections[0].wrench, world.connections[0].wrench, rtol=0, atol=1e-9)


@pytest.mark.parametrize("copied", [copy.deepcopy, sent])
def test_handles_bring_their_world_with_them(copied: Callable[[Any], Any]) -> None:
    world = hanging(None)
    for handle in (world.figure("man"), world.connections[0], world.ties[0]):
        other = copied(handle)
        assert other.world is not world
        assert np.array_equal(other.world.q, world.q)
    assert copied(world.ties[0]).gap == world.ties[0].gap
    assert np.allclose(copied(world.connections[0]).a.X_W, world.connections[0].a.X_W)


@pytest.mark.parametrize("terrain", [None, uk.Ground()])
def test_a_copied_simulation_keeps_its_options(terrain: uk.Ground | None) -> None:
    simulation = uk.Simulation(hanging(terrain), 2e-3, "rk4", rtol=1e-6, limits=False)
    other = copy.deepcopy(simulation)
    assert (other.dt, other.integrator, other.rtol) == (2e-3, "rk4", 1e-6)
    simulation.run(0.02)
    other.run(0.02)
    assert np.allclose(other.world.q, simulation.world.q, rtol=0, atol=1e-12)


def test_a_joint_at_its_stop_stays_there_in_a_copy() -> None:
    b = uk.Builder("arm")
    b.link("arm", joint=uk.Revolute((0, 1, 0), limits=(-1, 0.5)), mass=1.0, com=(1, 0, 0))
    world = uk.World()
    world.add(b.build())
    simulation = uk.Simulation(world, 1e-3)
    simulation.run(1.0)
    other = copy.deepcopy(simulation)
    other.run(0.1)
    assert other.world.q == pytest.approx(0.5, abs=1e-12)
    assert other.reactions() == pytest.approx(simulation.reactions())


def test_a_model_is_its_own_copy() -> None:
    model = uk.human(16)
    assert copy.deepcopy(model) is model
    assert sent(model).link_names == model.link_names
