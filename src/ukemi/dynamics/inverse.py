"""Inverse dynamics of a tree: accelerations to torques."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ukemi import _core
from ukemi.dynamics.wrenches import Wrenches, on_links
from ukemi.model.arrays import Array
from ukemi.model.model import Model, tree_of


def inverse_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    external: Wrenches | None = None,
    gravity: ArrayLike | None = None,
) -> Array:
    """Joint torques (..., nv) that give the accelerations a, by the recursive Newton-Euler algorithm.

    The inverse of `forward_dynamics`, with the same arguments: tau = M a + bias - sum_i J_i^T external_i. For a free
    root the first six are the wrench that is missing at the root, in its own coordinates. Joints that follow others
    (`Model.couplings`) count as driven by themselves: `ukemi.dynamics.coupled.coupled_inverse_dynamics` gives their
    leaders what they need, as OpenSim does for knees that slide while they bend.
    """
    if external is not None:
        external = on_links(model, external)
    return _core.inverse_dynamics(tree_of(model), q, v, a, external, gravity)


def bias(model: Model, q: ArrayLike, v: ArrayLike, gravity: ArrayLike | None = None) -> Array:
    """Torques (..., nv) that keep all accelerations at zero: gravity, velocity products, springs and dampers."""
    return _core.inverse_dynamics(tree_of(model), q, v, None, None, gravity)
