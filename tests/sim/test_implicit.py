"""Stiff joints: the implicit step against its dense formula, its order, its stability; springs across joints."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.trees import random_model

import ukemi as uk
from ukemi import _core
from ukemi.model.arrays import Array
from ukemi.model.figures.hand import thesis_pose


def joint_matrices(model: uk.Model) -> tuple[Array, Array]:
    """Stiffness and damping of all joints and springs across them (nv, nv)."""
    K, B = np.zeros((2, model.nv, model.nv))
    for link in model.links:
        for full, part in ((K, link.joint.stiffness), (B, link.joint.damping)):
            if part is not None:
                full[link.v, link.v] += np.asarray(part)
    for spring in model.springs:
        where = np.ix_(*[[model.freedom(*c) for c in spring.coordinates]] * 2)
        K[where] += spring.stiffness
        B[where] += spring.damping
    return K, B


def dense_step(world: uk.World, dt: float) -> Array:
    """v after one implicit step, by dense matrices: (M + h B + h^2 K) a + H^T f = -(bias + h K v), H a = -H_dot v, with
    the velocity products of the mean velocity of the pass before, in as many passes as the core takes."""
    model, q, v = world.model, world.q, world.v
    K, B = joint_matrices(model)
    A = uk.mass_matrix(model, q) + dt * 0.5 * (B + B.T) + dt**2 * 0.5 * (K + K.T)
    last, mean = v, v
    for _ in range(4):
        products = uk.bias(model, q, mean, world.gravity) + B @ (v - mean)
        force = -products - dt * 0.5 * (K + K.T) @ v
        H, rate = world.closed.jacobian(q, mean)
        n = len(H)
        whole = np.block([[A, H.T], [H, np.zeros((n, n))]])
        new = v + dt * np.linalg.solve(whole, np.concatenate([force, -rate]))[: model.nv]
        if dt * np.abs(new - last).max() <= 1e-5:  # core/limit_step.hpp: drift
            break
        last, mean = new, 0.5 * (v + new)
    return new


def with_springs(seed: int, links: int, kinds: tuple[str, ...]) -> uk.Model:
    """A random elastic tree with two springs across some of its hinges and slides."""
    model = random_model(seed, links, kinds=kinds, elastic=True)
    rng = np.random.default_rng(seed)
    b = uk.Builder()
    b.description = model.description
    plain = [(l.joint_name, k) for l in model.links if l.joint.nq == l.joint.nv for k in range(l.joint.nv)]
    for _ in range(2):
        if len(plain) >= 2:
            n = min(3, len(plain))
            chosen = [plain[k] for k in rng.choice(len(plain), n, replace=False)]
            half, other = rng.standard_normal((n, n - 1)), rng.standard_normal((n, 1))
            b.spring(chosen, 30 * half @ half.T, other @ other.T, rng.standard_normal(n))
    return b.build()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), links=st.integers(1, 10), dt=st.sampled_from([1e-3, 1e-1]))
def test_one_step_is_the_dense_formula(seed: int, links: int, dt: float) -> None:
    model = with_springs(seed, links, ("revolute", "prismatic", "universal", "spherical", "planar", "free", "fixed"))
    if model.nv == 0:
        return
    world = uk.World()
    q, v = model.random(np.random.default_rng(seed))
    world.add(model, q=q, v=v)
    expected = dense_step(world, dt)
    uk.Simulation(world, dt, "implicit").step()
    assert np.abs(world.v - expected).max() < 1e-9 * (1 + np.abs(expected).max())


def test_one_step_with_a_loop_is_the_dense_formula() -> None:
    """Ties hold part of the chain, a spring couples across them; velocities are projected after the step."""
    model = with_springs(5, 6, ("revolute", "universal"))
    world = uk.World()
    figure = world.add(model, q=model.random(np.random.default_rng(2))[0])
    hinges = [link.joint_name for link in model.links if link.joint.nv == 1]
    world.tie({figure.joint(hinges[0]): 1.0, figure.joint(hinges[1]): 2.0})
    expected = dense_step(world, 0.05)
    uk.Simulation(world, 0.05, "implicit").step()
    assert np.abs(world.v - expected).max() < 1e-9 * (1 + np.abs(expected).max())


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), links=st.integers(1, 10))
def test_the_implicit_tree_has_the_terms_in_every_algorithm(seed: int, links: int) -> None:
    model = random_model(seed, links, elastic=True)
    rng = np.random.default_rng(seed)
    q, v = model.random(rng)
    a = rng.standard_normal(model.nv)
    K, B = joint_matrices(model)
    dt = 0.02
    tree = model.tree.implicit(dt)
    M = uk.mass_matrix(model, q) + dt * B + dt**2 * K
    assert np.allclose(_core.mass_matrix(tree, q), M, atol=1e-12)
    tau = _core.inverse_dynamics(tree, q, v, a, None, None)
    assert np.allclose(tau, M @ a + uk.bias(model, q, v) + dt * K @ v, atol=1e-10)
    assert np.allclose(_core.forward_dynamics(tree, q, v, tau, None, None), a, atol=1e-8)
    assert np.allclose(_core.impulse_response(tree, q, M @ a, None), a, atol=1e-8)


@pytest.mark.parametrize("dt", [5e-3, 1e-3])
def test_the_thesis_hand_is_stable(dt: float) -> None:
    """Damping of 3 N m s on phalanges of a few grams: time constants of microseconds."""
    model = uk.hand(limits=None)
    world = uk.World()
    world.add(model, q=thesis_pose(model))
    recording = uk.Simulation(world, dt, "implicit").run(3.0)
    assert np.abs(recording.v[-1]).max() < np.abs(recording.v[1]).max()
    fine = uk.World()
    fine.add(model, q=thesis_pose(model))
    uk.Simulation(fine, 1e-4, "implicit").run(3.0)
    assert np.abs(world.q - fine.q).max() < 0.02 * dt / 1e-3


def test_the_explicit_step_is_not() -> None:
    model = uk.hand(limits=None)
    world = uk.World()
    world.add(model, q=thesis_pose(model))
    with pytest.raises(uk.SimulationError, match="stiff spring or damper"):
        uk.Simulation(world, 1e-3, "semi-implicit").run(0.1)
    stopped = uk.World()
    stopped.add(uk.hand())
    with pytest.raises(uk.SimulationError, match="integrator='implicit'"):
        uk.Simulation(stopped, 1e-3, "semi-implicit").run(0.1)


def test_implicit_converges_to_explicit_with_order_one() -> None:
    """The same limit as RK4, from a hand soft enough for it: errors halve with the step."""
    model = uk.hand(limits=None, damping=2e-3)

    def end(dt: float, integrator: str) -> Array:
        world = uk.World()
        world.add(model, q=thesis_pose(model))
        uk.Simulation(world, dt, integrator).run(0.02)  # type: ignore[arg-type]
        return world.q.copy()

    exact = end(5e-6, "rk4")
    errors = [np.abs(end(dt, "implicit") - exact).max() for dt in (5e-5, 2.5e-5, 1.25e-5)]
    assert errors[0] / errors[1] == pytest.approx(2, abs=0.15)
    assert errors[1] / errors[2] == pytest.approx(2, abs=0.1)


def test_a_stiff_spring_across_branches_stays_stable_and_rests_where_it_should() -> None:
    """Two pendulums on different branches with a spring on the difference of their angles, far stiffer than explicit
    steps could take."""
    b = uk.Builder()
    for name, com in (("left", (0.1, 0, -0.2)), ("right", (-0.05, 0, -0.2))):
        b.link(name, joint=uk.Revolute((0, 1, 0), damping=0.2), mass=1, com=com, inertia=(0.01, 0.01, 0.01))
    k = 1e6
    b.spring(["left", "right"], [[k, -k], [-k, k]], [[1e3, -1e3], [-1e3, 1e3]])
    model = b.build()
    world = uk.World()
    world.add(model, q=[0.5, 0.5])
    recording = uk.Simulation(world, 5e-3, "implicit").run(10.0)
    assert np.abs(recording.q[:, 0] - recording.q[:, 1]).max() < 1e-4
    assert np.abs(recording.v[-1]).max() < 1e-3
    assert (np.diff(recording.energy) < 1e-9).all()
    # as one body: (m g sum of com_x) against (m g sum of |com_z|)
    assert world.q[0] == pytest.approx(np.arctan2(0.05, 0.4), abs=1e-3)


def test_springs_across_joints_are_the_gradient_of_their_energy() -> None:
    model = with_springs(3, 6, ("revolute", "universal", "planar", "spherical"))
    assert model.springs
    rng = np.random.default_rng(0)
    q, v = model.random(rng)
    power = 0.5 * (uk.bias(model, q, v) - uk.bias(model, q, -v)) @ v  # what dampers take
    _, B = joint_matrices(model)
    assert power == pytest.approx(v @ B @ v, rel=1e-10)
    held = uk.bias(model, q, np.zeros(model.nv))
    h = 1e-6
    for k in range(model.nv):
        e = np.eye(model.nv)[k]
        change = uk.energy(model, uk.integrate(model, q, e, h), 0 * e) - uk.energy(
            model, uk.integrate(model, q, e, -h), 0 * e
        )
        assert held[k] == pytest.approx(change / (2 * h), abs=1e-6 * (1 + np.abs(held).max()))


def test_springs_go_into_worlds_and_end_with_their_joints() -> None:
    b = uk.Builder("pair")
    for name in ("a", "b"):
        b.link(name, joint=uk.Revolute((0, 1, 0)), mass=1, com=(0, 0, -0.2), inertia=(0.01, 0.01, 0.01))
    b.spring(["a", "b"], [[2, -2], [-2, 2]])
    model = b.build()
    world = uk.World()
    figure = world.add(model, name="one", q=[0.3, 0])
    world.add(model, name="two")
    assert [spring.coordinates[0][0] for spring in world.model.springs] == ["one/a", "two/a"]
    assert world.energy() == pytest.approx(uk.energy(model, [0.3, 0], [0, 0]) + uk.energy(model, [0, 0], [0, 0]))
    world.cut(figure.joint("a"))
    assert [spring.coordinates[0][0] for spring in world.model.springs] == ["two/a"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((["a", "a"], np.eye(2)), uk.InvalidInputError, "different coordinates"),
        ((["a", "ball"], np.eye(2)), uk.ModelError, "no angle or distance"),
        ((["a", "nothing"], np.eye(2)), uk.UnknownNameError, "nothing"),
        ((["a", ("a", 1)], np.eye(2)), uk.ModelError, "coordinates 0 to 0"),
        ((["a", "c"], [[1, 2], [0, 1]]), uk.InvalidInputError, "symmetric"),
        ((["a", "c"], [[-1, 0], [0, 1]]), uk.InvalidInputError, "negative direction"),
        ((["a", "c"], np.eye(3)), uk.InvalidInputError, "stiffness"),
    ],
)
def test_bad_springs_are_refused(arguments: tuple[object, object], error: type[Exception], message: str) -> None:
    b = uk.Builder()
    for name, joint in (("a", uk.Revolute()), ("c", uk.Prismatic()), ("ball", uk.Spherical())):
        b.link(name, joint=joint, mass=1, inertia=(1, 1, 1))
    with pytest.raises(error, match=message):
        b.spring(*arguments).build()  # type: ignore[arg-type]
