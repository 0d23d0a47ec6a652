"""Joint moments by inverse dynamics of a model with the measured forces of the ground on its feet.

As OpenSim's InverseDynamicsTool: coordinates over time become quintic splines (natural, through every sample), whose
derivatives give rates and accelerations; what the joints must then do is the recursive Newton-Euler algorithm's. Every
coordinate of the model's file has its generalised force, those that are locked or tied to others by constraints too:
constraints are ignored, as OpenSim does, so the knee's moment is without the patella's, which stands beside it. Axes
that are functions of a coordinate (a knee that slides while it bends) are carried by it: virtual work, with the file's
own functions. Where OpenSim differs: the force of a coordinate of a Ball or Free joint is here the one that does work
on that angle's rate, there a component of the torque.

What is left at the root, where no actuator is, is the residual: the wrench that nobody applied. It measures how far
kinematics, masses and plates are from agreeing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ukemi.dynamics.coupled import followed, leaders_first
from ukemi.dynamics.inverse import inverse_dynamics
from ukemi.dynamics.kinematics import jacobian, link_poses
from ukemi.errors import InvalidInputError, UnknownNameError
from ukemi.model.arrays import Array, numbers
from ukemi.model.description import Coupling
from ukemi.model.joints import Revolute
from ukemi.model.kinds import of_kind
from ukemi.model.model import Link, Model
from ukemi.motion.ground_forces import GroundForces
from ukemi.motion.trajectory import low_pass

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

#: Low-pass of coordinates [Hz]: the usual one for gait [Winter, Biomechanics and Motor Control, 4th ed., 3.4.4].
CUTOFF = 6.0
#: Of the low-pass, run forwards and backwards: OpenSim's (Signal::LowpassIIR of OpenSim 4.6).
ORDER = 3
#: Samples that a quintic spline needs.
FEWEST = 6
#: Times further from even than this share of a step are sampled anew.
UNEVEN = 0.05


@dataclass(frozen=True, eq=False)
class JointMoments:
    """What the joints do in a motion, and what is left over at the root.

    time: (n,) [s]. names: ``<coordinate>_moment`` or ``<coordinate>_force``, as OpenSim calls them. moments: (n, k)
    [N m, N]. residual: (n, 6), force [N] and moment [N m] that are missing at the origin of the body on the ground's
    joint (the pelvis), in world axes, z up. power: (n, k) [W].
    """

    time: Array
    names: tuple[str, ...]
    moments: Array
    residual: Array
    power: Array

    def __getitem__(self, name: str) -> Array:
        """The moment of this name, (n,)."""
        try:
            return self.moments[:, self.names.index(name)]
        except ValueError:
            raise UnknownNameError("moment", name, self.names) from None

    def __len__(self) -> int:
        return len(self.time)


def inverse_dynamics_of_trial(
    model: Model,
    time: ArrayLike,
    q: ArrayLike,
    forces: GroundForces,
    bodies: Mapping[str, str],
    cutoff: float | None = CUTOFF,
) -> JointMoments:
    """Moments, powers and residual at the times of the motion during which the plates were read.

    Args:
        model: with one angle or distance per joint, as `uk.load` makes it of an .osim.
        time, q: (n,) [s] and (n, nq), as `ukemi.motion.opensim.joint_coordinates` gives them.
        forces: of the ground on the body, filtered or not; between their samples they run straight.
        bodies: {plate: link that stands on it}, for every plate; {"R": "calcn_r", "L": "calcn_l"}.
        cutoff: of a Butterworth low-pass of the coordinates, of order 3, forwards and backwards [Hz]; None: they are
            filtered already.

    Raises:
        InvalidInputError: a joint with several DOF, fewer than six samples, a plate without a body, or plates that
            were read at other times.
        UnknownNameError: a link that the model does not have, or a plate that the forces do not have.
    """
    of_kind("model", model, Model)
    of_kind("forces", forces, GroundForces)
    coordinates = _coordinates(model)
    for plate in bodies:
        if plate not in forces.names:
            raise UnknownNameError("plate", plate, forces.names)
    for plate in forces.names:
        if plate not in bodies:
            raise InvalidInputError(f"bodies: plate {plate!r} stands under no body: expected one for each plate")
    at, states = _samples(model, time, q)
    x, v, a = _derivatives(at, states, cutoff)
    step = (at[-1] - at[0]) / (len(at) - 1)
    read = (at > forces.time[0] - 0.5 * step) & (at < forces.time[-1] + 0.5 * step)
    if not read.any():
        span = f"{forces.time[0]:g} to {forces.time[-1]:g} s"
        raise InvalidInputError(f"forces: read from {span}, the motion lasts from {at[0]:g} to {at[-1]:g} s")
    at, x, v, a = at[read], x[read], v[read], a[read]
    followers = [c for c in leaders_first(model) if c.master is not None and c.joint not in coordinates]
    _follow(model, followers, x, v, a)
    external = _wrenches(model, x, at, forces, bodies)
    tau = inverse_dynamics(model, x, v, a, external, model.gravity)
    _fold(model, followers, x, tau)
    columns = [coordinates[name].v.start for name in coordinates]
    names = tuple(
        f"{name}_{'moment' if isinstance(link.joint, Revolute) else 'force'}" for name, link in coordinates.items()
    )
    moments: Array = tau[:, columns]
    return JointMoments(at, names, moments, _residual(model, followers, x, tau), moments * v[:, columns])


def _coordinates(model: Model) -> dict[str, Link]:
    """The joints that are coordinates: those of the .osim, or all that follow none."""
    several = [link.joint_name for link in model.links if link.joint.nq > 1]
    if several:
        raise InvalidInputError(f"model: joint {several[0]!r} has several DOF: expected one angle or distance each")
    following = {coupling.joint for coupling in model.couplings}
    free = [link.joint_name for link in model.links if link.joint.nq == 1 and link.joint_name not in following]
    return {name: model.joint(name) for name in model.coordinates or free}


def _samples(model: Model, time: ArrayLike, q: ArrayLike) -> tuple[Array, Array]:
    """Times and coordinates, checked."""
    at, states = numbers("time", time), numbers("q", q)
    if at.ndim != 1 or len(at) < FEWEST or (np.diff(at) <= 0).any():
        raise InvalidInputError(f"time: expected at least {FEWEST} growing times, got shape {at.shape}")
    if states.shape != (len(at), model.nq):
        raise InvalidInputError(f"q: expected shape {(len(at), model.nq)}, got {states.shape}")
    return at, states


def _derivatives(time: Array, q: Array, cutoff: float | None) -> tuple[Array, Array, Array]:
    """q, v and a at these times: of quintic splines with free ends through the samples.

    Before a low-pass the motion is continued by half of its length, by point reflection, and the spline runs through
    all of it: at its ends the derivatives are then those of the filtered motion.
    """
    spline = _spline(time, q)
    if cutoff is not None:
        step, beyond = (time[-1] - time[0]) / (len(time) - 1), len(time) // 2
        even = time[0] + step * np.arange(len(time))
        if np.abs(even - time).max() > UNEVEN * step:
            q = spline(even)
        before, after = 2 * q[0] - q[beyond:0:-1], 2 * q[-1] - q[-2 : -beyond - 2 : -1]
        smooth = low_pass(np.concatenate([before, q, after]), 1 / step, cutoff, order=ORDER)
        spline = _spline(time[0] + step * np.arange(-beyond, len(time) + beyond), smooth)
    return spline(time), spline(time, 1), spline(time, 2)


def _spline(time: Array, q: Array) -> BSpline:
    from scipy.interpolate import make_interp_spline

    free = [(order, np.zeros(q.shape[1])) for order in (3, 4)]
    return make_interp_spline(time, q, 5, bc_type=(free, free))


def _follow(model: Model, followers: list[Coupling], x: Array, v: Array, a: Array) -> None:
    """Puts the axes that are functions of coordinates where these want them, with their rates and accelerations."""
    for coupling in followers:
        assert coupling.master is not None
        leader, own = model.joint(coupling.master), model.joint(coupling.joint)
        place, slope, bend = (followed(model, coupling, x[:, leader.q.start], order) for order in range(3))
        i, k = own.v.start, leader.v.start
        x[:, own.q.start], v[:, i] = place, slope * v[:, k]
        a[:, i] = slope * a[:, k] + bend * v[:, k] ** 2


def _fold(model: Model, followers: list[Coupling], x: Array, tau: Array) -> None:
    """Adds the forces of the axes that follow to those of their coordinates, by virtual work."""
    for coupling in reversed(followers):
        assert coupling.master is not None
        leader, own = model.joint(coupling.master), model.joint(coupling.joint)
        slope = followed(model, coupling, x[:, leader.q.start], 1)
        tau[..., leader.v.start] += (slope * tau[..., own.v.start].T).T
        tau[..., own.v.start] = 0.0


def _wrenches(model: Model, x: Array, time: Array, forces: GroundForces, bodies: Mapping[str, str]) -> dict[str, Array]:
    """{link: (n, 6)} force and moment at the link's origin, in its axes; plates under one body add up.

    Between samples the wrench about the world's origin runs straight: centres of pressure jump where feet land.
    """
    X = link_poses(model, x)
    about_origin = np.cross(forces.point, forces.force) + forces.torque
    wrenches: dict[str, Array] = {}
    for plate, link in bodies.items():
        k, pose = forces.names.index(plate), X[:, model.link_index(link)]
        force, moment = (
            np.stack([np.interp(time, forces.time, column) for column in values[:, k].T], axis=1)
            for values in (forces.force, about_origin)
        )
        moment = moment - np.cross(pose[:, :3, 3], force)
        turned = [np.einsum("nij,ni->nj", pose[:, :3, :3], vector) for vector in (force, moment)]
        wrenches[link] = wrenches.get(link, 0.0) + np.concatenate(turned, axis=1)
    return wrenches


def _residual(model: Model, followers: list[Coupling], x: Array, tau: Array) -> Array:
    """The wrench at the root that does the work of the root's generalised forces; the smallest, where the root is not
    free to move in all directions."""
    root = model.links[0]
    while root.mass_properties.mass == 0 and len(root.children) == 1:
        root = root.children[0]
    J = jacobian(model, x, root.name)[..., : root.v.stop]
    wrench: Array = np.einsum("nij,nj->ni", np.linalg.pinv(np.swapaxes(J, 1, 2)), tau[:, : root.v.stop])
    return wrench
