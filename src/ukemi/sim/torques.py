"""Torques that stay while the structure changes."""

from __future__ import annotations

import numpy as np

from ukemi.model.arrays import Array
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
