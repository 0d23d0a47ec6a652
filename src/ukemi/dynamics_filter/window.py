"""The plan ahead: centre of mass and angular momentum over a window, solved anew from the actual state.

Forces are constant between knots; knots stand on changes of the intended contacts, with a grid between them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ukemi import _core
from ukemi.dynamics_filter.reference import GLIDE, Reference
from ukemi.dynamics_filter.settings import Settings
from ukemi.model.arrays import Array

GRAVITY = np.array([0.0, 0.0, -9.81])


@dataclass(frozen=True, eq=False)
class Plan:
    """States at the knots and forces between them, per unit mass.

    time (n + 1,) [s]; state (n + 1, 12): centre of mass, velocity, angular momentum, turn; force (n, points, 3);
    spin_rate (n, 3); status: iterations, negative if the solver stopped early.
    """

    time: Array
    state: Array
    force: Array
    spin_rate: Array
    status: int

    def at(self, t: Array, mass: float) -> Array:
        """(steps, 15): place, velocity, acceleration of the centre of mass, angular momentum and its rate."""
        k = np.clip(np.searchsorted(self.time, t, side="right") - 1, 0, len(self.force) - 1)
        s = (t - self.time[k])[:, None]
        rates = self._smooth(t, np.concatenate([self.force.sum(axis=1) + GRAVITY, self.spin_rate], axis=1), k)
        x = self.state[k]
        # between knots the state runs on straight lines: exact at the knots, whatever the course of the forces
        h = (self.time[k + 1] - self.time[k])[:, None]
        velocity = x[:, 3:6] + s / h * (self.state[k + 1, 3:6] - x[:, 3:6])
        place = x[:, :3] + 0.5 * s * (x[:, 3:6] + velocity)
        spin = x[:, 6:9] + s * self.spin_rate[k]
        return np.concatenate([place, velocity, rates[:, :3], mass * spin, mass * rates[:, 3:]], axis=1)

    def _smooth(self, t: Array, values: Array, k: NDArray[np.intp]) -> Array:
        """What is constant between knots (n, 6), on lines between the middles of the intervals; but not into or out
        of flight.
        """
        middles = 0.5 * (self.time[1:] + self.time[:-1])
        lines = np.stack([np.interp(t, middles, column) for column in values.T], axis=1)
        bears = self.force[..., 2].sum(axis=1) > 1e-3
        other = np.clip(np.where(t < middles[k], k - 1, k + 1), 0, len(values) - 1)
        return np.where((bears[k] & bears[other])[:, None], lines, values[k])


def knots(contact: NDArray[np.bool_], first: int, last: int, grid: int) -> NDArray[np.intp]:
    """Steps at which intervals begin and end: changes of contact, and a grid between them.

    Changes closer than a third of the grid to the one before are left out, except into and out of flight: pushing a few
    hundredths of a second less makes a jump too low.
    """
    seen = contact[first:last]
    changes = first + 1 + np.flatnonzero((seen[1:] != seen[:-1]).any(axis=1))
    bears: NDArray[np.bool_] = np.logical_or.reduce(contact, axis=1)
    marks = [first]
    for step in sorted({*changes.tolist(), last}):
        flight = step < len(contact) and bears[step] != bears[step - 1]
        if step - marks[-1] < grid // 3 and step != last and not flight:
            continue
        gap = step - marks[-1]
        parts = max(round(gap / grid), 1)
        marks.extend(marks[-1] + np.round(np.arange(1, parts + 1) * gap / parts).astype(int))
    return np.array(marks, dtype=np.intp)


class Window:
    """Plans for one reference."""

    def __init__(self, reference: Reference, settings: Settings, floor: Array) -> None:
        self.reference, self.settings = reference, settings
        self.share = reference.share(settings.ramp, settings.early)
        self.floor = floor
        self.weights = settings.of_plan()
        # to be off what the reference's course asks for has a price, more of one upwards where no flight needs it
        price = np.full((len(reference), 3), settings.plan_push / 0.04)
        price[reference.walks, 2] *= settings.plan_steady
        self.push = np.concatenate([reference.push, price], axis=1)

    def plan(
        self, first: int, start: Array, held: Array, shift: Array, late: Array, around: Plan | None = None
    ) -> Plan:
        """From step ``first`` and the state ``start`` (12).

        held: (points, 3), where points that bear now are, NaN for others. shift: (points, 3), how far their next
        places are
        from the reference's. late: (points,) seconds before which a point cannot bear. around: an earlier solution
        over the same knots, to linearise about (otherwise the reference).
        """
        ref, s = self.reference, self.settings
        n = len(ref)
        ahead = n - 1 - first if np.isinf(s.preview) else round(s.preview / s.dt)
        last = min(first + max(ahead, 10), n - 1)
        marks = knots(ref.contact, first, max(last, first + 10), max(round(s.knot / s.dt), 1))
        middle = np.minimum((marks[:-1] + marks[1:]) // 2, n - 1)
        ends = np.minimum(marks[1:], n - 1)
        h = np.diff(marks) * s.dt
        share = np.where(ref.contact[middle], np.maximum(self.share[middle], 0.02), 0.0)
        since = (middle - first) * s.dt
        share[since[:, None] < late[None, :]] = 0.0
        share[:, ref.points.kind == GLIDE] = 0.0
        # a point stays where it is until its group first leaves the floor; then it is where the reference puts it,
        # shifted
        bearing = np.logical_and.accumulate(ref.contact[middle], axis=0) & np.isfinite(held).all(axis=1)
        where = np.where(bearing[..., None], np.nan_to_num(held), ref.places[middle] + shift)
        goal = np.concatenate([ref.centroid[ends], np.zeros((len(ends), 3))], axis=1)
        c0, f0 = ref.centroid[middle, :3], ref.push[middle]
        if around is not None:
            c0, f0 = 0.5 * (around.state[1:, :3] + around.state[:-1, :3]), around.force.sum(axis=1)
        f0 = np.where((share.sum(axis=1) > 0)[:, None], f0, 0.0)
        state, force, status = _core.centroidal_plan(
            start,
            h,
            np.concatenate([c0, f0], axis=1),
            share,
            where,
            ref.centroid[middle, 6:],
            self.push[middle],
            goal,
            self.weights,
            self.floor,
            s.friction,
            GRAVITY,
        )
        spin_rate = np.diff(state[:, 6:9], axis=0) / h[:, None]
        return Plan(s.dt * marks.astype(np.float64), state, force, spin_rate, status)
