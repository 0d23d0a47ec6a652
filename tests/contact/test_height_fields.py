"""Shapes on peaks, ridges and in valleys of height fields: nothing sinks in, whatever of it is nearest."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.problems.bodies import loose

import ukemi as uk
from ukemi.contact.reports import Contact
from ukemi.model.arrays import Array
from ukemi.model.shapes import Shape

G = 9.81
QUARTER = np.sqrt(0.5)
ALONG_X = (QUARTER, 0, QUARTER, 0)
PEAK = uk.HeightField(np.array([[0, 0, 0], [0, 0.5, 0], [0, 0, 0]]), corner=(-1, -1))
RIDGE = np.array([[0, 0, 0], [0.5, 0.5, 0.5], [0, 0, 0]])  # along y at x = 0


def rest(shape: Shape, field: uk.HeightField, place: tuple[float, ...], turn: tuple[float, ...]) -> list[Contact]:
    """Contacts after a drop by a millimetre, at which it must stay."""
    world = loose([shape], field, mass=1.0, q=(*place, *turn))
    world.set_state(np.add(world.q, (0, 0, 1e-3, 0, 0, 0, 0)))
    sim = uk.Simulation(world, 1e-3)
    for _ in range(200):
        sim.step()
        assert sim.report.penetration < 1e-5
        assert sim.report.certificate.valid
    assert world.q[:3] == pytest.approx(place, abs=2e-5)
    assert sum(c.force[2] for c in sim.contacts) == pytest.approx(G, rel=1e-6)
    return sim.contacts


def test_capsule_across_a_ridge() -> None:
    (contact,) = rest(uk.Capsule(0.05, 0.8), uk.HeightField(RIDGE, corner=(-1, -1)), (0, 0.05, 0.55), ALONG_X)
    assert contact.points == pytest.approx(np.array([(0, 0.05, 0.5)]), abs=2e-5)
    assert contact.normal == pytest.approx((0, 0, 1))


def test_capsule_that_tips_over_a_ridge() -> None:
    """Let go with the ridge at a distance d from its middle: N = m g / (1 + m d^2 / I) without friction."""
    inertia, d = 0.06, 0.1
    field = uk.HeightField(RIDGE, corner=(-1, -1), surface=uk.Surface(0.0))
    world = loose(
        [uk.Capsule(0.05, 0.8)], field, mass=1.0, inertia=np.diag((inertia, inertia, 1e-3)), q=(d, 0.05, 0.55, *ALONG_X)
    )
    sim = uk.Simulation(world, 1e-4)
    sim.step()
    assert sim.contacts[0].normal_force == pytest.approx(G / (1 + d**2 / inertia), rel=1e-5)


def test_capsule_along_a_ridge() -> None:
    field = uk.HeightField(RIDGE, corner=(-1, -1))
    (contact,) = rest(uk.Capsule(0.05, 0.8), field, (0, 0.05, 0.55), (QUARTER, QUARTER, 0, 0))
    assert np.ptp(contact.points[:, 1]) == pytest.approx(0.8)


def test_box_on_a_ridge_and_on_a_peak() -> None:
    field = uk.HeightField(RIDGE, corner=(-1, -1))
    (line,) = rest(uk.Box((0.8, 0.3, 0.1)), field, (0, 0.05, 0.55), (1, 0, 0, 0))
    assert sorted(line.points[:, 1]) == pytest.approx((-0.1, 0.2))
    (point,) = rest(uk.Box((0.8, 0.8, 0.1)), PEAK, (0, 0, 0.55), (1, 0, 0, 0))
    assert point.points == pytest.approx(np.array([(0, 0, 0.5)]), abs=2e-5)


def test_box_on_a_plateau_touches_it_all() -> None:
    """A mesa of one cell with a box over it: its four peaks."""
    heights = np.zeros((6, 6))
    heights[2:4, 2:4] = 0.2
    (face,) = rest(
        uk.Box((0.5, 0.5, 0.1)),
        uk.HeightField(heights, corner=(-0.25, -0.25), spacing=(0.1, 0.1)),
        (0, 0, 0.25),
        (1, 0, 0, 0),
    )
    for found, wanted in ((face.points.min(axis=0), (-0.05, -0.05)), (face.points.max(axis=0), (0.05, 0.05))):
        assert found[:2] == pytest.approx(wanted, abs=1e-6)


def test_ball_in_a_valley_leans_on_both_sides() -> None:
    field = uk.HeightField(0.5 - RIDGE, corner=(-1, -1), surface=uk.Surface(0.0))
    cosine = 1 / np.hypot(1, 0.5)
    contacts = rest(uk.Sphere(0.1), field, (0, 0, 0.1 / cosine), (1, 0, 0, 0))
    assert [c.normal_force for c in contacts] == pytest.approx([G / 2 / cosine] * 2, rel=1e-6)


def nearest(c: Array, triangles: Array) -> Array:
    """The nearest point of all triangles (n, 3, 3): of their planes where inside, else of their sides."""
    a, b = triangles, np.roll(triangles, -1, axis=1)
    side = b - a
    share = np.clip(((c - a) * side).sum(-1) / (side * side).sum(-1), 0, 1)
    normal = np.cross(side[:, 0], side[:, 1])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    foot = c - ((c - a[:, 0]) * normal).sum(-1, keepdims=True) * normal
    inside = ((np.cross(side, foot[:, None] - a) * normal[:, None]).sum(-1) >= 0).all(axis=1)
    points = np.concatenate([(a + share[..., None] * side).reshape(-1, 3), foot[inside]])
    return np.asarray(points[np.linalg.norm(points - c, axis=1).argmin()])


def test_ball_on_rough_ground_touches_the_nearest_triangle() -> None:
    """Where a search through all triangles says: balls of all sizes, let down until they touch."""
    rng = np.random.default_rng(3)
    n, spacing = 7, 0.1
    heights = rng.uniform(0, 0.15, (n, n))
    field = uk.HeightField(heights, corner=(0, 0), spacing=(spacing, spacing))
    grid = np.stack([*np.meshgrid(spacing * np.arange(n), spacing * np.arange(n), indexing="ij"), heights], axis=-1)
    cells = [(i, j) for i in range(n - 1) for j in range(n - 1)]
    triangles = np.array(
        [[grid[i, j], grid[i + 1, j], grid[i, j + 1]] for i, j in cells]
        + [[grid[i + 1, j + 1], grid[i + 1, j], grid[i, j + 1]] for i, j in cells]
    )
    for radius in (0.02, 0.05, 0.2) * 10:
        centre = np.array((*rng.uniform(0.1, 0.5, 2), 0.16 + radius))
        for _ in range(200):  # never past the nearest point: it goes down by what is free
            near = nearest(centre, triangles)
            free = np.linalg.norm(centre - near) - radius
            centre[2] -= free
        assert free < 1e-6
        world = loose([uk.Sphere(radius)], field, mass=1.0, q=(*centre, 1, 0, 0, 0), gravity=(0, 0, 0))
        sim = uk.Simulation(world, 1e-3)
        sim.step()
        contact = min(sim.contacts, key=lambda c: c.gap)
        assert contact.gap == pytest.approx(free, abs=1e-9)
        assert contact.normal == pytest.approx((centre - near) / radius, abs=1e-4)


@pytest.mark.parametrize("speed", [1.5, 2.5, 4.0])
def test_a_ball_rolls_over_a_smooth_bump(speed: float) -> None:
    """Never deep, and no energy but what taking a penetration back gives: a tenth of it per step against the weight."""
    x, y = np.meshgrid(np.linspace(-2, 2, 81), np.linspace(-2, 2, 81), indexing="ij")
    bump = uk.HeightField(0.2 * np.exp(-2 * (x**2 + y**2)), corner=(-2, -2), spacing=(0.05, 0.05))
    motion = (speed, 0, 0, 0, speed / 0.1, 0)
    world = loose(
        [uk.Sphere(0.1)], bump, mass=1.0, inertia=0.004 * np.eye(3), q=(-1.5, 0.03, 0.103, 1, 0, 0, 0), v=motion
    )
    sim = uk.Simulation(world, 1e-3)
    energy, deepest = [world.energy()], 0.0
    for _ in range(1200 if speed < 4 else 800):  # before it leaves the field
        sim.step()
        energy.append(world.energy())
        deepest = max(deepest, sim.report.penetration)
    assert deepest < 1e-4
    assert max(b - a for a, b in pairwise(energy)) < 0.1 * G * deepest + 1e-6
    assert max(energy) < energy[0] + 0.1 * G * 1e-4
    assert energy[-1] < energy[0]
    assert (world.q[0] > 0.5) == (speed > 2)  # 0.2 m up takes 1.7 m/s of a rolling ball


@pytest.mark.parametrize("shape", [uk.Capsule(0.1, 0.3), uk.Cylinder(0.1, 0.3), uk.Box((0.4, 0.3, 0.2))])
def test_shapes_tumble_over_a_bump(shape: Shape) -> None:
    x, y = np.meshgrid(np.linspace(-2, 2, 81), np.linspace(-2, 2, 81), indexing="ij")
    bump = uk.HeightField(0.2 * np.exp(-2 * (x**2 + y**2)), corner=(-2, -2), spacing=(0.05, 0.05))
    turn = np.array((0.9, 0.3, 0.2, 0.1)) / np.linalg.norm((0.9, 0.3, 0.2, 0.1))
    world = loose(
        [shape], bump, mass=1.0, inertia=0.01 * np.eye(3), q=(0.1, 0.05, 0.6, *turn), v=(0.3, 0.2, 0, 1, 2, 1)
    )
    sim = uk.Simulation(world, 1e-3)
    lowest = world.energy()
    for _ in range(1000):
        sim.step()
        assert sim.report.penetration < 1e-4  # ten times what counts as touching: beyond, steps are divided
        assert world.energy() < lowest + 1e-3
        lowest = min(lowest, world.energy())


def clearance(corners: Array, triangles: Array) -> float:
    """How far the hull of corners can fall on triangles: the least height between places one over the other."""
    free = np.inf
    n = len(corners)
    for triangle in triangles:
        points = np.concatenate([corners, -triangle])
        weights = np.repeat(np.eye(2), (n, 3), axis=1)  # of corners, of the triangle
        least = linprog(points[:, 2], A_eq=np.vstack([points[:, :2].T, weights]), b_eq=(0, 0, 1, 1))
        free = min(free, least.fun if least.success else np.inf)
    return free


def test_solids_over_steep_ground_touch_as_a_linear_program_says() -> None:
    """What hovers is not inside, past the border or a far hill; what overlaps is found, no deeper than it is."""
    rng = np.random.default_rng(1)
    n, spacing, overlap = 4, 0.5, 5e-4
    axis = spacing * np.arange(n)
    for _ in range(25):
        heights = rng.uniform(-0.6, 0.6, (n, n))
        grid = np.stack([*np.meshgrid(axis, axis, indexing="ij"), heights], axis=-1)
        lower, upper = (grid[:-1, :-1], grid[1:, :-1], grid[:-1, 1:]), (grid[1:, 1:], grid[1:, :-1], grid[:-1, 1:])
        triangles = np.concatenate([np.stack(t, axis=2).reshape(-1, 3, 3) for t in (lower, upper)])
        corners = 0.2 * rng.normal(size=(8, 3))
        x, y = rng.uniform(0, axis[-1], 2)
        free = clearance(np.add(corners, (x, y, 0)), triangles)
        world = loose([uk.ConvexMesh(corners)], uk.HeightField(heights, spacing=(spacing, spacing)), mass=1.0)
        scene = world.scene()
        gaps = []
        for height in (overlap - free, -overlap - free):
            scene.engine.look(np.array((x, y, height, 1, 0, 0, 0)), np.zeros(6))
            gaps.append(min((c.gap for c in scene.contacts()), default=np.inf))
        assert gaps[0] > 0
        assert -overlap * (1 + 1e-6) < gaps[1] < 0
