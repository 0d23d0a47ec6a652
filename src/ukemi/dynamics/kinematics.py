"""Where links are and how they move."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ukemi import _core
from ukemi.model.arrays import Array
from ukemi.model.model import Model


def link_poses(model: Model, q: ArrayLike) -> Array:
    """X_WL (..., nlinks, 4, 4): homogeneous matrices of all links in the world."""
    return _core.link_poses(model.tree, q)


def jacobian(model: Model, q: ArrayLike, link: str, point: ArrayLike = (0, 0, 0)) -> Array:
    """Jacobian (..., 6, nv) of a point of a link (in link coordinates [m]), in world axes.

    ``jacobian @ v`` is the velocity of the point and, below it, the angular velocity of the link.
    """
    return _core.jacobian(model.tree, q, model.link_index(link), point)


def jacobian_rate(model: Model, q: ArrayLike, v: ArrayLike, link: str, point: ArrayLike = (0, 0, 0)) -> Array:
    """J_dot v (..., 6): acceleration of the point and angular acceleration of the link when v does not change."""
    return _core.jacobian_rate(model.tree, q, v, model.link_index(link), point)


def center_of_mass(model: Model, q: ArrayLike) -> Array:
    """Centre of mass (..., 3) in the world [m]."""
    return _core.mechanics(model.tree, q, np.zeros(model.nv), None)[..., :3]


def integrate(model: Model, q: ArrayLike, v: ArrayLike, dt: float) -> Array:
    """q moved with constant velocity v for dt [s], on the manifold: rotations by the exponential map [SV00 eq. 39-44],
    free joints along the screw of their velocity."""
    return _core.integrate(model.tree, q, v, dt)


def difference(model: Model, q0: ArrayLike, q1: ArrayLike) -> Array:
    """The velocity (..., nv) that moves q0 to q1 in unit time: the inverse of `integrate`."""
    return _core.difference(model.tree, q0, q1)
