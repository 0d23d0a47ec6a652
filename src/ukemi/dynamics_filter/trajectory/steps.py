"""Gauss-Newton steps of a motion, damped where its cost would rise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ukemi.dynamics_filter.trajectory.cost import LIMIT, WindowCost
from ukemi.dynamics_filter.trajectory.problem import Problem
from ukemi.dynamics_filter.trajectory.spline import evaluate
from ukemi.dynamics_filter.trajectory.state import Iteration, State, Terms
from ukemi.model.arrays import Array

#: Longest part of a step [rad, m]; how far around a step is felt [tau].
LONGEST_STEP, NEAR = 0.3, 0.5
#: Tries of one step; damping of accelerations, from and to, times their price, and what share of it damps everything
#: else, times the diagonal of the matrix; its decay; its width in samples.
TRIALS = 6
DAMPING, STIFF_SHARE = (1.0, 1e6), 1e-4
RELAX = 0.1
NEIGHBOURS = 2
#: Factor that holds a coefficient where it is.
HELD = 1e12
#: Time in which a window's correction fades out behind it [tau].
FADE = 1.5


class WindowSteps(WindowCost):
    """pinned, ended: whether the first and last coefficients are held, because others have made what is beside them."""

    def __init__(self, problem: Problem, state: State, first: int, last: int) -> None:
        super().__init__(problem, state, first, last)
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
        n = self.samples.stop - self.samples.start
        self.trace: list[Iteration] = []
        self.lam, self.dual = np.zeros((2, n, len(problem.points), 4))
        self.last: Terms | None = None
        self.pinned, self.ended = False, False
        self.band, self.factor = np.empty_like(self.quadratic), np.empty_like(self.quadratic)
        self.damping, self.moved = np.zeros(n), np.full(n, np.inf)

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
        rows |= {"pose": beyond, "pose_weight": (beyond != 0) / LIMIT**2, **self._beyond_speeds(v)}
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
