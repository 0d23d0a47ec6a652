"""A first state that stands: points that are meant to bear are on the floor and at rest."""

from __future__ import annotations

import numpy as np

from ukemi.dynamics.forward import mass_matrix
from ukemi.dynamics.kinematics import integrate, jacobian, link_poses
from ukemi.dynamics_filter.floor import above_floor
from ukemi.dynamics_filter.reference import Reference
from ukemi.model.arrays import Array

ROUNDS = 8
#: Points farther than this from the floor are not pulled to it [m].
REACH = 0.02
#: How long after its beginning the velocity of a flight is taken [s].
FLIGHT = 0.08
GRAVITY = np.array([0.0, 0.0, -9.81])


def standing_start(reference: Reference, floor: Array) -> tuple[Array, Array]:
    """q and v nearest to the reference's first (in the metric of the inertia matrix) in which scheduled points stand.

    What is not scheduled and below the floor is put on it. One that begins in the air flies as it does
    a little later: smoothing bends the ends of a motion straight.
    """
    model, points, normal = reference.model, reference.points, floor[:3]
    q, v = reference.q[0].copy(), reference.v[0].copy()
    if not reference.contact[0].any():
        v += _as_it_flies(reference)
    for _ in range(ROUNDS):
        above = above_floor(floor, points.in_world(model, q))
        near = np.flatnonzero((np.abs(above) < REACH) & ~points.tip & (reference.contact[0] | (above < 0)))
        if len(near) == 0:
            break
        J = np.stack(
            [normal @ jacobian(model, q, model.link_names[points.links[p]], points.places[p])[:3] for p in near]
        )
        q = integrate(model, q, _least(mass_matrix(model, q), J, -above[near]), 1.0)
    solid = above_floor(floor, points.in_world(model, q)[~points.tip])
    q[:3] += max(0.0, -float(solid.min(initial=0.0)) - 1e-9) * normal
    above = above_floor(floor, points.in_world(model, q))
    near = np.flatnonzero((np.abs(above) < 1e-3) & ~points.tip & reference.contact[0])
    if len(near):
        J = np.concatenate([jacobian(model, q, model.link_names[points.links[p]], points.places[p])[:3] for p in near])
        v = v + _least(mass_matrix(model, q), J, -J @ v)
    return q, v


def flying_start(reference: Reference) -> Array:
    """Change (6,) of the first velocity of the centre of mass and angular momentum per unit mass that gives them their
    course in the air; none if something bears."""
    lands = np.flatnonzero(reference.contact.any(axis=1))
    later = min(int(lands[0]) if len(lands) else len(reference) - 1, round(FLIGHT / reference.dt))
    change: Array = reference.centroid[later, 3:] - reference.centroid[0, 3:]
    change[:3] -= later * reference.dt * GRAVITY
    return change


def _as_it_flies(reference: Reference) -> Array:
    """The same as a change of the base's first velocity."""
    model, q, change = reference.model, reference.q[0], flying_start(reference)
    R, M = link_poses(model, q)[0, :3, :3], mass_matrix(model, q)
    arm = np.array([M[5, 1], M[3, 2], M[4, 0]]) / model.mass  # of the centre of mass, in the base's frame
    inertia = M[3:6, 3:6] - model.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    out = np.zeros(model.nv)
    out[3:6] = np.linalg.solve(inertia, model.mass * (R.T @ change[3:]))
    out[:3] = R.T @ change[:3] - np.cross(out[3:6], arm)
    return out


def _least(M: Array, J: Array, wanted: Array) -> Array:
    """The smallest change x in the metric of M with J x = wanted, as nearly as the rows allow."""
    R = np.linalg.solve(M, J.T)
    A = J @ R
    return R @ np.linalg.lstsq(A + 1e-9 * np.trace(A) / len(A) * np.eye(len(A)), wanted, rcond=None)[0]
