"""Batched quaternions against SciPy's rotations."""

from __future__ import annotations

from itertools import product as all_of

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ukemi.motion import rotations as rot

ORDERS = [a for a in all_of(range(3), repeat=3) if a[0] != a[1] and a[1] != a[2]]
#: twice the rounding of a double, over a few products
ROUNDING = 1e-14


def scipy_of(q: np.ndarray) -> Rotation:
    return Rotation.from_quat(q[:, [1, 2, 3, 0]])


def random_turns(n: int = 200) -> np.ndarray:
    q = np.random.default_rng(3).standard_normal((n, 4))
    return np.asarray(q / np.linalg.norm(q, axis=1, keepdims=True))


def test_products_points_matrices_and_vectors_are_scipys() -> None:
    a, b = random_turns(), random_turns()[::-1]
    p = np.random.default_rng(4).standard_normal((len(a), 3))
    assert np.abs(rot.matrices(a) - scipy_of(a).as_matrix()).max() < ROUNDING
    assert np.abs(rot.rotated(a, p) - scipy_of(a).apply(p)).max() < ROUNDING
    assert rot.angle_between(rot.of_matrices(rot.matrices(a)), a).max() < ROUNDING
    assert np.abs(rot.rotation_vector(a) - scipy_of(a).as_rotvec()).max() < 1e-13
    both = (scipy_of(a) * scipy_of(b)).as_matrix()
    assert np.abs(rot.matrices(rot.product(a, b)) - both).max() < ROUNDING


@pytest.mark.parametrize("axes", ORDERS, ids=lambda a: "".join("xyz"[i] for i in a))
def test_angles_come_back_for_every_order_and_at_gimbal_lock(axes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    angles = rng.uniform(-3.1, 3.1, (300, 3))
    angles[:40, 1] = np.pi / 2
    angles[40:80, 1] = -np.pi / 2
    angles[80:120, 1] = 0.0
    q = rot.of_angles(angles, axes)
    written = "".join("XYZ"[i] for i in axes)
    assert np.abs(rot.matrices(q) - Rotation.from_euler(written, angles).as_matrix()).max() < ROUNDING
    # at gimbal lock half of the digits are lost, as everywhere
    assert rot.angle_between(rot.of_angles(rot.angles_of(q, axes), axes), q).max() < 1e-7
    regular = np.abs(np.cos(angles[:, 1]) if len(set(axes)) == 3 else np.sin(angles[:, 1])) > 0.1
    near = rot.angles_of(q, axes, near=angles + 2 * np.pi * rng.integers(-2, 3, angles.shape))
    turns = (near - angles)[regular] / (2 * np.pi)
    assert np.abs(turns - np.round(turns)).max() < 1e-12


def test_means_and_ways_between() -> None:
    q = random_turns(2)
    assert rot.angle_between(rot.slerp(q[:1], q[1:], np.array([0.0])), q[:1]).max() < ROUNDING
    assert rot.angle_between(rot.slerp(q[:1], q[1:], np.array([1.0])), q[1:]).max() < 1e-13
    middle = rot.slerp(q[:1], q[1:], np.array([0.5]))
    assert rot.angle_between(rot.mean_rotation(np.stack([q[0], -q[1]]))[None], middle).max() < 1e-7


def test_signs_follow_the_neighbours() -> None:
    angle = np.linspace(0, 20, 400)
    q = rot.about(2, angle)
    jumping = q * np.random.default_rng(1).choice([-1.0, 1.0], len(q))[:, None]
    assert np.array_equal(rot.continuous(jumping), q)
