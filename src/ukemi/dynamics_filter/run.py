"""One run of the filter: rows of all its steps, and how it ended."""

from __future__ import annotations

import time as clock
from collections.abc import Callable

import numpy as np

from ukemi.dynamics.inverse import inverse_dynamics
from ukemi.dynamics.kinematics import link_poses
from ukemi.dynamics_filter.online import CHUNK, Follower
from ukemi.dynamics_filter.reference import Reference
from ukemi.model.arrays import Array

#: A figure whose pelvis is this far from its reference has fallen: height [m], turn [rad].
FALL_HEIGHT, FALL_TURN = 0.08, np.deg2rad(10)
#: The run ends when the pelvis is this far from its reference [m], [rad]: what follows is lying on the floor.
DOWN_HEIGHT, DOWN_TURN = 0.3, np.deg2rad(45)
#: Nor do people move their joints faster than this [rad/s]: legs that are torn out straight by feet that stand.
FASTEST = 100.0


class Run:
    """Rows of all steps, and how it ended."""

    def __init__(
        self, chunks: list[dict[str, Array]], reference: Reference, floor: Array, interrupted: bool, seconds: float
    ) -> None:
        self.floor = floor
        names = ("q_before", "v_before", "a", "tau", "force", "impulse", "place", "down", "centroid")
        self.rows = {name: np.concatenate([c[name][: int(c["steps"])] for c in chunks]) for name in names}
        self.rows["q"], self.rows["v"] = self.rows.pop("q_before"), self.rows.pop("v_before")
        last = chunks[-1]
        k = max(int(last["steps"]) - 1, 0)
        self.end = (last["q"][k], last["v"][k])
        self.interrupted, self.seconds = interrupted, seconds
        off = fall_of(reference, self.rows["q"])
        fallen = np.flatnonzero((off[:, 0] > FALL_HEIGHT) | (off[:, 1] > FALL_TURN))
        self.stopped = len(self.rows["q"]) < len(reference) and not interrupted
        at = fallen[0] if len(fallen) else len(self.rows["q"]) if self.stopped else None
        self.fell_at = None if at is None else float(at * reference.dt)


def lies(q: Array, v: Array, wanted: Array) -> bool:
    """Whether a figure lies on the floor (or has lost all hold), where it should be as wanted."""
    turn = 2 * float(np.arccos(np.minimum(1.0, abs(q[3:7] @ wanted[3:7]))))
    stands = abs(q[2] - wanted[2]) <= DOWN_HEIGHT and turn <= DOWN_TURN and np.abs(v).max() < FASTEST
    return not stands


def run_to_the_end(follower: Follower, reference: Reference, bar: Callable[[float], None]) -> Run:
    """Until the reference ends, the figure lies on the floor, or the user has had enough."""
    chunks: list[dict[str, Array]] = []
    start, interrupted = clock.perf_counter(), False
    try:
        while follower.step < len(reference):
            chunks.append(follower.advance(CHUNK))
            bar(CHUNK)
            if int(chunks[-1]["steps"]) < len(chunks[-1]["q"]):
                break  # no longer finite
            q, v = follower.core.state()
            k = min(follower.step, len(reference) - 1)
            if lies(q, v, reference.q[k]):
                break
    except KeyboardInterrupt:
        interrupted = True
        if not chunks:
            raise
    return Run(chunks, reference, follower.floor, interrupted, clock.perf_counter() - start)


def fall_of(reference: Reference, q: Array) -> Array:
    """(n, 2): how far the pelvis is from its reference at the beginning of steps: height [m], turn [rad]."""
    r = reference.q[: len(q)]
    turn = 2 * np.arccos(np.clip(np.abs((q[:, 3:7] * r[:, 3:7]).sum(axis=1)), 0, 1))
    return np.stack([np.abs(q[:, 2] - r[:, 2]), turn], axis=1)


def residual_bw(reference: Reference, rows: dict[str, Array], external: Array | None = None) -> float:
    """What the root lacks by independent inverse dynamics of q, v, a and the contact forces, in body weights."""
    model, points = reference.model, reference.points
    X = link_poses(model, rows["q"])
    wrench = np.zeros((len(rows["q"]), model.nlinks, 6)) if external is None else external.copy()
    for p, (link, place) in enumerate(zip(points.links, points.places, strict=True)):
        f = np.einsum("nji,nj->ni", X[:, link, :3, :3], rows["force"][:, p])
        wrench[:, link, :3] += f
        wrench[:, link, 3:] += np.cross(place, f)
    tau = inverse_dynamics(model, rows["q"], rows["v"], rows["a"], external=wrench)
    return float(np.abs(tau[:, :6]).max() / (model.mass * 9.81))
