"""What a motion costs in some intervals of a clip, with the forces that suit it best: every term of docs/filter.md, its
value sample by sample, and its rows of a Gauss-Newton system."""

from __future__ import annotations

import numpy as np

from ukemi.dynamics.forward import mass_matrix
from ukemi.dynamics.inverse import inverse_dynamics
from ukemi.dynamics.kinematics import link_poses
from ukemi.dynamics_filter.trajectory.contacts import Schedule, offence, price
from ukemi.dynamics_filter.trajectory.loads import wrenches_on_links
from ukemi.dynamics_filter.trajectory.problem import GRAVITY, Problem
from ukemi.dynamics_filter.trajectory.state import State, Terms
from ukemi.model.arrays import Array
from ukemi.motion.footfalls import runs

#: Weight of the six root equations in the augmented Lagrangian, from and to [per squared body weight].
STIFFNESS = (1e3, 3e4)
#: Standard deviation of a coordinate beyond its limit [rad or m].
LIMIT = 0.005
#: Standard deviation of a torque or a speed beyond its limit [share of the limit].
EFFORT = 0.007
#: How much deeper points may sink while contacts are sought: what rests below the ground is not yet lifted.
SOFT = 4.0


class WindowCost:
    """Of the intervals from ``first`` to ``last``. Until contacts are known (``on``) a force pays for the gap and the
    slip of its point, at the price ``kappa``."""

    faces: tuple[Array, Array]
    inside: Array

    def __init__(self, problem: Problem, state: State, first: int, last: int) -> None:
        self.problem, self.state = problem, state
        self.samples = slice(first, last + 1)
        self.blocks = slice(first, last + 3)
        self.first = (problem.first[self.samples] - first).astype(int)
        self.basis = problem.basis[self.samples]
        n = self.samples.stop - self.samples.start
        self.zero = np.zeros((n, problem.model.nv))
        self.multiplier = np.zeros((n, 6))
        self.stiffness = np.full((n, 6), STIFFNESS[0])
        self.barrier, self.kappa = 0.0, 0.0
        self.on: Schedule | None = None
        self.cost = np.zeros((n, len(problem.points)))
        self.zero_points, self.no_price = np.zeros((n, len(problem.points), 3)), np.zeros((n, len(problem.points)))
        self.lines = self.zero_points
        self.quadratic = self._distance_cost()

    def _distance_cost(self) -> Array:
        """Band of c' Q c: distances, rates and accelerations, the last by the inertia matrix of the reference."""
        p, s = self.problem, self.samples
        q, v, a = p.reference.at(p.times[s])
        self.masses = np.diag(mass_matrix(p.model, q[len(q) // 2])) * p.inertia
        n, ones = len(q), np.ones((len(q), 1))
        rows = self._rows(q)
        rows |= {
            "pose_weight": ones * p.spread**2,
            "rate_weight": ones * p.rates**2,
            "acceleration_weight": ones * p.jolts**2,
            "inertia_weight": p.inertia,
        }
        place = np.zeros((n, len(p.points), 3))
        size = self._size * p.model.nv
        band = np.zeros((size, 3 * p.model.nv))
        p.core.assemble(q, v, a, place, self.first.tolist(), self.basis, rows, band, np.zeros(size))
        return band

    @property
    def _size(self) -> int:
        return self.blocks.stop - self.blocks.start

    def _rows(self, q: Array) -> dict[str, Array | float]:
        n, k = len(q), len(self.problem.points)
        each, vectors = np.zeros((n, k)), np.zeros((n, k, 3))
        return {
            "force": vectors,
            "known": self.problem.known[self.samples, :3] / self.problem.weight,
            "pull": np.zeros((n, 6)),
            "weight": np.zeros((n, 6, 6)),
            "normal": np.broadcast_to(np.array((0.0, 0.0, 1.0)), vectors.shape),
            **{"gap": each, "gap_weight": each, "slip": vectors, "slip_weight": each},
            **{"slip_rate": vectors, "slip_rate_weight": each},
            **{"torque": self.zero, "torque_weight": self.zero, "response": np.zeros((n, k, 3, 6))},
            **{"ahead": each, "ahead_weight": each, "ahead_normal": vectors, "ahead_time": 0.0},
            **dict.fromkeys(("pose", "pose_weight", "rate", "rate_weight"), self.zero),
            **dict.fromkeys(("acceleration", "acceleration_weight"), self.zero),
            "inertia_weight": 0.0,
        }

    def _distance_gradient(self, c: Array) -> Array:
        """Q c, with Q in its lower band (size nv, bands)."""
        from scipy.linalg.blas import dsbmv

        out: Array = dsbmv(self.quadratic.shape[1] - 1, 1.0, self.quadratic.T, c.ravel(), lower=1)
        return out

    def terms(self, q: Array, v: Array, a: Array, c: Array, lam: Array, dual: Array) -> Terms:
        p, s = self.problem, self.problem.settings
        place = self._places(q)
        wrench, point, velocity, acceleration = self._kinematics(q, v, a, place)
        above, normals = self._ground(point)
        slip, slip_rate = (x - (x * normals).sum(-1, keepdims=True) * normals for x in (velocity, acceleration))
        arm = point - q[:, None, :3]
        prices = np.zeros_like(above)
        if self.on is None:
            prices = price(offence(above, slip, s, p.leg, GRAVITY), self.kappa)[0]
        lam, dual = lam.copy(), dual.copy()
        numbers = np.array([s.line, 0.0, p.ground.friction, self.barrier])
        solved = p.core.forces(
            *(wrench, arm, normals, self.cost, prices),
            *(self.zero_points, self.lines, self.multiplier, self.stiffness, lam, dual, numbers),
        )
        gap_w, gap, slip_w, rate_w = self._contact_rows(above, slip, None)
        moves = slip_w * (slip**2).sum(-1) + rate_w * (slip_rate**2).sum(-1)
        local = solved["value"] + 0.5 * (gap_w * gap**2 + moves).sum(axis=1)
        later = 0.5 * p.knots.step  # the ground between samples
        ahead, ahead_normals = p.ground.look(point + later * velocity + 0.5 * later**2 * acceleration)
        ahead_w = self._depth_weights(ahead)
        local += 0.5 * (ahead_w * ahead**2).sum(axis=1)
        local += 0.5 * (self._beyond_limits(q) ** 2).sum(axis=1) / LIMIT**2
        rates = self._beyond_speeds(v)
        local += 0.5 * (rates["rate_weight"] * rates["rate"] ** 2).sum(axis=1)
        torques = self._beyond_efforts(q, v, a, place, solved["force"])
        local += 0.5 * (torques["torque_weight"] * torques["torque"] ** 2).sum(axis=1)
        distance = self._distance_gradient(c)
        merit = 0.5 * float(c.ravel() @ distance) + float(local.sum())
        between: dict[str, Array | float] = {
            "ahead": ahead,
            "ahead_weight": ahead_w,
            "ahead_normal": ahead_normals,
            "ahead_time": later,
        }
        return Terms(
            *(above, normals, slip, slip_rate, between, torques, velocity, place, point),
            *(solved, lam, dual, local, distance, merit),
        )

    def _ground(self, point: Array) -> tuple[Array, Array]:
        """Heights above the ground and its normals. What is in contact stays on the face that it found: at an edge of a
        step another one may be nearer in the next iteration."""
        above, normals = self.problem.ground.look(point)
        if self.on is None or self.problem.ground.level:
            return above, normals
        normals = np.where(self.on[..., None], self.faces[0], normals)
        return np.where(self.on, (point * normals).sum(-1) - self.faces[1], above), normals

    def _find_faces(self, point: Array) -> tuple[Array, Array]:
        """Normals (n, np, 3) and heights along them (n, np) of the ground in the midst of each contact."""
        assert self.on is not None
        above, normals = self.problem.ground.look(point)
        height = (point * normals).sum(-1) - above
        for p in range(self.on.shape[1]):
            for first, last in runs(self.on[:, p]):
                middle = (first + last) // 2
                normals[first:last, p], height[first:last, p] = normals[middle, p], height[middle, p]
        return normals, height

    def _beyond_limits(self, q: Array) -> Array:
        """(n, nv): how far coordinates are beyond their limits [rad or m]."""
        at_q, at_v, limits = self.problem.limits
        out = np.zeros_like(self.zero)
        out[:, at_v] = q[:, at_q] - np.clip(q[:, at_q], limits[:, 0], limits[:, 1])
        return out

    def _beyond_speeds(self, v: Array) -> dict[str, Array]:
        """How much faster joints are than their actuators [rad/s or m/s], and what that costs; (n, nv)."""
        limit = self.problem.speeds
        beyond = v - np.clip(v, -limit, limit)
        return {"rate": beyond, "rate_weight": (beyond != 0) / (EFFORT * limit) ** 2}

    def _beyond_efforts(self, q: Array, v: Array, a: Array, place: Array, force: Array) -> dict[str, Array]:
        """What joints need beyond their actuators' limits [N m or N], and what that costs; (n, nv)."""
        p = self.problem
        if self.on is None or not np.isfinite(p.efforts).any():
            return {"torque": self.zero, "torque_weight": self.zero}
        X = link_poses(p.model, q)
        external = wrenches_on_links(p.points, X, place, p.weight * force)
        tau = inverse_dynamics(p.model, q, v, a, external=external)
        beyond = tau - np.clip(tau, -p.efforts, p.efforts)
        return {"torque": beyond, "torque_weight": (beyond != 0) / (EFFORT * p.efforts) ** 2}

    def _here(self) -> tuple[Array, Array, Array, Array]:
        s = self.samples
        return self.state.q[s], self.state.v[s], self.state.a[s], self.state.c[self.blocks]

    def _kinematics(self, q: Array, v: Array, a: Array, place: Array) -> tuple[Array, Array, Array, Array]:
        """The wrench that the motion needs besides what is known; points, their velocities and accelerations."""
        p = self.problem
        wrench, point, velocity, acceleration = p.core.kinematics(q, v, a, place)
        force, moment = p.known[self.samples, :3], p.known[self.samples, 3:]
        about = moment - np.cross(q[:, :3], force)
        known = np.concatenate([force / p.weight, about / p.moment], axis=1)
        return wrench - known, point, velocity, acceleration

    def _places(self, q: Array) -> Array:
        points = self.problem.points
        return points.places(q, np.broadcast_to(np.array((0.0, 0.0, 1.0)), (len(q), len(points), 3)))

    def _depth_weights(self, above: Array) -> Array:
        """(n, np): of points below the ground, by squared depth."""
        p, s = self.problem, self.problem.settings
        sigma = s.penetration * p.leg * (SOFT if self.on is None else 1.0)
        out: Array = np.where(p.points.sole, 1.0, 1 / s.flesh**2) / sigma**2 * (above < 0)
        return out

    def _contact_rows(self, above: Array, slip: Array, forces: Array | None) -> tuple[Array, Array, Array, Array]:
        """(weights of gaps, gaps, weights of slips and of their rates). forces (n, np): normal ones, only while
        contacts are sought; then their price is what pulls at gap and slip, and it is not counted again in the merit.

        A cubic spline can zigzag between knots at which it stands; in the midst of a contact its rate stands too: the
        mean speed from one knot to the next, h a / 6, counts as a slip."""
        p, s = self.problem, self.problem.settings
        soft = np.where(p.points.sole, 1.0, 1 / s.flesh**2)
        deep = self._depth_weights(above)
        gap_unit, slip_unit = (s.gap * p.leg) ** -2, 1 / (s.slip**2 * GRAVITY * p.leg)
        if self.on is not None:
            hold = soft * self.on * self.inside
            rate = np.minimum(hold[1:-1], np.minimum(hold[:-2], hold[2:])) * slip_unit * (p.knots.step / 6) ** 2
            rates = np.concatenate([np.zeros_like(hold[:1]), rate, np.zeros_like(hold[:1])])[: len(hold)]
            return np.where(self.on, np.maximum(hold * gap_unit, deep), deep), above, hold * slip_unit, rates
        if forces is None:
            return deep, above, np.zeros_like(above), np.zeros_like(above)
        weight = 2 * price(offence(above, slip, s, p.leg, GRAVITY), self.kappa)[1] * forces
        return np.where(above < 0, deep, weight * gap_unit), above, weight * slip_unit, np.zeros_like(above)
