"""Ground forces of a motion as it is: the whole-clip problem with the motion held.

Newton and Euler say what wrench the ground must exert; forces in their friction cones, at points that are low and slow,
come as near to it as their prices allow. What is left over is the residual. docs/forces.md states the problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ukemi import _core
from ukemi.dynamics.inverse import inverse_dynamics
from ukemi.dynamics.kinematics import link_poses
from ukemi.dynamics_filter.placed import PlacedClip
from ukemi.dynamics_filter.trajectory.contacts import DEAREST, likelihood
from ukemi.dynamics_filter.trajectory.loads import wrenches_on_links
from ukemi.dynamics_filter.trajectory.points import ContactPoints, contact_points, leg_length
from ukemi.dynamics_filter.trajectory.setting import TrajectorySettings
from ukemi.forces.setting import STANDARD, ForceSettings
from ukemi.forces.split import ForceSplit
from ukemi.model.arrays import Array
from ukemi.model.model import Model, tree_of
from ukemi.motion.ground_forces import GroundForces
from ukemi.motion.hands import hand_pads
from ukemi.motion.pressure import gathered
from ukemi.motion.soles import Sole
from ukemi.motion.trajectory import trajectory

GRAVITY = 9.81
#: Samples are no nearer to each other than this [tau]: 7 ms for an adult, a tenth of the fastest that is kept.
STEP = 1 / 45
#: A sole's points stand within this of the floor that was found [l]: feet of captures differ by as much.
UNEVEN = 0.04
#: Parts other than feet are written where they bear this much at least [body weights].
BEARS = 0.05


@dataclass(frozen=True, eq=False)
class ForceEstimate:
    """The forces of a motion. model, soles: of the person. q (n, nq), v, a (n, nv): the motion, smoothed.

    forces: per foot, right first, then other parts that bear, each named by its link; on the file's clock, in the
    file's place. origin (n, 3): where the model's origin is there [m]. tau (n, nv): what joints need [N m]; its first
    six are what the root lacks, in its axes. residual (n, 6): the same in the world's axes, about the root [N, N m].
    """

    model: Model
    soles: Mapping[str, Sole]
    q: Array
    v: Array
    a: Array
    forces: GroundForces
    origin: Array
    tau: Array
    residual: Array


def cutoff_of(placed: PlacedClip, cutoff: float | None = None, settings: ForceSettings = STANDARD) -> float:
    """At which frequency a motion is smoothed [Hz]."""
    leg = leg_length(placed.figure.model, placed.figure.soles)
    usual = settings.skin if placed.clip.on_skin else settings.cutoff
    return usual * float(np.sqrt(GRAVITY / leg)) if cutoff is None else cutoff


def estimate(placed: PlacedClip, settings: ForceSettings = STANDARD, cutoff: float | None = None) -> ForceEstimate:
    """Forces that explain a clip on its ground without changing it; cutoff: of its smoothing [Hz]."""
    model, s = placed.figure.model, settings
    leg = leg_length(model, placed.figure.soles)
    tau = float(np.sqrt(leg / GRAVITY))
    fps = placed.clip.fps
    motion = trajectory(model, placed.q, fps, max(1 / fps, STEP * tau), cutoff_of(placed, cutoff, s))
    points = bearing_points(placed, s.rows, leg)
    unit, arm = model.mass * GRAVITY, leg / 3
    core = _core.Trajectory(tree_of(model), points.links.tolist(), np.array((0, 0, -GRAVITY)), unit, unit * arm)
    local = points.places(motion.q, np.broadcast_to(np.array((0.0, 0.0, 1.0)), (len(motion), len(points), 3)))
    wrench, place, velocity, _ = core.kinematics(motion.q, motion.v, motion.a, local)
    above, normals = placed.ground.look(place)
    u = _unlikelihood(points, above, np.linalg.norm(velocity, axis=-1), s, leg)
    force, residual = ForceSplit(
        core,
        wrench,
        place - motion.q[:, None, :3],
        normals,
        np.where(u < 2 * DEAREST, np.exp(np.minimum(u, DEAREST)), -1.0),
        points.lines(motion.q, place, normals),
        np.array([s.force] * 3 + [s.moment] * 3),
        s.line,
        placed.ground.friction,
        (s.spread * tau / float(motion.time[1] - motion.time[0])) ** 2 if len(motion) > 1 else 0.0,
    ).solve()
    external = wrenches_on_links(points, link_poses(model, motion.q), local, unit * force)
    torques = inverse_dynamics(model, motion.q, motion.v, motion.a, external=external)
    origin = np.array((0.0, 0.0, placed.person.floor)) + motion.time[:, None] * placed.ground.velocity
    forces = _by_part(placed, points, motion.time, unit * force, place + origin[:, None])
    return ForceEstimate(
        *(model, placed.figure.soles, motion.q, motion.v, motion.a, forces, origin, torques),
        residual * unit * np.array([1.0] * 3 + [arm] * 3),
    )


def _unlikelihood(points: ContactPoints, above: Array, speed: Array, s: ForceSettings, leg: float) -> Array:
    """(n, np): minus the logarithm of how likely each point bears. A point of a sole is on the ground where it is
    lowest: feet of captures differ in height."""
    lowest = np.quantile(above, s.lowest, axis=0)
    above = above - np.where(points.sole, np.clip(lowest, -UNEVEN * leg, UNEVEN * leg), 0.0)
    return likelihood(above, speed, TrajectorySettings(height=s.height, speed=s.speed), leg, GRAVITY)


def _by_part(placed: PlacedClip, points: ContactPoints, time: Array, force: Array, place: Array) -> GroundForces:
    """Forces of the feet, right first, and of other parts that bear, on the clip's clock."""
    model, soles = placed.figure.model, placed.figure.soles
    feet = [soles[side].link for side in ("right", "left") if side in soles]
    weight = model.mass * GRAVITY
    groups = points.groups
    others = [name for name in dict.fromkeys(groups) if name not in feet]
    loads = {name: force[:, [g == name for g in groups], 2].sum(axis=1).max(initial=0.0) for name in others}
    names = (*feet, *(name for name in others if loads[name] > BEARS * weight))
    return gathered(time + placed.clip.start, names, groups, force, place, 0.0)


def bearing_points(placed: PlacedClip, rows: tuple[float, ...], leg: float) -> ContactPoints:
    """Where the body may bear: rows of points along the soles, toes' tips, and points of all other links."""
    model, soles = placed.figure.model, placed.figure.soles
    pads = hand_pads(
        model, placed.q, placed.clip.fps, None if placed.ground.level else placed.ground.heights, leg / 0.9
    )
    found = contact_points(model, soles, leg, pads)
    feet = {model.link_index(sole.link) for sole in soles.values()}
    kept = np.array([not (on and i in feet) for on, i in zip(found.sole, found.links, strict=True)])
    links, centres, base = list(found.links[kept]), list(found.centres[kept]), list(found.base[kept])
    radii, on_sole = list(found.radii[kept]), list(found.sole[kept])
    for sole in soles.values():
        foot = model.link_index(sole.link)
        for row in rows:
            for heel, ball in ((0, 2), (1, 3)):
                links.append(foot)
                centres.append((1 - row) * sole.points[heel] + row * sole.points[ball])
                base.append(found.base[found.links == foot][0])
                radii.append(0.0)
                on_sole.append(True)
    return ContactPoints(
        model,
        np.array(links, dtype=np.intp),
        np.array(centres),
        np.array(radii),
        np.array(on_sole, dtype=bool),
        np.array(base, dtype=np.intp),
    )
