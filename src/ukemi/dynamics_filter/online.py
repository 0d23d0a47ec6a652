"""The filter step by step: a plan from the state at hand, feet that go where the capture point asks, the core's
steps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ukemi import _core
from ukemi.contact.terrain import Ground
from ukemi.dynamics.forward import mass_matrix
from ukemi.dynamics.kinematics import difference, link_poses
from ukemi.dynamics_filter.floor import SteppedGround, above_floor, floor_of, ground_height
from ukemi.dynamics_filter.reference import HAND, Reference
from ukemi.dynamics_filter.settings import Settings
from ukemi.dynamics_filter.start import standing_start
from ukemi.dynamics_filter.window import Plan, Window
from ukemi.model.arrays import Array
from ukemi.model.joints import Free
from ukemi.model.model import Model

GRAVITY = 9.81
#: Steps between two looks at the capture point.
CHUNK = 5
#: A plan is made anew when a foot comes down, unless the last one is younger than this [s].
SOON = 0.009
#: How fast a foot that is late comes down [m/s], and how late a plan takes it to be at most [s].
DESCENT, LATEST = 0.4, 0.1
#: Feet keep so far from the edges of steps [m].
EDGE = 0.015
#: So long before the end of its contact a hand that bears nothing, and will bear no more than this, lets go
#: [s], [body weights].
LETS_GO, BEARS = 0.15, 0.02
TRUNK = ("abdomen", "chest", "spine", "torso", "waist")


def gains_of(model: Model, s: Settings) -> Array:
    """(3, nv): kp, kd and weight of every freedom."""
    gains = np.empty((3, model.nv))
    gains[:] = np.array([[s.joint_kp], [s.joint_kd], [s.limb]])
    for link in model.links:
        if isinstance(link.joint, Free):
            gains[:, link.v.start : link.v.start + 3] = np.array([[s.place_kp], [s.place_kd], [s.place_weight]])
            gains[:, link.v.start + 3 : link.v.stop] = np.array([[s.root_kp], [s.root_kd], [s.root_weight]])
        elif any(name in link.name.lower() for name in TRUNK):
            gains[2, link.v] = s.spine
        elif link.name.endswith("toes"):
            gains[:, link.v] = np.array([[s.toe_kp], [s.toe_kd], [s.toes]])
    return gains


def limits_of(model: Model) -> Array:
    """(3, nv): lower and upper limit of every freedom (of a spherical joint its largest angle, in the first of its
    upper
    limits), and its largest torque; 1e30 where there is none."""
    out = np.full((3, model.nv), 1e30)
    out[0] *= -1
    for link in model.links:
        joint = link.joint
        if isinstance(joint, Free):
            continue
        if joint.limits is not None:
            pairs = np.asarray(joint.limits, dtype=np.float64).reshape(-1, 2)
            if joint.nq == joint.nv:
                out[:2, link.v] = np.clip(pairs.T, -1e30, 1e30)
            else:
                out[1, link.v.start] = min(float(pairs[0, 1]), 1e30)
        effort = getattr(joint, "effort", None)
        if effort is not None:
            out[2, link.v] = np.minimum(np.abs(np.asarray(effort, dtype=np.float64)), 1e30)
    return out


class Follower:
    """Makes a reference possible, from its first state on or from any other."""

    def __init__(self, reference: Reference, settings: Settings, ground: Ground | None = None) -> None:
        model, points = reference.model, reference.points
        self.settings = settings
        self.stepped = ground_height(ground) if isinstance(ground, SteppedGround) else None
        self.floor = floor_of(ground)
        self.core = _core.Filter(
            model.tree,
            points.links.tolist(),
            points.places,
            points.kind.tolist(),
            gains_of(model, settings),
            limits_of(model),
            settings.of_step(),
            self.floor,
            None,
        )
        self.shift = np.zeros((points.groups, 3))
        self.shift_rate = np.zeros((points.groups, 3))
        #: where feet in the air will come down, beside their reference; None: where they are sent now
        self.landing: Array | None = None
        self.place_feet = True
        self.core.reset(*standing_start(reference, self.floor))
        self.aim(reference)

    def aim(self, reference: Reference) -> None:
        """Follows another reference from its beginning on; the state stays as it is."""
        self.reference = reference
        self.window = Window(reference, self.settings, self.floor[:9])
        self.step, self.planned = 0, 0
        self.plan: Plan | None = None
        self.stood = np.zeros(reference.points.groups, dtype=bool)
        self.goals = np.zeros((0, 15))
        self.hands = reference.points.kind == HAND
        self.let_go = np.zeros(len(reference.points), dtype=bool)

    def state(self) -> tuple[Array, Array, Array]:
        """q, v, and (9,): centre of mass, its velocity, angular momentum about it per unit mass."""
        q, v = self.core.state()
        model = self.reference.model
        m = _core.mechanics(model.tree, q, v, None)
        return q, v, np.concatenate([m[:3], m[3:6] / model.mass, m[6:9] / model.mass])

    def advance(
        self, steps: int = CHUNK, external: Array | None = None, frame: tuple[Array, Array, Array] | None = None
    ) -> dict[str, Array]:
        """Up to ``steps`` steps; external: (steps, nlinks, 6), wrenches on links in link coordinates.

        frame: q, v, a with as many rows, to follow instead of the reference's (the plan stays the reference's).
        """
        ref, s, k = self.reference, self.settings, self.step
        n = min(steps, len(ref) - k)
        now = slice(k, k + n)
        since = (k - self.planned) * s.dt
        due = s.preview > 0 and (self.plan is None or since > s.plan_every - 1e-9 or (since > SOON and self._landed()))
        if due or self.place_feet:
            q, _, x = self.state()
        if self.place_feet:
            before = self.shift.copy()
            self._place_feet(x, n)
            self.shift_rate = (self.shift - before) / (n * s.dt)
        if due:
            self._plan(q, x)
        group = ref.points.group
        shift = np.empty((n, len(group), 6))
        left = s.dt * np.arange(n - 1, -1, -1)[:, None, None]
        shift[:, :, :3] = (self.shift - left * self.shift_rate)[:, group]
        shift[:, :, 3:] = self.shift_rate[group]
        rows = (ref.q[now], ref.v[now], ref.a[now]) if frame is None else frame
        share = self.window.share[now]
        if self.hands.any():
            self.let_go &= ref.contact[k]
            share = np.where(self.let_go, 0.0, share)
        out = self.core.run(*rows, share, shift, self._centroid(n), external)
        self.step += int(out["steps"])
        if self.hands.any():  # one that bears nothing towards the end of its contact would only hold the body back
            idle = (out["down"] > 0).all(axis=0) & ~out["force"].any(axis=(0, 2)) & self.hands
            left = ref.contact_left[min(self.step, len(ref) - 1)]
            self.let_go |= idle & (left < LETS_GO) & ~self._needed(left)
        return out

    def _needed(self, left: Array) -> NDArray[np.bool_]:
        """Which points the plan lets bear within the seconds left (points,)."""
        if self.plan is None:
            return np.zeros(len(left), dtype=bool)
        now = self.step * self.settings.dt
        soon = (self.plan.time[1:, None] > now) & (self.plan.time[:-1, None] < now + left)
        bears = soon & (self.plan.force[..., 2] > BEARS * GRAVITY)
        return np.logical_or.reduce(bears, axis=0)

    def _feet(self) -> NDArray[np.bool_]:
        """Which feet are down."""
        points = self.reference.points
        return np.bincount(points.group[self.core.down() > 0], minlength=points.groups) > 0

    def _landed(self) -> bool:
        """Whether a foot came down since the last plan, beside one that stood: late or early, the plan did not know."""
        return bool(self.stood.any() and not self.stood.all() and (self._feet() & ~self.stood).any())

    def _centroid(self, n: int) -> Array:
        """What the next n steps aim at: the plan, or without one the reference itself."""
        ref, s, k = self.reference, self.settings, self.step
        if self.plan is None:
            return ref.centroid_goal[k : k + n]
        since = k - self.planned
        if since + n > len(self.goals):
            self.goals = self.plan.at(s.dt * np.arange(self.planned, k + n + CHUNK, dtype=np.float64), ref.model.mass)
        return self.goals[since : since + n]

    def _plan(self, q: Array, x: Array) -> None:
        """A plan from the state at hand."""
        ref, k = self.reference, self.step
        down = self.core.down() > 0
        place = ref.points.in_world(ref.model, q)
        high = above_floor(self.floor, place)
        late = np.where(down | ~ref.contact[k], 0.0, np.clip(high / DESCENT, 0, LATEST))
        if self.let_go.any():
            late[self.let_go] = ref.contact_left[k, self.let_go]
        start = np.concatenate([x, self._turn(q)])
        held = np.where(down[:, None], place, np.nan)
        landing = self.shift if self.landing is None else self.landing
        self.plan = self.window.plan(k, start, held, landing[ref.points.group], late)
        self.planned = k
        self.stood = self._feet()
        ahead = np.arange(k, k + round(self.settings.plan_every / self.settings.dt) + CHUNK, dtype=np.float64)
        self.goals = self.plan.at(self.settings.dt * ahead, ref.model.mass)

    def _turn(self, q: Array) -> Array:
        """How far the body has turned from the reference, times its inertia per unit mass, in the world."""
        ref = self.reference
        model = ref.model
        turn = difference(model, ref.q[min(self.step, len(ref) - 1)], q)[3:6]
        M = mass_matrix(model, q)
        h = np.array([M[5, 1], M[3, 2], M[4, 0]])  # mass times centre of mass, in the base's frame
        inertia = M[3:6, 3:6] - (h @ h * np.eye(3) - np.outer(h, h)) / model.mass
        R: Array = link_poses(model, q)[0, :3, :3]
        return R @ (inertia @ turn) / model.mass

    def _place_feet(self, x: Array, steps: int) -> None:
        """A foot in the air goes by as much beside its reference as the capture point will be beside its own when
        it lands
        (Pratt et al. 2006)."""
        ref, s, k = self.reference, self.settings, self.step
        goal = ref.centroid[k]
        omega = np.sqrt(GRAVITY / max(float(above_floor(self.floor, goal[:3])), 0.3))
        error = (x[:3] - goal[:3]) + (x[3:6] - goal[3:6]) / omega
        error -= (error @ self.floor[:3]) * self.floor[:3]
        lag = 1 - np.exp(-steps * s.dt / s.step_lag)
        for g in range(ref.points.groups):
            left = (ref.next_landing[k, g] - k) * s.dt
            if left <= 0:
                continue
            lands = ref.next_landing[k, g] < len(ref)
            fade = np.clip((s.step_from - left) / (s.step_from - s.step_full), 0, 1) if lands else 0.0
            want = fade * s.step_gain * np.exp(omega * min(left, s.step_ahead)) * error
            want *= min(1.0, s.step_limit / max(float(np.linalg.norm(want)), 1e-9))
            if lands and self.stepped is not None:
                want = self._on_the_step(ref.places[ref.next_landing[k, g], ref.points.group == g, :2], want)
            self.shift[g] += lag * (want - self.shift[g])

    def _on_the_step(self, places: Array, shift: Array) -> Array:
        """As much of a shift as leaves places (n, 2) on the steps that they are on, and off their edges."""
        assert self.stepped is not None
        levels, edge = self.stepped(places), EDGE * shift[:2] / max(float(np.hypot(*shift[:2])), 1e-9)
        for share in (1.0, 0.75, 0.5, 0.25):
            if np.array_equal(self.stepped(places + share * shift[:2] + edge), levels):
                return share * shift
        return np.zeros(3)
