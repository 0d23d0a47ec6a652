"""Where links are and how they move."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ukemi import _core
from ukemi.model.arrays import Array, numbers
from ukemi.model.model import Model, tree_of


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
    """Centre of mass (..., 3) in the world [m]."""
    return _core.mechanics(tree_of(model), q, np.zeros(tree_of(model).nv), None)[..., :3]


def integrate(model: Model, q: ArrayLike, v: ArrayLike, dt: float) -> Array:
    """q moved with constant velocity v for dt [s], on the manifold: rotations by the exponential map [SV00 eq. 39-44],
    free joints along the screw of their velocity."""
    return _core.integrate(tree_of(model), q, v, float(numbers("dt", dt, ())))


def difference(model: Model, q0: ArrayLike, q1: ArrayLike) -> Array:
    """The velocity (..., nv) that moves q0 to q1 in unit time: the inverse of `integrate`."""
    return _core.difference(tree_of(model), q0, q1)
