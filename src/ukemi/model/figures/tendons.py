"""Tendons: pulls to joint torques and back, so that actuators can be sized."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ukemi.errors import InvalidInputError, UnknownNameError
from ukemi.model.arrays import Array, frozen, numbers
from ukemi.model.figures.hand_data import BONES
from ukemi.model.figures.muscles import TENDONS, Tendon
from ukemi.model.kinds import of_kind
from ukemi.model.model import Model

#: Weight of the effort against the missing torque in `Tendons.forces`: it decides between pulls that give the same
#: torques, and costs the torques about this share.
EFFORT = 1e-6


@dataclass(frozen=True, eq=False)
class Pulls:
    """What `Tendons.forces` found.

    Attributes:
        forces: (..., tendons) [N], within their bounds.
        torques: (..., nv) that they give [N m].
        missing: (..., nv) torques asked for less torques given [N m].
        activation: (..., tendons) share of each tendon's largest force.
    """

    forces: Array
    torques: Array
    missing: Array
    activation: Array


class Tendons:
    """Tendons of constant moment arms on a hand (or any model with its joints).

    >>> tendons = Tendons(hand())
    >>> tau = tendons.torques({"FDP_index": 5.0, "FDS_index": 3.0})
    >>> tendons.forces(tau).forces

    model: with the joints that the tendons name, behind ``prefix`` (such as "left_" on a figure).
    tendons: by default those of `ukemi.model.figures.muscles`, scaled with the length of the hand.
    """

    def __init__(self, model: Model, tendons: Sequence[Tendon] = TENDONS, *, prefix: str = "") -> None:
        self.model = of_kind("Tendons", model, Model)
        self.tendons = tuple(tendons)
        self.names = tuple(tendon.name for tendon in self.tendons)
        scale = 1.0
        if f"{prefix}middle_middle" in model.link_names:
            bone = model.link(f"{prefix}middle_middle").at.position
            scale = float(np.linalg.norm(bone)) / BONES["middle"]["proximal"]
        arms = np.zeros((len(self.tendons), model.nv))
        for k, tendon in enumerate(self.tendons):
            for (joint, freedom), arm in tendon.arms.items():
                arms[k, model.joint(f"{prefix}{joint}").v][freedom] = scale * arm
        #: (tendons, nv) moment arms [m]
        self.arms = frozen(arms)
        #: (tendons,) [N]
        self.largest = frozen([tendon.largest for tendon in self.tendons])

    def pulls(self, forces: ArrayLike | Mapping[str, float]) -> Array:
        """Forces (..., tendons) [N], from an array or {tendon: force}; tendons do not push."""
        if isinstance(forces, Mapping):
            given = np.zeros(len(self.names))
            for name, force in forces.items():
                if name not in self.names:
                    raise UnknownNameError("tendon", name, self.names)
                given[self.names.index(name)] = force
            forces = given
        f = numbers("forces", forces)
        if f.ndim == 0 or f.shape[-1] != len(self.names):
            raise InvalidInputError(f"forces: expected (..., {len(self.names)}), got shape {f.shape}")
        if (f < 0).any():
            raise InvalidInputError(f"forces: tendons only pull, got {float(f.min()):g} N")
        return f

    def torques(self, forces: ArrayLike | Mapping[str, float]) -> Array:
        """Joint torques (..., nv) [N m] of tendon forces: each force times its moment arms."""
        return self.pulls(forces) @ self.arms

    def excursions(self, q: ArrayLike) -> Array:
        """How far each tendon (..., tendons) is pulled in from the zero pose [m]."""
        angles = numbers("q", q)
        if self.model.nq != self.model.nv or angles.ndim == 0 or angles.shape[-1] != self.model.nv:
            raise InvalidInputError(
                f"q: expected (..., {self.model.nv}) angles of a hand alone, got shape {angles.shape}"
            )
        return angles @ self.arms.T

    def forces(self, torques: ArrayLike, largest: ArrayLike | None = None) -> Pulls:
        """Forces between 0 and ``largest`` whose torques come nearest to those asked for (..., nv) [N m].

        The sum of squares of what is missing is least over the freedoms that tendons reach; among forces that give the
        same torques, the squares of the activations are.
        """
        from scipy.optimize import lsq_linear

        wanted = numbers("torques", torques)
        if wanted.ndim == 0 or wanted.shape[-1] != self.model.nv:
            raise InvalidInputError(f"torques: expected (..., {self.model.nv}), got shape {wanted.shape}")
        bound = np.broadcast_to(self.largest if largest is None else numbers("largest", largest), self.largest.shape)
        if not (bound > 0).all():
            raise InvalidInputError("largest: expected positive forces")
        reach = self.arms.T * bound  # torque of each full pull
        size = float(np.abs(reach).max(initial=0.0))
        A = np.vstack([reach, EFFORT * size * np.eye(len(bound))])
        rows = wanted.reshape(-1, self.model.nv)
        effort = np.zeros(len(bound))
        found = [lsq_linear(A, np.concatenate([row, effort]), (0, 1), method="bvls", tol=1e-14).x for row in rows]
        activation = np.clip(np.array(found), 0, 1).reshape(*wanted.shape[:-1], len(bound))
        given = activation @ reach.T
        return Pulls(activation * bound, given, wanted - given, activation)
