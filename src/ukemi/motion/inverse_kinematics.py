"""Inverse kinematics of whole motions: damped least squares on all frames at once, within joint limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ukemi.dynamics.coupled import coupled_coordinates, onto_leaders
from ukemi.dynamics.kinematics import difference, integrate, jacobian, link_poses
from ukemi.model.arrays import Array
from ukemi.model.model import Model
from ukemi.motion.rotations import exponential, inverse, of_matrices, product, rotation_vector

#: Added to the normal matrix of a freedom that pushes against its limit: it stays there.
HELD = 1e6
#: Frames that are solved at once: more need more memory and are no faster.
AT_ONCE = 1000
#: Keeps the normal matrix regular where neither goals nor posture hold a freedom.
DAMPING = 1e-6
#: The longest step of an iteration, and the one at which a frame has arrived [m or rad].
LONGEST, ARRIVED = 0.5, 1e-4


@dataclass(frozen=True, eq=False)
class Goal:
    """Where a point of a link should be, how the link should be turned, or both, in every frame.

    place: (frames, 3) [m]; NaN leaves a frame free. turn: (frames, 4) quaternions (w, x, y, z).
    Weights: of a metre, and of a radian.
    """

    link: str
    place: Array | None = None
    turn: Array | None = None
    point: ArrayLike = (0, 0, 0)
    place_weight: float = 1.0
    turn_weight: float = 0.3


@dataclass(frozen=True)
class Solution:
    """q (frames, nq), and how far the goals are missed: root mean square per link [m], [rad]."""

    q: Array
    place_errors: dict[str, float]
    turn_errors: dict[str, float]


def follow_goals(
    model: Model,
    goals: Sequence[Goal],
    start: ArrayLike,
    *,
    rest: ArrayLike | None = None,
    stay: float = 0.02,
    iterations: int = 40,
) -> Solution:
    """Coordinates (frames, nq) whose links meet the goals as well as their joints allow.

    start: (frames, nq), where the search begins. rest: (nq,) or (frames, nq), the posture that joints tend to where
    goals leave them free (by default the start). stay: weight of a radian away from it; the free base has none. Joints
    that follow others (`Model.couplings`) go along with them.
    """
    q = np.array(start, dtype=np.float64)
    home = np.broadcast_to(q if rest is None else np.asarray(rest, dtype=np.float64), q.shape).copy()
    home[:, : model.links[0].q.stop] = q[:, : model.links[0].q.stop]
    calm = np.full(model.nv, stay)
    if model.links[0].joint.nq == 7:
        calm[:6] = 0.0
    for coupling in model.couplings:
        calm[model.joint(coupling.joint).v] = 0.0
    q = coupled_coordinates(model, within_limits(model, q))
    for first in range(0, len(q), AT_ONCE):
        frames = np.arange(first, min(first + AT_ONCE, len(q)))
        _iterate(model, goals, q, home, calm, frames, iterations)
    return Solution(q, *_errors(model, goals, q))


def _iterate(
    model: Model, goals: Sequence[Goal], q: Array, home: Array, calm: Array, frames: NDArray[np.intp], iterations: int
) -> None:
    """Moves some frames of q towards the goals."""
    moving = frames  # those that have not arrived
    for _ in range(iterations):
        here = q[moving]
        J, e = _rows(model, goals, here, moving)
        J = onto_leaders(model, here[:, None], J)
        H = np.einsum("fri,frj->fij", J, J) + np.diag(calm**2 + DAMPING)
        g = np.einsum("fri,fr->fi", J, e) - calm**2 * difference(model, home[moving], here)
        pushing = _at_limit(model, here, g)
        H[:, np.arange(model.nv), np.arange(model.nv)] += HELD * pushing
        step = np.linalg.solve(H, np.where(pushing, 0.0, g)[..., None])[..., 0]
        largest = np.abs(step).max(axis=1)
        step *= np.minimum(1.0, LONGEST / np.maximum(largest, 1e-12))[:, None]
        q[moving] = coupled_coordinates(model, within_limits(model, integrate(model, here, step, 1.0)))
        moving = moving[largest > ARRIVED]
        if len(moving) == 0:
            return


def within_limits(model: Model, q: Array) -> Array:
    """q with every coordinate moved into its joint's limits; ball joints turn no further than theirs."""
    limits = model.limits()
    out = np.clip(q, limits[:, 0], limits[:, 1])
    for link in model.links:
        if link.joint.nq == 4 and link.joint.limits is not None:
            largest = float(np.asarray(link.joint.limits)[0, 1])
            r = rotation_vector(out[:, link.q])
            angle = np.linalg.norm(r, axis=1, keepdims=True)
            out[:, link.q] = exponential(r * np.minimum(1.0, largest / np.maximum(angle, 1e-12)))
    return out


def _at_limit(model: Model, q: Array, g: Array) -> Array:
    """Freedoms (frames, nv) that stand at a limit and are pulled beyond it."""
    limits = model.limits()
    held = np.zeros(g.shape, dtype=bool)
    for link in model.links:
        if link.joint.limits is None or link.joint.nq != link.joint.nv:
            continue
        low, high = limits[link.q, 0], limits[link.q, 1]
        pull = g[:, link.v]
        held[:, link.v] = ((q[:, link.q] <= low) & (pull < 0)) | ((q[:, link.q] >= high) & (pull > 0))
    return held


def _misses(model: Model, goal: Goal, X: Array, frames: NDArray[np.intp]) -> tuple[Array | None, Array | None]:
    """What is missing in place and turn, in world axes; zero where a goal is left free."""
    X_WL = X[:, model.link_index(goal.link)]
    place = turn = None
    if goal.place is not None:
        place = np.nan_to_num(
            goal.place[frames] - X_WL[:, :3, 3] - X_WL[:, :3, :3] @ np.asarray(goal.point, dtype=np.float64)
        )
    if goal.turn is not None:
        turn = rotation_vector(product(goal.turn[frames], inverse(of_matrices(X_WL[:, :3, :3]))))
    return place, turn


def _rows(model: Model, goals: Sequence[Goal], q: Array, frames: NDArray[np.intp]) -> tuple[Array, Array]:
    X = link_poses(model, q)
    rows, errors = [], []
    for goal in goals:
        J = jacobian(model, q, goal.link, goal.point)
        place, turn = _misses(model, goal, X, frames)
        if place is not None and goal.place is not None:
            seen = np.isfinite(goal.place[frames].sum(axis=1))
            rows.append(goal.place_weight * J[:, :3] * seen[:, None, None])
            errors.append(goal.place_weight * place)
        if turn is not None:
            rows.append(goal.turn_weight * J[:, 3:])
            errors.append(goal.turn_weight * turn)
    return np.concatenate(rows, axis=1), np.concatenate(errors, axis=1)


def _errors(model: Model, goals: Sequence[Goal], q: Array) -> tuple[dict[str, float], dict[str, float]]:
    X = link_poses(model, q)
    places: dict[str, float] = {}
    turns: dict[str, float] = {}
    for goal in goals:
        for found, miss in zip((places, turns), _misses(model, goal, X, np.arange(len(q))), strict=True):
            if miss is not None:
                missed = float(np.sqrt((miss**2).sum(axis=1).mean()))
                found[goal.link] = max(missed, found.get(goal.link, 0.0))
    return places, turns
