"""Where links are and how they move."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ukemi import _core
from ukemi.model.arrays import Array, numbers
from ukemi.model.model import Link, Model, tree_of


def link_poses(model: Model, q: ArrayLike) -> Array:
    """X_WL (..., nlinks, 4, 4): homogeneous matrices of all links in the world."""
    return _core.link_poses(tree_of(model), q)


def jacobian(model: Model, q: ArrayLike, link: str, point: ArrayLike = (0, 0, 0)) -> Array:
    """Jacobian (..., 6, nv) of a point of a link (in link coordinates [m]), in world axes.

    ``jacobian @ v`` is the velocity of the point and, below it, the angular velocity of the link.
    """
    return _core.jacobian(tree_of(model), q, model.link_index(link), point)


def jacobian_rate(model: Model, q: ArrayLike, v: ArrayLike, link: str, point: ArrayLike = (0, 0, 0)) -> Array:
    """J_dot v (..., 6): acceleration of the point and angular acceleration of the link when v does not change."""
    return _core.jacobian_rate(tree_of(model), q, v, model.link_index(link), point)


def center_of_mass(model: Model, q: ArrayLike) -> Array:
    """Centre of mass (..., 3) in the world [m], of all links, those that are fixed to the world included."""
    moving: Array = _core.mechanics(tree_of(model), q, np.zeros(tree_of(model).nv), None)[..., :3]
    still = [link for link in model.links if _is_fixed(link)]
    mass = sum(link.mass_properties.mass for link in still)
    if not mass or not model.mass:
        return moving
    X = link_poses(model, model.neutral())
    moment = sum(
        link.mass_properties.mass * (X[link.index] @ np.append(link.mass_properties.com, 1))[:3] for link in still
    )
    out: Array = ((model.mass - mass) * moving + moment) / model.mass
    return out


def _is_fixed(link: Link) -> bool:
    """Whether no joint between a link and the world moves."""
    at: Link | None = link
    while at is not None:
        if at.joint.nv:
            return False
        at = at.parent
    return True


def integrate(model: Model, q: ArrayLike, v: ArrayLike, dt: float) -> Array:
    """q moved with constant velocity v for dt [s], on the manifold: rotations by the exponential map [SV00 eq. 39-44],
    free joints along the screw of their velocity."""
    return _core.integrate(tree_of(model), q, v, float(numbers("dt", dt, ())))


def difference(model: Model, q0: ArrayLike, q1: ArrayLike) -> Array:
    """The velocity (..., nv) that moves q0 to q1 in unit time: the inverse of `integrate`."""
    return _core.difference(tree_of(model), q0, q1)
