"""A body that plates can carry: its mass, and where its heaviest segment's centre of mass is.

No motion near a clip changes the mean force and moment of the ground by much: over a record of the duration T the mean
acceleration is the change of velocity over T. What the root lacks on average is therefore the body's, not the motion's:
its mass, and the centre of mass of its trunk, the least certain one. OpenSim's RRA moves the same [Delp et al. 2007].
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ukemi import _core
from ukemi.dynamics_filter.trajectory.problem import GRAVITY, Problem
from ukemi.model.arrays import Array
from ukemi.model.inertia import MassProperties
from ukemi.model.model import Link, Model, tree_of
from ukemi.motion.footfalls import runs

#: Standard deviations: of the mass [share], of the segment's centre [l], and of the body's velocity at the ends of a
#: record, besides what the residual's own swings make of it [m/s].
MASS, CENTRE, STEADY = 0.05, 0.02, 0.02
#: The ends of what plates saw do not count: smoothing has less to go by there [s].
ENDS = 0.1
#: Rounds: a centre's way is not linear in the inertia.
ROUNDS = 2
#: Step of finite differences [m]; moments are linear in it but for a little.
STEP = 0.01
#: Mean vertical force and both mean moments about level axes.
ROWS = [2, 3, 4]


@dataclass(frozen=True, eq=False)
class FittedBody:
    """model: with another mass. segment: the heaviest; shift (3,): of its centre of mass, in its axes [m]."""

    model: Model
    segment: str
    shift: Array


def fitted_body(problem: Problem, counts: NDArray[np.bool_]) -> FittedBody:
    """The body for which the reference motion asks, on average over the samples that count (n,), for the problem's
    known forces."""
    from scipy.ndimage import binary_erosion

    step = problem.knots.step
    inner = binary_erosion(counts, iterations=max(round(ENDS / step), 1))
    if inner.sum() * step < ENDS:
        return FittedBody(problem.model, _heaviest(problem.model).name, np.zeros(3))
    q, v, a = (x[inner] for x in problem.reference.at(problem.times))
    force, moment = problem.known[inner, :3], problem.known[inner, 3:]
    wanted = np.concatenate([force / problem.weight, (moment - np.cross(q[:, :3], force)) / problem.moment], axis=1)

    def asked(scale: float, shift: Array) -> Array:
        model = _changed(problem.model, scale, shift)
        core = _core.Trajectory(tree_of(model), [], np.array((0, 0, -GRAVITY)), problem.weight, problem.moment)
        out: Array = core.kinematics(q, v, a, np.zeros((len(q), 0, 3)))[0][:, ROWS]
        return out

    # the mean over the duration T is as uncertain as the momenta at both ends, over T
    lack = wanted[:, ROWS] - asked(1.0, np.zeros(3))
    swings = step * np.cumsum(lack - lack.mean(axis=0), axis=0)
    noise = np.sqrt((swings.var(axis=0) + (STEADY / GRAVITY) ** 2) * len(runs(inner))) / (len(q) * step)
    prior = np.diag([1 / MASS, *[1 / (CENTRE * problem.leg)] * 3])
    x = np.zeros(4)  # mass, as a share more; centre
    for _ in range(ROUNDS):
        scale, shift = 1 + x[0], x[1:]
        here = asked(scale, shift).mean(axis=0)
        columns = [here / scale, *((asked(scale, shift + e).mean(axis=0) - here) / STEP for e in STEP * np.eye(3))]
        rows, right = np.stack(columns, axis=1) / noise[:, None], (wanted[:, ROWS].mean(axis=0) - here) / noise
        x += np.linalg.lstsq(np.vstack([rows, prior]), np.concatenate([right, -prior @ x]), rcond=None)[0]
    return FittedBody(_changed(problem.model, 1 + x[0], x[1:]), _heaviest(problem.model).name, x[1:])


def _heaviest(model: Model) -> Link:
    """The trunk, or its upper half."""
    return max(model.links, key=lambda link: link.mass_properties.mass)


def _changed(model: Model, scale: float, shift: Array) -> Model:
    """All masses so many times as large, and the heaviest segment's centre moved [m]."""
    moved, links = _heaviest(model).name, []
    for link in model.description.links:
        m = link.mass_properties
        com = m.com + shift if link.name == moved else m.com
        links.append(replace(link, mass_properties=MassProperties.of(scale * m.mass, com, scale * m.inertia)))
    return Model(replace(model.description, links=links))
