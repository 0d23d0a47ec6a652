"""Momentum and energy of a tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ukemi import _core
from ukemi.model.arrays import Array, numbers
from ukemi.model.model import Model, tree_of


def momentum(model: Model, q: ArrayLike, v: ArrayLike, about: ArrayLike | None = None) -> Array:
    """Momentum (..., 6) in world axes: linear [kg m/s], and angular [kg m^2/s] about the centre of mass (default) or
    about a fixed point (3,) of the world."""
    m = _core.mechanics(tree_of(model), q, v, None)
    com, p, L = m[..., :3], m[..., 3:6], m[..., 6:9]
    if about is not None:
        L = L + np.cross(com - numbers("about", about, (3,)), p)
    return np.concatenate([p, L], axis=-1)


def kinetic_energy(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """1/2 v^T M v (...) [J]."""
    return _core.mechanics(tree_of(model), q, v, None)[..., 9]


def potential_energy(model: Model, q: ArrayLike, gravity: ArrayLike | None = None) -> Array:
    """Of gravity (zero at the world's origin) and of the joint springs (...) [J]."""
    return _core.mechanics(tree_of(model), q, np.zeros(tree_of(model).nv), gravity)[..., 10]


def energy(model: Model, q: ArrayLike, v: ArrayLike, gravity: ArrayLike | None = None) -> Array:
    """Kinetic and potential energy together (...) [J]; gravity's is zero at the world's origin."""
    return _core.mechanics(tree_of(model), q, v, gravity)[..., 9:].sum(axis=-1)
