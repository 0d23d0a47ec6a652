"""Some intervals of a clip, solved: forces eliminated sample by sample, Gauss-Newton steps of the motion, multipliers
for the root equations.

Contacts are sought first (a force pays for the gap and the slip of its point, at a rising price), then kept while the
motion is made to fit them. docs/filter.md derives every term.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ukemi.dynamics.forward import mass_matrix
from ukemi.dynamics.inverse import inverse_dynamics
from ukemi.dynamics.kinematics import center_of_mass, link_poses
from ukemi.dynamics_filter.trajectory.contacts import (
    DEAREST,
    Schedule,
    offence,
    price,
    schedule_of,
    sustained,
    widened,
)
from ukemi.dynamics_filter.trajectory.loads import wrenches_on_links
from ukemi.dynamics_filter.trajectory.problem import GRAVITY, Problem, likelihood_of
from ukemi.dynamics_filter.trajectory.spline import evaluate
from ukemi.dynamics_filter.trajectory.state import Iteration, State, Terms
from ukemi.model.arrays import Array
from ukemi.motion.footfalls import runs

#: Weight of the six root equations in the augmented Lagrangian, from and to [per squared body weight], and its growth.
STIFFNESS, STIFFER = (1e3, 3e4), 2.0
SMALL, SLOW, HARDER, HARDEST = 1e-3, 0.3, 10.0, 1e7
#: Barrier of the forces' bounds, from and to.
BARRIER = (1e-3, 1e-4)
#: Iterations while contacts are sought, at most while the motion is fitted, those in which the barrier falls, and at
#: most around what is not settled then.
SEEK, FIT, SETTLE, REPAIR = 10, 25, 4, 60
#: Share of the samples that have settled, or iterations, after which multipliers move. Reach of a step [tau].
MOSTLY, LOOK, NEAR = 0.9, 12, 0.5
#: Room around what is not settled that is solved again [tau]. Factor that holds a coefficient where it is.
ROOM, HELD = 1.5, 1e12
#: Residual [body weights] at which the solve ends; steps [rad, l] below which multipliers are updated, from and to.
RESIDUAL, STEP = 2e-7, (1e-3, 2e-5)
LONGEST_STEP = 0.3
#: Standard deviation of a coordinate beyond its limit [rad or m].
LIMIT = 0.005
#: Standard deviation of a torque beyond its limit [share of the limit].
EFFORT = 0.007
#: Share of body weight that the input must ask for where the body touches no ground: less is a flight.
HANGS = 0.5
#: Seats, steps and hands of others bear upwards, near the body's middle: how many times more horizontal forces and
#: moments cost than vertical forces.
SUPPORT_SIDEWAYS, SUPPORT_MOMENT = 10.0, 30.0
#: What is left over below this is held well enough [body weights]: `ukemi.dynamics_filter.quality.LEFTOVER`.
HOLDS = 0.02
#: Tries of one step; damping of accelerations, from and to, times their price, and what share of it damps everything
#: else, times the diagonal of the matrix; its decay; its width in samples.
TRIALS = 6
DAMPING, STIFF_SHARE = (1.0, 1e6), 1e-4
RELAX = 0.1
NEIGHBOURS = 2
#: Offence below which a point touches and stands. A force makes a contact where its point is likely, or where it must
#: carry more body weights than this times e to the point's unlikelihood.
TOUCHES, LIKELY, NEEDED = 16.0, 1.0, 0.15
#: How much deeper points may sink while contacts are sought: what rests below the ground is not yet lifted.
SOFT = 4.0
#: Sweeps that spread forces over time.
SWEEPS = 40
#: Contacts are widened by this [tau]; a force outside of what was found costs up to 20 times that of a sure contact.
WIDER, UNSURE = 0.067, 20.0
#: Time in which a window's correction fades out behind it [tau].
FADE = 1.5


class Window:
    """The solve of some intervals of the clip. shared: how many of them the window before has solved already; what
    stands before them is kept as it is."""

    def __init__(self, problem: Problem, state: State, first: int, last: int, shared: int) -> None:
        self.problem, self.state, self.shared, self.pinned = problem, state, shared, shared > 0
        self.samples = slice(first, last + 1)
        self.blocks = slice(first, last + 3)
        self.first = (problem.first[self.samples] - first).astype(int)
        self.basis = problem.basis[self.samples]
        t0, t1 = first * problem.knots.step, last * problem.knots.step
        # behind the window its correction fades out: the next one starts from a smooth motion
        fading = min(max(round(FADE * problem.tau / problem.knots.step), 3), problem.knots.size - self.blocks.stop)
        self.fade = 0.5 + 0.5 * np.cos(np.pi * np.arange(1, fading + 1) / (fading + 1))[:, None]
        self.tail = slice(last + 1, min(last + 3 + fading, len(problem.times)))
        t1 += (3 + fading) * problem.knots.step
        chosen = np.flatnonzero((state.frame_times >= t0 - 1e-12) & (state.frame_times < t1))
        self.frames = slice(int(chosen[0]), int(chosen[-1]) + 1) if len(chosen) else slice(0, 0)
        frame_first, self.frame_basis = problem.knots.basis(state.frame_times[self.frames])
        self.frame_first = frame_first - first
        self.trace: list[Iteration] = []
        n = self.samples.stop - self.samples.start
        self.zero = np.zeros((n, problem.model.nv))
        self.multiplier = np.zeros((n, 6))
        self.lam, self.dual = np.zeros((2, n, len(problem.points), 4))
        self.last: Terms | None = None
        self.barrier = 0.0
        self.kappa = 0.0
        self.fresh, self.looked, self.ended = True, False, False
        self.leftover: Array | None = None
        self.stiffness = np.full((n, 6), STIFFNESS[0])
        self.on: Schedule | None = None
        self.cost = np.zeros((n, len(problem.points)))
        self.quadratic = self._distance_cost()
        self.band, self.factor = np.empty_like(self.quadratic), np.empty_like(self.quadratic)
        self.damping, self.moved, self.tolerance = np.zeros(n), np.full(n, np.inf), np.full(n, STEP[0])
        self.before = np.full(n, np.inf)
        self.zero_points, self.no_price = np.zeros((n, len(problem.points), 3)), np.zeros((n, len(problem.points)))
        self.lines = self.zero_points

    # --- what the motion costs -----------------------------------------------------------------------------------
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

    # --- forces ---------------------------------------------------------------------------------------------------
    def terms(self, q: Array, v: Array, a: Array, c: Array, lam: Array, dual: Array) -> Terms:
        p, s = self.problem, self.problem.settings
        place = self._places(q)
        wrench, point, velocity, acceleration = p.core.kinematics(q, v, a, place)
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

    def _places(self, q: Array) -> Array:
        points = self.problem.points
        return points.places(q, np.broadcast_to(np.array((0.0, 0.0, 1.0)), (len(q), len(points), 3)))

    def _lines(self, q: Array, point: Array, normals: Array) -> Array:
        """From each point to its limb's base, one long along the normal; along the normal for the trunk."""
        toward = self.problem.points.bases(q) - point
        rise = (toward * normals).sum(-1, keepdims=True)
        steep = np.nan_to_num(rise) > 0.3 * np.linalg.norm(np.nan_to_num(toward), axis=-1, keepdims=True)
        return np.where(steep, np.nan_to_num(toward) / np.where(steep, rise, 1.0), normals)

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

    # --- one step -------------------------------------------------------------------------------------------------
    def step(self, stage: str) -> Iteration:
        """One Gauss-Newton step; where the merit rises it is damped and tried again."""
        p, st, s, b = self.problem, self.state, self.samples, self.blocks
        q, v, a, c = self._here()
        now = self.last or self.terms(q, v, a, c, self.lam, self.dual)
        normal_force = (now.solved["force"] * now.normals).sum(-1)
        gap_w, gap, slip_w, rate_w = self._contact_rows(now.above, now.slip, normal_force)
        rows = self._rows(q) | {
            **{name: now.solved[name] for name in ("force", "pull", "weight")},
            **{"normal": now.normals, "gap": gap, "gap_weight": gap_w, "slip": now.slip, "slip_weight": slip_w},
            **{"slip_rate": now.slip_rate, "slip_rate_weight": rate_w},
            **now.between,
            **now.torques,
            "response": now.solved["response"],
        }
        beyond = self._beyond_limits(q)
        rows |= {"pose": beyond, "pose_weight": (beyond != 0) / LIMIT**2}
        np.copyto(self.band, self.quadratic)
        gradient = now.distance.copy()
        p.core.assemble(q, v, a, now.place, self.first.tolist(), self.basis, rows, self.band, gradient)
        self.damping *= RELAX
        tries = 0
        while True:
            x = self._newton(gradient).reshape(self._size, -1)
            longest = float(np.abs(x).max(initial=0.0))
            share = min(1.0, LONGEST_STEP / max(longest, 1e-12))
            moved = q.copy(), v.copy(), a.copy()
            x0, x1, x2 = (np.ascontiguousarray(z) for z in evaluate(share * x, self.first, self.basis))
            p.core.retract(x0, x1, x2, *moved)
            then = self.terms(*moved, c + share * x, now.lam, now.dual)
            if then.merit <= now.merit + 1e-9 * abs(now.merit):
                break
            self._damp(then.local - now.local)
            tries += 1
            if tries == TRIALS:  # nothing is better than what there is: the next step begins with this damping
                self.damping /= RELAX
                return self._report(stage, now, longest, tries, x)
        st.q[s], st.v[s], st.a[s] = moved
        st.c[b] = c + share * x
        faded = share * x[-1] * self.fade
        st.c[b.stop : b.stop + len(faded)] += faded
        beyond = np.concatenate([share * x, faded, np.zeros((4, x.shape[1]))])
        self._move((st.frames, None, None), self.frames, beyond, self.frame_first, self.frame_basis)
        tail_first = p.first[self.tail] - s.start
        self._move((st.q, st.v, st.a), self.tail, beyond, tail_first, p.basis[self.tail])
        self.lam, self.dual = then.lam, then.dual
        st.force[s], st.residual[s] = then.solved["force"], then.solved["residual"]
        if not p.ground.level:
            st.normals[s] = then.normals
        return self._report(stage, then, longest, tries, x)

    def _report(self, stage: str, terms: Terms, longest: float, tries: int, x: Array) -> Iteration:
        free = ~self.state.supported[self.samples]
        residual = float(np.abs(terms.solved["residual"][free]).max(initial=0.0))
        self.last, self.moved = terms, self._movement(x)
        self.trace.append(Iteration(stage, residual, longest, terms.merit, tries))
        return self.trace[-1]

    def _move(
        self,
        states: tuple[Array, Array | None, Array | None],
        part: slice,
        x: Array,
        first: NDArray[np.intp],
        basis: Array,
    ) -> None:
        """Takes some rows of q, v, a along with a step's spline x."""
        if part.stop > part.start:
            moved = [None if z is None else np.ascontiguousarray(z[part]) for z in states]
            self.problem.core.retract(*map(np.ascontiguousarray, evaluate(x, first, basis)), *moved)
            for z, new in zip(states, moved, strict=True):
                if z is not None:
                    z[part] = new

    def _movement(self, x: Array) -> Array:
        """(n,): the longest part of a step in the neighbourhood of every sample."""
        from scipy.ndimage import maximum_filter1d

        size = np.abs(x).max(axis=1)
        near = size[self.first[:, None] + np.arange(self.basis.shape[2])].max(axis=1)
        width = 2 * max(round(NEAR * self.problem.tau / self.problem.knots.step), 1) + 1
        out: Array = maximum_filter1d(near, width)
        return out

    def _damp(self, rise: Array) -> None:
        """Where the merit rose the next step is damped (Levenberg, Marquardt): every sample has a trust region."""
        from scipy.ndimage import binary_dilation

        worst = binary_dilation(rise > 0.1 * rise.max(), iterations=NEIGHBOURS)
        self.damping[worst] = np.clip(10 * self.damping[worst], *DAMPING)

    def _newton(self, gradient: Array) -> Array:
        from scipy.linalg import solveh_banded

        np.copyto(self.factor, self.band)
        band, gradient = self.factor, gradient.copy()
        nv, some = self.problem.model.nv, np.flatnonzero(self.damping > DAMPING[0] / 100)
        for m in range(3):
            blocks = (self.first[some] + m)[:, None] * nv + np.arange(nv)
            band[blocks, 0] *= 1 + STIFF_SHARE * self.damping[some, None]
            for t in range(m, 3):
                weight = self.damping[some] * self.basis[some, 2, m] * self.basis[some, 2, t]
                band[blocks, (t - m) * nv] += weight[:, None] * self.masses
        held = 3 * nv
        if self.pinned:
            band[:held, 0] *= HELD
            gradient[:held] = 0.0
        if self.ended:
            band[-held:, 0] *= HELD
            gradient[-held:] = 0.0
        out: Array = solveh_banded(band.T, -gradient, lower=True, overwrite_ab=True, check_finite=False)
        return out

    # --- the two stages -------------------------------------------------------------------------------------------
    def run(self) -> Iterator[float]:
        """Seeks the contacts, then fits; yields the share of the work that is done, at most."""
        for k, _ in enumerate(self.seek()):
            yield 0.3 * (k + 1) / SEEK
        for k, _ in enumerate(self.fit()):
            yield 0.3 + 0.7 * min((k + 1) / (2 * FIT), 0.99)
        yield 1.0

    def seek(self) -> Iterator[Iteration]:
        """Finds the contacts: what a point's force pays for its gap and slip rises, and the barrier falls."""
        p, s = self.problem, self.samples
        q, v, a = p.reference.at(p.times[s])
        _, point, velocity, _ = p.core.kinematics(q, v, a, self._places(q))
        above, normals = p.ground.look(point)
        self.lines = self._lines(q, point, normals)
        unlikely = p.unlikelihood(above, velocity, s)
        self.cost = np.where(unlikely < 2 * DEAREST, p.settings.force * np.exp(np.minimum(unlikely, DEAREST)), -1.0)
        low, high = p.settings.consistency
        for k in range(SEEK):
            share = min(k / (SEEK - 3), 1.0)
            self.kappa = low * (high / low) ** share
            self._lower_barrier(share)
            yield self.step("seek")

    def fit(self) -> Iterator[Iteration]:
        """Keeps the contacts that bear, and fits motion and forces to them."""
        p, s = self.problem, self.samples
        self.on, self.inside, point = self._contacts()
        self.faces = self._find_faces(point)
        self.state.on[s], self.state.inside[s] = self.on, self.inside
        likely = np.where(self.cost > 0, np.minimum(self.cost, UNSURE * p.settings.force), UNSURE * p.settings.force)
        self.cost = np.where(self.on, likely / np.maximum(self.inside, 1e-2) ** 4, -1.0)
        if p.strength < 1:  # a fixed price of what the root lacks instead of multipliers
            self.stiffness[:] = STIFFNESS[0] * max(p.strength / (1 - p.strength), 1e-6)
        yield from self._converge(FIT)
        if p.strength < 1:
            return
        if self._look_for_supports():
            yield from self._converge(FIT)
        for first, last in self._unsettled():
            part = self._part(first, last)
            yield from part._converge(REPAIR)
            self.trace += part.trace
            rows = slice(first, last + 1)
            self.multiplier[rows], self.stiffness[rows] = part.multiplier, part.stiffness
            self.lam[rows], self.dual[rows] = part.lam, part.dual
        self._spread_forces()

    def _converge(self, limit: int) -> Iterator[Iteration]:
        """Steps with these contacts; multipliers move whenever the motion has settled."""
        p = self.problem
        for k in range(limit):
            share = min(k / SETTLE, 1.0) if self.fresh else 1.0
            self._lower_barrier(share)
            now = self.step("fit" if self.fresh else "repair")
            yield now
            if share < 1.0:
                continue
            calm = self.moved < self.tolerance
            if (p.strength < 1 and calm.all()) or (p.strength == 1 and now.residual < RESIDUAL):
                break
            if self.fresh and not self.looked and (calm.mean() > MOSTLY or k >= LOOK):
                self.looked = True
                self.leftover = self.state.residual[self.samples].copy()
            if p.strength == 1 and (self.looked or not self.fresh):
                self._update_multipliers(calm)

    def _unsettled(self) -> list[tuple[int, int]]:
        """Intervals around the samples that the root equations do not hold in yet."""
        from scipy.ndimage import binary_dilation, find_objects, label

        free = ~self.state.supported[self.samples]
        bad = free & (np.abs(self.state.residual[self.samples]).max(axis=1) > RESIDUAL)
        wide = binary_dilation(bad, iterations=max(round(ROOM * self.problem.tau / self.problem.knots.step), 4))
        runs = [part[0] for part in find_objects(label(wide)[0])]
        return [(run.start, run.stop - 1) for run in runs if run.stop - run.start > 8]

    def _part(self, first: int, last: int) -> Window:
        """Some intervals of this window, as far as they are solved; what stands before and behind them is kept."""
        start = self.samples.start
        part = Window(self.problem, self.state, start + first, start + last, 1)
        rows = slice(first, last + 1)
        assert self.on is not None
        part.fresh, part.ended = False, start + last < self.problem.knots.intervals
        part.pinned = start + first > 0
        part.on, part.inside, part.faces = self.on[rows], self.inside[rows], (self.faces[0][rows], self.faces[1][rows])
        part.cost, part.lines, part.barrier = self.cost[rows], self.lines[rows], self.barrier
        part.multiplier, part.stiffness = self.multiplier[rows].copy(), self.stiffness[rows].copy()
        part.tolerance = self.tolerance[rows].copy()
        part.lam, part.dual = self.lam[rows].copy(), self.dual[rows].copy()
        return part

    def _spread_forces(self) -> None:
        """With the motion as it is, the forces that it leaves open change smoothly: over the feet, and over each sole.

        Each sample's forces are drawn to the mean of their neighbours, again and again (Jacobi sweeps of the problem
        with a price on changes); multipliers keep the root equations.
        """
        p, st, rows = self.problem, self.state, self.samples
        q, v, a, _ = self._here()
        wrench, point, _, _ = p.core.kinematics(q, v, a, self._places(q))
        normals = self._ground(point)[1]
        arm = point - q[:, None, :3]
        rate = p.settings.force * (p.settings.spread * p.tau / p.knots.step) ** 2
        numbers = np.array([p.settings.line, rate, p.ground.friction, self.barrier])
        free = ~st.supported[rows]
        self.stiffness[free] = STIFFNESS[1]
        force = st.force[rows]
        for sweep in range(SWEEPS):
            if sweep < SWEEPS - 5:  # the last only settle the root equations
                beside = np.concatenate([force[:1], force, force[-1:]])
                target = 0.5 * (beside[:-2] + beside[2:])
            solved = p.core.forces(
                *(wrench, arm, normals, self.cost, self.no_price, target),
                *(self.lines, self.multiplier, self.stiffness, self.lam, self.dual, numbers),
            )
            force = solved["force"]
            self.multiplier[free] += self.stiffness[free] * solved["residual"][free]
        before, after = (np.abs(r).max(axis=1) for r in (st.residual[rows], solved["residual"]))
        good = (after < RESIDUAL) | (after <= before)  # elsewhere the cones leave no choice
        st.force[rows][good], st.residual[rows][good] = force[good], solved["residual"][good]

    def _lower_barrier(self, share: float) -> None:
        barrier = BARRIER[0] * (BARRIER[1] / BARRIER[0]) ** share
        if barrier != self.barrier or self.on is None:
            self.barrier, self.last = barrier, None

    def _contacts(self) -> tuple[Schedule, Array, Array]:
        """(n, np) which points are in contact, how much each is inside of its contact; (n, np, 3) where they are."""
        p = self.problem
        then = self.last or self.terms(*self._here(), self.lam, self.dual)
        normal = (then.solved["force"] * then.normals).sum(-1)
        u = offence(then.above, then.slip, p.settings, p.leg, GRAVITY)
        doubt = likelihood_of(p, then.above, then.velocity)
        bears = (normal > p.settings.bears) & (
            (doubt < LIKELY) | (normal > NEEDED * np.exp(np.minimum(doubt, DEAREST)))
        )
        found = schedule_of(bears | (u < TOUCHES), p.knots.step, p.settings, p.tau)
        self.last = None
        on, inside = widened(p.allowed(found, self.samples), max(round(WIDER * p.tau / p.knots.step), 1))
        if self.pinned:  # the motion that is kept was made for these
            kept = slice(self.samples.start, self.samples.start + self.shared // 2)
            on[: self.shared // 2], inside[: self.shared // 2] = self.state.on[kept], self.state.inside[kept]
        return on, inside, then.point

    def _update_multipliers(self, calm: NDArray[np.bool_]) -> None:
        """Where the motion has settled, and the root still lacks something."""
        residual = self.state.residual[self.samples]
        some = calm & ~self.state.supported[self.samples] & (np.abs(residual).max(axis=1) > 0.1 * RESIDUAL)
        if some.any():
            self.multiplier[some] += self.stiffness[some] * residual[some]
            size = np.abs(residual).max(axis=1)
            slow = some & (size < SMALL) & (size > SLOW * self.before)
            self.stiffness[some] = np.maximum(
                self.stiffness[some], np.minimum(self.stiffness[some] * STIFFER, STIFFNESS[1])
            )
            self.stiffness[slow] = np.minimum(self.stiffness[slow] * HARDER, HARDEST)
            self.before[some] = size[some]
            self.tolerance[some] = np.maximum(0.3 * self.tolerance[some], STEP[1])
            self.last = None

    def _look_for_supports(self) -> bool:
        """Where the ground alone asks for a motion far from the input, or for more than there is, and much was left
        over before the motion was bent to it, something else holds the body. Who touches nothing and is hardly held
        falls, and has no support."""
        from scipy.ndimage import uniform_filter1d

        p, s = self.problem, self.samples
        if self.leftover is None or self.on is None:
            return False
        com = center_of_mass(p.model, self.state.q[s]) - center_of_mass(p.model, p.reference.at(p.times[s])[0])
        com[:, 2] -= com[:, 2].mean()
        width = max(round(p.tau / p.knots.step), 1)
        far = np.sqrt(uniform_filter1d((com**2).sum(axis=1), width)) > p.settings.far * p.leg
        far |= np.abs(self.state.residual[s]).max(axis=1) > HOLDS
        wrench, high = self.leftover, p.settings.support
        found = sustained(np.linalg.norm(wrench, axis=1), high, high / 3, p.settings.shortest * p.tau, p.knots.step)
        aloft: NDArray[np.bool_] = ~np.asarray(self.on.any(axis=1))
        q, v, a = p.reference.at(p.times[s])
        weight = p.core.kinematics(q, v, a, self._places(q))[0][:, 2]  # what the input itself asks for
        for first, last in runs(aloft):
            if weight[first:last].mean() < HANGS:  # a flight
                found[first:last] = False
        for first, last in runs(found):
            mean = wrench[first:last].mean(axis=0)  # what shakes about zero is the capture's, not a support
            if not far[first:last].any() or np.linalg.norm(mean) < high:
                found[first:last] = False
        return self._support(found)

    def _support(self, found: NDArray[np.bool_]) -> bool:
        if not found.any():
            return False
        self.state.supported[self.samples] |= found
        price = 1 / self.problem.settings.support_price**2
        self.stiffness[found] = price * np.array([*[SUPPORT_SIDEWAYS] * 2, 1.0, *[SUPPORT_MOMENT] * 3])
        self.multiplier[found] = 0.0
        self.last = None
        return True
