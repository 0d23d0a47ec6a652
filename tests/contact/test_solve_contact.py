"""The frictional contact problem as a function: closed forms, invariances, redundant rows, random ones, bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import nnls
from tests.oracles.natural_map import residual

import ukemi as uk
from ukemi.model.arrays import Array

G = 9.81
#: What solve_contact promises by default.
TOLERANCE = 1e-6


def box_on_corners(half: tuple[float, float, float], mass: float) -> tuple[Array, Array]:
    """(J, M^-1) of a cube's four lower corners, rows normal (z), x, y of each."""
    a, b, c = half
    inertia = mass / 3 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    rows = []
    for x, y in ((a, b), (-a, b), (-a, -b), (a, -b)):
        p = np.array([x, y, -c])
        for e in np.array([(0, 0, 1), (1, 0, 0), (0, 1, 0)], dtype=float):
            rows.append(np.concatenate([e, np.cross(p, e)]))
    return np.array(rows), np.diag(1 / np.concatenate([np.full(3, mass), inertia]))


def random_problem(rng: np.random.Generator, contacts: int, mu: float) -> tuple[Array, Array, tuple[str, ...]]:
    """Contacts, a joint limit and a loop on a random mechanism; more rows than DOF every other time."""
    kinds = ("contact",) * contacts + ("unilateral", "bilateral")
    rows = 3 * contacts + 2
    nv = int(rng.integers(max(6, contacts), 4 * contacts + 8))
    J = rng.normal(size=(rows, nv)) * np.exp(rng.normal(size=nv))
    v = rng.normal(size=nv)
    return J @ J.T, J @ v, kinds


@pytest.mark.parametrize(("slope", "moves"), [(0.4, False), (0.6, True)])
def test_a_block_on_an_incline_sticks_below_the_angle_of_friction_and_slips_above(slope: float, moves: bool) -> None:
    mass, h, mu = 2.0, 1e-3, 0.5
    angle = np.arctan(slope)
    q = h * G * np.array([-np.cos(angle), np.sin(angle), 0.0])
    found = uk.solve_contact(np.eye(3) / mass, q, mu)
    normal = mass * h * G * np.cos(angle)
    pull = mass * h * G * np.sin(angle)
    friction = mu * normal if moves else pull
    assert found.labels == ("slip" if moves else "stick",)
    np.testing.assert_allclose(found.r, [normal, -friction, 0], rtol=1e-5)
    np.testing.assert_allclose(found.u, [0, (pull - friction) / mass, 0], atol=1e-6 * h * G)


def test_a_contact_that_parts_takes_no_force() -> None:
    found = uk.solve_contact(np.eye(3), [0.1, -2.0, 1.0], 0.8)
    assert found.labels == ("off",)
    assert not found.r.any()
    np.testing.assert_array_equal(found.u, [0.1, -2.0, 1.0])


def test_a_ball_pushed_between_two_walls_is_held_by_both_in_balance() -> None:
    # a V of 90 degrees: normals at 45 degrees; the ball's weight is shared by the normals alone, as nothing slips
    s = np.sqrt(0.5)
    n1, n2 = np.array([s, 0, s]), np.array([-s, 0, s])
    t1, t2 = np.array([s, 0, -s]), np.array([s, 0, s])
    y = np.array([0.0, 1.0, 0.0])
    J = np.array([n1, t1, y, n2, t2, y])
    found = uk.solve_contact(J @ J.T, J @ (0, 0, -1.0), 0.3)
    # along t1 = -n2 friction of one wall stands for the normal of the other: what is unique is the sum
    np.testing.assert_allclose(J.T @ found.r, (0, 0, 1), atol=1e-6)
    assert found.valid
    np.testing.assert_allclose(found.r[[0, 3]], found.r[0], rtol=1e-5)  # the least forces are symmetric


def test_bilateral_rows_are_a_linear_system() -> None:
    rng = np.random.default_rng(0)
    J = rng.normal(size=(7, 12))
    W, q = J @ J.T, rng.normal(size=7)
    found = uk.solve_contact(W, q, 0, kinds=["bilateral"] * 7, tolerance=1e-10)
    np.testing.assert_allclose(found.r, np.linalg.solve(W, -q), rtol=1e-7)
    assert found.bilateral < 1e-10
    assert set(found.labels) == {"stick"}


def test_without_friction_it_is_the_linear_complementarity_problem() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        J = rng.normal(size=(15, 20))
        W, q = J @ J.T, rng.normal(size=15)
        normal = slice(0, None, 3)
        # W_nn r >= -q, r >= 0: the normal equations of a least-squares problem with signs
        root = np.linalg.cholesky(W[normal, normal])
        expected, _ = nnls(root.T, -np.linalg.solve(root, q[normal]))
        found = uk.solve_contact(W, q, 0.0, tolerance=1e-9)
        np.testing.assert_allclose(found.r[normal], expected, atol=1e-8)
        assert not np.delete(found.r, np.arange(0, 15, 3)).any()
        rows = uk.solve_contact(W[normal, normal], q[normal], 0, kinds=["unilateral"] * 5, tolerance=1e-9)
        np.testing.assert_allclose(rows.r, expected, atol=1e-8)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 14), st.sampled_from([0.0, 0.1, 0.5, 0.8]))
def test_random_problems_are_solved_and_the_residual_is_true(seed: int, contacts: int, mu: float) -> None:
    W, q, kinds = random_problem(np.random.default_rng(seed), contacts, mu)
    found = uk.solve_contact(W, q, mu, kinds=kinds)
    assert found.residual <= TOLERANCE
    assert found.residual == pytest.approx(residual(W, q, [mu] * contacts, kinds, found.r), rel=1e-3, abs=1e-12)
    np.testing.assert_allclose(found.u, W @ found.r + q, atol=1e-9 * np.abs(q).max())
    assert found.bilateral == pytest.approx(abs(found.u[-1]) / np.abs(q).max(), abs=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.floats(-6, 6), st.floats(-6, 6))
def test_units_do_not_matter(seed: int, mass: float, speed: float) -> None:
    W, q, kinds = random_problem(np.random.default_rng(seed), 4, 0.5)
    m, s = 10.0**mass, 10.0**speed
    here = uk.solve_contact(W, q, 0.5, kinds=kinds, tolerance=1e-9)
    there = uk.solve_contact(W / m, q * s, 0.5, kinds=kinds, tolerance=1e-9)
    assert there.labels == here.labels
    np.testing.assert_allclose(there.u / s, here.u, atol=1e-7 * np.abs(q).max())


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 6.3))
def test_the_tangents_may_be_turned(seed: int, angle: float) -> None:
    W, q, kinds = random_problem(np.random.default_rng(seed), 4, 0.5)
    turn = np.eye(len(q))
    for i in range(1, 12, 3):
        turn[i : i + 2, i : i + 2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    here = uk.solve_contact(W, q, 0.5, kinds=kinds, tolerance=1e-9)
    turned = turn @ W @ turn.T
    there = uk.solve_contact(0.5 * (turned + turned.T), turn @ q, 0.5, kinds=kinds, tolerance=1e-9)
    np.testing.assert_allclose(turn.T @ there.u, here.u, atol=1e-7 * np.abs(q).max())


def test_the_order_of_contacts_does_not_matter() -> None:
    rng = np.random.default_rng(5)
    W, q, kinds = random_problem(rng, 6, 0.5)
    order = rng.permutation(6)
    rows = np.concatenate([*(np.arange(3 * i, 3 * i + 3) for i in order), [18, 19]])
    mu = rng.uniform(0.1, 0.9, 6)
    here = uk.solve_contact(W, q, mu, kinds=kinds, tolerance=1e-10)
    there = uk.solve_contact(W[np.ix_(rows, rows)], q[rows], mu[order], kinds=kinds, tolerance=1e-10)
    np.testing.assert_allclose(there.u, here.u[rows], atol=1e-8)
    assert there.labels == tuple(here.labels[i] for i in [*order, 6, 7])


def test_problems_side_by_side_are_islands_that_do_not_know_of_each_other() -> None:
    rng = np.random.default_rng(6)
    problems = [random_problem(rng, 3, 0.5) for _ in range(4)]
    n = len(problems[0][1])
    W = sparse.block_diag([p[0] for p in problems])
    together = uk.solve_contact(W, np.concatenate([p[1] for p in problems]), 0.5, kinds=problems[0][2] * 4)
    assert together.islands == 4
    for i, (response, q, kinds) in enumerate(problems):
        alone = uk.solve_contact(response, q, 0.5, kinds=kinds)
        np.testing.assert_array_equal(together.r[i * n : (i + 1) * n], alone.r)


def test_rows_that_stand_twice_do_no_harm() -> None:
    for seed in range(20):
        W, q, kinds = random_problem(np.random.default_rng(seed), 4, 0.6)
        once = uk.solve_contact(W, q, 0.6, kinds=kinds)
        twice = uk.solve_contact(np.tile(W, (2, 2)), np.tile(q, 2), 0.6, kinds=kinds * 2)
        assert twice.valid
        n = len(q)
        np.testing.assert_allclose(twice.u[:n], once.u, atol=1e-4 * np.abs(q).max())
        assert twice.growth < 2 * once.growth + 1


@pytest.mark.parametrize("apart", [1e-9, 1e-6, 1e-3])
def test_rows_that_contradict_each_other_do_not_blow_up_forces(apart: float) -> None:
    rng = np.random.default_rng(3)
    J = rng.normal(size=(3, 6))
    W, q = np.tile(J @ J.T, (2, 2)), np.tile(rng.normal(size=3), 2)
    alone = uk.solve_contact(J @ J.T, q[:3], 0, kinds=["bilateral"] * 3)
    found = uk.solve_contact(W, q + apart * np.repeat([0.0, 1.0], 3), 0, kinds=["bilateral"] * 6)
    # nothing is better than half of the contradiction for each copy
    assert found.bilateral <= apart / np.abs(q).max() + 1e-6
    assert found.valid == (found.residual <= TOLERANCE)
    # the first proximal term lets forces grow by apart / (2 eta), and no later one more
    assert found.growth < alone.growth + apart / 1e-5
    np.testing.assert_allclose(found.r[:3] + found.r[3:], alone.r, atol=1e-3 + 10 * apart)


def test_forces_that_motion_leaves_open_stay_as_they_were() -> None:
    J, inverse = box_on_corners((0.5, 0.5, 0.2), 10.0)
    W, q = J @ inverse @ J.T, J @ (0, 0, -G * 1e-3, 0, 0, 0)
    even = uk.solve_contact(W, q, 0.5)
    twist = np.zeros(12)
    twist[[0, 6]], twist[[3, 9]] = 0.002, -0.002
    start = even.r + twist  # bears the same load on two diagonal corners more
    np.testing.assert_allclose(J.T @ twist, 0, atol=1e-12)
    held = uk.solve_contact(W, q, 0.5, start=start)
    np.testing.assert_allclose(held.r, start, atol=1e-6)
    rng = np.random.default_rng(0)
    for step in range(50):  # a load that changes by 1.5 % a step, with noise in the gaps
        noise = np.zeros(12)
        noise[::3] = 1e-6 * np.abs(q).max() * rng.uniform(-1, 1, 4)
        load = 1 + 0.15 * np.sin(0.1 * step)
        new = uk.solve_contact(W, load * q + noise, 0.5, start=held.r)
        if step:
            assert np.abs(new.r - held.r)[::3].max() < 0.05 * np.abs(held.r[::3]).max()
        held = new


@pytest.mark.parametrize("ratio", [1e2, 1e4, 1e6])
def test_heavy_on_light_is_solved(ratio: float) -> None:
    # three slabs on each other, four points between two of them: light, heavy, light, heavy from below
    blocks, gravity = [], []
    for i in range(4):
        J, inverse = box_on_corners((0.5, 0.5, 0.1), ratio if i % 2 else 1.0)
        blocks.append((J, inverse))
        gravity += [0, 0, -G * 1e-3, 0, 0, 0]
    H = np.zeros((48, 24))
    for i, (J, _) in enumerate(blocks):
        H[12 * i : 12 * i + 12, 6 * i : 6 * i + 6] = J
        if i:
            top = J.copy()
            for k in range(4):  # the same points seen from the slab below: at its upper side
                p = np.array([*((0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5), (0.5, -0.5))[k], 0.1])
                for row, e in enumerate(np.array([(0, 0, 1), (1, 0, 0), (0, 1, 0)], dtype=float)):
                    top[3 * k + row, 3:] = np.cross(p, e)
            H[12 * i : 12 * i + 12, 6 * i - 6 : 6 * i] = -top
    response: Array = np.eye(24)
    for i, (_, m) in enumerate(blocks):
        response[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = m
    W = H @ response @ H.T
    found = uk.solve_contact(0.5 * (W + W.T), H @ gravity, 0.5)
    assert found.valid
    weight = G * 1e-3 * (2 + 2 * ratio)
    assert found.r[:12:3].sum() == pytest.approx(weight, rel=1e-4)


def test_it_starts_from_the_last_forces() -> None:
    W, q, kinds = random_problem(np.random.default_rng(11), 10, 0.5)
    cold = uk.solve_contact(W, q, 0.5, kinds=kinds)
    warm = uk.solve_contact(W, 1.001 * q, 0.5, kinds=kinds, start=cold.r)
    assert warm.valid
    assert warm.iterations < cold.iterations


def test_the_same_problem_has_the_same_answer_bit_for_bit() -> None:
    W, q, kinds = random_problem(np.random.default_rng(12), 12, 0.7)
    first = uk.solve_contact(W, q, 0.7, kinds=kinds)
    uk.solve_contact(np.eye(3), np.ones(3), 0.5)
    again = uk.solve_contact(W, q, 0.7, kinds=kinds)
    np.testing.assert_array_equal(first.r, again.r)
    assert first.iterations == again.iterations


def test_sparse_and_dense_responses_are_the_same() -> None:
    W, q, kinds = random_problem(np.random.default_rng(13), 5, 0.4)
    dense = uk.solve_contact(W, q, 0.4, kinds=kinds)
    for kind in (sparse.csr_matrix, sparse.coo_array):
        np.testing.assert_array_equal(uk.solve_contact(kind(W), q, 0.4, kinds=kinds).r, dense.r)


def test_iterations_are_limited_and_the_best_forces_are_returned() -> None:
    W, q, kinds = random_problem(np.random.default_rng(14), 14, 0.8)
    found = uk.solve_contact(W, q, 0.8, kinds=kinds, passes=1, newton=1, interior=0, admm=0)
    assert not found.valid
    assert found.iterations <= 3
    nothing = residual(W, q, [0.8] * 14, kinds, np.zeros(len(q)))
    assert found.residual <= nothing
    assert found.residual == pytest.approx(residual(W, q, [0.8] * 14, kinds, found.r), rel=1e-6)


def test_no_rows_are_no_problem() -> None:
    found = uk.solve_contact(np.zeros((0, 0)), [], 0.5)
    assert found.valid
    assert found.labels == ()


def test_a_row_that_nothing_moves_takes_no_force_and_is_reported() -> None:
    W = np.zeros((4, 4))
    W[:3, :3] = np.eye(3)
    found = uk.solve_contact(W, [-1.0, 0, 0, -0.5], 0.5, kinds=["contact", "unilateral"])
    assert found.r[3] == 0
    assert found.residual == pytest.approx(0.5)
    assert not found.valid


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a matrix of other size": ({"W": np.eye(4)}, "W: expected .3, 3"),
    "a matrix with NaN": ({"W": np.full((3, 3), np.nan)}, "W: expected finite"),
    "a matrix that is not symmetric": ({"W": np.array([[1, 0.1, 0], [0, 1, 0], [0, 0, 1.0]])}, "symmetric"),
    "a negative response": ({"W": -np.eye(3)}, "semidefinite"),
    "infinite q": ({"q": [np.inf, 0, 0]}, "q: expected finite"),
    "two rows": ({"q": [0.0, 1.0]}, "three rows"),
    "negative friction": ({"mu": -0.1}, "mu: expected 0"),
    "friction of two": ({"mu": [0.1, 0.2]}, "mu: expected"),
    "an unknown kind": ({"kinds": ["cone"]}, "kinds"),
    "rows that do not fit": ({"kinds": ["contact", "bilateral"]}, "have 4 rows"),
    "a short start": ({"start": [0.0]}, "start"),
    "no tolerance": ({"tolerance": 0.0}, "tolerance"),
    "no passes": ({"passes": 0}, "passes"),
    "half a step": ({"newton": 0.5}, "newton"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused_with_what_was_wanted(what: str) -> None:
    given, words = BAD[what]
    good: dict[str, Any] = {"W": np.eye(3), "q": [-1.0, 0, 0], "mu": 0.5}
    with pytest.raises(uk.InvalidInputError, match=words):
        uk.solve_contact(**{**good, **given})
