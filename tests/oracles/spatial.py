"""Tree dynamics once more, in NumPy, for reading: 6x6 matrices and spatial accelerations (Featherstone, RBDA ch. 5-7).

A formulation of its own: the core uses classical accelerations, lumps fixed links and special-cases joints; here every
link is a body, and every joint a pose, a matrix S and its rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import ukemi as uk
from ukemi.model.arrays import Array
from ukemi.model.joints import Joint


def skew(p: Array) -> Array:
    return np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])


def turn(axis: Array, angle: float) -> Array:
    K = skew(axis)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def motion_transform(R: Array, p: Array) -> Array:
    """Twists (v; w) of the parent, seen from the child at pose (R, p)."""
    X = np.zeros((6, 6))
    X[:3, :3] = X[3:, 3:] = R.T
    X[:3, 3:] = -R.T @ skew(p)
    return X


def motion_cross(V: Array) -> Array:
    v, w = V[:3], V[3:]
    return np.block([[skew(w), skew(v)], [np.zeros((3, 3)), skew(w)]])


def joint(kind: Joint, q: Array, v: Array) -> tuple[Array, Array, Array, Array]:
    """R, p of the child in the joint frame, S (6, nv) and S_dot v (6), in child coordinates."""
    S, rate = np.zeros((6, kind.nv)), np.zeros(6)
    R, p = np.eye(3), np.zeros(3)
    if isinstance(kind, uk.Revolute):
        R, S[3:, 0] = turn(np.asarray(kind.axis), q[0]), kind.axis
    elif isinstance(kind, uk.Prismatic):
        p, S[:3, 0] = np.asarray(kind.axis) * q[0], kind.axis
    elif isinstance(kind, uk.Universal):
        first, second = np.asarray(kind.first), np.asarray(kind.second)
        R2 = turn(second, q[1])
        R, S[3:, 0], S[3:, 1] = turn(first, q[0]) @ R2, R2.T @ first, second
        rate[3:] = -np.cross(second * v[1], R2.T @ first) * v[0]
    elif isinstance(kind, uk.Spherical):
        R, S[3:] = uk.Pose((0, 0, 0), q).R, np.eye(3)
    elif isinstance(kind, uk.Free):
        R, p, S = uk.Pose((0, 0, 0), q[3:]).R, q[:3], np.eye(6)
    elif isinstance(kind, uk.Planar):
        n, x = np.asarray(kind.normal), np.asarray(kind.x)
        y = np.cross(n, x)
        R, p = turn(n, q[2]), x * q[0] + y * q[1]
        S[:3, 0], S[:3, 1], S[3:, 2] = R.T @ x, R.T @ y, n
        rate[:3] = -np.cross(n * v[2], R.T @ (x * v[0] + y * v[1]))
    return R, p, S, rate


@dataclass
class Step:
    X: Array
    S: Array
    c: Array
    V: Array
    inertia: Array


def sweep(model: uk.Model, q: Array, v: Array) -> list[Step]:
    """Outward pass: transforms, subspaces, bias accelerations, twists and spatial inertias of all links."""
    steps: list[Step] = []
    for link in model.links:
        R, p, S, rate = joint(link.joint, q[link.q], v[link.v])
        at = link.at
        X = motion_transform(at.R @ R, at.position + at.R @ p)
        V = X @ steps[link.parent.index].V if link.parent else np.zeros(6)
        V = V + S @ v[link.v]
        m, c, I = link.mass_properties.mass, skew(link.mass_properties.com), link.mass_properties.inertia
        inertia = np.block([[m * np.eye(3), -m * c], [m * c, I - m * c @ c]])
        steps.append(Step(X, S, rate + motion_cross(V) @ S @ v[link.v], V, inertia))
    return steps


def inverse_dynamics(model: uk.Model, q: Array, v: Array, a: Array, wrenches: Array, gravity: Array) -> Array:
    """Recursive Newton-Euler; armature included, springs and dampers not."""
    steps = sweep(model, q, v)
    A: list[Array] = []
    F: list[Array] = []
    for link, s, w in zip(model.links, steps, wrenches, strict=True):
        above = A[link.parent.index] if link.parent else np.concatenate([-gravity, np.zeros(3)])
        A.append(s.X @ above + s.S @ a[link.v] + s.c)
        F.append(s.inertia @ A[-1] - motion_cross(s.V).T @ s.inertia @ s.V - w)
    tau = np.zeros(model.nv)
    for link, s in reversed(list(zip(model.links, steps, strict=True))):
        tau[link.v] = s.S.T @ F[link.index] + np.asarray(link.joint.armature) * a[link.v]
        if link.parent:
            F[link.parent.index] = F[link.parent.index] + s.X.T @ F[link.index]
    return tau


def mass_matrix(model: uk.Model, q: Array) -> Array:
    """Column by column: inverse dynamics of unit accelerations at rest, without gravity ([SV00] III-B)."""
    still, none = np.zeros(model.nv), np.zeros((model.nlinks, 6))
    columns = [inverse_dynamics(model, q, still, e, none, np.zeros(3)) for e in np.eye(model.nv)]
    return np.array(columns).reshape(model.nv, model.nv).T
