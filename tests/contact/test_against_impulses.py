"""Impacts of the contact solver against impulses through the tree [HAND07 eq. 4.23, 4.24, 4.28, 4.41, 4.43]."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.trees import random_model

import ukemi as uk
from ukemi.model.arrays import Array

#: two factorisations of the same inertia
AGREE = 1e-9
#: a short step [s]: what its forces do besides the impact shrinks with it
SHORT = 1e-9
RADIUS = 0.05


def with_balls(model: uk.Model, names: list[str], centres: Array) -> uk.Model:
    """The model with a ball on some links and no other shapes."""
    b = uk.Builder(model.name)
    for link in model.links:
        m = link.mass_properties
        balls = [uk.Sphere(RADIUS, at=uk.Pose(c)) for n, c in zip(names, centres, strict=True) if n == link.name]
        parent = link.parent.name if link.parent else "world"
        b.link(link.name, parent, link.joint, link.at, mass=m.mass, com=m.com, inertia=m.inertia, shapes=balls)
    return b.build()


def points_below(model: uk.Model, q: Array, names: list[str], centres: Array) -> Array:
    """Lowest points of the balls, in link coordinates."""
    poses = uk.link_poses(model, q)
    return np.array(
        [c - RADIUS * poses[model.link_index(n)][:3, :3].T @ (0, 0, 1.0) for n, c in zip(names, centres, strict=True)]
    )


def struck(seed: int, count: int, surface: dict[str, float]) -> tuple[uk.World, uk.Model, Array, list[str], Array]:
    """A free random tree over grounds that its balls just touch, each ball its own small table."""
    plain = random_model(seed, 6, kinds=("revolute", "spherical", "universal"))
    rng = np.random.default_rng(seed)
    free = uk.Builder("tree").link("root", joint=uk.Free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    for link in plain.links:
        m = link.mass_properties
        parent = link.parent.name if link.parent else "root"
        free.link(link.name, parent, link.joint, link.at, mass=m.mass, com=m.com, inertia=m.inertia)
    tree = free.build()
    names = [str(n) for n in rng.choice(tree.link_names, count, replace=False)]
    centres = rng.uniform(-0.2, 0.2, (count, 3))
    model = with_balls(tree, names, centres)
    q, v = model.random(rng)
    poses = uk.link_poses(model, q)
    at = [(poses[model.link_index(n)] @ [*c, 1])[:3] for n, c in zip(names, centres, strict=True)]
    apart = [np.linalg.norm(a - b) for k, a in enumerate(at) for b in at[:k]]
    assume(min(apart, default=1.0) > 0.2)  # no ball reaches another's table
    world = uk.World((0, 0, 0))
    world.add(model, name="tree", q=q, v=v)
    tables = [uk.Box((0.02, 0.02, 0.02), at=uk.Pose(p - (0, 0, RADIUS + 0.01))) for p in at]
    world.terrain = uk.Solids(tables, uk.Surface(**surface))
    world.collisions = False
    return world, model, q, names, points_below(model, q, names, centres)


def jumped(world: uk.World, q: Array, v: Array) -> Array:
    """Velocities after the impact alone: smooth motion during the step is taken out by a step of twice the length."""
    ends = []
    for dt in (SHORT, 2 * SHORT):
        world.set_state(q, v)
        uk.Simulation(world, dt).step()
        ends.append(world.v.copy())
    return np.asarray(2 * ends[0] - ends[1])


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 3), e=st.sampled_from([0.0, 0.4, 1.0]))
def test_smooth_impacts_with_the_ground(seed: int, count: int, e: float) -> None:
    """Eq. 4.23 for one, 4.28 for several at once: balls that all approach, without friction."""
    world, model, q, names, points = struck(seed, count, {"friction": 0.0, "restitution": e})
    touches = [uk.Touch(name, point) for name, point in zip(names, points, strict=True)]
    v = approaching(model, q, world.v, touches)
    expected = uk.impact(model, q, v, touches, e)
    if e > 0 and (expected.impulses <= 0).any():
        return  # a ball that the others turn back takes part in Newton's law differently
    assert np.abs(jumped(world, q, v) - expected.v).max() < AGREE * max(1.0, np.abs(v).max())


def approaching(model: uk.Model, q: Array, v: Array, touches: list[uk.Touch]) -> Array:
    """v, changed so that all touches approach with 1 m/s."""
    J = np.array([uk.jacobian(model, q, t.link, t.point)[2] for t in touches])
    return np.asarray(v + np.linalg.lstsq(J, -1 - J @ v, rcond=None)[0])


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 2), e=st.sampled_from([0.0, 0.4]))
def test_gripping_impacts_with_the_ground(seed: int, count: int, e: float) -> None:
    """With friction that never slips the points stop along the ground: Psi of the links gives the impulses at once."""
    world, model, q, names, points = struck(seed, count, {"friction": np.inf, "restitution": e})
    touches = [uk.Touch(name, point) for name, point in zip(names, points, strict=True)]
    v = approaching(model, q, world.v, touches)
    poses = uk.link_poses(model, q)
    N = np.zeros((3 * count, 6 * count))  # unit impulses at the points, in link coordinates
    for k, (name, point) in enumerate(zip(names, points, strict=True)):
        R = poses[model.link_index(name)][:3, :3]
        N[3 * k : 3 * k + 3, 6 * k : 6 * k + 3] = R
        N[3 * k : 3 * k + 3, 6 * k + 3 : 6 * k + 6] = np.cross(point, R)
    B = N @ uk.inverse_inertia(model, q, *names) @ N.T
    before = np.concatenate([uk.jacobian(model, q, n, p)[:3] @ v for n, p in zip(names, points, strict=True)])
    after = np.where(np.arange(3 * count) % 3 == 2, -e * before, 0.0)
    impulses = np.linalg.solve(B, after - before)
    wrenches = dict(zip(names, (impulses @ N).reshape(count, 6), strict=True))
    expected = v + uk.impulse_response(model, q, wrenches)
    gained = uk.kinetic_energy(model, q, expected) - uk.kinetic_energy(model, q, v)
    if (impulses[2::3] <= 0).any() or gained > 0 or np.linalg.cond(B) > 1e6:
        return  # not all points push, or Newton's law would gain energy: the contact solver then does otherwise
    assert np.abs(jumped(world, q, v) - expected).max() < AGREE * max(1.0, np.abs(v).max()) * np.linalg.cond(B)


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_two_structures_collide(e: float) -> None:
    """Eq. 4.24: two double pendulums whose outer balls meet."""
    b = uk.Builder("pair")
    for name, x in (("a", 0.0), ("b", 1.0)):
        upper = {"mass": 1.0, "com": (0, 0, -0.2), "inertia": (0.02, 0.02, 0.01)}
        b.link(name, joint=uk.Revolute((0, 1, 0)), at=uk.Pose((x, 0, 0)), **upper)  # type: ignore[arg-type]
        ball = [uk.Sphere(RADIUS, at=uk.Pose((0, 0, -0.4)))]
        b.link(f"{name}2", name, uk.Revolute((0, 1, 0)), uk.Pose((0, 0, -0.4)), shapes=ball, **upper)  # type: ignore[arg-type]
    model = b.build()
    # a leans towards b with straight arms, b hangs mirrored: their balls touch where sin = (1 - 2 r) / 2 / 0.8
    angle = -np.arcsin((1 - 2 * RADIUS) / 2 / 0.8)
    q, v = np.array([angle, 0, -angle, 0]), np.array([-2.0, -0.5, 1.0, 0.7])
    touch = uk.Touch("b2", (0, 0, -0.4), (1, 0, 0), "a2", (0, 0, -0.4))
    poses = uk.link_poses(model, q)
    shift = [poses[model.link_index(n)][:3, :3].T @ (s * RADIUS, 0, 0) for n, s in (("b2", -1.0), ("a2", 1.0))]
    touch = uk.Touch("b2", shift[0] + (0, 0, -0.4), (1, 0, 0), "a2", shift[1] + (0, 0, -0.4))
    expected = uk.impact(model, q, v, [touch], e)
    assert expected.before[0] < -0.5
    world = uk.World((0, 0, 0))
    figure = world.add(model, q=q, v=v)
    world.collisions = True
    world.set_surface(figure["a2"], figure["b2"], uk.Surface(friction=0.0, restitution=e))
    assert np.abs(jumped(world, q, v) - expected.v).max() < AGREE
    assert expected.after[0] == pytest.approx(-e * expected.before[0], rel=1e-9, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 3))
def test_forces_of_lasting_touches(seed: int, count: int) -> None:
    """Eq. 4.41 and 4.43: a tree at rest on smooth tables begins to fall. Mean forces of steps of the second order tell
    those of the start."""
    world, model, q, names, points = struck(seed, count, {"friction": 0.0})
    world.gravity = (0, 0, -9.81)
    touches = [uk.Touch(name, point) for name, point in zip(names, points, strict=True)]
    zero = np.zeros(model.nv)
    expected = uk.contact_forces(model, q, zero, zero, touches, world.gravity)
    means = []
    for dt in (1e-4, 2e-4):
        world.set_state(q, zero)
        sim = uk.Simulation(world, dt)
        sim.step()
        found = {c.links[0].split("/")[1]: float(c.force[2]) for c in sim.contacts}
        means.append(np.array([found.get(name, 0.0) for name in names]))
    start = (4 * means[0] - means[1]) / 3
    assert np.abs(start - expected).max() < AGREE * 9.81 * model.mass
