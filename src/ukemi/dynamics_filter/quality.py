"""The quality sheet: every number is measured on what is written, and against the input clip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from ukemi.dynamics.inverse import inverse_dynamics
from ukemi.dynamics.kinematics import center_of_mass, difference, link_poses
from ukemi.dynamics_filter.trajectory.ground import GroundUnder
from ukemi.dynamics_filter.trajectory.points import ContactPoints
from ukemi.model.arrays import Array
from ukemi.model.model import Link, Model
from ukemi.motion.trajectory import low_pass, trajectory

#: What is faster in hands and head is noise of the capture [Hz].
CALM = 15.0
#: Rate at which the written motion's residual is looked at [1/s].
DENSE = 500.0
#: Above this a leftover at the root says that the motion is not feasible [share of body weight]. OpenSim's guideline
#: for residual forces is 5 % of the largest ground force (Hicks et al. 2015).
LEFTOVER = 0.02
#: Points that bear less than this are not in contact [share of body weight].
BEARS = 0.02
#: A motion whose centre of mass is so far from the input, beside the body's reach, is another motion: 8 cm for an
#: adult.
FAR = 0.08
#: By this share a torque may pass its limit.
STRONGER = 0.01
#: Frames that are looked at together, and beside them for a spline.
CHUNK, MARGIN = 1000, 30
#: Points that bear more than this must touch [share of body weight].
LOADED = 0.05


@dataclass(frozen=True)
class Quality:
    """How good a filtered motion is. Distances are from the input clip, on its frames.

    verdict, reason: in words. fell, fell_at [s]: of the solvers that simulate forward.
    residual_bw: largest force or moment (over a third of the leg) that the root lacks outside of supports, in body
    weights; written_residual_rms: force that it lacks in the written motion (splines through its frames, 500 Hz, the
    written forces), RMS; supported_share: of the time in which something else than the ground holds the body.
    joint_rms_deg, joint_max_deg with joint_max_name and joint_max_time [s]: frames that are glitches of the input left
    out (glitches: how many joint frames). plausible_fps: frames per second at which gravity explains the input; another
    number than the clip's says that its frame rate is doubted. com_rms_cm: centre of mass, its mean rise com_rise_cm
    taken out.
    hand_acceleration_ratio (largest), hand_acceleration_rms_ratio, head_acceleration_ratio: out over in, below 15 Hz.
    skate_cm_s: mean speed along the ground of sole points in contact, skate_mm: the same per frame; penetration_mm:
    deepest point of a sole; float_mm: mean height of sole points in contact. *_before: of the input, by the same code.
    peak_bw: largest ground force; friction_use: largest ratio of horizontal to normal force; contact_bw: by how much a
    force pulls or leaves the friction cone; contact_gap_mm: how far from the ground a point is that bears more than 5 %
    of body weight, at most. torque_use, speed_use: largest share of a joint's largest effort and speed, NaN without.
    iterations, converged: of the solve. realtime_factor: seconds of motion per second of computing.
    """

    verdict: str
    reason: str
    fell: bool
    fell_at: float | None
    residual_bw: float
    written_residual_rms: float
    supported_share: float
    joint_rms_deg: float
    joint_max_deg: float
    joint_max_name: str
    joint_max_time: float
    com_rms_cm: float
    com_rise_cm: float
    hand_acceleration_ratio: float
    hand_acceleration_rms_ratio: float
    head_acceleration_ratio: float
    skate_cm_s: float
    skate_mm: float
    penetration_mm: float
    float_mm: float
    skate_before_cm_s: float
    penetration_before_mm: float
    float_before_mm: float
    peak_bw: float
    friction_use: float
    contact_bw: float
    contact_gap_mm: float
    torque_use: float
    speed_use: float
    glitches: int
    plausible_fps: float
    iterations: int
    converged: bool
    realtime_factor: float

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Measured:
    """What the sheet is made from.

    q_in, q_out (frames, nq) on the ground's own frame (a belt at rest); trust (frames, links): where the input is no
    glitch. At times (n,): force (n, np, 3) [N] on points that are at (n, np, 3) in the world, over ground with these
    normals (n, np, 3); residual (n, 6) [BW]; supported (n,); support: (n, nlinks, 6) wrenches of supports in link
    coordinates [N, N m]. props: steps and seats that were inferred. start: time of the first frame on the file's clock
    [s].
    """

    model: Model
    points: ContactPoints
    ground: GroundUnder
    fps: float
    frame_time: Array
    q_in: Array
    q_out: Array
    trust: NDArray[np.bool_]
    time: Array
    force: Array
    at: Array
    normals: Array
    residual: Array
    supported: NDArray[np.bool_]
    support: Array | None
    torques: Array
    iterations: int
    converged: bool
    seconds: float
    plausible_fps: float
    fell_at: float | None = None
    start: float = 0.0
    props: int = 0


def quality_of(m: Measured) -> Quality:
    """The sheet of a motion."""
    weight = m.model.mass * 9.81
    angles, names = joint_turns(m.model, m.q_in, m.q_out)
    kept = np.stack([m.trust[:, x.index] for x in _moving(m.model)], axis=1)
    worst = np.where(kept, angles, 0.0)
    frame, joint = np.unravel_index(int(worst.argmax()), worst.shape)
    sure = m.trust[:, 0] if m.trust[:, 0].any() else np.ones(len(m.q_in), dtype=bool)
    com = 100 * (center_of_mass(m.model, m.q_out) - center_of_mass(m.model, m.q_in))[sure]
    rise = float(com[:, 2].mean())
    hands, head = _ends(m.model)
    nearest = np.clip(np.searchsorted(m.time, m.frame_time + 1e-9) - 1, 0, len(m.time) - 1)
    down = m.force[nearest, :, 2] > BEARS * weight
    after, before = (feet(m.points, m.ground, q, m.fps, down) for q in (m.q_out, m.q_in))
    free = np.abs(m.residual[~m.supported])
    leftover = float(free.max(initial=0.0))
    above = m.ground.look(m.at)[0]
    f_n = (m.force * m.normals).sum(-1)
    f_t = np.linalg.norm(m.force - f_n[..., None] * m.normals, axis=-1)
    bears = f_n > 1e-3 * weight
    outside = float(max(0.0, -f_n.min(initial=0.0), (f_t - m.ground.friction * f_n).max(initial=0.0)) / weight)
    use, weakest = _use(m.model, m.torques[~m.supported], "effort")  # which joints a support loads is a guess
    speed, slowest = _use(m.model, difference(m.model, m.q_out[:-1], m.q_out[1:]) * m.fps, "speed")
    verdict, reason = _verdict(m, leftover, outside)
    moved = float(np.sqrt(((com - (0, 0, rise)) ** 2).sum(axis=1).mean()))
    if verdict != "infeasible" and moved > 100 * FAR * body_reach(m.model):
        verdict, reason = "infeasible", f"the nearest motion that was found is {moved:.0f} cm from the input"
    if verdict != "infeasible" and use > 1 + STRONGER:
        verdict, reason = "infeasible", f"{weakest} needs {use:.1f} times its torque limit"
    if verdict != "infeasible" and speed > 1 + STRONGER:
        verdict, reason = "infeasible", f"{slowest} needs {speed:.1f} times its largest speed"
    if verdict != "feasible" and m.plausible_fps != m.fps:
        reason += f"; at {m.plausible_fps:g} frames a second gravity would explain the input much better"
    return Quality(
        verdict=verdict,
        reason=reason,
        fell=m.fell_at is not None,
        fell_at=m.fell_at,
        residual_bw=leftover,
        written_residual_rms=written_residual(m) / weight,
        supported_share=float(m.supported.mean()),
        joint_rms_deg=float(np.rad2deg(np.sqrt((angles[kept] ** 2).mean()))) if kept.any() else 0.0,
        joint_max_deg=float(np.rad2deg(worst.max())),
        joint_max_name=names[int(joint)],
        joint_max_time=m.start + float(m.frame_time[int(frame)]),
        com_rms_cm=moved,
        com_rise_cm=rise,
        hand_acceleration_ratio=_ratio(m, hands, np.max),
        hand_acceleration_rms_ratio=_ratio(m, hands, _rms),
        head_acceleration_ratio=_ratio(m, head, np.max),
        skate_cm_s=after.skate,
        skate_mm=10 * after.skate / m.fps,
        penetration_mm=after.penetration,
        float_mm=after.float_height,
        skate_before_cm_s=before.skate,
        penetration_before_mm=before.penetration,
        float_before_mm=before.float_height,
        peak_bw=float(f_n.sum(axis=1).max(initial=0.0) / weight),
        friction_use=float((f_t[bears] / f_n[bears]).max(initial=0.0)),
        contact_bw=outside,
        contact_gap_mm=float(1e3 * np.abs(above[f_n > LOADED * weight]).max(initial=0.0)),
        torque_use=use,
        speed_use=speed,
        glitches=int((~m.trust).sum()),
        plausible_fps=m.plausible_fps,
        iterations=m.iterations,
        converged=m.converged,
        realtime_factor=float(max(m.time[-1], 1e-9) / max(m.seconds, 1e-9)),
    )


def body_reach(model: Model) -> float:
    """The longest way from the root to a link, along the bones [m], whatever the pose: about 1.05 for an adult."""
    reach = np.zeros(model.nlinks)
    for link in model.links:
        if link.parent is not None:
            reach[link.index] = reach[link.parent.index] + float(np.linalg.norm(link.at.position))
    return float(reach.max())


def _verdict(m: Measured, leftover: float, outside: float) -> tuple[str, str]:
    if m.fell_at is not None:
        return "infeasible", f"the figure falls at {m.fell_at:.2f} s"
    if leftover > LEFTOVER:
        size = np.where(m.supported, 0.0, np.abs(m.residual).max(axis=1))
        at = m.start + m.time[int(size.argmax())]
        return "infeasible", f"at {at:.2f} s {100 * leftover:.0f} % of body weight is held by nothing"
    if outside > LEFTOVER:
        return "infeasible", f"a force pulls at the ground or leaves its friction cone by {100 * outside:.0f} %"
    if m.supported.any() and not (m.force[..., 2] > BEARS * m.model.mass * 9.81).any():
        return "infeasible", "nothing ever touches the ground: which axis is up, and where is the floor?"
    if m.supported.any():
        share = 100 * m.supported.mean()
        return "supported", f"in {share:.0f} % of the time something besides the ground holds the body"
    if m.props:
        return "supported", f"the ground explains it with steps or seats that the motion shows ({m.props})"
    return "feasible", "the ground alone explains the motion"


def _moving(model: Model) -> list[Link]:
    return [link for link in model.links[1:] if link.joint.nv]


def joint_turns(model: Model, q0: Array, q1: Array) -> tuple[Array, list[str]]:
    """(frames, joints): angle between two motions of every joint that moves [rad], and the joints' names."""
    d = difference(model, q0, q1)
    moving = _moving(model)
    angles = np.stack([np.linalg.norm(d[:, link.v], axis=1) for link in moving], axis=1)
    return angles, [link.joint_name for link in moving]


def _ends(model: Model) -> tuple[list[int], list[int]]:
    """Links whose origins are hands, and the head; without hands the ends of the arms are not known."""
    hands = [x.index for x in model.links if "hand" in x.name.lower() or "wrist" in x.name.lower()]
    return hands, [x.index for x in model.links if "head" in x.name.lower()]


def _rms(x: Array) -> float:
    return float(np.sqrt((x**2).mean()))


def _ratio(m: Measured, links: Sequence[int], size: object) -> float:
    if not links:
        return 1.0
    before, after = (calm_acceleration(_origins(m.model, q, links), m.fps) for q in (m.q_in, m.q_out))
    return float(size(after) / max(float(size(before)), 1e-9))  # type: ignore[operator]


def _origins(model: Model, q: Array, links: Sequence[int]) -> Array:
    """(frames, links, 3) in the world."""
    parts = [link_poses(model, q[k : k + CHUNK])[:, list(links)][..., :3, 3] for k in range(0, len(q), CHUNK)]
    return np.concatenate(parts)


def calm_acceleration(places: Array, fps: float) -> Array:
    """|a| (frames, n) [m/s^2] of places (frames, n, 3) after a low-pass at 15 Hz; the ends are left out."""
    smooth = low_pass(places, fps, CALM)
    if len(smooth) < 5:
        return np.zeros((1, places.shape[1]))
    out: Array = np.linalg.norm(np.diff(smooth, 2, axis=0)[1:-1], axis=-1) * fps**2
    return out


@dataclass(frozen=True)
class Feet:
    """skate: mean speed along the ground of sole points in contact [cm/s]; penetration: deepest point of a sole [mm];
    float_height: mean height of sole points in contact [mm]."""

    skate: float
    penetration: float
    float_height: float


def feet(points: ContactPoints, ground: GroundUnder, q: Array, fps: float, on: NDArray[np.bool_]) -> Feet:
    """on (frames, np): which points are in contact."""
    skate, floats = [0.0, 0], [0.0, 0]
    deepest = 0.0
    for first in range(0, len(q), CHUNK):  # bounded memory; a frame more, for the speeds
        part = slice(first, min(first + CHUNK + 1, len(q)))
        at = _points_at(points, q[part])
        above, normals = ground.look(at)
        steps = np.diff(at, axis=0)
        steps = steps - (steps * normals[1:]).sum(-1, keepdims=True) * normals[1:]
        bears = on[part] & points.sole
        both, mine = bears[1:] & bears[:-1], bears[:CHUNK]
        speed = np.linalg.norm(steps, axis=-1) * fps
        skate = [skate[0] + float(speed[both].sum()), skate[1] + int(both.sum())]
        floats = [floats[0] + float(np.maximum(above[:CHUNK][mine], 0).sum()), floats[1] + int(mine.sum())]
        deepest = max(deepest, float(-above[:, points.sole].min(initial=0.0)))
    return Feet(100 * skate[0] / max(skate[1], 1), 1e3 * deepest, 1e3 * floats[0] / max(floats[1], 1))


def _points_at(points: ContactPoints, q: Array) -> Array:
    """(frames, np, 3) in the world."""
    X = link_poses(points.model, q)[:, points.links]
    out: Array = np.einsum("fpij,fpj->fpi", X[..., :3, :3], _places(points, q)) + X[..., :3, 3]
    return out


def _places(points: ContactPoints, q: Array) -> Array:
    """(frames, np, 3) in their links."""
    return points.places(q, np.broadcast_to(np.array((0.0, 0.0, 1.0)), (len(q), len(points), 3)))


def written_residual(m: Measured) -> float:
    """RMS of the force that the root lacks in the written motion outside of supports [N]."""
    frames = len(m.q_out)
    if frames < 2:
        return 0.0
    total, count = 0.0, 0
    for first in range(0, frames - 1, CHUNK):  # bounded memory; a spline through frames hardly knows those far away
        last = min(first + CHUNK, frames - 1)
        begin = max(first - MARGIN, 0)
        dense = trajectory(m.model, m.q_out[begin : last + 1 + MARGIN], m.fps, step=1 / DENSE, cutoff=None)
        time = dense.time + m.frame_time[begin]
        here = (time >= m.frame_time[first]) & ((time < m.frame_time[last]) | (last == frames - 1))
        at = _weights(time[here], m.time)
        f, p = _linear(at, m.force), _places(m.points, dense.q[here])
        X = link_poses(m.model, dense.q[here])
        wrench = np.zeros((len(X), m.model.nlinks, 6)) if m.support is None else _linear(at, m.support)
        for k, link in enumerate(m.points.links):
            local = np.einsum("nji,nj->ni", X[:, link, :3, :3], f[:, k])
            wrench[:, link, :3] += local
            wrench[:, link, 3:] += np.cross(p[:, k], local)
        lack = inverse_dynamics(m.model, dense.q[here], dense.v[here], dense.a[here], external=wrench)[:, :3]
        total, count = total + float((lack**2).sum()), count + len(lack)
    return float(np.sqrt(total / max(count, 1)))


def _weights(wanted: Array, times: Array) -> tuple[NDArray[np.intp], Array]:
    at = np.clip(np.searchsorted(times, wanted) - 1, 0, max(len(times) - 2, 0))
    if len(times) == 1:
        return at, np.zeros(len(wanted))
    return at, np.clip((wanted - times[at]) / (times[at + 1] - times[at]), 0, 1)


def _linear(at: tuple[NDArray[np.intp], Array], values: Array) -> Array:
    """Values between samples."""
    k, share = at
    wide = share.reshape(-1, *[1] * (values.ndim - 1))
    out: Array = (1 - wide) * values[k] + wide * values[np.minimum(k + 1, len(values) - 1)]
    return out


def _use(model: Model, values: Array, of: str) -> tuple[float, str]:
    """Largest share of a joint's effort or speed, and the joint that needs it; NaN without limits."""
    bounds = [(x, getattr(x.joint, of)) for x in _moving(model)]
    uses = [
        (float((np.abs(values[:, x.v]) / np.maximum(bound, 1e-9)).max(initial=0.0)), x.joint_name)
        for x, bound in bounds
        if bound is not None and np.all(np.isfinite(bound))
    ]
    return max(uses) if uses else (float("nan"), "")
