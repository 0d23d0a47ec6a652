"""Figures and references that the tests of the filter share."""

from __future__ import annotations

import numpy as np

import ukemi as uk
from ukemi.dynamics_filter.prepare import contact_points
from ukemi.dynamics_filter.reference import Reference
from ukemi.model.arrays import Array
from ukemi.motion.humanoid import model_soles


def standing_figure(dof: int = 28, bend: float = 0.3) -> tuple[uk.Model, Array]:
    """A figure that stands with bent knees, its soles on z = 0."""
    model = uk.human(dof)
    q = model.neutral()
    for side in ("left", "right"):
        q[model.joint(f"{side}_knee").q] = bend
        for joint in ("hip", "ankle"):
            q[model.joint(f"{side}_{joint}").q] = (np.cos(bend / 4), 0, -np.sin(bend / 4), 0)
    points = contact_points(model, model_soles(model))
    q[2] -= points.in_world(model, q)[:, 2].min()
    return model, q


def standing_reference(seconds: float, dof: int = 28) -> Reference:
    model, q = standing_figure(dof)
    n = round(seconds / 0.002)
    points = contact_points(model, model_soles(model))
    still = np.zeros((n, model.nv))
    return Reference(model, 0.002, np.tile(q, (n, 1)), still, still, points, np.ones((n, len(points)), dtype=bool))


def pushed(model: uk.Model, link: str, force: Array, q: Array) -> Array:
    """External wrenches (nlinks, 6) of a force in world axes on a link's origin."""
    wrench = np.zeros((model.nlinks, 6))
    k = model.link_index(link)
    wrench[k, :3] = uk.link_poses(model, q)[k, :3, :3].T @ force
    return wrench
