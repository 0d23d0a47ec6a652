"""Heaps of random bodies and chains on random ground: forces hold in every step, energy falls, nothing goes deep."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import Generator
from scipy.spatial.transform import Rotation

import ukemi as uk
from ukemi.contact.terrain import Terrain
from ukemi.model.shapes import Shape

DT, STEPS = 2e-3, 700
#: Five times what falls at 1 ms may: within a longer step what touches may jump along an edge or a ridge.
DEEPEST = 5e-3
#: Links that turn by more within a step have an error of the rule's own, of this order squared.
FAST = 0.06


def shape(rng: Generator, kind: str) -> Shape:
    size = rng.uniform(0.05, 0.2, 3)
    if kind == "box":
        return uk.Box(tuple(2 * size))
    if kind == "ball":
        return uk.Sphere(size[0])
    if kind == "capsule":
        return uk.Capsule(0.02 + 0.5 * size[0], 2 * size[1])
    if kind == "cylinder":
        return uk.Cylinder(size[0], 2 * size[1])
    points = rng.normal(size=(12, 3))
    return uk.ConvexMesh(size.max() * points / np.linalg.norm(points, axis=1)[:, None])


def chain(rng: Generator, kinds: list[str]) -> uk.Model:
    """One body, or a few on joints with and without stops."""
    b = uk.Builder("chain").link("l0", joint=uk.Free(), shapes=[shape(rng, rng.choice(kinds))], density=300)
    for i in range(rng.choice([0, 0, 1, 3])):
        limits = (-1.0, 1.0) if rng.random() < 0.5 else None
        joints = (uk.Revolute((0, 1, 0), limits=limits), uk.Spherical(), uk.Universal((1, 0, 0), (0, 1, 0)))
        joint, at = joints[rng.integers(3)], uk.Pose((0, 0, 0.45))
        b.link(f"l{i + 1}", parent=f"l{i}", joint=joint, at=at, shapes=[shape(rng, rng.choice(kinds))], density=300)
    return b.build()


def ground(rng: Generator, kind: str) -> Terrain:
    friction = float(rng.choice([0.0, 0.2, 0.6, 1.0, 3.0]))
    if kind == "slope":
        lean = rng.uniform(0, 0.5)
        return uk.Ground(normal=(np.sin(lean), 0, np.cos(lean)), friction=friction)
    if kind == "stairs":
        return [uk.Ground(friction=friction), uk.stairs(8, start=(-1.5, 0, 0))]
    if kind == "field":
        return uk.HeightField(0.04 * rng.normal(size=(61, 61)), (-6, -6), (0.2, 0.2), uk.Surface(friction))
    return uk.Ground(friction=friction, velocity=(1.0, 0.3, 0) if kind == "belt" else (0, 0, 0))


#: The last two had steps without valid forces.
SEEDS = (*range(14), 72, 197)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_heap(seed: int) -> None:
    rng = np.random.default_rng(seed)
    place = rng.choice(["plane", "slope", "stairs", "belt", "field"])
    all_kinds = ["box", "ball", "capsule", "cylinder", "hull"]
    kinds = all_kinds if rng.random() < 0.3 else [str(rng.choice(all_kinds))]
    world = uk.World()
    world.terrain = ground(rng, place)
    for i in range(rng.choice([3, 6, 12])):
        model = chain(rng, kinds)
        q = model.neutral()
        q[:3] = (*rng.uniform(-0.4, 0.4, 2), 0.5 + 0.3 * i)
        q[3:7] = Rotation.random(random_state=rng.integers(1 << 30)).as_quat(scalar_first=True)
        world.add(model, f"f{i}", q=q)
    world.separate()
    sim = uk.Simulation(world, DT)
    lowest, checked = world.energy(), 0
    for _ in range(STEPS):
        sim.step()
        assert sim.report.certificate.valid
        assert sim.report.penetration < DEEPEST
        energy = world.energy()
        if place == "belt" or np.abs(world.v).max() * DT > FAST:
            lowest = energy
            continue
        assert energy < lowest + 0.1
        lowest, checked = min(lowest, energy), checked + 1
    assert place == "belt" or checked > STEPS / 2
