"""Torques that stay while the structure changes, and what wrenches on links add to them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from ukemi.dynamics.inverse import inverse_dynamics
from ukemi.model.arrays import Array, numbers
from ukemi.model.model import Model


class ConstantTorques:
    """Torques (nv) given for the joints of one structure; in another they act on the joints that are still there.

    A link whose joint was cut continues on a free joint, which has no torque.
    """

    def __init__(self, model: Model, torques: Array) -> None:
        self._given_for, self._given = model, torques
        self._model, self._torques = model, torques

    def of(self, model: Model) -> Array:
        """Torques (nv) of a structure."""
        if model is not self._model:
            given = {link.name: (link.joint, self._given[link.v]) for link in self._given_for.links}
            self._torques = np.zeros(model.nv)
            for link in model.links:
                joint, torques = given.get(link.name, (None, None))
                if joint is link.joint:
                    self._torques[link.v] = torques
            self._model = model
        return self._torques


def pushes(model: Model, q: Array, wrenches: ArrayLike) -> Array:
    """What wrenches (nlinks, 6) on links do to the joints (nv): sum of J_i^T w_i."""
    still = np.zeros(model.nv)
    without, with_them = (inverse_dynamics(model, q, still, still, w, (0, 0, 0)) for w in (None, wrenches))
    return without - with_them


class Pushed:
    """A control that adds to torques what wrenches (nlinks, 6) on links do."""

    def __init__(
        self, model: Model, wrenches: ArrayLike, torques: Array | Callable[[float, Array, Array], ArrayLike] | None
    ) -> None:
        self._model, self._wrenches, self._torques = model, wrenches, torques

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        given = self._torques(t, q, v) if callable(self._torques) else self._torques
        pushed = pushes(self._model, q, self._wrenches)
        if given is None:
            return pushed
        return pushed + numbers("what control(t, q, v) returned", given, (self._model.nv,))
