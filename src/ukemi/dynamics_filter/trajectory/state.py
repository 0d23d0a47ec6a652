"""What a solve holds: the motion with its forces, what one evaluation gives, and a row of the trace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ukemi.dynamics.kinematics import center_of_mass
from ukemi.dynamics_filter.trajectory.contacts import Schedule
from ukemi.dynamics_filter.trajectory.problem import Problem
from ukemi.model.arrays import Array


@dataclass(eq=False)
class State:
    """The motion and its forces.

    c (size, nv): correction's coefficients; q, v, a: at the samples; frames: q at the frames of the input; force
    (n, np, 3), residual (n, 6) [BW]; normals (n, np, 3): of the ground under the points; on, inside (n, np): contacts;
    supported (n,).
    """

    c: Array
    q: Array
    v: Array
    a: Array
    frame_times: Array
    frames: Array
    force: Array
    residual: Array
    normals: Array
    on: Schedule
    inside: Array
    supported: NDArray[np.bool_]

    @classmethod
    def start(cls, problem: Problem, frame_times: Array) -> State:
        """The reference, without forces."""
        q, v, a = problem.reference.at(problem.times)
        n, points = len(problem.times), len(problem.points)
        up = np.broadcast_to(np.array((0.0, 0.0, 1.0)), (n, points, 3))
        return cls(
            np.zeros((problem.knots.size, problem.model.nv)),
            *(q, v, a),
            frame_times,
            problem.reference.at(frame_times)[0],
            np.zeros((n, points, 3)),
            np.zeros((n, 6)),
            up if problem.ground.level else up.copy(),
            np.zeros((n, points), dtype=bool),
            np.zeros((n, points)),
            np.zeros(n, dtype=bool),
        )


@dataclass(frozen=True)
class Iteration:
    """One row of the trace. residual: largest [BW]; step: longest part [rad, m]; tries: how many steps were damped."""

    stage: str
    residual: float
    step: float
    merit: float
    tries: int


@dataclass(eq=False)
class Terms:
    """Everything about the present motion that a step needs. between: depths between the samples, and torques
    beyond their limits, as rows; distance:
    gradient of what distances cost."""

    above: Array
    normals: Array
    slip: Array
    slip_rate: Array
    between: dict[str, Array | float]
    torques: dict[str, Array]
    velocity: Array
    place: Array
    point: Array
    solved: dict[str, Array]
    lam: Array
    dual: Array
    local: Array
    distance: Array
    merit: float


def away_from_input(problem: Problem, q: Array, times: Array) -> Array:
    """(n,): distance of the centre of mass from the input's, but for a constant rise, RMS over tau around each sample
    [m]."""
    from scipy.ndimage import uniform_filter1d

    com = center_of_mass(problem.model, q) - center_of_mass(problem.model, problem.reference.at(times)[0])
    com[:, 2] -= com[:, 2].mean()
    out: Array = np.sqrt(uniform_filter1d((com**2).sum(axis=1), max(round(problem.tau / problem.knots.step), 1)))
    return out
