"""Cylinders against solids are as round as against the ground, and hulls of many faces meet where they are nearest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.problems.bodies import loose

import ukemi as uk
from ukemi import _core
from ukemi.contact.solids import solid
from ukemi.contact.terrain import Terrain
from ukemi.model.arrays import Array
from ukemi.model.shapes import Shape

#: a quarter turn about x: the axis of a cylinder along y
LYING = (np.sqrt(0.5), -np.sqrt(0.5), 0, 0)
#: a floor 10 m long, as ground and as the top of a box
FLOORS: dict[str, Terrain] = {
    "ground": uk.Ground(friction=1.0),
    "box": uk.Solids([uk.Box((10, 2, 1), at=uk.Pose((0, 0, -0.5)))], uk.Surface(1.0)),
}


def model(name: str, shape: Shape, mass: float) -> uk.Model:
    b = uk.Builder(name)
    b.link("body", joint=uk.Free(), shapes=[shape], mass=mass)
    return b.build()


@pytest.mark.parametrize("floor", FLOORS)
def test_a_cylinder_rolls_down(floor: str) -> None:
    slope, g = 0.4, 9.81
    gravity = (g * np.sin(slope), 0, -g * np.cos(slope))
    q = (-4, 0, 0.05, *LYING)
    world = loose([uk.Cylinder(0.05, 0.2)], FLOORS[floor], q=q, gravity=gravity, mass=1.0)
    recording = uk.Simulation(world, 1e-3).run(1.0)
    assert world.q[0] + 4 == pytest.approx(0.5 * 2 / 3 * gravity[0], rel=2e-4)  # (dt w)^2 at 50 rad/s
    assert np.abs(recording.q[:, 2] - 0.05).max() < 1e-5


@pytest.mark.parametrize("floor", FLOORS)
def test_a_plank_is_pushed_over_rollers(floor: str) -> None:
    """Rollers go half as far as the plank and turn with it: M + 2 (3/8) m is what a push has to move."""
    plank_mass, roller_mass, r, push = 2.0, 1.0, 0.1, 3.0
    world = uk.World()
    world.terrain, world.surface = FLOORS[floor], uk.Surface(1.0)
    plank = world.add(model("plank", uk.Box((3, 0.3, 0.1)), plank_mass), q=(0, 0, 2 * r + 0.05, 1, 0, 0, 0))
    rollers = [
        world.add(model(f"roller{k}", uk.Cylinder(r, 0.4), roller_mass), q=(k - 0.5, 0, r, *LYING)) for k in (0, 1)
    ]
    sim = uk.Simulation(world, 1e-3)
    sim.external = {"plank/body": np.array((push, 0, 0, 0, 0, 0))}
    sim.run(0.5)
    assert plank.q[0] == pytest.approx(0.5 * push / (plank_mass + 0.75 * roller_mass) * 0.25, rel=1e-6)
    assert [roller.q[0] + 0.5 - k for k, roller in enumerate(rollers)] == pytest.approx([plank.q[0] / 2] * 2, rel=1e-5)


def test_logs_lie_on_each_other() -> None:
    """Two on the ground, one on top of both: it presses each with w / (2 cos 30), less what friction bears."""
    r = 0.1
    world = uk.World()
    world.terrain, world.surface = uk.Ground(friction=1.0), uk.Surface(1.0)
    places = [(-r, 0, r), (r, 0, r), (0, 0, r + np.sqrt(3) * r)]
    logs = [world.add(model(f"log{k}", uk.Cylinder(r, 0.5), 2.0), q=(*place, *LYING)) for k, place in enumerate(places)]
    sim = uk.Simulation(world, 1e-3)
    sim.run(0.3)
    assert np.allclose([log.q[:3] for log in logs], places, rtol=0, atol=1e-9)
    assert sum(c.force[2] for c in sim.contacts if "ground" in c.links) == pytest.approx(6.0 * 9.81, abs=1e-6)
    assert sim.report.certificate.valid


def test_a_ball_leaves_a_cylinder_where_it_should() -> None:
    """It rolls from rest at 0.2 rad beside the top, and leaves where cos = 10/17 cos 0.2."""
    R, r, start = 1.0, 0.1, 0.2
    ridge = uk.Solids([uk.Cylinder(R, 1.0, at=uk.Pose((0, 0, 0), LYING))], uk.Surface(100.0))
    place = (R + r) * np.array((np.sin(start), 0, np.cos(start)))
    world = loose([uk.Sphere(r)], ridge, mass=1.0, q=(*place, 1, 0, 0, 0))
    sim = uk.Simulation(world, 1e-3)
    sim.step()
    while any(c.normal_force > 0 for c in sim.contacts):
        sim.step()
    turned = np.arctan2(world.q[0], world.q[2])
    per_step = float(np.linalg.norm(world.v[:3])) / (R + r) * 1e-3
    assert turned == pytest.approx(np.arccos(10 / 17 * np.cos(start)), abs=2 * per_step)


def reach(shape: Shape, X: Array, d: Array) -> tuple[Array, Array]:
    """Least and largest coordinate of a shape along directions d (n, 3)."""
    middle, local = d @ X[:3, 3], d @ X[:3, :3]
    if isinstance(shape, uk.ConvexMesh):
        along = local @ np.asarray(shape.points).T
        return middle + along.min(axis=-1), middle + along.max(axis=-1)
    if isinstance(shape, uk.Box):
        half = np.abs(local) @ (np.asarray(shape.size) / 2)
    else:
        assert isinstance(shape, uk.Cylinder)
        across = np.sqrt(np.maximum(0, 1 - local[..., 2] ** 2))
        half = shape.length / 2 * np.abs(local[..., 2]) + shape.radius * across
    return middle - half, middle + half


def separation(a: Shape, X_a: Array, b: Shape, X_b: Array) -> float:
    """The widest gap between two convex shapes over all directions (negative: the least overlap), by search."""

    def gap(d: Array) -> Array:
        unit = d / np.linalg.norm(d, axis=-1, keepdims=True)
        return reach(a, X_a, unit)[0] - reach(b, X_b, unit)[1]

    directions = np.random.default_rng(0).normal(size=(3000, 3))
    best = directions[np.argsort(gap(directions))[-3:]]
    options = {"xatol": 1e-10, "fatol": 1e-13, "maxiter": 2000}
    return max(-float(minimize(lambda d: -gap(d), d, method="Nelder-Mead", options=options).fun) for d in best)


def some_shape(kind: str, rng: np.random.Generator) -> Shape:
    if kind == "cylinder":
        return uk.Cylinder(rng.uniform(0.05, 0.2), rng.uniform(0.05, 0.4))
    return uk.Box(rng.uniform(0.1, 0.4, 3)) if kind == "box" else uk.ConvexMesh(0.12 * rng.normal(size=(14, 3)))


@pytest.mark.parametrize(
    ("kinds", "room"),
    [
        (("hull", "hull"), 1e-9),  # rounding
        (("hull", "box"), 1e-9),
        (("cylinder", "box"), 1e-4),  # rims that overlap by up to 2 mm: not all directions are looked at
        (("cylinder", "cylinder"), 1e-4),
        (("cylinder", "hull"), 1e-4),
    ],
)
def test_distances_and_overlaps_of_random_pairs(kinds: tuple[str, str], room: float) -> None:
    rng = np.random.default_rng(7)
    for _ in range(6):
        a, b = (some_shape(kind, rng) for kind in kinds)
        builder = uk.Builder("pair")
        builder.link("a", joint=uk.Free(), mass=1.0, shapes=[a]).link("b", joint=uk.Free(), mass=1.0, shapes=[b])
        pair = builder.build()
        q, v = pair.random(rng)
        way, wanted = rng.normal(size=3), rng.uniform(-2e-3, 2e-3)
        near, far = 0.0, 2.0
        for _ in range(20):  # about as far apart as wanted
            middle = 0.5 * (near + far)
            q[:3], q[7:10] = middle * way / np.linalg.norm(way), 0
            d = np.random.default_rng(1).normal(size=(3000, 3))
            d /= np.linalg.norm(d, axis=1, keepdims=True)
            X = uk.link_poses(pair, q)
            apart = (reach(a, X[0], d)[0] - reach(b, X[1], d)[1]).max()
            near, far = (middle, far) if apart < wanted else (near, middle)
        solids = [solid(a, 0, 0), solid(b, 1, 1)]
        engine = _core.Contacts(pair.tree, solids, [], [], [(0, 1, np.zeros(3), (0.0, 0.0, 0.0))], [], None)
        engine.options(0.01, 0.01, 0, False)
        engine.look(q, 0 * v)
        found = min(contact[8] for contact in engine.contacts())
        assert found == pytest.approx(separation(a, X[0], b, X[1]), abs=room)


def test_a_heap_of_hulls_does_not_sink_in() -> None:
    rng = np.random.default_rng(2)
    world = uk.World()
    world.terrain = uk.Ground(friction=0.6)
    for k in range(12):
        turn = rng.normal(size=4)
        place = (*rng.uniform(-0.2, 0.2, 2), 0.4 + 0.4 * k)
        hull = uk.ConvexMesh(0.1 * rng.normal(size=(12, 3)))
        world.add(model(f"hull{k}", hull, rng.uniform(0.5, 5)), q=(*place, *(turn / np.linalg.norm(turn))))
    sim, deepest = uk.Simulation(world, 1e-3), 0.0
    for _ in range(1200):
        sim.step()
        deepest = max(deepest, sim.report.penetration)
        assert sim.report.certificate.valid
    assert deepest < 1e-3


@pytest.mark.parametrize("seed", [0, 6, 9, 24])
def test_endless_friction_is_certified(seed: int) -> None:
    """A hull that falls and tumbles without ever slipping: every step holds to the certificate."""
    rng = np.random.default_rng(seed)
    hull = uk.ConvexMesh(0.12 * rng.normal(size=(10, 3)))
    turn, spin = rng.normal(size=4), 4 * rng.normal(size=3)
    q, v = (0, 0, 0.6, *(turn / np.linalg.norm(turn))), (*rng.normal(size=3), *spin)
    world = loose([hull], uk.Ground(friction=np.inf), mass=2.0, q=q, v=v)
    sim = uk.Simulation(world, 5e-3)
    for _ in range(300):
        sim.step()
        assert sim.report.certificate.valid
