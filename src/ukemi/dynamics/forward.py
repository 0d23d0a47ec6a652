"""Forward dynamics and the inertia matrix of a tree: torques to accelerations."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ukemi import _core
from ukemi.dynamics.wrenches import Wrenches, on_links
from ukemi.model.arrays import Array
from ukemi.model.model import Model, tree_of


def forward_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    external: Wrenches | None = None,
    gravity: ArrayLike | None = None,
) -> Array:
    """Accelerations (..., nv) under joint torques, by the articulated-body algorithm [HAND07 ch. 3].

    M(q) a + bias(q, v) = tau + sum_i J_i^T external_i, where the bias holds gravity, velocity products and the
    joints' own springs and dampers.

    Args:
        model: the mechanism.
        q: coordinates (..., nq); quaternions (w, x, y, z) of length 1.
        v: velocities (..., nv).
        tau: joint torques and forces (..., nv) [N m, N].
        external: wrenches that act on links, (..., nlinks, 6) or {link name: (..., 6)}: force and moment at the link's
            origin, in link coordinates [N, N m].
        gravity: (3,) in world axes [m/s^2]; (0, 0, -9.81) by default.

    Raises:
        InvalidInputError: a wrong shape, a number that is not finite, a quaternion that is not unit.
        SingularError: a joint that moves no inertia.
    """
    if external is not None:
        external = on_links(model, external)
    tree = model.tree if isinstance(model, Model) else tree_of(model)  # spares a call
    return _core.forward_dynamics(tree, q, v, tau, external, gravity)


def mass_matrix(model: Model, q: ArrayLike) -> Array:
    """Inertia matrix M (..., nv, nv), armature included, by composite bodies."""
    return _core.mass_matrix(tree_of(model), q)


class InertiaFactor:
    """The inertia matrix of one state, factorised as L^T D L with L as sparse as the tree.

    >>> factor = InertiaFactor(model, q)
    >>> factor.solve(tau - bias(model, q, v))   # forward dynamics again
    """

    def __init__(self, model: Model, q: ArrayLike) -> None:
        self._factor = _core.InertiaFactor(tree_of(model), q)

    def solve(self, rhs: ArrayLike) -> Array:
        """M^-1 rhs for right-hand sides (..., nv)."""
        return self._factor.solve(rhs)
