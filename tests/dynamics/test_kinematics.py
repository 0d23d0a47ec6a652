"""Poses, Jacobians, the manifold, momentum and energy: finite differences on the manifold, and invariants."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.trees import models, random_state

import ukemi as uk

#: Central differences with step 1e-6: truncation 1e-12 and cancellation 1e-10, times coordinates of a few metres.
DIFFERENCES = 2e-8
ROUNDING = 1e-10
seeds = st.integers(0, 10**6)
H = 1e-6


def point_pose(model: uk.Model, q: np.ndarray, link: str, point: np.ndarray) -> np.ndarray:
    X = uk.link_poses(model, q)[model.link_index(link)].copy()
    X[:3, 3] += X[:3, :3] @ point
    return X


def twist(a: np.ndarray, b: np.ndarray, dt: float) -> np.ndarray:
    """Velocity and angular velocity in world axes between two poses."""
    W = (b[:3, :3] - a[:3, :3]) @ (0.5 * (a[:3, :3] + b[:3, :3])).T / dt
    W = 0.5 * (W - W.T)
    return np.array([*(b[:3, 3] - a[:3, 3]) / dt, W[2, 1], W[0, 2], W[1, 0]])


@settings(max_examples=60, deadline=None)
@given(models, seeds)
def test_jacobian_matches_finite_differences_on_the_manifold(model: uk.Model, seed: int) -> None:
    q, _, _ = random_state(model, seed)
    point = np.random.default_rng(seed).uniform(-1, 1, 3)
    link = model.link_names[-1]
    J = uk.jacobian(model, q, link, point)
    for i, e in enumerate(np.eye(model.nv)):
        back, ahead = (point_pose(model, uk.integrate(model, q, e, h), link, point) for h in (-H, H))
        assert np.abs(J[:, i] - twist(back, ahead, 2 * H)).max() < DIFFERENCES


@settings(max_examples=60, deadline=None)
@given(models, seeds)
def test_jacobian_rate_matches_finite_differences(model: uk.Model, seed: int) -> None:
    q, v, _ = random_state(model, seed)
    point = np.random.default_rng(seed).uniform(-1, 1, 3)
    link = model.link_names[-1]
    back, ahead = (uk.jacobian(model, uk.integrate(model, q, v, h), link, point) @ v for h in (-H, H))
    expected = (ahead - back) / (2 * H)
    assert np.abs(uk.jacobian_rate(model, q, v, link, point) - expected).max() < DIFFERENCES * (
        1 + np.abs(expected).max()
    )


@settings(max_examples=100, deadline=None)
@given(models, seeds)
def test_difference_inverts_integrate(model: uk.Model, seed: int) -> None:
    q, v, _ = random_state(model, seed)
    v = v / (1 + np.linalg.norm(v))  # rotations below pi
    moved = uk.integrate(model, q, v, 1.0)
    assert np.abs(uk.difference(model, q, moved) - v).max(initial=0) < ROUNDING
    assert (
        np.abs(
            uk.link_poses(model, uk.integrate(model, q, uk.difference(model, q, moved), 1.0))
            - uk.link_poses(model, moved)
        ).max()
        < ROUNDING
    )


@settings(max_examples=60, deadline=None)
@given(models, seeds)
def test_integrating_twice_half_as_long_is_the_same(model: uk.Model, seed: int) -> None:
    """Constant velocity is a one-parameter group: exp(v dt) = exp(v dt / 2)^2 (not so for two different velocities)."""
    q, v, _ = random_state(model, seed)
    once = uk.integrate(model, q, v, 0.3)
    twice = uk.integrate(model, uk.integrate(model, q, v, 0.15), v, 0.15)
    assert np.abs(uk.link_poses(model, once) - uk.link_poses(model, twice)).max() < ROUNDING


@settings(max_examples=60, deadline=None)
@given(models, seeds)
def test_momentum_and_energy_follow_from_jacobians_and_inertia(model: uk.Model, seed: int) -> None:
    q, v, _ = random_state(model, seed)
    h = uk.momentum(model, q, v)
    p, L, com, mass = np.zeros(3), np.zeros(3), np.zeros(3), 0.0
    for link, X in zip(model.links, uk.link_poses(model, q), strict=True):
        if link.joint.nv == 0 and link.parent is None:
            continue  # fixed to the ground: not part of what moves
        m = link.mass_properties
        J = uk.jacobian(model, q, link.name, m.com)
        vel, w = J[:3] @ v, J[3:] @ v
        c = X[:3, :3] @ m.com + X[:3, 3]
        p, com, mass = p + m.mass * vel, com + m.mass * c, mass + m.mass
        L = L + np.cross(c, m.mass * vel) + X[:3, :3] @ m.inertia @ X[:3, :3].T @ w
    if _moves_everything(model):
        com /= mass
        assert np.abs(uk.center_of_mass(model, q) - com).max() < ROUNDING
        assert np.abs(h - [*p, *(L - np.cross(com, p))]).max() < ROUNDING * (1 + np.abs(L).max())
        assert np.abs(uk.momentum(model, q, v, about=(0, 0, 0))[3:] - L).max() < ROUNDING * (1 + np.abs(L).max())
    assert abs(uk.kinetic_energy(model, q, v) - 0.5 * v @ uk.mass_matrix(model, q) @ v) < ROUNDING * (1 + v @ v * 100)


def _moves_everything(model: uk.Model) -> bool:
    return all(link.joint.nv for link in model.links if link.parent is None) and not any(
        link.joint.nv == 0 and link.parent is None for link in model.links
    )


@settings(max_examples=60, deadline=None)
@given(models, seeds)
def test_gravity_and_springs_are_the_gradient_of_the_potential_energy(model: uk.Model, seed: int) -> None:
    q, _, _ = random_state(model, seed)
    at_rest = uk.bias(model, q, np.zeros(model.nv))
    for i, e in enumerate(np.eye(model.nv)):
        back, ahead = (uk.potential_energy(model, uk.integrate(model, q, e, h)) for h in (-1e-5, 1e-5))
        assert abs((ahead - back) / 2e-5 - at_rest[i]) < 1e-5 * (
            1 + abs(at_rest[i])
        )  # energies of 1e2 J: 1e-14 / 1e-5 each


@settings(max_examples=60, deadline=None)
@given(models, seeds)
def test_power_balance(model: uk.Model, seed: int) -> None:
    """dE/dt = tau v - v B v: what torques give and dampers take."""
    q, v, tau = random_state(model, seed)
    a = uk.forward_dynamics(model, q, v, tau)
    h = 1e-5
    energies = [uk.energy(model, uk.integrate(model, q, v + 0.5 * s * h * a, s * h), v + s * h * a) for s in (-1, 1)]
    lost = sum(
        v[link.v] @ np.asarray(link.joint.damping) @ v[link.v] for link in model.links if link.joint.damping is not None
    )
    power = tau @ v - lost
    assert abs((energies[1] - energies[0]) / (2 * h) - power) < 1e-4 * (
        1 + abs(power) + np.abs(a).max(initial=0) ** 2 * 1e-3
    )


def test_the_centre_of_mass_counts_links_that_are_fixed_to_the_world() -> None:
    """As `Model.mass` does: one kilogram at 1 m that stands, one at -3 m that turns about its own centre."""
    b = uk.Builder("two").link("post", "world", uk.Fixed(), uk.Pose((1, 0, 0)), mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.link("arm", "world", uk.Revolute((0, 0, 1)), uk.Pose((-3, 0, 0)), mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.link("tip", "post", uk.Fixed(), uk.Pose((0, 2, 0)), mass=2.0, com=(0, 0, 1), inertia=(0.1, 0.1, 0.1))
    model = b.build()
    assert np.abs(uk.center_of_mass(model, np.zeros((5, 1))) - (0.0, 1.0, 0.5)).max() < ROUNDING
