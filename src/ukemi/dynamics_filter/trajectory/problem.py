"""A whole clip as one problem: its samples, its forces, and what they cost. docs/filter.md states it as mathematics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ukemi import _core
from ukemi.dynamics_filter.trajectory.contacts import Schedule, likelihood
from ukemi.dynamics_filter.trajectory.ground import GroundUnder
from ukemi.dynamics_filter.trajectory.points import ContactPoints, contact_points, leg_length
from ukemi.dynamics_filter.trajectory.reference import ReferenceMotion, reference_of
from ukemi.dynamics_filter.trajectory.setting import STANDARD, TrajectorySettings
from ukemi.dynamics_filter.trajectory.spline import Knots
from ukemi.model.arrays import Array
from ukemi.model.joints import Free, Prismatic
from ukemi.model.model import Link, Model, tree_of
from ukemi.motion.hands import hand_pads
from ukemi.motion.soles import Sole

GRAVITY = 9.81
#: Leg of an adult, from hip to sole [m].
ADULT_LEG = 0.9
#: Share of an actuator's largest effort and speed that a motion may use: what is beyond is soft, and forces are spread
#: over time later.
USED = 0.98


@dataclass(eq=False)
class Problem:
    """What is known before the solve. times (n,): of the samples; first, basis: of the spline there.

    strength: 1 for full physics. alone: whether nothing but the ground may hold the body.
    known (n, 6): forces that act besides those that are sought, such as plates', and their moment about the world's
    origin [N, N m]. price (n, 6): fixed, of what the root lacks [1/unit^2]; None: it may lack nothing, or as much as
    ``strength`` says.
    spread (nv,), rates (nv,), jolts (nv,): square roots of the costs of distances, rates and accelerations.
    """

    model: Model
    settings: TrajectorySettings
    ground: GroundUnder
    points: ContactPoints
    reference: ReferenceMotion
    knots: Knots
    leg: float
    strength: float = 1.0
    alone: bool = False
    price: Array | None = None
    core: _core.Trajectory = field(init=False)

    def __post_init__(self) -> None:
        s, leg = self.settings, self.leg
        self.tau = float(np.sqrt(leg / GRAVITY))
        self.weight = self.model.mass * GRAVITY
        self.moment = self.weight * leg / 3
        self.core = _core.Trajectory(
            tree_of(self.model), self.points.links.tolist(), np.array((0, 0, -GRAVITY)), self.weight, self.moment
        )
        self.times, self.first, self.basis = self.knots.at_knots()
        self.limits = _limited(self.model)
        self.efforts, self.speeds = (_bounds(self.model, of) for of in ("effort", "speed"))
        self.given = np.zeros((len(self.times), len(self.points)), dtype=np.int8)
        self.known = np.zeros((len(self.times), 6))
        self.spread = 1 / _deviations(self.model, s, leg, self.points)
        self.rates = self.spread * s.velocity_time * self.tau
        self.jolts = self.spread * (s.acceleration_time * self.tau) ** 2
        self.inertia = 1 / (self.model.mass * (GRAVITY * s.inertia) ** 2)

    def unlikelihood(self, above: Array, velocity: Array, samples: slice) -> Array:
        """(n, np): minus the logarithm of how likely each point bears; where contacts are given it is 0 or infinite."""
        found = likelihood_of(self, above, velocity)
        return np.where(self.given[samples] > 0, 0.0, np.where(self.given[samples] < 0, np.inf, found))

    def allowed(self, on: Schedule, samples: slice) -> Schedule:
        """A schedule without what the user ruled out."""
        return on & (self.given[samples] >= 0)


def make_problem(
    model: Model,
    soles: Mapping[str, Sole],
    q: Array,
    times: Array,
    ground: GroundUnder,
    settings: TrajectorySettings = STANDARD,
    cutoff: float | None = None,
) -> Problem:
    """q (frames, nq) at times (frames,), from 0. cutoff: of the reference, instead of the setting's [Hz]."""
    leg = leg_length(model, soles)
    tau = float(np.sqrt(leg / GRAVITY))
    interval = float(times[1] - times[0]) if len(times) > 1 else settings.step * tau
    knots = Knots.of_frames(len(times), interval, settings.step * tau, settings.coarse * tau)
    reference = reference_of(model, q, times, knots, settings.cutoff / tau if cutoff is None else cutoff, leg)
    pads = hand_pads(model, q, 1 / interval, None if ground.level else ground.heights, leg / ADULT_LEG)
    points = contact_points(model, soles, leg, pads)
    return Problem(model, settings, ground, points, reference, knots, leg)


def _deviations(model: Model, s: TrajectorySettings, leg: float, points: ContactPoints) -> Array:
    """Standard deviation of every velocity coordinate [m or rad]."""
    out = np.full(model.nv, s.trunk)
    feet = {int(i) for i in points.links[points.sole]}
    for link in model.links:
        if not link.joint.nv:
            continue
        below, toes = [link], False
        while below:
            at = below.pop()
            if at.index in feet:
                out[link.v] = s.legs
            below.extend(at.children)
        above = link.parent
        while above is not None:
            toes |= above.index in feet
            above = above.parent
        if toes:
            out[link.v] = _of_toes(link, s, points)
        if isinstance(link.joint, Free):
            out[link.v] = [s.place * leg] * 3 + [s.turn] * 3
        elif isinstance(link.joint, Prismatic):
            out[link.v] *= leg
    return out


def _of_toes(link: Link, s: TrajectorySettings, points: ContactPoints) -> Array | float:
    """Toes bend about the axis across the foot, in the plane of the sole; about others they hardly turn. Links of a
    figure made from a clip are parallel in its zero pose."""
    sole = points.centres[points.sole & (points.links == (link.parent.index if link.parent else -1))]
    ahead = points.centres[points.links == link.index]
    if link.joint.nq != 4 or len(sole) < 3 or not len(ahead):
        return s.toes
    normal = np.linalg.svd(sole - sole.mean(axis=0))[2][2]
    across = np.cross(normal, ahead.mean(axis=0))
    across /= np.linalg.norm(across)
    out: Array = (across**2 / s.toes**2 + (1 - across**2) / s.twist**2) ** -0.5
    return out


def _limited(model: Model) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """Coordinates that have limits: where they stand in q and in v, and (k, 2) the limits."""
    pairs = model.limits()
    plain = [
        (link.q.start + i, link.v.start + i)
        for link in model.links
        if link.joint.nq == link.joint.nv
        for i in range(link.joint.nv)
    ]
    kept = [(q, v) for q, v in plain if np.isfinite(pairs[q]).any()]
    at = np.array(kept, dtype=np.intp).reshape(-1, 2)
    return at[:, 0], at[:, 1], pairs[at[:, 0]]


def _bounds(model: Model, of: str) -> Array:
    """(nv,): largest efforts or speeds of joints that a motion is to use, infinite where the model has none."""
    out = np.full(model.nv, np.inf)
    for link in model.links[1:]:
        bound = getattr(link.joint, of)
        if link.joint.nv and bound is not None:
            out[link.v] = USED * np.asarray(bound)
    out[:6] = np.inf
    return out


def likelihood_of(problem: Problem, above: Array, velocity: Array) -> Array:
    """(n, np): minus the logarithm of how likely each point bears."""
    return likelihood(above, np.linalg.norm(velocity, axis=-1), problem.settings, problem.leg, GRAVITY)
