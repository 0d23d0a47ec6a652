"""A first state that stands: points that are meant to bear are on the floor and at rest."""

from __future__ import annotations

import numpy as np

from ukemi.dynamics.forward import mass_matrix
from ukemi.dynamics.kinematics import integrate, jacobian
from ukemi.dynamics_filter.reference import Reference
from ukemi.model.arrays import Array

ROUNDS = 8
#: Points farther than this from the floor are not pulled to it [m].
REACH = 0.02


def standing_start(reference: Reference, normal: Array, offset: float) -> tuple[Array, Array]:
    """q and v nearest to the reference's first (in the metric of the inertia matrix) in which scheduled points stand.

    What is not scheduled and below the floor is lifted with the whole body.
    """
    model, points = reference.model, reference.points
    q, v = reference.q[0].copy(), reference.v[0].copy()
    bears = np.flatnonzero(reference.contact[0] & ~points.tip)
    for _ in range(ROUNDS):
        above = points.in_world(model, q) @ normal - offset
        near = bears[np.abs(above[bears]) < REACH]
        if len(near) == 0:
            break
        J = np.stack(
            [normal @ jacobian(model, q, model.link_names[points.links[p]], points.places[p])[:3] for p in near]
        )
        q = integrate(model, q, _least(mass_matrix(model, q), J, -above[near]), 1.0)
    solid = points.in_world(model, q)[~points.tip] @ normal - offset
    q[:3] += max(0.0, -float(solid.min(initial=0.0)) - 1e-9) * normal
    above = points.in_world(model, q) @ normal - offset
    near = bears[np.abs(above[bears]) < 1e-3]
    if len(near):
        J = np.concatenate([jacobian(model, q, model.link_names[points.links[p]], points.places[p])[:3] for p in near])
        v = v + _least(mass_matrix(model, q), J, -J @ v)
    return q, v


def _least(M: Array, J: Array, wanted: Array) -> Array:
    """The smallest change x in the metric of M with J x = wanted, as nearly as the rows allow."""
    R = np.linalg.solve(M, J.T)
    A = J @ R
    return R @ np.linalg.lstsq(A + 1e-9 * np.trace(A) / len(A) * np.eye(len(A)), wanted, rcond=None)[0]
