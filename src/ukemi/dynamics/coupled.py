"""Trees whose couplings hold: joints that follow others (`Model.couplings`), as OpenSim's knees slide while they bend.

A follower's coordinate is a function p of its leader's x (`Model.functions`, else the polynomial of its coupling), so
its velocity is p'(x) v and its acceleration p'(x) a + p''(x) v^2. The forces of followers do their work through the
leaders' motion: a leader's torque is its own plus p'(x) times the follower's (virtual power); a follower needs none.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike

from ukemi.dynamics.inverse import inverse_dynamics
from ukemi.dynamics.wrenches import Wrenches
from ukemi.errors import InvalidInputError, ModelError
from ukemi.model.arrays import Array, numbers
from ukemi.model.description import Coupling
from ukemi.model.kinds import of_kind
from ukemi.model.model import Model


def coupled_coordinates(model: Model, q: ArrayLike, given: Collection[str] = ()) -> Array:
    """q (..., nq) with the joints that follow others where these put them; those named in ``given`` stay.

    Raises:
        ModelError: joints that follow each other in a ring, or one that follows twice.
    """
    of_kind("coupled_coordinates", model, Model)
    (placed,) = _batches(q=(q, model.nq))
    for coupling in leaders_first(model):
        if coupling.joint not in given:
            leader = None if coupling.master is None else model.joint(coupling.master).q.start
            x = 0.0 if leader is None else placed[..., leader]
            placed[..., model.joint(coupling.joint).q.start] = followed(model, coupling, np.asarray(x))
    return placed


def coupled_neutral(model: Model) -> Array:
    """q of the zero pose, with followers where their leaders put them; plainly zero where a ring does not say."""
    neutral = model.neutral()
    try:
        return coupled_coordinates(model, neutral)
    except ModelError:
        return neutral


def coupled_inverse_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    external: Wrenches | None = None,
    gravity: ArrayLike | None = None,
) -> Array:
    """Joint torques (..., nv) that give the accelerations a of a model whose couplings hold; zero for followers.

    As `inverse_dynamics`, which leaves followers to drives of their own. What q, v and a say of followers is not used:
    their leaders tell.

    Raises:
        ModelError: joints that follow each other in a ring, or one that follows twice.
    """
    of_kind("coupled_inverse_dynamics", model, Model)
    x, rate, change = _batches(q=(q, model.nq), v=(v, model.nv), a=(a, model.nv))
    x = coupled_coordinates(model, x)
    for coupling in leaders_first(model):
        follower = model.joint(coupling.joint).v.start
        if coupling.master is None:
            rate[..., follower] = change[..., follower] = 0.0
            continue
        leader = model.joint(coupling.master)
        slope, bend = (followed(model, coupling, x[..., leader.q.start], order) for order in (1, 2))
        k = leader.v.start
        change[..., follower] = slope * change[..., k] + bend * rate[..., k] ** 2
        rate[..., follower] = slope * rate[..., k]
    return onto_leaders(model, x, inverse_dynamics(model, x, rate, change, external, gravity))


def onto_leaders(model: Model, q: Array, forces: Array) -> Array:
    """Generalized forces, or rows of a Jacobian, (..., nv) as those of the joints that lead; zero for followers."""
    carried = np.array(forces)
    for coupling in reversed(leaders_first(model)):  # a leader may follow another
        follower = model.joint(coupling.joint).v.start
        if coupling.master is not None:
            leader = model.joint(coupling.master)
            slope = followed(model, coupling, q[..., leader.q.start], 1)
            carried[..., leader.v.start] += slope * carried[..., follower]
        carried[..., follower] = 0.0
    return carried


def leaders_first(model: Model) -> list[Coupling]:
    """The couplings, each after the one that its leader follows."""
    waiting = {coupling.joint: coupling for coupling in model.couplings}
    if len(waiting) < len(model.couplings):
        names = [coupling.joint for coupling in model.couplings]
        twice = next(name for name in names if names.count(name) > 1)
        raise ModelError(f"joint {twice!r} of {model.name!r} follows twice: expected one coupling for each joint")
    ordered: list[Coupling] = []
    while waiting:
        ready = [coupling for coupling in waiting.values() if coupling.master not in waiting]
        if not ready:
            raise ModelError(f"joints {', '.join(waiting)} of {model.name!r} follow each other in a ring")
        ordered += ready
        for coupling in ready:
            del waiting[coupling.joint]
    return ordered


def followed(model: Model, coupling: Coupling, x: Array, order: int = 0) -> Array:
    """Where the follower stands when its leader stands at x, or the derivative of this order with respect to x."""
    exact = model.functions.get(coupling.joint)
    if exact is not None:
        return exact(x, order)
    p = Polynomial((coupling.offset, coupling.multiplier, *coupling.higher))
    values: Array = p.deriv(order)(x)
    return values


def _batches(**given: tuple[ArrayLike, int]) -> list[Array]:
    """Copies of (..., size) numbers, with the same batch axes."""
    checked = {name: numbers(name, values) for name, (values, _) in given.items()}
    for name, (_, size) in given.items():
        if checked[name].shape[-1:] != (size,):
            raise InvalidInputError(f"{name}: expected shape (..., {size}), got {checked[name].shape}")
    try:
        axes = np.broadcast_shapes(*(x.shape[:-1] for x in checked.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in checked.items())
        raise InvalidInputError(f"batch axes do not match: {shapes}") from None
    return [np.array(np.broadcast_to(x, (*axes, x.shape[-1]))) for x in checked.values()]
