"""Dynamics of a model as MuJoCo and Pinocchio compute it, in our coordinates.

With B the map of velocities, u = B v in the other engine's, and M', b' its inertia matrix and bias:
M = B^T M' B and bias = B^T (M' Bdot v + b').
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import ukemi as uk
from ukemi.model.arrays import Array
from ukemi.model.layouts import to_mujoco, to_pinocchio


@dataclass(frozen=True)
class Dynamics:
    """Inertia matrix, bias (with springs and dampers), accelerations under tau, and link poses by name."""

    M: Array
    bias: Array
    acceleration: Array
    poses: dict[str, Array]


def of_ukemi(model: uk.Model, q: Array, v: Array, tau: Array) -> Dynamics:
    poses = dict(zip(model.link_names, uk.link_poses(model, q), strict=True))
    return Dynamics(uk.mass_matrix(model, q), uk.bias(model, q, v), uk.forward_dynamics(model, q, v, tau), poses)


def of_mujoco(model: uk.Model, mj_model: Any, q: Array, v: Array, tau: Array) -> Dynamics:
    """Without contacts, limits, friction, equalities and actuators."""
    import mujoco

    mj_model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_ACTUATION
    data = mujoco.MjData(mj_model)
    data.qpos, data.qvel = to_mujoco(model, mj_model, q, v)
    B = _velocity_map(lambda v: to_mujoco(model, mj_model, q, v)[1], model.nv)
    B_rate_v = np.zeros(model.nv)
    for link in model.links:
        if isinstance(link.joint, uk.Free):
            turned = np.zeros(model.nv)
            turned[link.v][:3] = np.cross(v[link.v][3:], v[link.v][:3])
            B_rate_v += B @ turned
    data.qfrc_applied = np.linalg.solve(B.T, tau)
    mujoco.mj_forward(mj_model, data)
    M = np.zeros((model.nv, model.nv))
    for i, column in enumerate(np.eye(model.nv)):
        mujoco.mj_mulM(mj_model, data, M[i], column)
    poses = {mj_model.body(i).name: _pose(data.xmat[i].reshape(3, 3), data.xpos[i]) for i in range(1, mj_model.nbody)}
    return Dynamics(
        B.T @ M @ B,
        B.T @ (M @ B_rate_v + data.qfrc_bias - data.qfrc_passive),
        np.linalg.solve(B, data.qacc - B_rate_v),
        poses,
    )


def of_pinocchio(model: uk.Model, pin_model: Any, q: Array, v: Array, tau: Array) -> Dynamics:
    """With the dampers of our model, which Pinocchio does not have; springs are not expected."""
    import pinocchio as pin

    data = pin_model.createData()
    pin_q, pin_v = to_pinocchio(model, pin_model, q, v)
    B = _velocity_map(lambda v: to_pinocchio(model, pin_model, q, v)[1], model.nv)
    B_rate_v, damping = np.zeros(model.nv), np.zeros(model.nv)
    for link in model.links:
        if isinstance(link.joint, uk.Planar):
            x, y, rate = v[link.v]
            turned = np.zeros(model.nv)
            turned[link.v][:2] = rate * y, -rate * x
            B_rate_v += B @ turned
        if link.joint.damping is not None:
            damping[link.v] = np.asarray(link.joint.damping) @ v[link.v]
    M = pin.crba(pin_model, data, pin_q)
    M = np.triu(M) + np.triu(M, 1).T
    bias = pin.rnea(pin_model, data, pin_q, pin_v, np.zeros(pin_model.nv))
    acceleration = pin.aba(pin_model, data, pin_q, pin_v, np.linalg.solve(B.T, tau - damping))
    pin.framesForwardKinematics(pin_model, data, pin_q)
    poses = {f.name: data.oMf[i].homogeneous for i, f in enumerate(pin_model.frames) if f.type == pin.FrameType.BODY}
    return Dynamics(
        B.T @ M @ B,
        B.T @ (M @ B_rate_v + bias) + damping,
        np.linalg.solve(B, acceleration - B_rate_v),
        poses,
    )


def largest_difference(ours: Dynamics, theirs: Dynamics) -> float:
    """Of all quantities, each relative to its own largest number."""
    pairs = [(ours.M, theirs.M), (ours.bias, theirs.bias), (ours.acceleration, theirs.acceleration)]
    pairs += [(ours.poses[name], pose) for name, pose in theirs.poses.items()]
    return max(float(np.abs(a - b).max() / max(1.0, np.abs(b).max())) for a, b in pairs)


def _velocity_map(convert: Callable[[Array], Array], nv: int) -> Array:
    return np.stack([convert(column) for column in np.eye(nv)], axis=1)


def _pose(R: Array, position: Array) -> Array:
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = R, position
    return X
