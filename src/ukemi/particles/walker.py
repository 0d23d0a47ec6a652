"""The eight-particle human of [PART05] Fig. 11 and Table 1, and a walk planned so that its ZMP stays under the foot.

Particles: toe, ankle, knee, hip of the left leg (p1-p4), hip, knee, ankle, toe of the right (p5-p8). The walk goes
along x; y points to the left. Lengths are the table's in centimetres, masses in kilogrammes. What the paper does not
give, and what was chosen, stands in docs/papers/part05.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ukemi.errors import InvalidInputError
from ukemi.particles.checks import Array
from ukemi.particles.floors import Floor, SpringFloor
from ukemi.particles.forces import angle_of
from ukemi.particles.step import Recording
from ukemi.particles.system import ParticleSystem

#: [PART05] Table 1.
FOOT, SHANK, THIGH, HIPS = 0.10, 0.50, 0.40, 0.20
LIMB_MASS, HIP_MASS = 1.0, 10.0
FRICTION = 5.0  # [N m s/rad]
#: Not in the paper: gains (kp [N m/rad], kd [N m s/rad]) of the drives, height of the hips over the ankles [m].
GAINS = {"ankle": (800.0, 60.0), "knee": (5000.0, 60.0), "hips": (2000.0, 30.0)}
HIP_HEIGHT = 0.80
NAMES = ("left toe", "left ankle", "left knee", "left hip", "right hip", "right knee", "right ankle", "right toe")
MASS = np.array([HIP_MASS if "hip" in name else LIMB_MASS for name in NAMES])
JOINTS = ("left ankle", "left knee", "hips", "right knee", "right ankle")


def leg(ankle: Array, hip: Array) -> Array:
    """(..., 4, 3): toe, ankle, knee, hip of a leg whose sole is flat and whose knee bends forwards."""
    d = hip - ankle
    reach = np.linalg.norm(d, axis=-1, keepdims=True)
    if (reach > SHANK + THIGH).any():
        raise InvalidInputError(f"the hip is {reach.max():.3f} m from the ankle: a leg reaches {SHANK + THIGH:g} m")
    along = (SHANK**2 - THIGH**2 + reach**2) / (2 * reach)
    forward = np.cross((0.0, 1.0, 0.0), d / reach)
    knee = ankle + d / reach * along + forward * np.sqrt(SHANK**2 - along**2)
    return np.stack([ankle + np.array((FOOT, 0, 0)), ankle, knee, hip], axis=-2)


def posture(left_ankle: Array, right_ankle: Array, hips: Array) -> Array:
    """(..., 8, 3): all particles, for ankles and the middle of the hips (..., 3)."""
    side = np.array((0, HIPS / 2, 0))
    left, right = leg(left_ankle, hips + side), leg(right_ankle, hips - side)
    return np.concatenate([left, right[..., ::-1, :]], axis=-2)


def eight_particle_human(height: float = 0.0, floor: Floor | None = None) -> ParticleSystem:
    """The figure standing with its soles ``height`` [m] above the ground, hips over the middle of the feet.

    All joints turn about y in planes that are held, and the line of the hips keeps its direction: the legs move in
    their sagittal planes, and sideways moments are the planes' to carry. A leg swings about the line of the hips,
    which can pass no torque about itself: the drive of the hips acts between the thighs, and the friction of both
    hips in series.
    """
    ground = SpringFloor(sink=2e-4, drag=1000.0, friction=1.0) if floor is None else floor
    system = ParticleSystem(stretch=1e-3, ratio=0.2, floor=ground)
    side = np.array((0, HIPS / 2, 0))
    foot = np.array((0, 0, height))
    x = posture(foot + side, foot - side, foot + np.array((FOOT / 2, 0, HIP_HEIGHT)))
    for name, place, mass in zip(NAMES, x, MASS, strict=True):
        system.add(place, float(mass), name=name)
    for i in range(7):
        system.link(i, i + 1)
    for normal in ((1, 0, 0), (0, 0, 1)):
        system.plane(normal, "left hip", "right hip")
    legs = (0, 1, 2), (1, 2, 3), (2, 3, 5, 4), (6, 5, 4), (7, 6, 5)
    for joint, particles in zip(JOINTS, legs, strict=True):
        kp, kd = GAINS[joint.split()[-1]]
        friction = FRICTION / 2 if joint == "hips" else FRICTION
        system.hinge(*particles, normal=(0, 1, 0), friction=friction, kp=kp, kd=kd)
    return system


def zmp(mass: Array, x: Array, dt: float, gravity: float = 9.81) -> Array:
    """(k,): x of the zero moment point of a motion (k, n, 3) sampled every dt."""
    a = np.gradient(np.gradient(x, dt, axis=0, edge_order=2), dt, axis=0, edge_order=2)
    lift = mass * (a[..., 2] + gravity)
    point: Array = (x[..., 0] * lift - mass * x[..., 2] * a[..., 0]).sum(axis=1) / lift.sum(axis=1)
    return point


@dataclass(frozen=True, eq=False)
class Plan:
    """A walk: time (k,), places (k, 8, 3), which feet stand and what share of the weight each carries (k, 2: left,
    right), the ZMP that follows (k,)."""

    time: Array
    x: Array
    standing: NDArray[np.bool_]
    share: Array
    zmp: Array

    @property
    def dt(self) -> float:
        return float(self.time[1] - self.time[0])

    def support(self, margin: float = 0.0) -> tuple[Array, Array]:
        """From where to where along x the soles stand, less a margin at both ends."""
        heel = np.where(self.standing, self.x[:, (1, 6), 0], np.inf).min(axis=1)
        toe = np.where(self.standing, self.x[:, (0, 7), 0], -np.inf).max(axis=1)
        return heel + margin, toe - margin

    def torques(self) -> Array:
        """(k, 5): what the joints must give, from each foot upwards, when every sole is pressed at its middle."""
        a = np.gradient(np.gradient(self.x, self.dt, axis=0), self.dt, axis=0)
        inertial = -MASS[:, None] * (a + np.array((0, 0, 9.81)))  # of every particle
        ground = -inertial.sum(axis=1)[:, None] * self.share[..., None]  # (k, 2, 3)
        tau = np.zeros((len(self.time), len(JOINTS)))
        for foot, particles, joints in ((0, (0, 1, 2, 3), (0, 1, 2)), (1, (7, 6, 5, 4), (4, 3))):
            sole = self.x[:, particles[1]] + (FOOT / 2, 0, 0)
            for n, joint in enumerate(joints, start=1):
                pivot = self.x[:, particles[n]]
                moment = np.cross(sole - pivot, ground[:, foot])
                for p in particles[:n]:
                    moment += np.cross(self.x[:, p] - pivot, inertial[:, p])
                tau[:, joint] = -moment[:, 1]
        return tau


def smooth(s: Array) -> Array:
    """From 0 to 1 with speeds and accelerations of zero at both ends."""
    s = np.clip(s, 0, 1)
    return s**3 * (10 - 15 * s + 6 * s**2)


def plan_walk(
    steps: int = 6,
    length: float = 0.2,
    *,
    start: float = 1.0,
    period: float = 2.0,
    shift: float = 0.9,
    lift: float = 0.04,
    dt: float = 0.01,
) -> Plan:
    """Stands until ``start``, then takes steps, the left foot first, and ends with the feet side by side.

    period: of a step [s], of which ``shift`` with both feet down while the ZMP goes to the next standing foot. length
    [m]: a foot goes from this far behind the other to this far before it.
    """
    end = start + steps * period + shift + 1.0
    time: Array = np.arange(round(end / dt) + 1, dtype=np.float64) * dt
    ankles = np.zeros((len(time), 2, 3))  # left, right
    ankles[:, 0, 1], ankles[:, 1, 1] = HIPS / 2, -HIPS / 2
    standing = np.ones((len(time), 2), dtype=bool)
    share = np.full((len(time), 2), 0.5)
    place = [0.0, 0.0]
    for k in range(steps):
        swing, stand = k % 2, 1 - k % 2
        begin = start + k * period
        goal = place[stand] + (length if k < steps - 1 else 0.0)
        share += (np.eye(2)[stand] - share[-1]) * smooth((time - begin) / shift)[:, None]
        s = (time - begin - shift) / (period - shift)
        ankles[:, swing, 0] += (goal - place[swing]) * smooth(s)
        ankles[:, swing, 2] += lift * 64 * np.clip(s * (1 - s), 0, None) ** 3
        standing[(s > 0) & (s < 1), swing] = False
        place[swing] = goal
    share += (0.5 - share[-1]) * smooth((time - start - steps * period) / shift)[:, None]
    point = (share * (ankles[..., 0] + FOOT / 2)).sum(axis=1)
    # the hips' way: x - (z / g) x'' = ZMP for one mass, then again for what all particles make of it
    hips = np.zeros((len(time), 3))
    hips[:, 2] = HIP_HEIGHT
    lack = point
    for _ in range(8):
        hips[:, 0] += _pendulum(lack, HIP_HEIGHT, dt)
        x = posture(ankles[:, 0], ankles[:, 1], hips)
        lack = point - zmp(MASS, x, dt)
    return Plan(time, x, standing, share, point)


def _pendulum(point: Array, height: float, dt: float) -> Array:
    """x with x - (height / g) x'' = point, at rest at both ends: three diagonals, eliminated forwards and back."""
    w, n = height / 9.81 / dt**2, len(point)
    x, ratio = point.astype(float), np.zeros(n)
    for i in range(1, n - 1):
        pivot = 1 + 2 * w - w * ratio[i - 1]
        ratio[i] = w / pivot
        x[i] = (point[i] + w * x[i - 1]) / pivot
    for i in range(n - 2, 0, -1):
        x[i] += ratio[i] * x[i + 1]
    return x


def walk(system: ParticleSystem, plan: Plan) -> Recording:
    """Follows a plan by the drives of the joints alone (PD, as in the paper).

    The targets lead the plan by the torque it takes over kp, so that what the drives lag behind them is the plan.
    """
    wanted = np.unwrap(np.stack([angle_of(hinge, plan.x) for hinge in system.hinges], axis=1), axis=0)
    wanted += plan.torques() / [hinge.kp for hinge in system.hinges]
    rates = np.diff(wanted, axis=0) / plan.dt

    def control(t: float, system: ParticleSystem) -> None:
        k = min(round(t / plan.dt), len(rates) - 1)
        system.target, system.target_rate = wanted[k], rates[k]

    return system.run(float(plan.time[-1]), sample=plan.dt, control=control)
