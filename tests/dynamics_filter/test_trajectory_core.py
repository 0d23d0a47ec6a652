"""The whole-clip filter's compiled parts, against finite differences, inverse dynamics and scipy."""

from __future__ import annotations

import numpy as np
import pytest

import ukemi as uk
from ukemi import _core
from ukemi.dynamics.inverse import inverse_dynamics
from ukemi.model.arrays import Array
from ukemi.model.model import Model, tree_of

G = np.array((0.0, 0.0, -9.81))


def _figure_with_every_joint() -> Model:
    b = uk.Builder("all joints")
    b.link("root", joint=uk.Free(), mass=3.0, com=(0.1, 0.2, 0.0), inertia=(0.2, 0.3, 0.4))
    joints = (uk.Spherical(), uk.Revolute((0, 1, 0)), uk.Universal(), uk.Prismatic((1, 0, 0)), uk.Planar())
    for k, joint in enumerate(joints):
        parent = "root" if k % 2 == 0 else f"link{k - 1}"
        at = uk.Pose((0.3, 0.1 * k, -0.2))
        b.link(f"link{k}", parent, joint, at, mass=1.0 + k, com=(0.0, 0.1, -0.2), inertia=(0.05, 0.06, 0.07))
    return b.build()


MODELS = {"every joint": _figure_with_every_joint(), "human": uk.human(dof=28), "40": uk.human(dof=40)}


def _system(model: Model, n: int, points: int) -> tuple[_core.Trajectory, Array, Array, Array, Array]:
    rng = np.random.default_rng(3)
    links = [int(i) for i in rng.integers(0, model.nlinks, points)]
    core = _core.Trajectory(tree_of(model), links, G, 700.0, 210.0)
    q = np.stack([model.random(rng)[0] for _ in range(n)])
    v, a = rng.normal(size=(2, n, model.nv))
    return core, q, v, a, rng.normal(size=(n, points, 3)) * 0.2


@pytest.mark.parametrize("name", MODELS)
def test_the_wrench_is_that_of_inverse_dynamics(name: str) -> None:
    model = MODELS[name]
    core, q, v, a, place = _system(model, 5, 4)
    wrench = core.kinematics(q, v, a, place)[0]
    tau = inverse_dynamics(model, q, v, a)[:, :6]
    R = uk.link_poses(model, q)[:, 0, :3, :3]
    assert np.allclose(wrench[:, :3] * 700.0, np.einsum("nij,nj->ni", R, tau[:, :3]), atol=1e-9 * 700)
    assert np.allclose(wrench[:, 3:] * 210.0, np.einsum("nij,nj->ni", R, tau[:, 3:]), atol=1e-9 * 700)


def _moved(core: _core.Trajectory, q: Array, v: Array, a: Array, x: Array, x1: Array, x2: Array) -> list[Array]:
    out = [q.copy(), v.copy(), a.copy()]
    core.retract(x, x1, x2, *out)
    return out


@pytest.mark.parametrize("name", MODELS)
def test_a_step_keeps_velocity_and_acceleration_derivatives_of_the_motion(name: str) -> None:
    """q(t) exp(x(t)), differentiated numerically, against what retract says of v and a."""
    model = MODELS[name]
    core, q, v, a, _ = _system(model, 1, 1)
    rng = np.random.default_rng(1)
    c = 0.3 * rng.normal(size=(3, model.nv))
    h = 1e-4

    def at(t: float) -> list[Array]:
        # a motion with the given v and a at t = 0, as good as h^3
        ahead = uk.integrate(model, q[0], v[0] * t + 0.5 * a[0] * t * t, 1.0)[None]
        x = (c[0] + c[1] * t + 0.5 * c[2] * t * t)[None]
        zero = np.zeros_like(v)
        return _moved(core, ahead, zero, zero, x, zero, zero)

    _, v_new, a_new = _moved(core, q, v, a, c[:1], c[1:2], c[2:])
    back, here, ahead = (at(t)[0][0] for t in (-h, 0.0, h))
    before, after = uk.difference(model, back, here) / h, uk.difference(model, here, ahead) / h
    # integrate takes v constant in the body: its second derivative is v' only for joints whose v is a plain rate
    assert np.allclose(0.5 * (before + after), v_new[0], atol=2e-6)
    kinds = {link.v.start: link.joint.nq for link in model.links if link.joint.nv}
    for start, nq in kinds.items():
        part = slice(start, start + 6) if nq == 7 else slice(start, start + (3 if nq == 4 else nq))
        if nq != 7:  # the free joint's straight way in exp coordinates differs in second order
            assert np.allclose(((after - before) / h)[part], a_new[0, part], atol=2e-5), start


@pytest.mark.parametrize("name", MODELS)
def test_the_gradient_of_every_row_is_that_of_finite_differences(name: str) -> None:
    model = MODELS[name]
    n, points, bases, nv = 3, 5, 4, model.nv
    core, q, v, a, place = _system(model, n, points)
    rng = np.random.default_rng(5)
    B = rng.normal(size=(n, 3, bases))
    first = [0, 1, 1]
    knots = 5
    force, normal = rng.normal(size=(n, points, 3)), rng.normal(size=(n, points, 3))
    push, turn = np.random.default_rng(7).normal(size=(2, n, 3))  # known, in the world, about its origin
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    W = np.stack([(lambda m: m @ m.T)(rng.normal(size=(6, 6))) for _ in range(n)])
    wg, ws, wr, wa = rng.uniform(1, 2, (4, n, points))
    later, facing = 0.3, rng.normal(size=(n, points, 3))
    level, target, jolt = rng.normal(size=(n, points)), rng.normal(size=(n, points, 3)), rng.normal(size=(n, points, 3))

    def along(u: Array) -> Array:
        out: Array = u - (u * normal).sum(-1, keepdims=True) * normal
        return out

    def rows(q: Array, v: Array, a: Array) -> tuple[Array, Array, Array, Array, Array]:
        w, p, u, du = core.kinematics(q, v, a, place)
        arm = p - q[:, None, :3]
        f = force.sum(axis=1) + push
        m = (np.cross(arm, force).sum(axis=1) + turn - np.cross(q[:, :3], push)) * 700.0 / 210.0
        ahead = ((p + later * u + 0.5 * later**2 * du) * facing).sum(-1) - level
        return (
            w - np.concatenate([f, m], axis=1),
            (p * normal).sum(-1) - level,
            along(u - target),
            along(du - jolt),
            ahead,
        )

    def cost(x: Array) -> float:
        c = x.reshape(knots, nv)
        parts = [np.stack([B[k, d] @ c[first[k] : first[k] + bases] for k in range(n)]) for d in range(3)]
        r, gap, slip, rate, ahead = rows(*_moved(core, q, v, a, *parts))
        root = 0.5 * np.einsum("ni,nij,nj->", r, W, r)
        moves = ws * (slip**2).sum(-1) + wr * (rate**2).sum(-1)
        return float(root + 0.5 * (wg * gap**2 + wa * ahead**2 + moves).sum())

    r, gap, slip, rate, ahead = rows(q, v, a)
    zero = np.zeros((n, nv))
    pull = np.einsum("nij,nj->ni", W, r)
    system = {"force": force, "known": push, "pull": pull, "weight": W, "normal": normal}
    system |= {"gap": gap, "gap_weight": wg, "slip": slip, "slip_weight": ws}
    system |= {"slip_rate": rate, "slip_rate_weight": wr}
    system |= {"ahead_time": later, "ahead": ahead, "ahead_weight": wa, "ahead_normal": facing}
    system |= {"torque": zero, "torque_weight": zero, "response": np.zeros((n, points, 3, 6))}
    system |= {f"{e}{w}": zero for e in ("pose", "rate", "acceleration") for w in ("", "_weight")}
    band, gradient = np.zeros((knots * nv, bases * nv)), np.zeros(knots * nv)
    core.assemble(q, v, a, place, first, B, system | {"inertia_weight": 0.0}, band, gradient)
    h = 1e-6
    numeric = np.array([(cost(h * e) - cost(-h * e)) / (2 * h) for e in np.eye(knots * nv)])
    assert np.abs(numeric - gradient).max() < 1e-6 * np.abs(gradient).max()


@pytest.mark.parametrize("name", MODELS)
def test_the_gradient_of_torques_is_that_of_finite_differences(name: str) -> None:
    """Forces follow the root's residual as an optimum of forces would."""
    model = MODELS[name]
    n, points, bases, nv = 2, 5, 4, model.nv
    core, q, v, a, place = _system(model, n, points)
    rng = np.random.default_rng(6)
    B = rng.normal(size=(n, 3, bases))
    first, knots = [0, 1], 5
    force, K = rng.normal(size=(n, points, 3)), 0.1 * rng.normal(size=(n, points, 3, 6))
    weight, level = rng.uniform(1, 2, (n, nv)) / 700**2, rng.normal(size=(n, nv))
    links = [int(i) for i in np.random.default_rng(3).integers(0, model.nlinks, points)]  # as in _system

    def lack(q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        w, p, _, _ = core.kinematics(q, v, a, place)
        arm = p - q[:, None, :3]
        m = np.cross(arm, force).sum(axis=1) * 700.0 / 210.0
        return w - np.concatenate([force.sum(axis=1), m], axis=1), p

    start = lack(q, v, a)[0]

    def torques(q: Array, v: Array, a: Array) -> Array:
        r, p = lack(q, v, a)
        f = 700 * (force + np.einsum("npij,nj->npi", K, r - start))
        X = uk.link_poses(model, q)
        external = np.zeros((n, model.nlinks, 6))
        for k, link in enumerate(links):
            R, at = X[:, link, :3, :3], X[:, link, :3, 3]
            external[:, link, :3] += np.einsum("nji,nj->ni", R, f[:, k])
            external[:, link, 3:] += np.einsum("nji,nj->ni", R, np.cross(p[:, k] - at, f[:, k]))
        return uk.inverse_dynamics(model, q, v, a, external=external) - level

    def cost(x: Array) -> float:
        c = x.reshape(knots, nv)
        parts = [np.stack([B[k, d] @ c[first[k] : first[k] + bases] for k in range(n)]) for d in range(3)]
        return float(0.5 * (weight * torques(*_moved(core, q, v, a, *parts)) ** 2)[:, 6:].sum())

    weight[:, :6] = 0.0  # of the root: it has no torques
    zero, each, vectors = np.zeros((n, nv)), np.zeros((n, points)), np.zeros((n, points, 3))
    system: dict[str, Array | float] = {"force": force, "pull": np.zeros((n, 6)), "weight": np.zeros((n, 6, 6))}
    system |= {"known": np.zeros((n, 3)), "normal": vectors, "ahead_time": 0.0, "inertia_weight": 0.0}
    system |= {f"{e}{w}": each for e in ("gap", "ahead") for w in ("", "_weight")} | {"ahead_normal": vectors}
    system |= {"slip": vectors, "slip_rate": vectors, "slip_weight": each, "slip_rate_weight": each}
    system |= {f"{e}{w}": zero for e in ("pose", "rate", "acceleration") for w in ("", "_weight")}
    system |= {"torque": torques(q, v, a), "torque_weight": weight, "response": K}
    band, gradient = np.zeros((knots * nv, bases * nv)), np.zeros(knots * nv)
    core.assemble(q, v, a, place, first, B, system, band, gradient)
    h = 1e-6
    numeric = np.array([(cost(h * e) - cost(-h * e)) / (2 * h) for e in np.eye(knots * nv)])
    assert np.abs(numeric - gradient).max() < 1e-6 * np.abs(gradient).max()
