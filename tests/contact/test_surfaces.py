"""How one link touches the ground, where it is not what the ground says."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import ukemi as uk
from ukemi.contact.terrain import Terrain

SLOPE = np.deg2rad(20)
G = 9.81


def block(name: str = "block") -> uk.Model:
    return uk.Builder(name).link("body", joint=uk.Free(), mass=2.0, shapes=[uk.Box((0.4, 0.4, 0.2))]).build()


def ball() -> uk.Model:
    return uk.Builder("ball").link("body", joint=uk.Free(), mass=1.0, shapes=[uk.Sphere(0.1)]).build()


def leaning(x: float, y: float) -> list[float]:
    """A block that lies on the slope through the origin, which falls towards x."""
    normal, along = np.array((np.sin(SLOPE), 0, np.cos(SLOPE))), np.array((np.cos(SLOPE), 0, -np.sin(SLOPE)))
    return [*(0.1 * normal + x * along + (0, y, 0)), np.cos(SLOPE / 2), 0, np.sin(SLOPE / 2), 0]


def slope(friction: float) -> Terrain:
    return uk.Ground(normal=(np.sin(SLOPE), 0, np.cos(SLOPE)), friction=friction)


def field(friction: float) -> Terrain:
    x = np.linspace(-2, 6, 5)
    heights = np.repeat(-np.tan(SLOPE) * x[:, None], 5, axis=1)
    return uk.HeightField(heights, spacing=(2.0, 2.0), corner=(-2.0, -4.0), surface=uk.Surface(friction))


def plank(friction: float) -> Terrain:
    turn = (np.cos(SLOPE / 2), 0, np.sin(SLOPE / 2), 0)
    place = -0.5 * np.array((np.sin(SLOPE), 0, np.cos(SLOPE)))
    return uk.Solids([uk.Box((12, 8, 1), at=uk.Pose(place, turn))], uk.Surface(friction))


@pytest.mark.parametrize("terrain", [slope, field, plank])
def test_one_block_slips_where_the_other_stays(terrain: object) -> None:
    """Downhill by t^2/2 g (sin - mu cos), the one that slips; both on one ground."""
    assert callable(terrain)
    world = uk.World()
    smooth, rough = world.add(block("smooth"), q=leaning(0, -1)), world.add(block("rough"), q=leaning(0, 1))
    world.terrain = terrain(0.8)
    world.set_surface(world.ground, smooth["body"], uk.Surface(0.1))
    uk.Simulation(world, dt=1e-3).run(0.5)
    gone = 0.5 * 0.5**2 * G * (np.sin(SLOPE) - 0.1 * np.cos(SLOPE))
    np.testing.assert_allclose(
        smooth.q[:3] - leaning(0, -1)[:3], gone * np.array((np.cos(SLOPE), 0, -np.sin(SLOPE))), atol=2e-3 * gone
    )
    np.testing.assert_allclose(rough.q[:3], leaning(0, 1)[:3], atol=1e-9)


def test_what_the_link_says_counts_more_than_the_ground() -> None:
    world = uk.World()
    sticky = world.add(block(), q=leaning(0, 0))
    world.terrain = slope(0.0)
    world.set_surface(sticky["body"], world.ground, uk.Surface(0.8))
    uk.Simulation(world, dt=1e-3).run(0.3)
    np.testing.assert_allclose(sticky.q[:3], leaning(0, 0)[:3], atol=1e-9)


def test_one_ball_bounces() -> None:
    world = uk.World()
    dead, lively = (world.add(ball(), name=n, q=[0, y, 0.6, 1, 0, 0, 0]) for n, y in (("dead", 0), ("lively", 1)))
    world.terrain = uk.Ground()
    world.set_surface(lively["body"], world.ground, uk.Surface(restitution=0.8))
    fall = np.sqrt(2 * 0.5 / G)
    recording = uk.Simulation(world, dt=1e-4).run(fall * (1 + 0.8))  # until it stands still in the air
    assert lively.q[2] == pytest.approx(0.1 + 0.8**2 * 0.5, abs=1e-4)
    assert dead.q[2] == pytest.approx(0.1, abs=1e-6)
    assert len(recording) > 1


@pytest.mark.parametrize(
    "terrain", [uk.Ground(), uk.HeightField(np.zeros((2, 2)), spacing=(10, 10), corner=(-5, -5)), plank(0.5)]
)
def test_a_link_may_pass_through_the_ground(terrain: Terrain) -> None:
    world = uk.World()
    ghost = world.add(ball(), q=[0, 0, 1.0, 1, 0, 0, 0])
    world.terrain = terrain
    world.set_surface(ghost["body"], world.ground, None)
    uk.Simulation(world, dt=1e-3).run(1.0)
    assert ghost.q[2] == pytest.approx(1.0 - 0.5 * G, abs=0.01)
    world = copy.deepcopy(world)
    world.figure("ball").q = [0, 0, 1.5, 1, 0, 0, 0]
    world.figure("ball").v = np.zeros(6)
    world.set_surface(world.figure("ball")["body"], world.ground, uk.Surface())  # and be held again
    uk.Simulation(world, dt=1e-3).run(1.0)
    assert world.figure("ball").q[2] > -0.5


def test_links_fixed_to_each_other_have_one_surface() -> None:
    b = uk.Builder("pair").link("a", joint=uk.Free(), mass=1.0, shapes=[uk.Box((0.2, 0.2, 0.2))])
    b.link("b", "a", at=uk.Pose((0.2, 0, 0)), mass=1.0, shapes=[uk.Box((0.2, 0.2, 0.2))])
    world = uk.World()
    pair = world.add(b.build(), q=[0, 0, 0.1, 1, 0, 0, 0])
    world.terrain = uk.Ground()
    world.set_surface(pair["a"], world.ground, uk.Surface(0.1))
    with pytest.raises(uk.InvalidInputError, match="'pair/a' and 'pair/b' are fixed to each other"):
        uk.Simulation(world, dt=1e-3).run(0.01)
    world.set_surface(pair["b"], world.ground, uk.Surface(0.1))
    uk.Simulation(world, dt=1e-3).run(0.01)


def test_links_of_other_worlds_and_the_ground_alone_are_refused() -> None:
    world, other = uk.World(), uk.World()
    there = other.add(ball())
    here = world.add(ball())
    with pytest.raises(uk.InvalidInputError, match="links of this world"):
        world.set_surface(here["body"], there["body"], uk.Surface())
    with pytest.raises(uk.InvalidInputError, match="two different links"):
        world.set_surface(world.ground, world.ground, uk.Surface())
