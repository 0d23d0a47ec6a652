"""What filtering leaves: the motion, its torques and ground forces, and how good it is."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ukemi.contact.terrain import Ground
from ukemi.dynamics.inverse import inverse_dynamics
from ukemi.dynamics.kinematics import difference, integrate, link_poses
from ukemi.dynamics_filter.reference import Reference
from ukemi.dynamics_filter.seat import Seat
from ukemi.model.arrays import Array
from ukemi.motion.clip import Clip
from ukemi.motion.figure import ClipFigure
from ukemi.motion.ground_forces import GroundForces

#: A figure whose pelvis is this far from its reference has fallen: height [m], turn [rad].
FALL_HEIGHT, FALL_TURN = 0.08, np.deg2rad(10)
#: Below this share of body weight a foot has no centre of pressure.
UNLOADED = 0.01


@dataclass(frozen=True)
class Quality:
    """How good a filtered motion is. Distances and angles are from the reference (feet held, smoothed).

    fell, fell_at: whether and when [s] the pelvis left the reference by 8 cm in height or 10 degrees; stopped:
    whether the run
    ended before the motion did. preset: settings that were used. residual_bw: largest force and moment (per metre)
    that the
    root would lack, by independent inverse dynamics, in body weights. joint_rms_deg, com_rms_cm. skate_mm: mean way of
    standing points per frame of the clip; penetration_mm: deepest. float_mm: mean height of standing feet. peak_bw:
    largest
    ground force along the normal, mean over 10 ms with impulses, as a plate shows it; impulse_ns: largest in a step
    [N s].
    friction_use: largest ratio of level to normal force of a point. contact_bw: by how much a point pulls at the floor
    or its force leaves the friction cone, at most, in body weights; contact_gap_mm: how far from the floor a point
    that bears is, at most.
    Before: the same of the clip. feasible_shift_cm: how far the centre of mass has to move for any motion on these
    footholds
    to be possible. realtime_factor: seconds of motion per second of computing.
    pace: how fast the clip was played, 1 as its file says.
    """

    fell: bool
    fell_at: float | None
    stopped: bool
    preset: str
    residual_bw: float
    joint_rms_deg: float
    com_rms_cm: float
    skate_mm: float
    penetration_mm: float
    float_mm: float
    peak_bw: float
    impulse_ns: float
    friction_use: float
    contact_bw: float
    contact_gap_mm: float
    skate_before_mm: float
    penetration_before_mm: float
    float_before_mm: float
    feasible_shift_cm: float
    realtime_factor: float
    pace: float = 1.0

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class FilterResult:
    """A motion that physics allows, one row per step of ``dt``.

    time (n,); q (n, nq), v (n, nv): state at the beginning of the step. a (n, nv), tau (n, nv): acceleration and
    torques in it.
    force, impulse (n, points, 3), place (n, points, 3): on the points of the soles (and of hands and thighs, if they
    are needed: `ukemi.dynamics_filter.supports`), in the world [N], [N s], [m].
    contact (n, points): whether a point is down. reference: what was asked for. quality: how good it is.
    interrupted: whether the run was stopped from outside. ground: what it stands on: the terrain that was given, or
    steps that the motion shows (`ukemi.dynamics_filter.steps`); None: level ground at 0.
    """

    reference: Reference
    time: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    force: Array
    impulse: Array
    place: Array
    contact: NDArray[np.bool_]
    end: tuple[Array, Array]
    quality: Quality
    figure: ClipFigure | None = None
    interrupted: bool = False
    ground: Ground | None = None

    def __len__(self) -> int:
        return len(self.time)

    @property
    def dt(self) -> float:
        return self.reference.dt

    @property
    def seats(self) -> tuple[Seat, ...]:
        """What the motion shows to be there to sit on, and is part of the world that this motion is possible in."""
        return self.reference.seats

    @property
    def boxes(self) -> Array:
        """(n, 5): x0, x1, y0, y1 and z of the top of all seats and steps [m]."""
        steps = np.ravel(getattr(self.ground, "boxes", np.zeros(0)))
        return np.concatenate([steps, *(seat.box for seat in self.seats)]).reshape(-1, 5)

    @property
    def torques(self) -> Array:
        """(n, nv - 6): joint torques [N m]."""
        return self.tau[:, 6:]

    @cached_property
    def ground_forces(self) -> GroundForces:
        """On each foot, hand and thigh that bears, with its centre of pressure and free moment; impulses are spread
        over their step."""
        points = self.reference.points
        names = tuple(self.reference.model.link_names[points.links[points.group == g][0]] for g in range(points.groups))
        f = self.force + self.impulse / self.dt
        shape = (len(self), points.groups, 3)
        force, cop, moment = np.zeros(shape), np.full(shape, np.nan), np.zeros(shape)
        least = UNLOADED * self.reference.model.mass * 9.81
        for g in range(points.groups):
            mine = points.group == g
            force[:, g] = f[:, mine].sum(axis=1)
            loaded = force[:, g, 2] > least
            share = f[loaded][:, mine, 2:] / force[loaded, g, 2][:, None, None]
            cop[loaded, g] = (share * self.place[loaded][:, mine]).sum(axis=1)
            arms = self.place[loaded][:, mine] - cop[loaded, g][:, None]
            moment[loaded, g] = np.cross(arms, f[loaded][:, mine]).sum(axis=1)
        return GroundForces(self.time, names, force, np.nan_to_num(cop), moment)

    @property
    def cop(self) -> Array:
        """(n, feet, 3): centre of pressure of each foot in the world [m]; NaN while it bears nothing."""
        g = self.ground_forces
        bearing = g.force[..., 2:] > UNLOADED * self.reference.model.mass * 9.81
        return np.where(bearing, g.point, np.nan)

    def at(self, times: Array) -> Array:
        """q at any times of the motion [s]."""
        k = np.clip((np.asarray(times) / self.dt + 1e-9).astype(int), 0, len(self) - 1)
        velocity = np.concatenate([self.v[1:], self.end[1][None]])[k]
        ahead = (np.asarray(times) - self.time[k])[:, None] * velocity
        return integrate(self.reference.model, self.q[k], ahead, 1.0)

    @cached_property
    def motion(self) -> Clip:
        """The motion on the clip's own skeleton, at its frame rate."""
        if self.figure is None:
            raise AttributeError("this motion is on another model than the clip's: it has q, but no clip")
        clip = self.figure.clip
        times = clip.time[clip.time <= self.time[-1] + self.dt + 1e-9]
        return self.figure.to_clip(self.at(times), fps=clip.fps)


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


def plate_force(force: Array, dt: float) -> Array:
    """Mean over 10 ms of forces (n,) [N]: what a plate with its filter shows."""
    width = max(round(0.01 / dt), 1)
    return np.convolve(force, np.full(width, 1 / width), mode="same")


def fall_of(reference: Reference, q: Array) -> Array:
    """(n, 2): how far the pelvis is from its reference at the beginning of steps: height [m], turn [rad]."""
    r = reference.q[: len(q)]
    turn = 2 * np.arccos(np.clip(np.abs((q[:, 3:7] * r[:, 3:7]).sum(axis=1)), 0, 1))
    return np.stack([np.abs(q[:, 2] - r[:, 2]), turn], axis=1)


def joint_rms(reference: Reference, q: Array) -> float:
    """Root mean square over joints and time of how far they are turned from the reference [rad]."""
    model = reference.model
    d = difference(model, reference.q[: len(q)], q)
    each = [np.linalg.norm(d[:, link.v], axis=1) for link in model.links[1:] if link.joint.nv]
    return float(np.sqrt(np.mean(np.square(each)))) if each else 0.0
