"""The solve: forces eliminated sample by sample, Gauss-Newton steps of the motion, multipliers for the root equations.

Contacts are sought first (a force pays for the gap and the slip of its point, at a rising price), then kept while the
motion is made to fit them. docs/filter.md derives every term.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ukemi.dynamics_filter.trajectory.contacts import (
    DEAREST,
    Schedule,
    offence,
    price,
    schedule_of,
    sustained,
    widened,
)
from ukemi.dynamics_filter.trajectory.problem import GRAVITY, Problem, first_likelihood
from ukemi.dynamics_filter.trajectory.spline import evaluate
from ukemi.dynamics.forward import mass_matrix
from ukemi.model.arrays import Array

#: Weight of the six root equations in the augmented Lagrangian [per squared body weight].
STIFFNESS, STIFFER = (1e3, 1e6), 5.0
#: Barrier of the forces' bounds, from and to.
BARRIER = (1e-3, 1e-4)
SEEK, FIT = 10, 30
#: Residual [body weights] and step [rad, l] at which the solve ends.
RESIDUAL, STEP = 2e-7, 1e-4
FIRST_STEP = 5e-3
LONGEST_STEP = 0.3
TOUCHES = 16.0
LIKELY = 1.0
#: Tries of one step; damping of accelerations, from and to, times that of the distance; its decay; its width in samples.
TRIALS = 6
DAMPING = (1.0, 1e6)
RELAX = 0.2
NEIGHBOURS = 2


@dataclass(eq=False)
class State:
    """The motion and its forces. c (size, nv): correction's coefficients; q, v, a: at the samples; frames: at the
    frames of the input."""

    c: Array
    q: Array
    v: Array
    a: Array
    frame_times: Array
    frames: tuple[Array, Array, Array]
    lam: Array
    dual: Array
    multiplier: Array
    force: Array
    residual: Array
    on: Schedule


@dataclass
class Trace:
    """One row per iteration: stage, residual [BW], step, merit, share of the full step."""

    rows: list[tuple[str, float, float, float, float]] = field(default_factory=list)


@dataclass(eq=False)
class Terms:
    """Everything about the present motion that a step needs."""

    above: Array
    normals: Array
    slip: Array
    velocity: Array
    place: Array
    solved: dict[str, Array]
    lam: Array
    dual: Array
    local: Array
    merit: float


def start(problem: Problem, frame_times: Array) -> State:
    q, v, a = problem.reference.at(problem.times)
    n, np_ = len(problem.times), len(problem.points)
    zero = np.zeros
    return State(
        zero((problem.knots.size, problem.model.nv)),
        *(q, v, a),
        frame_times,
        problem.reference.at(frame_times),
        zero((n, np_, 4)),
        zero((n, np_, 4)),
        zero((n, 6)),
        zero((n, np_, 3)),
        zero((n, 6)),
        zero((n, np_), dtype=bool),
    )


class Window:
    """The solve of some intervals of the clip; what stands before them is kept as it is."""

    def __init__(self, problem: Problem, state: State, first: int, last: int, pinned: bool) -> None:
        self.problem, self.state, self.pinned = problem, state, pinned
        self.samples = slice(first, last + 1)
        self.blocks = slice(first, last + 3)
        self.first = (problem.first[self.samples] - first).astype(int)
        self.basis = problem.basis[self.samples]
        t0, t1 = first * problem.knots.step, last * problem.knots.step
        last_one = last == problem.knots.intervals
        inside = (state.frame_times >= t0 - 1e-12) & ((state.frame_times < t1 - 1e-12) | last_one)
        chosen = np.flatnonzero(inside)
        self.frames = slice(int(chosen[0]), int(chosen[-1]) + 1) if len(chosen) else slice(0, 0)
        frame_first, self.frame_basis = problem.knots.basis(state.frame_times[self.frames])
        self.frame_first = frame_first - first
        self.trace = Trace()
        n = self.samples.stop - self.samples.start
        self.zero = np.zeros((n, problem.model.nv))
        self.kappa = 0.0
        self.stiffness = np.full(n, STIFFNESS[0])
        self.supported = np.zeros(n, dtype=bool)
        self.on: Schedule | None = None
        self.cost = np.zeros((n, len(problem.points)))
        self.quadratic = self._distance_cost()
        self.damping = np.zeros(n)
        self.zero_points = np.zeros((n, len(problem.points), 3))
        self.lines = self.zero_points

    # --- what the motion costs -----------------------------------------------------------------------------------
    def _distance_cost(self) -> Array:
        """Band of c' Q c: distances, rates and accelerations, the last by the inertia matrix of the reference."""
        p, s = self.problem, self.samples
        q, v, a = p.reference.at(p.times[s])
        middle = mass_matrix(p.model, q[len(q) // 2])
        self.masses = np.diag(middle) * p.inertia
        n, ones = len(q), np.ones((len(q), 1))
        rows = self._rows(q)
        rows |= {
            "pose_weight": ones * p.spread**2,
            "rate_weight": ones * p.rates**2,
            "acceleration_weight": ones * p.jolts**2,
            "inertia_weight": p.inertia,
        }
        place = np.zeros((n, len(p.points), 3))
        band, _ = p.core.assemble(q, v, a, place, self._size, self.first.tolist(), self.basis, rows)
        out: Array = band
        return out

    @property
    def _size(self) -> int:
        return self.blocks.stop - self.blocks.start

    def _rows(self, q: Array) -> dict[str, Array | float]:
        n, k = len(q), len(self.problem.points)
        each, vectors = np.zeros((n, k)), np.zeros((n, k, 3))
        return {
            "force": vectors,
            "pull": np.zeros((n, 6)),
            "weight": np.zeros((n, 6, 6)),
            "normal": vectors + (0.0, 0.0, 1.0),
            **{"gap": each, "gap_weight": each, "slip": vectors, "slip_weight": each},
            **{name: self.zero for name in ("pose", "pose_weight", "rate", "rate_weight")},
            **{name: self.zero for name in ("acceleration", "acceleration_weight")},
            "inertia_weight": 0.0,
        }

    def _spread_of(self, c: Array) -> tuple[float, Array]:
        """1/2 c' Q c and Q c, with Q in its lower band (size nv, bands)."""
        from scipy.linalg.blas import dsbmv

        x = c.ravel()
        y: Array = dsbmv(self.quadratic.shape[1] - 1, 1.0, self.quadratic.T, x, lower=1)
        return 0.5 * float(x @ y), y

    # --- forces ---------------------------------------------------------------------------------------------------
    def terms(self, q: Array, v: Array, a: Array, c: Array, lam: Array, dual: Array, barrier: float) -> Terms:
        p, s = self.problem, self.problem.settings
        guess = np.broadcast_to(np.array((0.0, 0.0, 1.0)), (len(q), len(p.points), 3))
        place = p.points.places(q, guess)
        wrench, point, velocity = p.core.kinematics(q, v, a, place)
        above, normals = p.ground.look(point)
        slip = velocity - (velocity * normals).sum(-1, keepdims=True) * normals
        arm = point - q[:, None, :3]
        prices = np.zeros_like(above)
        if self.on is None:
            prices = price(offence(above, slip, s, p.leg, GRAVITY), self.kappa)[0]
        lam, dual = lam.copy(), dual.copy()
        numbers = np.array([s.line, s.rate, p.ground.friction, barrier])
        solved = p.core.forces(
            *(wrench, arm, normals, self.cost, prices),
            *(self.zero_points, self.lines, self.state.multiplier[self.samples], self.stiffness, lam, dual, numbers),
        )
        gap_w, gap, slip_w = self._contact_rows(above, slip, None)
        local = solved["value"] + 0.5 * (gap_w * gap**2 + slip_w * (slip**2).sum(-1)).sum(axis=1)
        merit = self._spread_of(c)[0] + float(local.sum())
        return Terms(above, normals, slip, velocity, place, solved, lam, dual, local, merit)

    def _lines(self, q: Array, point: Array, normals: Array) -> Array:
        """From each point to its limb's base, one long along the normal; along the normal for the trunk."""
        toward = self.problem.points.bases(q) - point
        rise = (toward * normals).sum(-1, keepdims=True)
        steep = np.nan_to_num(rise) > 0.3 * np.linalg.norm(np.nan_to_num(toward), axis=-1, keepdims=True)
        return np.where(steep, np.nan_to_num(toward) / np.where(steep, rise, 1.0), normals)

    def _contact_rows(self, above: Array, slip: Array, forces: Array | None) -> tuple[Array, Array, Array]:
        """(weights of gaps, gaps, weights of slips). forces (n, np): normal ones, only while contacts are sought; then
        their price is what pulls at gap and slip, and it is not counted again in the merit."""
        p, s = self.problem, self.problem.settings
        soft = np.where(p.points.sole, 1.0, 1 / s.flesh**2)
        deep = soft / (s.penetration * p.leg) ** 2 * (above < 0)
        gap_unit, slip_unit = (s.gap * p.leg) ** -2, 1 / (s.slip**2 * GRAVITY * p.leg)
        if self.on is not None:
            hold = soft * self.on * self.inside
            return np.where(self.on, np.maximum(hold * gap_unit, deep), deep), above, hold * slip_unit
        if forces is None:
            return deep, above, np.zeros_like(above)
        weight = 2 * price(offence(above, slip, s, p.leg, GRAVITY), self.kappa)[1] * forces
        return np.where(above < 0, deep, weight * gap_unit), above, weight * slip_unit

    # --- one step -------------------------------------------------------------------------------------------------
    def step(self, stage: str, barrier: float) -> tuple[float, float]:
        """One Gauss-Newton step with backtracking; (largest residual [BW], longest part of the step)."""
        p, st, s, b = self.problem, self.state, self.samples, self.blocks
        q, v, a, c = st.q[s], st.v[s], st.a[s], st.c[b]
        now = self.terms(q, v, a, c, st.lam[s], st.dual[s], barrier)
        normal_force = (now.solved["force"] * now.normals).sum(-1)
        gap_w, gap, slip_w = self._contact_rows(now.above, now.slip, normal_force)
        rows = self._rows(q) | {
            **{name: now.solved[name] for name in ("force", "pull", "weight")},
            **{"normal": now.normals, "gap": gap, "gap_weight": gap_w, "slip": now.slip, "slip_weight": slip_w},
        }
        band, gradient = p.core.assemble(q, v, a, now.place, self._size, self.first.tolist(), self.basis, rows)
        band += self.quadratic
        gradient += self._spread_of(c)[1]
        self.damping *= RELAX
        for trial in range(TRIALS):
            x = self._newton(band, gradient).reshape(self._size, -1)
            longest = float(np.abs(x).max(initial=0.0))
            share = min(1.0, LONGEST_STEP / max(longest, 1e-12))
            parts = evaluate(share * x, self.first, self.basis)
            moved = [q.copy(), v.copy(), a.copy()]
            p.core.retract(*map(np.ascontiguousarray, parts), *moved)
            then = self.terms(*moved, c + share * x, now.lam, now.dual, barrier)
            if then.merit <= now.merit + 1e-9 * abs(now.merit):
                break
            self._damp(then.local - now.local)
        st.q[s], st.v[s], st.a[s] = moved
        st.c[b] = c + share * x
        if self.frames.stop > self.frames.start:
            f = [np.ascontiguousarray(z[self.frames]) for z in st.frames]
            parts = evaluate(share * x, self.frame_first, self.frame_basis)
            p.core.retract(*map(np.ascontiguousarray, parts), *f)
            for z, new in zip(st.frames, f, strict=True):
                z[self.frames] = new
        st.lam[s], st.dual[s] = then.lam, then.dual
        st.force[s], st.residual[s] = then.solved["force"], then.solved["residual"]
        residual = float(np.abs(then.solved["residual"][~self.supported]).max(initial=0.0))
        self.last = then
        self.trace.rows.append((stage, residual, longest, then.merit, trial))
        return residual, longest

    def _damp(self, rise: Array) -> None:
        """Where the merit rose, the next step's accelerations are held: a trust region of every sample's own."""
        worst = rise > 0.1 * rise.max()
        for k in range(1, NEIGHBOURS + 1):
            worst[k:] |= worst[:-k] & (rise[:-k] > 0)
        worst = np.convolve(worst, np.ones(2 * NEIGHBOURS + 1), mode="same") > 0
        self.damping[worst] = np.clip(10 * self.damping[worst], *DAMPING)

    def _newton(self, band: Array, gradient: Array) -> Array:
        from scipy.linalg import solveh_banded

        band, gradient = band.copy(), gradient.copy()
        nv, some = self.problem.model.nv, np.flatnonzero(self.damping > DAMPING[0] / 100)
        if len(some):
            coordinates = np.arange(nv)
            for m in range(3):
                for t in range(m, 3):
                    weight = self.damping[some] * self.basis[some, 2, m] * self.basis[some, 2, t]
                    rows = (self.first[some] + m)[:, None] * nv + coordinates
                    band[rows, (t - m) * nv] += weight[:, None] * self.masses
        if self.pinned:
            held = 3 * nv
            band[:held, 0] *= 1e12
            gradient[:held] = 0.0
        out: Array = solveh_banded(band.T, -gradient, lower=True, overwrite_ab=True, check_finite=False)
        return out

    # --- the two stages -------------------------------------------------------------------------------------------
    def seek(self) -> None:
        """Finds the contacts."""
        p, st, s = self.problem, self.state, self.samples
        self.on = None
        guess = np.broadcast_to(np.array((0.0, 0.0, 1.0)), (len(st.q[s]), len(p.points), 3))
        place = p.points.places(st.q[s], guess)
        _, point, velocity = p.core.kinematics(st.q[s], st.v[s], st.a[s], place)
        above, normals = p.ground.look(point)
        self.lines = self._lines(st.q[s], point, normals)
        self.cost = self._cost(first_likelihood(p, above, velocity))
        low, high = p.settings.consistency
        for k in range(SEEK):
            share = min(k / (SEEK - 3), 1.0)
            self.kappa = low * (high / low) ** share
            self.step("seek", BARRIER[0] * (BARRIER[1] / BARRIER[0]) ** share)

    def _cost(self, unlikely: Array) -> Array:
        s = self.problem.settings
        return np.where(unlikely < 2 * DEAREST, s.force * np.exp(np.minimum(unlikely, DEAREST)), -1.0)

    def fit(self) -> None:
        """Keeps the contacts that bear, and fits motion and forces to them."""
        p, st, s = self.problem, self.state, self.samples
        normal = (st.force[s] * self.last.normals).sum(-1)
        u = offence(self.last.above, self.last.slip, p.settings, p.leg, GRAVITY)
        bears = (normal > p.settings.bears) & (first_likelihood(p, self.last.above, self.last.velocity) < LIKELY)
        on = schedule_of(bears | (u < TOUCHES), p.knots.step, p.settings, p.tau)
        self.on, self.inside = widened(on, max(round(0.067 * p.tau / p.knots.step), 1))
        st.on[s] = self.on
        likely = np.where(self.cost > 0, np.minimum(self.cost, 20 * p.settings.force), 20 * p.settings.force)
        self.cost = np.where(self.on, likely / np.maximum(self.inside, 1e-2), -1.0)
        looked, tolerance = False, FIRST_STEP
        for k in range(FIT):
            share = min(k / 4, 1.0)
            residual, longest = self.step("fit", BARRIER[0] * (BARRIER[1] / BARRIER[0]) ** share)
            if share < 1.0 or longest > tolerance:
                continue
            if not looked:
                looked = True
                if self._look_for_supports():
                    continue
            if residual < RESIDUAL:
                break
            free = ~self.supported
            y = self.stiffness[:, None] * st.residual[s] + st.multiplier[s]
            st.multiplier[s] = np.where(free[:, None], y, 0.0)
            self.stiffness[free] = np.minimum(self.stiffness[free] * STIFFER, STIFFNESS[1])
            tolerance = max(0.3 * tolerance, STEP)

    def _look_for_supports(self) -> bool:
        """Where the floor cannot explain the motion by far, something else holds it: there a leftover wrench is let be,
        at the price of a force, instead of being distorted away."""
        p = self.problem
        size = np.linalg.norm(self.state.residual[self.samples], axis=1)
        runs = sustained(size, p.settings.support, p.settings.support / 3, p.settings.shortest * p.tau, p.knots.step)
        self.supported = runs
        self.stiffness[runs] = 1 / p.settings.support_price**2
        return bool(runs.any())


def solve(problem: Problem, frame_times: Array, bar: Callable[[float], None] | None = None) -> tuple[State, list[Trace]]:
    state = start(problem, frame_times)
    window = Window(problem, state, 0, problem.knots.intervals, pinned=False)
    window.seek()
    window.fit()
    return state, [window.trace]
