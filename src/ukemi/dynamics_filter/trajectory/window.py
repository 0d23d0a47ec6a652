"""Some intervals of a clip, solved: contacts are sought, then the motion is made to fit them, with multipliers for the
root equations.

While contacts are sought a force pays for the gap and the slip of its point, at a rising price; then those that bear
are kept. docs/filter.md derives every term.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ukemi.dynamics_filter.trajectory.contacts import DEAREST, Schedule, offence, schedule_of, sustained, widened
from ukemi.dynamics_filter.trajectory.cost import STIFFNESS
from ukemi.dynamics_filter.trajectory.problem import GRAVITY, Problem, likelihood_of
from ukemi.dynamics_filter.trajectory.state import Iteration, State, away_from_input
from ukemi.dynamics_filter.trajectory.steps import WindowSteps
from ukemi.model.arrays import Array
from ukemi.motion.footfalls import runs

#: Growth of the weight of the root equations; where a residual below SMALL [body weights] falls to no less than a share
#: SLOW of itself the weight grows by HARDER, up to HARDEST.
STIFFER = 2.0
SMALL, SLOW, HARDER, HARDEST = 1e-3, 0.3, 10.0, 1e7
#: Barrier of the forces' bounds, from and to.
BARRIER = (1e-3, 1e-4)
#: Iterations while contacts are sought, at most while the motion is fitted, those in which the barrier falls, and at
#: most around what is not settled then.
SEEK, FIT, SETTLE, REPAIR = 10, 25, 4, 60
#: Share of the samples that have settled, or iterations, after which multipliers move.
MOSTLY, LOOK = 0.9, 12
#: Room around what is not settled that is solved again [tau].
ROOM = 1.5
#: Residual [body weights] at which the solve ends; steps [rad, l] below which multipliers are updated, from and to.
RESIDUAL, STEP = 2e-7, (1e-3, 2e-5)
#: Share of body weight that the input must ask for where the body touches no ground: less is a flight.
HANGS = 0.5
#: Seats, steps and hands of others bear upwards, near the body's middle: how many times more horizontal forces and
#: moments cost than vertical forces.
SUPPORT_SIDEWAYS, SUPPORT_MOMENT = 10.0, 30.0
#: What is left over below this is held well enough [body weights]: `ukemi.dynamics_filter.quality.LEFTOVER`.
HOLDS = 0.02
#: Offence below which a point touches and stands. A force makes a contact where its point is likely, or where it must
#: carry more body weights than this times e to the point's unlikelihood.
TOUCHES, LIKELY, NEEDED = 16.0, 1.0, 0.15
#: Sweeps that spread forces over time.
SWEEPS = 40
#: Contacts are widened by this [tau]; a force outside of what was found costs up to 20 times that of a sure contact.
WIDER, UNSURE = 0.067, 20.0


class Window(WindowSteps):
    """The solve of some intervals of the clip. shared: how many of them the window before has solved already; what
    stands before them is kept as it is."""

    def __init__(self, problem: Problem, state: State, first: int, last: int, shared: int) -> None:
        super().__init__(problem, state, first, last)
        self.shared, self.pinned = shared, shared > 0
        n = self.samples.stop - self.samples.start
        self.fresh, self.looked = True, False
        self.leftover: Array | None = None
        self.tolerance, self.before = np.full(n, STEP[0]), np.full(n, np.inf)
        self.price = None if problem.price is None else problem.price[self.samples]
        if problem.strength < 1:
            self.price = np.full((n, 6), STIFFNESS[0] * max(problem.strength / (1 - problem.strength), 1e-6))

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
        _, point, velocity, _ = self._kinematics(q, v, a, self._places(q))
        above, normals = p.ground.look(point)
        self.lines = p.points.lines(q, point, normals)
        unlikely = p.unlikelihood(above, velocity, s)
        self.cost = np.where(unlikely < 2 * DEAREST, p.settings.force * np.exp(np.minimum(unlikely, DEAREST)), -1.0)
        if (p.given[s] < 0).all():  # every force is known
            return
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
        if self.price is not None:  # instead of multipliers
            self.stiffness[:] = self.price
        yield from self._converge(FIT)
        if self.price is not None:
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
        for k in range(limit):
            share = min(k / SETTLE, 1.0) if self.fresh else 1.0
            self._lower_barrier(share)
            now = self.step("fit" if self.fresh else "repair")
            yield now
            if share < 1.0:
                continue
            calm = self.moved < self.tolerance
            if calm.all() if self.price is not None else now.residual < RESIDUAL:
                break
            if self.fresh and not self.looked and (calm.mean() > MOSTLY or k >= LOOK):
                self.looked = True
                self.leftover = self.state.residual[self.samples].copy()
            if self.price is None and (self.looked or not self.fresh):
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
        wrench, point, _, _ = self._kinematics(q, v, a, self._places(q))
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
        p, s = self.problem, self.samples
        if p.alone or self.leftover is None or self.on is None:
            return False
        far = away_from_input(p, self.state.q[s], p.times[s]) > p.settings.far * p.leg
        far |= np.abs(self.state.residual[s]).max(axis=1) > HOLDS
        wrench, high = self.leftover, p.settings.support
        found = sustained(np.linalg.norm(wrench, axis=1), high, high / 3, p.settings.shortest * p.tau, p.knots.step)
        aloft: NDArray[np.bool_] = ~np.asarray(self.on.any(axis=1))
        q, v, a = p.reference.at(p.times[s])
        weight = self._kinematics(q, v, a, self._places(q))[0][:, 2]  # what the input itself asks for
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
