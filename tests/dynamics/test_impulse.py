"""Impulses through trees: against dense matrices, closed forms of rigid bodies, invariants of impacts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.trees import random_model

import ukemi as uk
from ukemi.model.arrays import Array

#: two factorisations of the same well-conditioned matrix
AGREE = 1e-9


def dense_rows(model: uk.Model, q: Array, names: list[str]) -> Array:
    """Jacobians (6 m, nv) in link coordinates."""
    poses = uk.link_poses(model, q)
    rows = []
    for name in names:
        R = poses[model.link_index(name)][:3, :3]
        J = uk.jacobian(model, q, name)
        rows += [R.T @ J[:3], R.T @ J[3:]]
    return np.concatenate(rows)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), links=st.integers(1, 14), count=st.integers(1, 5), elastic=st.booleans())
def test_psi_is_j_minv_jt_for_links_on_any_branches(seed: int, links: int, count: int, elastic: bool) -> None:
    model = random_model(seed, links, elastic=elastic)
    rng = np.random.default_rng(seed)
    q, _ = model.random(rng)
    names = [model.link_names[k] for k in rng.integers(0, model.nlinks, count)]
    J = dense_rows(model, q, names)
    expected = J @ np.linalg.solve(uk.mass_matrix(model, q), J.T) if model.nv else np.zeros((6 * count, 6 * count))
    psi = uk.inverse_inertia(model, q, *names)
    assert np.abs(psi - expected).max() < AGREE * max(1.0, np.abs(expected).max())


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), links=st.integers(1, 14), elastic=st.booleans())
def test_impulses_move_as_the_inertia_matrix_says(seed: int, links: int, elastic: bool) -> None:
    model = random_model(seed, links, elastic=elastic)
    rng = np.random.default_rng(seed)
    states = [model.random(rng)[0] for _ in range(5)]
    q = np.array(states)
    impulses, joint = rng.standard_normal((5, model.nlinks, 6)), rng.standard_normal((5, model.nv))
    found = uk.impulse_response(model, q, impulses, joint)
    for k in range(5):
        J = dense_rows(model, q[k], list(model.link_names))
        force = joint[k] + J.T @ impulses[k].ravel()
        expected = np.linalg.solve(uk.mass_matrix(model, q[k]), force) if model.nv else force
        assert np.abs(found[k] - expected).max(initial=0) < AGREE * max(1.0, np.abs(expected).max(initial=0))


def test_separate_structures_do_not_feel_each_other() -> None:
    b = uk.Builder()
    for name in ("a", "b"):
        b.link(name, joint=uk.Free(), mass=1, inertia=(0.1, 0.1, 0.1))
    model = b.build()
    psi = uk.inverse_inertia(model, model.neutral(), "a", "b")
    assert not psi[:6, 6:].any()
    assert np.allclose(psi[:6, :6], np.diag([1, 1, 1, 10, 10, 10]))


def two_bodies(points: Array) -> tuple[uk.Model, Array]:
    rng = np.random.default_rng(7)
    b = uk.Builder()
    q = []
    for name, mass in (("a", 2.0), ("b", 3.0)):
        b.link(name, joint=uk.Free(), mass=mass, inertia=(0.02, 0.03, 0.04))
        turn = rng.standard_normal(4)
        q += [*rng.standard_normal(3), *(turn / np.linalg.norm(turn))]
    return b.build(), np.array(q)


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_two_free_bodies_collide_as_eq_4_10_says(e: float) -> None:
    """[HAND07] eq. 4.10: masses and inertias of two rigid bodies, against eq. 4.24 through Psi."""
    rng = np.random.default_rng(3)
    ra, rb = rng.uniform(-0.2, 0.2, (2, 3))
    model, q = two_bodies(ra)
    poses = uk.link_poses(model, q)
    shift = (poses[0] @ [*ra, 1] - poses[1] @ [*rb, 1])[:3]
    q[7:10] += shift  # the two points meet
    poses = uk.link_poses(model, q)
    n = rng.standard_normal(3)
    n /= np.linalg.norm(n)
    v = rng.standard_normal(12)
    v[:3] += poses[0][:3, :3].T @ (-4 * n)
    result = uk.impact(model, q, v, [uk.Touch("a", ra, n, "b", rb)], e)
    denominator = speed = 0.0
    for k, (r, sign, mass) in enumerate(((ra, 1, 2.0), (rb, -1, 3.0))):
        R = poses[k][:3, :3]
        arm, inverse = R @ r, R @ np.diag(1 / np.array((0.02, 0.03, 0.04))) @ R.T
        denominator += 1 / mass + float(n @ np.cross(inverse @ np.cross(arm, n), arm))
        speed += sign * float(n @ (R @ (v[6 * k : 6 * k + 3] + np.cross(v[6 * k + 3 : 6 * k + 6], r))))
    assert speed < 0
    assert result.impulses[0] == pytest.approx(-(1 + e) * speed / denominator, rel=1e-12)
    assert result.after[0] == pytest.approx(-e * speed, rel=1e-12)
    assert np.allclose(uk.momentum(model, q, v), uk.momentum(model, q, result.v), atol=1e-13)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), e=st.sampled_from([0.0, 0.3, 1.0]), count=st.integers(1, 6))
def test_simultaneous_impacts_only_push_and_lose_energy(seed: int, e: float, count: int) -> None:
    model = uk.human(28)
    rng = np.random.default_rng(seed)
    q, v = model.random(rng)
    names = [model.link_names[k] for k in rng.integers(0, model.nlinks, count)]
    touches = [uk.Touch(name, rng.uniform(-0.1, 0.1, 3), rng.standard_normal(3)) for name in names]
    result = uk.impact(model, q, v, touches, e)
    assert (result.impulses >= 0).all()
    assert (result.after >= -1e-9).all()
    if (result.before < 0).all():  # one round of eq. 4.28: an impulse acts where the law is just reached
        wanted = -e * result.before
        assert (result.after >= wanted - 1e-9).all()
        assert np.abs((result.after - wanted) * result.impulses).max() < 1e-8
    lost = uk.kinetic_energy(model, q, v) - uk.kinetic_energy(model, q, result.v)
    assert lost >= -1e-9
    if e == 1 and count == 1:
        assert lost == pytest.approx(0, abs=1e-9)


def test_impacts_that_hold_each_other() -> None:
    """A box that falls flat on four corners: one impulse too many, and still the whole speed is stopped."""
    b = uk.Builder()
    b.link("box", joint=uk.Free(), mass=2.0, inertia=(0.1, 0.1, 0.1))
    model = b.build()
    corners = [uk.Touch("box", (x, y, -0.1)) for x in (-0.2, 0.2) for y in (-0.2, 0.2)]
    result = uk.impact(model, model.neutral(), [0, 0, -3.0, 0, 0, 0], corners)
    assert result.impulses.sum() == pytest.approx(6.0)
    assert np.abs(result.v).max() < 1e-12


def test_contact_forces_of_a_box_at_rest_and_of_a_leaning_rod() -> None:
    b = uk.Builder()
    b.link("box", joint=uk.Free(), mass=2.0, inertia=(0.1, 0.1, 0.1))
    model = b.build()
    three = [uk.Touch("box", (0.2 * np.cos(t), 0.2 * np.sin(t), -0.1)) for t in (0.0, 2.1, 4.2)]
    forces = uk.contact_forces(model, model.neutral(), np.zeros(6), np.zeros(6), three)
    assert forces.sum() == pytest.approx(2 * 9.81)
    assert (forces > 0).all()
    # a uniform rod at angle t to the vertical, released with its foot on a smooth floor: N = m g / (1 + 3 sin^2 t)
    b = uk.Builder()
    b.link("rod", joint=uk.Free(), mass=1.5, inertia=(1.5 / 12, 1.5 / 12, 1e-3))
    rod, angle = b.build(), 0.7
    q = np.array([0, 0, 0.5 * np.cos(angle), np.cos(angle / 2), 0, np.sin(angle / 2), 0])
    force = uk.contact_forces(rod, q, np.zeros(6), np.zeros(6), [uk.Touch("rod", (0, 0, -0.5))])
    assert force[0] == pytest.approx(1.5 * 9.81 / (1 + 3 * np.sin(angle) ** 2), rel=1e-12)
    assert not uk.contact_forces(rod, q, np.zeros(6), np.zeros(6), [uk.Touch("rod", (0, 0, -0.5))], (0, 0, 9.81)).any()


def test_contact_forces_hold_moving_points_without_acceleration() -> None:
    """Eq. 4.43: with the forces applied, no touching point accelerates along its normal."""
    model = uk.human(28)
    rng = np.random.default_rng(5)
    q, v = model.random(rng)
    tau = rng.standard_normal(model.nv)
    touches = [
        uk.Touch("left_foot", (0.1, 0, -0.05)),
        uk.Touch("right_foot", (0, 0.03, -0.05)),
        uk.Touch("left_forearm", (0, 0, -0.2), (0, 1, 0), "right_thigh", (0, 0.1, 0)),
    ]
    forces = uk.contact_forces(model, q, v, tau, touches, (0, 0, -80.0))
    external: dict[str, Array] = {name: np.zeros(6) for name in model.link_names}
    poses = uk.link_poses(model, q)
    for touch, force in zip(touches, forces, strict=True):
        for name, point, sign in touch.ends():
            n = sign * force * np.asarray(touch.normal, dtype=float) @ poses[model.link_index(name)][:3, :3]
            external[name] = external[name] + np.concatenate([n, np.cross(point, n)])
    a = uk.forward_dynamics(model, q, v, tau, external, (0, 0, -80.0))
    for touch, force in zip(touches, forces, strict=True):
        along = 0.0
        for name, point, sign in touch.ends():
            J, rate = uk.jacobian(model, q, name, point), uk.jacobian_rate(model, q, v, name, point)
            along += sign * float(np.asarray(touch.normal) @ (J @ a + rate)[:3])
        assert along == pytest.approx(0, abs=1e-9) if force > 0 else along >= 0
    assert (forces > 0).any()


def test_bad_touches_are_named() -> None:
    model = uk.human(28)
    q, v = model.neutral(), np.zeros(34)
    with pytest.raises(uk.InvalidInputError, match="at least one Touch"):
        uk.impact(model, q, v, [])
    with pytest.raises(uk.UnknownNameError, match="left_fot"):
        uk.impact(model, q, v, [uk.Touch("left_fot")])
    with pytest.raises(uk.InvalidInputError, match="restitution"):
        uk.impact(model, q, v, [uk.Touch("left_foot")], 2.0)
    with pytest.raises(uk.InvalidInputError, match="normal"):
        uk.impact(model, q, v, [uk.Touch("left_foot", normal=(0, 0, 0))])
