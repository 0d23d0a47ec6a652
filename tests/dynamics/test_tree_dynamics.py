"""Inverse and forward dynamics and the inertia matrix: against a readable version, and against each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import spatial
from tests.trees import models, random_model, random_state

import ukemi as uk
from ukemi import _core
from ukemi.model.arrays import Array

#: Random trees have condition numbers up to some 1e5: rounding 1e-16 grows to 1e-11 at most.
ROUNDING = 1e-10
seeds = st.integers(0, 10**6)


def close(a: object, b: object, tolerance: float = ROUNDING) -> bool:
    """Equal relative to the size of the whole array."""
    x, y = np.asarray(a), np.asarray(b)
    return bool(x.shape == y.shape and np.abs(x - y).max(initial=0) <= tolerance * (1 + np.abs(y).max(initial=0)))


def undamped(model: uk.Model, q: Array, v: Array) -> Array:
    """Torques of springs and dampers: what the bias has at rest without gravity, and more with v."""
    still = np.zeros(model.nv)
    springs = uk.bias(model, q, still, gravity=(0, 0, 0))
    for link in model.links:
        if link.joint.damping is not None:
            springs[link.v] += np.asarray(link.joint.damping) @ v[link.v]
    return springs


@settings(max_examples=150, deadline=None)
@given(models, seeds)
def test_inverse_dynamics_equals_the_readable_version(model: uk.Model, seed: int) -> None:
    q, v, a = random_state(model, seed)
    rng = np.random.default_rng(seed)
    wrenches, gravity = rng.standard_normal((model.nlinks, 6)), rng.standard_normal(3)
    expected = spatial.inverse_dynamics(model, q, v, a, wrenches, gravity) + undamped(model, q, v)
    assert close(uk.inverse_dynamics(model, q, v, a, wrenches, gravity), expected)


@settings(max_examples=100, deadline=None)
@given(models, seeds)
def test_mass_matrix_equals_the_readable_version(model: uk.Model, seed: int) -> None:
    q, _, _ = random_state(model, seed)
    M = uk.mass_matrix(model, q)
    assert close(M, spatial.mass_matrix(model, q))
    assert (M.swapaxes(-1, -2) == M).all()


@settings(max_examples=150, deadline=None)
@given(models, seeds)
def test_forward_dynamics_inverts_inverse_dynamics(model: uk.Model, seed: int) -> None:
    q, v, tau = random_state(model, seed)
    wrenches = np.random.default_rng(seed).standard_normal((model.nlinks, 6))
    a = uk.forward_dynamics(model, q, v, tau, wrenches)
    assert close(uk.inverse_dynamics(model, q, v, a, wrenches), tau, 1e-8)  # relative to forces of up to 1e2


@settings(max_examples=100, deadline=None)
@given(models, seeds)
def test_forward_dynamics_equals_the_inertia_matrix_solve(model: uk.Model, seed: int) -> None:
    q, v, tau = random_state(model, seed)
    a = uk.forward_dynamics(model, q, v, tau)
    rhs = tau - uk.bias(model, q, v)
    assert close(uk.InertiaFactor(model, q).solve(rhs), a, 1e-8)
    if model.nv:
        assert close(np.linalg.solve(uk.mass_matrix(model, q), rhs), a, 1e-8)
        assert np.linalg.eigvalsh(uk.mass_matrix(model, q)).min() > 0


@settings(max_examples=60, deadline=None)
@given(models, seeds)
def test_external_wrenches_enter_through_the_jacobians(model: uk.Model, seed: int) -> None:
    q, v, a = random_state(model, seed)
    wrenches = np.random.default_rng(seed).standard_normal((model.nlinks, 6))
    effect = np.zeros(model.nv)
    for link, X, w in zip(model.links, uk.link_poses(model, q), wrenches, strict=True):
        world = np.concatenate([X[:3, :3] @ w[:3], X[:3, :3] @ w[3:]])
        effect += uk.jacobian(model, q, link.name).T @ world
    difference = uk.inverse_dynamics(model, q, v, a) - uk.inverse_dynamics(model, q, v, a, wrenches)
    assert close(difference, effect)


def test_wrenches_by_name_equal_wrenches_by_array() -> None:
    model = uk.human(28)
    q, v, tau = random_state(model, 3)
    full = np.zeros((model.nlinks, 6))
    full[model.link_index("left_foot")] = (1, 2, 3, 4, 5, 6)
    by_name = uk.forward_dynamics(model, q, v, tau, {"left_foot": (1, 2, 3, 4, 5, 6)})
    assert (by_name == uk.forward_dynamics(model, q, v, tau, full)).all()


def all_results(model: uk.Model, q: Array, v: Array, tau: Array, wrenches: Array) -> list[Array]:
    return [
        uk.forward_dynamics(model, q, v, tau, wrenches),
        uk.inverse_dynamics(model, q, v, tau, wrenches),
        uk.mass_matrix(model, q),
        uk.link_poses(model, q),
    ]


@pytest.mark.parametrize("level", _core.levels())
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 9])
def test_batches_equal_single_states_on_every_level(level: str, count: int) -> None:
    before = _core.level()
    _core.choose_level(level)
    try:
        for seed in range(6):
            model = random_model(seed, 10, elastic=seed % 2 == 1)
            rng = np.random.default_rng(seed)
            states = [model.random(rng) for _ in range(count)]
            q, v = np.array([s[0] for s in states]), np.array([s[1] for s in states])
            tau, w = rng.standard_normal(v.shape), rng.standard_normal((count, model.nlinks, 6))
            singles = [all_results(model, q[i], v[i], tau[i], w[i]) for i in range(count)]
            for k, batch in enumerate(all_results(model, q, v, tau, w)):
                assert close(batch, np.array([single[k] for single in singles]))
    finally:
        _core.choose_level(before)


def test_levels_agree() -> None:
    model = uk.human(40)
    q, v, tau = random_state(model, 5)
    before = _core.level()
    results = []
    try:
        for level in _core.levels():
            _core.choose_level(level)
            results.append(uk.forward_dynamics(model, q, v, tau))
    finally:
        _core.choose_level(before)
    assert all(close(r, results[-1]) for r in results)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    model = uk.human(28)
    rng = np.random.default_rng(0)
    states = [model.random(rng) for _ in range(1003)]
    q, v = np.array([s[0] for s in states]), np.array([s[1] for s in states])
    before = uk.threads()
    try:
        uk.set_threads(1)
        alone = uk.forward_dynamics(model, q, v, v)
        uk.set_threads(3)
        shared = uk.forward_dynamics(model, q, v, v)
    finally:
        uk.set_threads(before)
    assert (alone == shared).all()


def test_leading_axes_broadcast() -> None:
    model = uk.human(16)
    rng = np.random.default_rng(1)
    q, v = model.random(rng)
    tau = rng.standard_normal((2, 3, model.nv))
    a = uk.forward_dynamics(model, q, v, tau)
    assert a.shape == (2, 3, model.nv)
    assert close(a[1, 2], uk.forward_dynamics(model, q, v, tau[1, 2]))
    b = uk.forward_dynamics(model, np.tile(q, (2, 1, 1)), v, tau)
    assert close(a, b)
    assert uk.forward_dynamics(model, q, v, np.zeros((0, model.nv))).shape == (0, model.nv)


def test_other_dtypes_and_strides_are_read() -> None:
    model = uk.human(16)
    q, v, tau = random_state(model, 2)
    doubled = np.repeat(tau, 2)[::2]
    assert (uk.forward_dynamics(model, list(q), v, doubled) == uk.forward_dynamics(model, q, v, tau)).all()
    zeros = np.zeros(model.nv, dtype=np.int32)
    assert (uk.forward_dynamics(model, q, v, zeros) == uk.forward_dynamics(model, q, v, zeros.astype(float))).all()


def test_a_spherical_joint_equals_three_hinges() -> None:
    """The same pendulum with a ball and with z-y-x hinges: equal angular acceleration of the bob."""
    ball, hinges = uk.Builder("ball"), uk.Builder("hinges")
    body = {"mass": 2.0, "com": (0.1, -0.2, 0.5), "inertia": (0.3, 0.4, 0.5)}
    ball.link("bob", joint=uk.Spherical(), **body)  # type: ignore[arg-type]
    hinges.link("z", joint=uk.Revolute((0, 0, 1)))
    hinges.link("y", "z", uk.Revolute((0, 1, 0)))
    hinges.link("bob", "y", uk.Revolute((1, 0, 0)), **body)  # type: ignore[arg-type]
    a, b = ball.build(), hinges.build()
    angles, rates = np.array((0.3, -0.4, 0.7)), np.array((1.0, -2.0, 0.5))
    R = uk.link_poses(b, angles)[b.link_index("bob"), :3, :3]
    q = uk.Pose.from_matrix(R).quaternion
    J = uk.jacobian(b, angles, "bob")[3:]
    w = R.T @ J @ rates
    rate = uk.jacobian_rate(b, angles, rates, "bob")[3:]
    expected = J @ uk.forward_dynamics(b, angles, rates, np.zeros(3)) + rate
    assert close(R @ uk.forward_dynamics(a, q, w, np.zeros(3)), expected)


def test_a_fixed_link_equals_its_mass_on_the_parent() -> None:
    whole, split = uk.Builder("whole"), uk.Builder("split")
    at = uk.Pose((0.1, 0.2, 0.3), (0.5, 0.5, 0.5, 0.5))
    part = uk.Box((0.1, 0.2, 0.3), at=at)
    inner = uk.Box((0.1, 0.2, 0.3))
    rod = uk.Cylinder(0.05, 0.6)
    whole.link("rod", joint=uk.Revolute((0, 1, 0)), density=500, shapes=[rod, part])
    split.link("rod", joint=uk.Revolute((0, 1, 0)), density=500, shapes=[rod])
    split.link("part", "rod", at=at, density=500, shapes=[inner])
    a, b = whole.build(), split.build()
    assert close(uk.mass_matrix(a, [0.3]), uk.mass_matrix(b, [0.3]))
    assert close(uk.bias(a, [0.3], [2.0]), uk.bias(b, [0.3], [2.0]))
    X = uk.link_poses(b, [0.3])
    assert close(X[1], X[0] @ at.matrix)


def test_a_free_joint_in_the_middle_passes_only_its_torque() -> None:
    b = uk.Builder("pair")
    b.link("arm", joint=uk.Revolute((0, 1, 0)), mass=1, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    b.link("loose", "arm", uk.Free(), mass=1, inertia=(0.1, 0.1, 0.1))
    model = b.build()
    q, v, _ = random_state(model, 0)
    alone = uk.Builder("alone")
    alone.link("arm", joint=uk.Revolute((0, 1, 0)), mass=1, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    tau = np.zeros(model.nv)
    assert close(uk.forward_dynamics(model, q, v, tau)[0], uk.forward_dynamics(alone.build(), q[:1], v[:1], [0.0])[0])
