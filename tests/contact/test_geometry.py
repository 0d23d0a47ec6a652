"""Where shapes meet: points, normals and gaps of every pair of kinds, against what one sees."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from tests.problems.bodies import loose

import ukemi as uk
from ukemi.contact.reports import Contact
from ukemi.contact.terrain import Terrain
from ukemi.model.arrays import Array
from ukemi.model.shapes import Shape

QUARTER = np.sqrt(0.5)


def meet(
    shape: Shape, terrain: Terrain, place: tuple[float, ...], turn: tuple[float, ...] = (1, 0, 0, 0)
) -> list[Contact]:
    """Contacts of a body of 1 kg after a millisecond at rest without gravity."""
    world = loose([shape], terrain, mass=1.0, q=(*place, *turn), gravity=(0, 0, 0))
    return touching(world)


def touching(world: uk.World) -> list[Contact]:
    sim = uk.Simulation(world, 1e-3)
    sim.step()
    return sim.contacts


def block(size: tuple[float, float, float], at: tuple[float, float, float] = (0, 0, 0)) -> uk.Solids:
    return uk.Solids([uk.Box(size, at=uk.Pose(at))])


def hull(contact: Contact) -> np.ndarray:
    return np.unique(np.round(contact.points, 6), axis=0)


def test_box_on_a_plane_is_a_face() -> None:
    (contact,) = meet(uk.Box((0.4, 0.2, 0.1)), uk.Ground(), (0, 0, 0.05))
    assert np.allclose(contact.normal, (0, 0, 1))
    assert np.abs(hull(contact)).max(axis=0) == pytest.approx((0.2, 0.1, 0))
    assert len(hull(contact)) == 4
    assert contact.links == ("b/body", "ground")


def test_box_on_a_box_shares_the_overlap() -> None:
    lower = block((1, 1, 1), (0.45, 0.0, -0.5))  # from x = -0.05 on
    (contact,) = meet(uk.Box((0.4, 0.2, 0.1)), lower, (0, 0, 0.05))
    assert np.allclose(contact.normal, (0, 0, 1))
    found = hull(contact)
    assert found.min(axis=0) == pytest.approx((-0.05, -0.1, 0), abs=1e-6)
    assert found.max(axis=0) == pytest.approx((0.2, 0.1, 0), abs=1e-6)


def test_edges_that_cross_meet_in_a_point() -> None:
    turn = (np.cos(np.pi / 8), np.sin(np.pi / 8), 0, 0)  # an eighth of a turn about x: an edge along x below
    half = 0.1 * np.sqrt(2)
    ridge = uk.Solids([uk.Box((0.2, 1, 0.2), at=uk.Pose((0, 0, -half), (np.cos(np.pi / 8), 0, np.sin(np.pi / 8), 0)))])
    (contact,) = meet(uk.Box((1, 0.2, 0.2)), ridge, (0, 0, half), turn)
    assert np.allclose(contact.points, 0, atol=1e-9)
    assert np.allclose(contact.normal, (0, 0, 1))
    assert len(contact.points) == 1


def test_capsule_across_the_edge_of_a_box() -> None:
    """Lying along x over the edge x = 0 of a block: it rests on the face from the edge to its end."""
    along = (QUARTER, 0, QUARTER, 0)
    (contact,) = meet(uk.Capsule(0.05, 0.4), block((1, 1, 1), (0.5, 0, -0.5)), (0, 0, 0.05), along)
    found = hull(contact)
    assert np.allclose(contact.normal, (0, 0, 1))
    assert found[:, 0].min() == pytest.approx(0.0, abs=1e-6)
    assert found[:, 0].max() == pytest.approx(0.2, abs=1e-6)
    assert np.allclose(found[:, 1:], 0, atol=1e-6)


def test_capsule_beside_an_edge_leans_on_it() -> None:
    """Its axis beside and above the edge: the normal points from the edge to the axis."""
    across = (QUARTER, QUARTER, 0, 0)  # along y
    (contact,) = meet(uk.Capsule(0.05, 0.4), block((1, 2, 1), (0.5, 0, -0.5)), (-0.03, 0, 0.04), across)
    assert np.allclose(contact.normal, (-0.6, 0, 0.8), atol=1e-9)
    assert np.abs(contact.points[:, 0]).max() < 1e-9
    assert contact.gap == pytest.approx(0, abs=1e-12)


def pair(a: Shape, b: Shape, place: tuple[float, float, float]) -> list[Contact]:
    world = uk.World((0, 0, 0))
    world.collisions = True
    for name, shape, at in (("a", a, place), ("b", b, (0, 0, 0))):
        builder = uk.Builder(name)
        builder.link("body", joint=uk.Free(), mass=1.0, shapes=[shape])
        world.add(builder.build(), name=name, q=(*at, 1, 0, 0, 0))
    return touching(world)


@pytest.mark.parametrize("apart", [0.0, -1e-4])
def test_two_spheres(apart: float) -> None:
    distance = 0.3 + apart
    direction = np.array((2.0, -1, 2)) / 3
    (contact,) = pair(uk.Sphere(0.1), uk.Sphere(0.2), tuple(direction * distance))
    sign = 1.0 if contact.links[0] == "a/body" else -1.0
    assert np.allclose(contact.normal, sign * direction, atol=1e-9)
    assert contact.gap == pytest.approx(apart, abs=2e-5)
    assert np.linalg.norm(contact.points[0]) == pytest.approx(0.2, abs=2e-4)


def penetration(shapes: Sequence[Shape], middles: Sequence[Array], turns: Sequence[Rotation]) -> float:
    """How deep two loose bodies are in each other."""
    world = uk.World((0, 0, 0))
    world.collisions = True
    for name, shape, at, turn in zip("ab", shapes, middles, turns, strict=True):
        builder = uk.Builder(name)
        builder.link("body", joint=uk.Free(), mass=1.0, shapes=[shape])
        world.add(builder.build(), name=name, q=(*at, *turn.as_quat(scalar_first=True)))
    return world.scene().engine.look(world.q, world.v)


def rods_apart(ends: Array) -> float:
    """Distance of two segments: of an end from the other one, or of their lines, if nearest between the ends."""
    (a, a_end), (b, b_end) = ends
    u, v = a_end - a, b_end - b

    def from_segment(p: Array, start: Array, along: Array) -> float:
        share = np.clip((p - start) @ along / np.maximum(along @ along, 1e-300), 0, 1)
        return float(np.linalg.norm(start + share * along - p))

    least = [from_segment(p, b, v) for p in (a, a_end)] + [from_segment(p, a, u) for p in (b, b_end)]
    s, t = np.linalg.lstsq(np.stack((u, -v), axis=1), b - a)[0]
    if 0 <= s <= 1 and 0 <= t <= 1:
        least.append(float(np.linalg.norm(a + s * u - b - t * v)))
    return min(least)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["any", "parallel", "almost", "in line", "short"]))
def test_distance_of_two_capsules(seed: int, how: str) -> None:
    rng = np.random.default_rng(seed)
    length = rng.uniform(0.1, 0.5, 2) * (1, 1e-9 if how == "short" else 1)
    along = [Rotation.random(random_state=seed + i) for i in (0, 1)]
    if how in ("parallel", "in line"):
        along[1] = along[0] * Rotation.from_rotvec((np.pi * (seed % 2), 0, 0))  # or against each other
    elif how == "almost":
        along[1] = Rotation.from_rotvec(rng.normal(0, 1e-8, 3)) * along[0]
    middle = [np.zeros(3), rng.normal(0, 0.2, 3)]
    if how == "in line":
        middle[1] = along[0].apply((0, 0, 0.8))
    half = [r.apply((0, 0, x / 2)) for r, x in zip(along, length, strict=True)]
    apart = rods_apart(np.array([(m - h, m + h) for m, h in zip(middle, half, strict=True)]))
    deep = 0.1 * apart
    capsules = [uk.Capsule((apart + deep) / 2, x) for x in length]
    assert penetration(capsules, middle, along) == pytest.approx(deep, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_a_ball_over_the_end_of_a_cylinder(seed: int) -> None:
    rng = np.random.default_rng(seed)
    turn = Rotation.random(random_state=seed)
    across = 0.99 * 0.08 * np.sqrt(rng.uniform()) * np.exp(1j * rng.uniform(0, 2 * np.pi))
    middle = turn.apply((across.real, across.imag, 0.1 + 0.05 - 1e-3))
    shapes = [uk.Sphere(0.05), uk.Cylinder(0.08, 0.2)]
    assert penetration(shapes, [middle, np.zeros(3)], [turn, turn]) == pytest.approx(1e-3, abs=1e-12)


def test_spheres_apart_do_not_touch() -> None:
    assert pair(uk.Sphere(0.1), uk.Sphere(0.2), (0.3001, 0, 0)) == []


@pytest.mark.parametrize(
    "shape",
    [
        uk.Sphere(0.1),
        uk.Capsule(0.1, 0.3),
        uk.Box((0.2, 0.2, 0.2)),
        uk.Cylinder(0.1, 0.2),
        uk.ConvexMesh([(0.3, 0, -0.1), (-0.2, 0.2, -0.1), (-0.2, -0.2, -0.1), (0, 0, 0.3)]),
    ],
)
def test_every_shape_rests_on_plane_block_and_field(shape: Shape) -> None:
    """Dropped by a millimetre it comes to rest where its lowest point touches, on whatever is there."""
    flat = np.zeros((11, 11))
    grounds: list[Terrain] = [
        uk.Ground(),
        block((4, 4, 1), (0, 0, -0.5)),
        uk.HeightField(flat, corner=(-2, -2), spacing=(0.4, 0.4)),
    ]
    ends = []
    for ground in grounds:
        world = loose([shape], ground, mass=1.0, q=(0.013, 0.021, 2.0, 1, 0, 0, 0))
        lowest = -deepest_point(shape)
        q = world.q.copy()
        q[2] = lowest + 1e-3
        world.set_state(q)
        sim = uk.Simulation(world, 1e-3)
        recording = sim.run(0.1)
        assert sim.report.certificate.valid
        assert recording.q[:, 2].min() > lowest - 1e-4
        assert abs(world.q[2] - lowest) < 1e-4
        force = sum((c.force for c in sim.contacts), np.zeros(3))
        assert force[2] == pytest.approx(9.81, rel=1e-3)
        ends.append(world.q)
    for a, b in pairwise(ends):
        assert np.abs(a - b).max() < 1e-4


def deepest_point(shape: Shape) -> float:
    match shape:
        case uk.Sphere():
            return -shape.radius
        case uk.Capsule():
            return -shape.radius - shape.length / 2
        case uk.Cylinder():
            return -shape.length / 2
        case uk.Box():
            return -float(np.asarray(shape.size)[2]) / 2
        case uk.ConvexMesh():
            return float(np.asarray(shape.points)[:, 2].min())
    raise AssertionError


def test_cylinder_rolls_as_a_round_body() -> None:
    """Down a slope of 0.2 rad: (2/3) g sin, not the polygon's steps."""
    slope = 0.2
    g = (9.81 * np.sin(slope), 0, -9.81 * np.cos(slope))
    lying = (QUARTER, QUARTER, 0, 0)
    world = loose([uk.Cylinder(0.1, 0.3)], uk.Ground(), mass=1.0, q=(0, 0, 0.1, *lying), gravity=g)
    recording = uk.Simulation(world, 1e-3).run(0.5)
    assert world.q[0] == pytest.approx(0.5 * 2 / 3 * g[0] * 0.25, rel=1e-4)
    assert np.abs(recording.q[:, 2] - 0.1).max() < 1e-5
    assert np.abs(recording.q[:, 1]).max() < 1e-9


def test_stairs_are_where_they_say() -> None:
    """A ball put on each step stays there; the last step is as high as all rises together."""
    rise, going = 0.17, 0.29
    for k in range(1, 5):
        place = (going * (k - 0.5), 0.3, rise * k + 0.05)
        (contact,) = meet(uk.Sphere(0.05), uk.stairs(4, rise, going), place)
        assert np.allclose(contact.normal, (0, 0, 1))
        assert contact.points[0] == pytest.approx((place[0], 0.3, rise * k), abs=1e-9)


def test_a_sloping_field_is_a_plane() -> None:
    x, y = np.meshgrid(np.arange(6.0), np.arange(6.0), indexing="ij")
    field = uk.HeightField(0.2 * x - 0.1 * y, corner=(-2.5, -2.5))
    normal = np.array((-0.2, 0.1, 1)) / np.linalg.norm((-0.2, 0.1, 1))
    surface = np.array((0.3, 0.4, 0.2 * 2.8 - 0.1 * 2.9))
    (contact,) = meet(uk.Sphere(0.2), field, tuple(surface + 0.2 * normal))
    assert np.allclose(contact.normal, normal)
    assert np.allclose(contact.points[0], surface, atol=1e-9)


def test_treadmill_carries_what_stands_on_it() -> None:
    belt = uk.Ground(velocity=(1.5, 0, 0), friction=0.5)
    world = loose([uk.Box((0.2, 0.2, 0.1))], belt, mass=1.0, q=(0, 0, 0.05, 1, 0, 0, 0))
    recording = uk.Simulation(world, 1e-3).run(1.0)
    assert np.abs(world.v - (1.5, 0, 0, 0, 0, 0)).max() < 1e-9
    caught = 1.5 / (0.5 * 9.81)
    assert world.q[0] == pytest.approx(1.5 * (1 - caught / 2), abs=1e-5)
    assert np.abs(recording.q[:, 1]).max() < 1e-12


@pytest.mark.parametrize("first", [True, False])
def test_links_fixed_to_the_world_are_touched(first: bool) -> None:
    """A table that is a figure without joints, whichever came first, beside the ground, a wall and another table: a box
    stands on it; and an arm touches its own fixed base."""
    table, box, arm = uk.Builder("table"), uk.Builder("box"), uk.Builder("arm")
    table.link("top", shapes=[uk.Box((1, 1, 0.1))], mass=1.0)
    box.link("box", joint=uk.Free(), shapes=[uk.Box((0.1, 0.1, 0.1))], mass=2.0)
    arm.link("base", shapes=[uk.Box((1, 1, 0.1), at=uk.Pose((3, 0, 0)))], mass=1.0)
    arm.link("pole", parent="base", joint=uk.Revolute((0, 1, 0)), at=uk.Pose((3, 0, 0.6)), mass=1.0, com=(0.1, 0, 0))
    arm.link(
        "hammer", "pole", uk.Revolute((0, 1, 0)), mass=1.0, shapes=[uk.Box((0.1, 0.1, 0.1), at=uk.Pose((0.5, 0, 0)))]
    )
    world = uk.World()
    world.terrain = [uk.Ground(height=-0.05), uk.Solids([uk.Box((0.1, 1, 1), at=uk.Pose((-0.5, 0, 0)))])]
    models = [("table", table.build()), ("second", table.build()), ("arm", arm.build())]
    for name, model in models if first else []:
        world.add(model, name=name)
    on_top = world.add(box.build(), q=(0, 0, 0.1, 1, 0, 0, 0))
    for name, model in [] if first else models:
        world.add(model, name=name)
    sim = uk.Simulation(world, 1e-3)
    recording = sim.run(0.6)
    assert on_top.q == pytest.approx((0, 0, 0.1, 1, 0, 0, 0), abs=1e-9)
    force = sum(c.force for c in sim.contacts if c.links[0] == "box/box")
    assert force == pytest.approx((0, 0, 2 * 9.81), abs=1e-6)
    assert any(set(c.links) == {"arm/hammer", "arm/base"} for sample in recording.contacts for c in sample)
