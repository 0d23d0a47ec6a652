"""How good a filtered motion is, measured on what is written and against the input clip."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from ukemi.dynamics.inverse import inverse_dynamics
from ukemi.dynamics.kinematics import center_of_mass, difference, link_poses
from ukemi.dynamics_filter.trajectory.contacts import Schedule
from ukemi.dynamics_filter.trajectory.ground import GroundUnder
from ukemi.dynamics_filter.trajectory.points import ContactPoints
from ukemi.model.arrays import Array
from ukemi.model.model import Model
from ukemi.motion.trajectory import low_pass, trajectory

#: What is faster in hands and head is noise of the capture [Hz].
CALM = 15.0
#: Rate at which the written motion's residual is looked at [1/s].
DENSE = 500.0


@dataclass(frozen=True)
class Distance:
    """From the input clip. joint_rms_deg over all joints and frames, joint_max_deg with joint and time [s], frames that
    are glitches of the input left out; com_rms_cm of the centre of mass, com_rise_cm: its mean rise, taken out of it."""

    joint_rms_deg: float
    joint_max_deg: float
    joint_max_name: str
    joint_max_time: float
    com_rms_cm: float
    com_rise_cm: float


def joint_turns(model: Model, q0: Array, q1: Array) -> tuple[Array, list[str]]:
    """(frames, joints): angle between two motions of every joint that turns [rad], and the joints' names."""
    d = difference(model, q0, q1)
    turning = [link for link in model.links[1:] if link.joint.nv]
    angles = np.stack([np.linalg.norm(d[:, link.v], axis=1) for link in turning], axis=1)
    return angles, [link.joint_name for link in turning]


def distance(model: Model, q_in: Array, q_out: Array, times: Array, trust: NDArray[np.bool_]) -> Distance:
    """trust (frames, links): where the input is no glitch."""
    angles, names = joint_turns(model, q_in, q_out)
    kept = np.stack([trust[:, link.index] for link in model.links[1:] if link.joint.nv], axis=1)
    worst = np.where(kept, angles, 0.0)
    frame, joint = np.unravel_index(int(worst.argmax()), worst.shape)
    com = 100 * (center_of_mass(model, q_out) - center_of_mass(model, q_in))
    rise = float(com[:, 2].mean())
    return Distance(
        float(np.rad2deg(np.sqrt((angles[kept] ** 2).mean()))) if kept.any() else 0.0,
        float(np.rad2deg(worst.max())),
        names[int(joint)],
        float(times[int(frame)]),
        float(np.sqrt(((com - (0, 0, rise)) ** 2).sum(axis=1).mean())),
        rise,
    )


def calm_acceleration(places: Array, fps: float) -> Array:
    """|a| (frames, n) [m/s^2] of places (frames, n, 3) after a low-pass at 15 Hz; the ends are left out."""
    smooth = low_pass(places, fps, CALM)
    if len(smooth) < 5:
        return np.zeros((1, places.shape[1]))
    out: Array = np.linalg.norm(np.diff(smooth, 2, axis=0)[1:-1], axis=-1) * fps**2
    return out


@dataclass(frozen=True)
class Smoothness:
    """Acceleration out over in, of the hands and the head: largest and RMS; largest out [m/s^2]."""

    hand_ratio: float
    hand_rms_ratio: float
    head_ratio: float
    hand_max: float


def smoothness(model: Model, ends: dict[str, list[int]], q_in: Array, q_out: Array, fps: float) -> Smoothness:
    """ends: link indices of ``"hands"`` and ``"head"``."""
    X_in, X_out = link_poses(model, q_in)[:, :, :3, 3], link_poses(model, q_out)[:, :, :3, 3]

    def compare(links: list[int]) -> tuple[float, float, float]:
        if not links:
            return 1.0, 1.0, 0.0
        a, b = calm_acceleration(X_in[:, links], fps), calm_acceleration(X_out[:, links], fps)
        rms = float(np.sqrt((b**2).mean()) / max(np.sqrt((a**2).mean()), 1e-9))
        return float(b.max() / max(a.max(), 1e-9)), rms, float(b.max())

    hands, head = compare(ends["hands"]), compare(ends["head"])
    return Smoothness(hands[0], hands[1], head[0], hands[2])


@dataclass(frozen=True)
class Feet:
    """skate_cm_s: mean speed along the ground of sole points in contact; penetration_mm: deepest point of a sole;
    float_mm: mean height of sole points in contact."""

    skate_cm_s: float
    penetration_mm: float
    float_mm: float


def feet(
    points: ContactPoints, ground: GroundUnder, q: Array, fps: float, on: Schedule, belt: Array = np.zeros(3)
) -> Feet:
    """on (frames, np): which points are in contact."""
    up = np.broadcast_to(np.array((0.0, 0.0, 1.0)), (len(q), len(points), 3))
    X = link_poses(points.model, q)[:, points.links]
    at = np.einsum("fpij,fpj->fpi", X[..., :3, :3], points.places(q, up)) + X[..., :3, 3]
    above, normals = ground.look(at)
    steps = np.diff(at, axis=0)
    steps = steps - (steps * normals[1:]).sum(-1, keepdims=True) * normals[1:]
    both = on[1:] & on[:-1] & points.sole
    speed = np.linalg.norm(steps, axis=-1) * fps
    return Feet(
        float(100 * speed[both].mean()) if both.any() else 0.0,
        float(1e3 * max(0.0, -above[:, points.sole].min(initial=0.0))),
        float(1e3 * np.maximum(above[on & points.sole], 0).mean()) if (on & points.sole).any() else 0.0,
    )


@dataclass(frozen=True)
class Residual:
    """What the root lacks in the written motion (splines through its frames, 500 Hz), force [share of body weight]."""

    rms_bw: float
    max_bw: float


def written_residual(
    points: ContactPoints, q: Array, fps: float, times: Array, force: Array, places: Array, weight: float
) -> Residual:
    """q (frames, nq) as written; force (n, np, 3) [N] at times (n,) on the points, at their places in their links."""
    model = points.model
    dense = trajectory(model, q, fps, step=1 / DENSE, cutoff=None)
    f, p = _at(dense.time, times, force), _at(dense.time, times, places)
    X = link_poses(model, dense.q)
    wrench = np.zeros((len(dense.q), model.nlinks, 6))
    for k, link in enumerate(points.links):
        local = np.einsum("nji,nj->ni", X[:, link, :3, :3], f[:, k])
        wrench[:, link, :3] += local
        wrench[:, link, 3:] += np.cross(p[:, k], local)
    lack = inverse_dynamics(model, dense.q, dense.v, dense.a, external=wrench)[:, :3] / weight
    size = np.linalg.norm(lack, axis=1)
    return Residual(float(np.sqrt((size**2).mean())), float(size.max()))


def _at(wanted: Array, times: Array, values: Array) -> Array:
    """Linear between samples."""
    at = np.clip(np.searchsorted(times, wanted) - 1, 0, max(len(times) - 2, 0))
    if len(times) == 1:
        return values[at]
    share = np.clip((wanted - times[at]) / (times[at + 1] - times[at]), 0, 1).reshape(-1, *[1] * (values.ndim - 1))
    out: Array = (1 - share) * values[at] + share * values[at + 1]
    return out


def as_row(*parts: object) -> dict[str, object]:
    row: dict[str, object] = {}
    for part in parts:
        row |= asdict(part)  # type: ignore[call-overload]
    return row
