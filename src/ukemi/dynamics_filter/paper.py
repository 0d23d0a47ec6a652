"""The dynamics filter as printed in [DF03] VII: local and global feedback, then the solution of the equation of
motion nearest to it.

Kept beside the filter that users get because it is the paper's: it holds a standing figure and underactuated
mechanisms; it
does not see where the centre of pressure must go next, and falls on walking captures (docs/filter.md). Where it
differs from
the print: contacts are the points of the soles, and points whose force would pull are dropped one after another
(the paper
tries faces, lines and points); no friction bound is applied, `friction_use` in the quality sheet shows what was used.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ukemi import _core
from ukemi.contact.terrain import Ground
from ukemi.dynamics.forward import mass_matrix
from ukemi.dynamics.inverse import bias
from ukemi.dynamics.kinematics import difference, integrate, jacobian, jacobian_rate, link_poses
from ukemi.dynamics_filter.floor import above_floor, floor_of
from ukemi.dynamics_filter.reference import Reference
from ukemi.dynamics_filter.run import Run, lies
from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array
from ukemi.model.joints import Free
from ukemi.model.model import Model


@dataclass(frozen=True)
class PaperSettings:
    """kp, kd: [DF03] eq. 39; point_kp, point_kd: eq. 40. robust: the damping of the singularity-robust inverse, eq. 45.
    root_weight: of the accelerations of freedoms without actuators, beside 1 for joints. stick: rate at which contacts
    return to their places [1/s]."""

    kp: float = 400.0
    kd: float = 40.0
    point_kp: float = 100.0
    point_kd: float = 20.0
    robust: float = 1e-6
    root_weight: float = 5.0
    stick: float = 50.0


@dataclass(frozen=True, eq=False)
class Solution:
    """a (nv), tau (nv; zero where there is no actuator), force (rows of the contacts)."""

    a: Array
    tau: Array
    force: Array


class PaperFilter:
    """Controller and optimizer of [DF03] Fig. 4 for one model.

    actuated: (nv,) which freedoms have actuators. upper: the link whose pose is fed back globally, None for none.
    """

    def __init__(
        self, model: Model, actuated: ArrayLike, upper: str | None = None, settings: PaperSettings | None = None
    ) -> None:
        self.model, self.upper = model, upper
        self.actuated = np.asarray(actuated, dtype=bool)
        if self.actuated.shape != (model.nv,):
            raise InvalidInputError(f"actuated: expected shape ({model.nv},), got {self.actuated.shape}")
        self.settings = settings or PaperSettings()
        self.weights = np.where(self.actuated, 1.0, self.settings.root_weight)

    def desired(self, q: Array, v: Array, q_ref: Array, v_ref: Array, a_ref: Array) -> Array:
        s, model = self.settings, self.model
        a0 = a_ref + s.kd * (v_ref - v) + s.kp * difference(model, q, q_ref)  # [DF03] eq. 39
        if self.upper is None:
            return a0
        J, J_ref = jacobian(model, q, self.upper), jacobian(model, q_ref, self.upper)
        link = model.link_index(self.upper)
        X, X_ref = link_poses(model, q)[link], link_poses(model, q_ref)[link]
        turn = X_ref[:3, :3] @ X[:3, :3].T
        axis = 0.5 * np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
        error = np.concatenate([X_ref[:3, 3] - X[:3, 3], axis])
        r_ref = J_ref @ a_ref + jacobian_rate(model, q_ref, v_ref, self.upper)
        r = r_ref + s.point_kd * (J_ref @ v_ref - J @ v) + s.point_kp * error  # eq. 40
        r0 = J @ a0 + jacobian_rate(model, q, v, self.upper)
        R = J.T / self.weights[:, None]
        return a0 + R @ np.linalg.solve(J @ R + 1e-9 * np.eye(6), r - r0)  # eq. 41, 42

    def solve(
        self, q: Array, v: Array, a_desired: Array, H: Array, rhs: Array, external: Array | None = None
    ) -> Solution:
        """[DF03] eq. 43-45: all solutions of W x = u, and among them the one nearest to the desired accelerations.

        H (rows, nv), rhs (rows,): the constraint H a = rhs of the contacts.
        """
        nv, rows = self.model.nv, len(H)
        joints = np.flatnonzero(self.actuated)
        W = np.zeros((nv + rows, nv + rows + len(joints)))
        W[:nv, :nv], W[:nv, nv : nv + rows] = mass_matrix(self.model, q), -H.T
        W[joints, nv + rows + np.arange(len(joints))] = -1.0  # eq. 36 with the third block -H_J^T
        W[nv:, :nv] = H
        b = (
            bias(self.model, q, v)
            if external is None
            else _core.inverse_dynamics(self.model.tree, q, v, None, external, None)
        )
        u = np.concatenate([-b, rhs])
        left, sigma, right = np.linalg.svd(W)
        rank = int((sigma > 1e-9 * sigma[0]).sum())
        x0 = right[:rank].T @ ((left[:, :rank].T @ u) / sigma[:rank])  # eq. 43
        N = right[rank:].T  # its columns span the null space: x = x0 + N z
        V = N[:nv]
        root = np.sqrt(self.weights)[:, None]
        k = self.settings.robust
        A = (root * V).T @ (root * V) + k * np.eye(V.shape[1])
        z = np.linalg.solve(A, (root * V).T @ (root[:, 0] * (a_desired - x0[:nv])))  # eq. 45, singularity-robust
        x = x0 + N @ z
        tau = np.zeros(nv)
        tau[joints] = x[nv + rows :]
        return Solution(x[:nv], tau, x[nv : nv + rows])


class _Contacts:
    """Points of the soles on the floor: found by collision, let go by trial and error."""

    def __init__(self, reference: Reference, floor: Array, stick: float) -> None:
        self.model, self.points = reference.model, reference.points
        self.floor, self.normal, self.stick = floor, floor[:3], stick
        self.anchor: dict[int, Array] = {}
        self.solid = np.flatnonzero(~self.points.tip)

    def rows(self, q: Array, v: Array, down: list[int]) -> tuple[Array, Array]:
        H, rhs = [], []
        places = self.points.in_world(self.model, q)
        for p in down:
            link, at = self.model.link_names[self.points.links[p]], self.points.places[p]
            J = jacobian(self.model, q, link, at)[:3]
            H.append(J)
            back = -2 * self.stick * (J @ v) - self.stick**2 * (places[p] - self.anchor[p])
            rhs.append(back - jacobian_rate(self.model, q, v, link, at)[:3])
        nv = self.model.nv
        return (np.concatenate(H), np.concatenate(rhs)) if H else (np.zeros((0, nv)), np.zeros(0))

    def collide(self, q: Array, v: Array) -> tuple[Array, Array]:
        """v after the points that are below the floor and sink have stopped, and the impulses (points, 3)."""
        places = self.points.in_world(self.model, q)
        impulse = np.zeros((len(self.points), 3))
        above = above_floor(self.floor, places)
        new = [int(p) for p in self.solid if p not in self.anchor and above[p] < 0]
        new = [p for p in new if self.normal @ self._jacobian(q, p) @ v < 0]
        if not new:
            return v, impulse
        for p in new:
            self.anchor[p] = places[p] - above[p] * self.normal
        down = list(self.anchor)
        H = np.concatenate([self._jacobian(q, p) for p in down])
        R = np.linalg.solve(mass_matrix(self.model, q), H.T)
        f = np.linalg.lstsq(H @ R, -H @ v, rcond=1e-10)[0]  # [DF03] eq. 31-33, inelastic
        impulse[down] = f.reshape(-1, 3)
        return v + R @ f, impulse

    def _jacobian(self, q: Array, p: int) -> Array:
        return jacobian(self.model, q, self.model.link_names[self.points.links[p]], self.points.places[p])[:3]


def follow_paper(
    reference: Reference,
    ground: Ground | None = None,
    bar: Callable[[float], None] = lambda _: None,
    settings: PaperSettings | None = None,
    push: Callable[[float], Array | None] | None = None,
) -> Run:
    """The reference through the paper's filter, until it ends or the figure lies on the floor.

    push(t): external wrenches (nlinks, 6) at a time, or None.
    """
    model, dt = reference.model, reference.dt
    if not isinstance(model.links[0].joint, Free):
        raise InvalidInputError("follow_paper: expected a figure on a free base")
    upper = next((name for name in ("head", "chest", "torso") if name in model.link_names), None)
    filter_ = PaperFilter(model, np.arange(model.nv) >= 6, upper, settings)
    floor = floor_of(ground)
    contacts = _Contacts(reference, floor, filter_.settings.stick)
    q, v = reference.q[0].copy(), reference.v[0].copy()
    above = above_floor(floor, reference.places[0])
    for p in contacts.solid[reference.contact[0, contacts.solid] & (above[contacts.solid] < 5e-3)]:
        contacts.anchor[int(p)] = reference.places[0, p] - above[p] * floor[:3]
    chunks, start, interrupted = [], clock.perf_counter(), False
    try:
        for k in range(len(reference)):
            wrench = None if push is None else push(k * dt)
            wanted = filter_.desired(q, v, reference.q[k], reference.v[k], reference.a[k])
            while True:  # trial and error: without the point that would pull most
                down = list(contacts.anchor)
                answer = filter_.solve(q, v, wanted, *contacts.rows(q, v, down), wrench)
                pull = answer.force.reshape(-1, 3) @ floor[:3]
                if not down or pull.min() >= -1e-9:
                    break
                del contacts.anchor[down[int(pull.argmin())]]
            row = {
                "q_before": q,
                "v_before": v,
                "a": answer.a,
                "tau": answer.tau,
                "place": contacts.points.in_world(model, q),
            }
            force, flags = np.zeros((len(reference.points), 3)), np.zeros(len(reference.points))
            if down:
                force[down], flags[down] = answer.force.reshape(-1, 3), 1.0
            m = _core.mechanics(model.tree, q, v, None)
            row |= {"force": force, "down": flags, "centroid": np.concatenate([m[:3], m[3:6] / model.mass, m[6:9]])}
            v = v + dt * answer.a
            q = integrate(model, q, v, dt)
            v, row["impulse"] = contacts.collide(q, v)
            chunks.append(
                {name: value[None] for name, value in (row | {"q": q, "v": v}).items()} | {"steps": np.array(1)}
            )
            bar(1)
            r = reference.q[min(k + 1, len(reference) - 1)]
            if lies(q, v, r):
                break
    except KeyboardInterrupt:
        interrupted = True
        if not chunks:
            raise
    return Run(chunks, reference, floor, interrupted, clock.perf_counter() - start)
