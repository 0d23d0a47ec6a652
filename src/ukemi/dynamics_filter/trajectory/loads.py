"""Torques and forces of a solved motion, and what holds the body where the ground does not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ukemi.dynamics.inverse import inverse_dynamics
from ukemi.dynamics.kinematics import link_poses
from ukemi.dynamics_filter.support import Support
from ukemi.dynamics_filter.trajectory.points import ContactPoints
from ukemi.dynamics_filter.trajectory.problem import GRAVITY, Problem
from ukemi.dynamics_filter.trajectory.state import State
from ukemi.model.arrays import Array
from ukemi.motion.footfalls import runs

#: Samples that are looked at together.
CHUNK = 1000
#: How much a support one leg length higher is less likely.
COMMON = 0.2


@dataclass(frozen=True, eq=False)
class Loads:
    """time (n,); force, place (n, np, 3) [N], [m]; support (n, nlinks, 6): wrenches of supports in link
    coordinates, or None; tau (n, nv); supports: in words."""

    time: Array
    force: Array
    place: Array
    support: Array | None
    tau: Array
    supports: tuple[Support, ...]


def loads_of(problem: Problem, state: State, rows: NDArray[np.bool_]) -> Loads:
    """Of some samples of a solved motion."""
    model, points = problem.model, problem.points
    q, v, a = (np.ascontiguousarray(z[rows]) for z in (state.q, state.v, state.a))
    force, place, tau = problem.weight * state.force[rows], np.empty((len(q), len(points), 3)), np.empty_like(v)
    parts = [slice(k, k + CHUNK) for k in range(0, len(q), CHUNK)]  # bounded memory
    for part in parts:
        X, local = _here(points, q[part])
        for k, link in enumerate(points.links):
            place[part, k] = np.einsum("nij,nj->ni", X[:, link, :3, :3], local[:, k]) + X[:, link, :3, 3]
    supports, held = _supports(problem, state, rows, q, place)
    for part in parts:
        X, local = _here(points, q[part])
        external = wrenches_on_links(points, X, local, force[part])
        if held is not None:
            external += held[part]
        tau[part] = inverse_dynamics(model, q[part], v[part], a[part], external=external)
    return Loads(problem.times[rows], force, place, held, tau, supports)


def _here(points: ContactPoints, q: Array) -> tuple[Array, Array]:
    """Poses of the links (n, nlinks, 4, 4), and places of the points in them (n, np, 3)."""
    up = np.broadcast_to(np.array((0.0, 0.0, 1.0)), (len(q), len(points), 3))
    return link_poses(points.model, q), points.places(q, up)


def wrenches_on_links(points: ContactPoints, X: Array, local: Array, force: Array) -> Array:
    """(n, nlinks, 6) in link coordinates, of forces (n, np, 3) [N] on points at places (n, np, 3) in their links."""
    out = np.zeros((*X.shape[:2], 6))
    for k, link in enumerate(points.links):
        f = np.einsum("nji,nj->ni", X[:, link, :3, :3], force[:, k])
        out[:, link, :3] += f
        out[:, link, 3:] += np.cross(local[:, k], f)
    return out


def _supports(
    problem: Problem, state: State, rows: NDArray[np.bool_], q: Array, place: Array
) -> tuple[tuple[Support, ...], Array | None]:
    """The leftover wrench of every run of supported samples, laid on the part of the body that it fits best."""
    flags, residual = state.supported[rows], state.residual[rows]
    if not flags.any():
        return (), None
    model, points, time = problem.model, problem.points, problem.times[rows]
    held = np.zeros((len(q), model.nlinks, 6))
    force = problem.weight * residual[:, :3]
    moment = problem.moment * residual[:, 3:]
    found = []
    for first, last in runs(flags):
        part = slice(first, last)
        f, m, O = force[part], moment[part], q[part, None, :3]
        # a force through a point leaves no moment about it, and what bears hardly moves; soles have the ground already
        lack = m[:, None] - np.cross(place[part] - O, f[:, None])
        turn = np.linalg.norm(lack, axis=-1).sum(axis=0) / (np.linalg.norm(f, axis=1).sum() * problem.leg / 3)
        steps = np.linalg.norm(np.diff(place[part], axis=0), axis=-1).mean(axis=0) / problem.knots.step
        pace = steps / (problem.settings.speed * np.sqrt(GRAVITY * problem.leg))
        low = np.maximum(place[part, :, 2].mean(axis=0), 0) / problem.leg  # seats are commoner than bars
        misfit = np.where(points.sole, np.inf, turn + pace + COMMON * low)
        best = int(misfit.argmin())
        link = int(points.links[best])
        X = link_poses(model, q[part])[:, link]
        R, p = X[:, :3, :3], X[:, :3, 3]
        about = m - np.cross(p - q[part, :3], f)  # moment about the link's origin
        held[part, link, :3] = np.einsum("nji,nj->ni", R, f)
        held[part, link, 3:] = np.einsum("nji,nj->ni", R, about)
        size = np.linalg.norm(f, axis=1)
        mean = f.mean(axis=0)
        where = (size[:, None] * place[part, best]).sum(axis=0) / max(size.sum(), 1e-9)
        found.append(
            Support(
                float(time[first]),
                float(time[last - 1]),
                model.link_names[link],
                (float(where[0]), float(where[1]), float(where[2])),
                (float(mean[0]), float(mean[1]), float(mean[2])),
                float(size.max() / problem.weight),
            )
        )
    return tuple(found), held
