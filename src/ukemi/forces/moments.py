"""Joint moments and powers of the legs, in the axes that clinics use.

Inverse dynamics gives the moment that muscles and ligaments exert at each joint. Its parts are along the axes of the
joint coordinate system (Grood and Suntay 1983; Wu et al. 2002): one fixed across the proximal segment, one fixed along
the distal one, and the one perpendicular to both.
"""

from __future__ import annotations

import numpy as np

from ukemi.dynamics.inverse import inverse_dynamics
from ukemi.dynamics.kinematics import link_poses
from ukemi.forces.agreement import resampled
from ukemi.forces.estimate import ForceEstimate
from ukemi.forces.inverse import JointMoments
from ukemi.model.arrays import Array
from ukemi.motion.body import SIDES
from ukemi.motion.ground_forces import GroundForces

#: Joint -> distal link and, for the right leg, (part, sign) about the axes across (to the left), ahead and up: flexion
#: turns the thigh about the right, the shank about the left. Of a left leg the last two have the other sign.
JOINTS = {
    "hip": ("thigh", (("flexion", -1.0), ("adduction", 1.0), ("rotation", 1.0))),
    "knee": ("shank", (("flexion", 1.0), ("adduction", 1.0), ("rotation", 1.0))),
    "ankle": ("foot", (("dorsiflexion", -1.0), ("inversion", 1.0), ("rotation", 1.0))),
}


def joint_moments(estimate: ForceEstimate, forces: GroundForces | None = None) -> JointMoments:
    """Of the motion in an estimate, under its own forces or under others on the same parts, such as those of plates.

    Names such as ``"hip_flexion_r_moment"``: internal moments, positive in the direction of the name. Under other
    forces only at the times at which these are known.
    """
    model = estimate.model
    tau = estimate.tau if forces is None else _torques_under(estimate, forces)
    X = link_poses(model, estimate.q)
    names, moments, powers = [], [], []
    for side in SIDES:
        for joint, (part, about) in JOINTS.items():
            link = model.link(f"{side}_{part}")
            R = X[:, link.index, :3, :3]
            torque, turn = (np.einsum("nij,nj->ni", R, x[:, link.v]) for x in (tau, estimate.v))
            axes = np.stack(_axes(estimate, X, joint, side), axis=-1)
            rates = np.linalg.solve(axes, turn[..., None])[..., 0]  # turn = sum of rates about the axes
            for k, (name, sign) in enumerate(about):
                mirrored = -1.0 if side == "left" and k > 0 else 1.0
                along = (torque * axes[..., k]).sum(axis=1)
                names.append(f"{joint}_{name}_{side[0]}_moment")
                moments.append(sign * mirrored * along)
                powers.append(along * rates[:, k])
    turned = [np.einsum("nij,nj->ni", X[:, 0, :3, :3], tau[:, k : k + 3]) for k in (0, 3)]
    time = estimate.forces.time
    known = slice(None) if forces is None else (time > forces.time[0] - 1e-9) & (time < forces.time[-1] + 1e-9)
    return JointMoments(
        time[known],
        tuple(names),
        np.stack(moments, axis=1)[known],
        np.concatenate(turned, axis=1)[known],
        np.stack(powers, axis=1)[known],
    )


def _axes(estimate: ForceEstimate, X: Array, joint: str, side: str) -> tuple[Array, Array, Array]:
    """Across (to the left), ahead and up (n, 3), in the world: the first fixed in the proximal segment, one of the
    others in the distal one."""
    model = estimate.model
    link = model.link(f"{side}_{JOINTS[joint][0]}")
    assert link.parent is not None
    hips = [X[:, model.link_index(f"{s}_thigh"), :3, 3] for s in SIDES]
    left = _unit(hips[0] - hips[1])
    R_parent, R = X[:, link.parent.index, :3, :3], X[:, link.index, :3, :3]
    across = _unit(np.einsum("nji,nj->ni", R_parent, left).mean(axis=0))
    if joint != "hip":  # the knee's and ankle's axes lie across their bones
        bone = _unit(link.at.position)
        across = _unit(across - (across @ bone) * bone)
    across = R_parent @ across
    if joint == "ankle":
        ahead = R @ estimate.soles[side].at.R[:, 0]
        return across, ahead, _unit(np.cross(ahead, across))
    up = R @ _unit(-link.children[0].at.position)
    return across, _unit(np.cross(across, up)), up


def _unit(v: Array) -> Array:
    out: Array = v / np.linalg.norm(v, axis=-1, keepdims=True)
    return out


def _torques_under(estimate: ForceEstimate, forces: GroundForces) -> Array:
    """(n, nv) [N m], with forces on the parts that the estimate names."""
    model, clock = estimate.model, estimate.forces.time
    force, torque = (resampled(clock, forces.time, x) for x in (forces.force, forces.torque))
    place = resampled(clock, forces.time, _held(forces)) - estimate.origin[:, None]
    X = link_poses(model, estimate.q)
    external = np.zeros((len(clock), model.nlinks, 6))
    for k, name in enumerate(forces.names):
        link = model.link_index(name)
        R = X[:, link, :3, :3]
        moment = torque[:, k] + np.cross(place[:, k] - X[:, link, :3, 3], force[:, k])
        external[:, link, :3] += np.einsum("nji,nj->ni", R, force[:, k])
        external[:, link, 3:] += np.einsum("nji,nj->ni", R, moment)
    return inverse_dynamics(model, estimate.q, estimate.v, estimate.a, external=external)


def _held(forces: GroundForces) -> Array:
    """Centres of pressure (n, feet, 3) that stay where they were last while a foot bears nothing: between two samples
    they are not drawn to the origin."""
    out = np.array(forces.point)
    for k in range(len(forces.names)):
        on = np.flatnonzero(forces.force[:, k, 2] > 0)
        if len(on):
            before = np.clip(np.searchsorted(on, np.arange(len(out)), side="right") - 1, 0, None)
            out[:, k] = forces.point[on[before], k]
    return out
