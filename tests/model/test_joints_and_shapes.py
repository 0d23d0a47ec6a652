"""Joints refuse what cannot be; solids weigh what integration says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ukemi as uk
from ukemi.model.shapes import Shape


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: uk.Revolute((0, 0, 0)), "Revolute.axis: expected a direction"),
        (lambda: uk.Revolute((0, np.nan, 1)), "finite"),
        (lambda: uk.Revolute((0, 1)), r"expected \(3,\)"),
        (lambda: uk.Revolute((0, 0, 1), limits=(1, -1)), "lower <= upper"),
        (lambda: uk.Revolute((0, 0, 1), limits=(1, 2, 3)), "Revolute.limits"),
        (lambda: uk.Revolute((0, 0, 1), stiffness=-3), "no negative direction"),
        (lambda: uk.Revolute((0, 0, 1), armature=-1), "Revolute.armature"),
        (lambda: uk.Universal((0, 0, 1), (0, 0, 2)), "two different axes"),
        (lambda: uk.Spherical(stiffness=[[1, 2, 0], [0, 1, 0], [0, 0, 1]]), "symmetric"),
        (lambda: uk.Spherical(rest=(0, 0, 0, 0)), "unit quaternion"),
        (lambda: uk.Free(limits=(0, 1)), "no coordinate to limit"),
        (lambda: uk.Planar((0, 0, 1), (0, 0, 1)), "Planar.x"),
        (lambda: uk.Pose((0, 0, 0), (0, 0, 0, 0)), "length 1, got zero"),
        (lambda: uk.Pose((0, 0)), "Pose.position"),
        (lambda: uk.Pose.from_matrix(2 * np.eye(3)), "rotation"),
        (lambda: uk.Box((1, -1, 1)), "positive edge lengths"),
        (lambda: uk.Sphere(0), "Sphere.radius"),
        (lambda: uk.Capsule(0.1, float("nan")), "Capsule.length"),
        (lambda: uk.ConvexMesh([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]), "flat"),
        (lambda: uk.ConvexMesh([(0, 0, 0)]), "n >= 4"),
        (lambda: uk.human(29), "dof: expected 16, 28 or 40"),
        (lambda: uk.human(28, height=-1), "height"),
        (lambda: uk.human(28, sex="robot"), "'male' or 'female'"),  # type: ignore[arg-type]
    ],
)
def test_impossible_parts_are_refused(make: Callable[[], object], match: str) -> None:
    with pytest.raises(uk.InvalidInputError, match=match):
        make()


def inside(shape: Shape, p: np.ndarray) -> np.ndarray:
    x, y, z = p.T
    if isinstance(shape, uk.Box):
        return (np.abs(p) <= np.asarray(shape.size) / 2).all(axis=1)
    if isinstance(shape, uk.Sphere):
        return (p**2).sum(axis=1) <= shape.radius**2
    if isinstance(shape, uk.Cylinder):
        return (x**2 + y**2 <= shape.radius**2) & (np.abs(z) <= shape.length / 2)
    assert isinstance(shape, uk.Capsule)
    beyond = np.maximum(np.abs(z) - shape.length / 2, 0)
    return x**2 + y**2 + beyond**2 <= shape.radius**2


@pytest.mark.parametrize(
    "shape",
    [uk.Box((0.4, 0.6, 1.0)), uk.Sphere(0.4), uk.Cylinder(0.3, 0.8), uk.Capsule(0.3, 0.8)],
    ids=lambda s: type(s).__name__,
)
def test_solids_weigh_what_integration_says(shape: Shape) -> None:
    n = 90
    grid = (np.arange(n) + 0.5) / n * 2 - 1
    points = np.stack(np.meshgrid(grid, grid, grid), axis=-1).reshape(-1, 3)
    points = points[inside(shape, points)]
    cell = (2 / n) ** 3
    second = cell * points.T @ points
    solid = shape.mass_properties(1.0)
    # midpoint rule on a ragged boundary: the error falls with the cell's size, below 3 % here
    assert solid.mass == pytest.approx(len(points) * cell, rel=0.03)
    assert np.allclose(solid.inertia, np.trace(second) * np.eye(3) - second, rtol=0.05, atol=1e-3)


def test_a_box_as_a_mesh_weighs_the_same() -> None:
    corners = np.stack(np.meshgrid((0, 1), (0, 2), (0, 3)), axis=-1).reshape(-1, 3)
    mesh, box = uk.ConvexMesh(corners), uk.Box((1, 2, 3), at=uk.Pose((0.5, 1, 1.5)))
    a, b = mesh.mass_properties(7.0), box.mass_properties(7.0)
    assert a.mass == pytest.approx(b.mass, rel=1e-12)
    assert np.allclose(a.com, b.com)
    assert np.allclose(a.inertia, b.inertia)


def test_poses_compose_and_invert() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = (uk.Pose(rng.standard_normal(3), rng.standard_normal(4)) for _ in range(2))
        assert np.allclose((a @ b).matrix, a.matrix @ b.matrix)
        assert np.allclose((a @ a.inverse()).matrix, np.eye(4))
        assert np.allclose(uk.Pose.from_matrix(a.matrix).matrix, a.matrix)


def test_roll_pitch_yaw_turn_in_urdf_order() -> None:
    r, p, y = 0.3, -0.4, 0.9
    Rx = uk.Pose((0, 0, 0), (np.cos(r / 2), np.sin(r / 2), 0, 0)).R
    Ry = uk.Pose((0, 0, 0), (np.cos(p / 2), 0, np.sin(p / 2), 0)).R
    Rz = uk.Pose((0, 0, 0), (np.cos(y / 2), 0, 0, np.sin(y / 2))).R
    assert np.allclose(uk.Pose.from_rpy((0, 0, 0), (r, p, y)).R, Rz @ Ry @ Rx)
