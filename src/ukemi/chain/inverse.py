"""Inverse dynamics of closed chains, and mixtures of given accelerations, tasks and torques."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ukemi.chain.freedoms import actuated_freedoms, coordinate_names
from ukemi.dynamics.kinematics import jacobian, jacobian_rate
from ukemi.errors import InvalidInputError, SingularError
from ukemi.model.arrays import Array, numbers
from ukemi.model.kinds import items_of, of_kind
from ukemi.model.model import Model

#: An equation left open by more than this share of the largest term contradicts the others.
CONTRADICTION = 1e-8


@dataclass(frozen=True, eq=False)
class Task:
    """Wanted acceleration of a point of a link, in world axes: along all of x, y, z or some of the six directions."""

    link: str
    acceleration: ArrayLike
    point: ArrayLike = (0, 0, 0)
    directions: Sequence[int] = (0, 1, 2)


@dataclass(frozen=True, eq=False)
class Solution:
    """Accelerations (nv), torques (nv) and constraint forces (rows) that belong together."""

    a: Array
    tau: Array
    forces: Array


def closed_inverse_dynamics(
    required: Array, H_C: Array, actuated: list[int], torque_weights: ArrayLike = 1.0, force_weight: float = 0.0
) -> tuple[Array, Array]:
    """Torques (nv) of the actuated freedoms and constraint forces that together give ``required`` = M a + b.

    ``required = P^T tau_A + H_C^T f``: [SV00] eq. 7-8 with the forces that eq. 3 leaves out. Unique when the mechanism
    is not redundantly actuated; otherwise sum w tau_A^2 + force_weight |f|^2 is least.
    """
    nv, rows = len(required), len(H_C)
    weights = np.broadcast_to(numbers("torque_weights", torque_weights, (), (len(actuated),)), (len(actuated),))
    if (weights <= 0).any() or not 0 <= force_weight < np.inf:
        raise InvalidInputError("inverse dynamics: expected positive weights of torques, and none negative of forces")
    A = np.concatenate([np.eye(nv)[:, actuated], H_C.T], axis=1)
    # a force that costs nothing is left a tiny price, so that the least-norm solution picks the torques
    price = np.concatenate(
        [weights, np.full(rows, force_weight if force_weight > 0 else 1e-10 * weights.min(initial=1.0))]
    )
    scaled = A / np.sqrt(price)
    solution = np.linalg.lstsq(scaled, required, rcond=1e-12)[0] / np.sqrt(price)
    left = np.abs(A @ solution - required).max(initial=0.0)
    if left > CONTRADICTION * (1 + np.abs(required).max(initial=0.0)):
        raise SingularError(
            f"inverse dynamics: {len(actuated)} actuated freedoms cannot give these accelerations "
            f"(a force of {left:.3g} is missing); actuate more joints, or ask for accelerations that leave them free"
        )
    tau = np.zeros(nv)
    tau[actuated] = solution[: len(actuated)]
    return tau, solution[len(actuated) :]


def solve_mixture(
    model: Model,
    q: Array,
    v: Array,
    M: Array,
    bias: Array,
    H_C: Array,
    H_C_dot_v: Array,
    *,
    accelerations: Mapping[str | int, float],
    tasks: Sequence[Task],
    torques: Mapping[str | int, float],
    actuated: Sequence[str | int] | None,
) -> Solution:
    """Solves [CC00] eq. 11 with 22-23: given some accelerations, tasks and torques, the rest.

    Where the given leave room, accelerations and torques are the least (pseudo-inverse); where they contradict each
    other, the error names which.
    """
    for what, given in (("accelerations", accelerations), ("torques", torques)):
        of_kind(what, given, Mapping, "{joint: number}")  # type: ignore[type-abstract]
    names = coordinate_names(model)
    drives = actuated_freedoms(model, actuated)
    nv, rows, na = model.nv, len(H_C), len(drives)
    P = np.eye(nv)[drives]
    blocks = [np.concatenate([M, -H_C.T, -P.T], axis=1), np.concatenate([H_C, np.zeros((rows, rows + na))], axis=1)]
    rhs = [-bias, -H_C_dot_v]
    labels = [f"motion of {n}" for n in names] + [f"loop equation {r}" for r in range(rows)]

    def one(i: int) -> Array:
        return np.eye(nv + rows + na)[[i]]

    for item, value in accelerations.items():
        for i in actuated_freedoms(model, [item]):
            blocks.append(one(i))
            rhs.append(numbers(f"acceleration of {names[i]}", value, ()).reshape(1))
            labels.append(f"acceleration of {names[i]}")
    for item, value in torques.items():
        for i in actuated_freedoms(model, [item]):
            if i not in drives:
                raise InvalidInputError(f"torque of {names[i]}: it is not actuated")
            blocks.append(one(nv + rows + drives.index(i)))
            rhs.append(numbers(f"torque of {names[i]}", value, ()).reshape(1))
            labels.append(f"torque of {names[i]}")
    for task in items_of("tasks", tasks, "tasks such as Task('hand', (0, 0, 1))"):
        of_kind("tasks", task, Task)
        pick = list(items_of(f"task on {task.link}", task.directions, "directions from 0 to 5"))
        if not all(isinstance(k, int | np.integer) and 0 <= k < 6 for k in pick):
            raise InvalidInputError(f"task on {task.link}: expected directions from 0 to 5, got {pick}")
        wanted = numbers(f"task on {task.link}", task.acceleration, (len(pick),))
        J = jacobian(model, q, task.link, task.point)[pick]
        blocks.append(np.concatenate([J, np.zeros((len(pick), rows + na))], axis=1))
        rhs.append(wanted - jacobian_rate(model, q, v, task.link, task.point)[pick])
        labels += [f"task on {task.link}, direction {k}" for k in pick]
    A, b = np.concatenate(blocks), np.concatenate(rhs)
    x = np.linalg.lstsq(A, b, rcond=1e-12)[0]
    left = np.abs(A @ x - b)
    if left.max(initial=0.0) > CONTRADICTION * (1 + np.abs(b).max(initial=0.0)):
        worst = [labels[i] for i in np.argsort(-left)[:4] if left[i] > CONTRADICTION]
        raise SingularError(f"the given accelerations, tasks and torques contradict each other: {'; '.join(worst)}")
    tau = np.zeros(nv)
    tau[drives] = x[nv + rows :]
    return Solution(x[:nv], tau, x[nv : nv + rows])
