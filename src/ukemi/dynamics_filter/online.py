"""The filter itself: plan, foot placement and steps, from the state at hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ukemi import _core
from ukemi.dynamics.forward import mass_matrix
from ukemi.dynamics_filter.reference import Reference
from ukemi.dynamics_filter.settings import Settings
from ukemi.dynamics_filter.window import Window
from ukemi.model.arrays import Array
from ukemi.model.joints import Free
from ukemi.model.model import Model

FLAT = np.array([0.0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0])


def gains_of(model: Model, s: Settings) -> Array:
    """(3, nv): kp, kd and weight of every freedom."""
    gains = np.empty((3, model.nv))
    gains[0], gains[1], gains[2] = s.joint_kp, s.joint_kd, s.limb
    for link in model.links:
        if isinstance(link.joint, Free):
            gains[:, link.v.start : link.v.start + 3] = np.array([[20.0], [9.0], [s.place_weight]])
            gains[:, link.v.start + 3 : link.v.stop] = np.array([[s.root_kp], [s.root_kd], [s.root_weight]])
        elif link.name in ("abdomen", "chest"):
            gains[2, link.v] = s.spine
        elif link.name.endswith("toes"):
            gains[2, link.v] = s.toes
    return gains


def limits_of(model: Model) -> Array:
    """(3, nv): lower and upper limit of every freedom (spherical: the largest angle, in the upper row), and its torque limit."""
    out = np.stack([np.full(model.nv, -1e30), np.full(model.nv, 1e30), np.full(model.nv, 1e30)])
    return out


@dataclass(eq=False)
class Track:
    """What a run leaves: one row per step. Names as in the core's `Filter.run`."""

    rows: dict[str, Array]
    steps: int
    fell_at: float | None = None


class Follower:
    """Follows a reference step by step."""

    def __init__(self, reference: Reference, settings: Settings, floor: Array = FLAT) -> None:
        self.reference, self.settings = reference, settings
        model, points = reference.model, reference.points
        self.core = _core.Filter(
            model.tree, list(points.links), points.places, list(points.tip.astype(int)), gains_of(model, settings), limits_of(model), settings.of_step(), floor, None
        )
        self.window = Window(reference, settings, floor[:9].copy())
        self.groups = int(points.group.max(initial=-1)) + 1
        self.shift = np.zeros((self.groups, 3))
        self.plan = None
        self.step = 0
        self.core.reset(reference.q[0], reference.v[0])
        self.place = reference.places[0].copy()
        self.plans = []

    def state(self) -> Array:
        q, v = self.core.state()
        m = _core.mechanics(self.reference.model.tree, q, v, None)
        return np.concatenate([m[:3], m[3:6] / self.reference.model.mass, m[6:9] / self.reference.model.mass])

    def advance(self, steps: int, external: Array | None = None) -> dict[str, Array]:
        ref, s, k = self.reference, self.settings, self.step
        n = min(steps, len(ref) - k)
        now = slice(k, k + n)
        q, v = self.core.state()
        x = self.state()
        down = self.core.down() > 0
        place = ref.points.in_world(ref.model, q)
        every = round(s.plan_every / s.dt)
        before = self.shift.copy()
        self._place_feet(x, steps)
        blend = np.linspace(0, 1, n + 1)[1:, None, None]
        shift = ((1 - blend) * before + blend * self.shift)[:, ref.points.group]
        if self.plan is None or k - self.planned >= every:
            late = np.where(down | ~ref.contact[k], 0.0, np.clip((place[:, 2]) / 0.4, 0, 0.1))
            places = np.stack([np.where(down[:, None], place, np.nan), self.shift[ref.points.group]])
            self.plan = self.window.plan(k, np.concatenate([x, self._turn(q)]), places, late)
            self.planned = k
        centroid = self.plan.at((k + np.arange(n)) * s.dt, ref.model.mass)
        out = self.core.run(ref.q[now], ref.v[now], ref.a[now], self.window.share[now], np.ascontiguousarray(shift), centroid, external)
        self.step += int(out["steps"])
        return out

    def _turn(self, q: Array) -> Array:
        """How far the body has turned from the reference, times its inertia per unit mass, in the world."""
        from ukemi.dynamics.kinematics import difference
        ref = self.reference
        k = min(self.step, len(ref) - 1)
        model = ref.model
        w = difference(model, q, ref.q[k])[3:6]
        M = mass_matrix(model, q)
        I = M[3:6, 3:6]
        h = np.array([M[5, 1], M[3, 2], M[4, 0]])  # m times centre of mass in the base's frame
        m = model.mass
        I_com = I - (h @ h * np.eye(3) - np.outer(h, h)) / m
        qw, qx, qy, qz = q[3:7]
        R = np.array([[1-2*(qy*qy+qz*qz), 2*(qx*qy-qz*qw), 2*(qx*qz+qy*qw)],[2*(qx*qy+qz*qw),1-2*(qx*qx+qz*qz),2*(qy*qz-qx*qw)],[2*(qx*qz-qy*qw),2*(qy*qz+qx*qw),1-2*(qx*qx+qy*qy)]])
        return -self.settings.upright * (R @ (I_com @ w)) / m

    def _place_feet(self, x: Array, steps: int) -> None:
        """[capture point] each foot in the air moves by the error that the capture point will have when it lands."""
        ref, s, k = self.reference, self.settings, self.step
        r = ref.centroid[k]
        omega = np.sqrt(9.81 / max(r[2], 0.3))
        error = (x[:3] - r[:3]) + (x[3:6] - r[3:6]) / omega
        error[2] = 0
        lag = 1 - np.exp(-steps * s.dt / s.step_lag)
        for g in range(self.groups):
            left = (ref.next_landing[k, g] - k) * s.dt
            if left <= 0:
                continue
            fade = np.clip((s.step_from - left) / (s.step_from - s.step_full), 0, 1) if ref.next_landing[k, g] < len(ref) else 0.0
            want = fade * s.step_gain * error * np.exp(omega * min(left, s.step_ahead))
            size = np.linalg.norm(want)
            want *= min(1.0, s.step_limit / max(size, 1e-9))
            self.shift[g] += lag * (want - self.shift[g])


def follow(reference: Reference, settings: Settings, floor: Array = FLAT, loose: bool = False) -> Track:
    f = Follower(reference, settings, floor)
    out, fell = [], None
    while f.step < len(reference):
        k = f.step
        out.append(f.advance(5))
        if f.step == k:
            break
        q, _ = f.core.state()
        d = reference.q[min(f.step, len(reference) - 1)]
        off = abs(q[2] - d[2])
        w = 2 * np.arccos(min(1.0, abs(q[3:7] @ d[3:7])))
        if fell is None and (off > 0.08 or w > np.deg2rad(10)):
            fell = f.step * settings.dt
        if off > 0.3 or w > np.deg2rad(45):
            break
    rows = {k: np.concatenate([o[k] for o in out]) for k in out[0] if k != "steps"}
    return Track(rows, f.step, fell)
