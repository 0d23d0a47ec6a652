"""Solvers that the corpus can be given to, by name: each takes a problem and returns forces and iterations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import ukemi as uk
from ukemi.model.arrays import Array

from .problem import Problem

Solver = Callable[[Problem, float], tuple[Array, int]]


def cold(problem: Problem, tolerance: float) -> tuple[Array, int]:
    """`ukemi.solve_contact` without the last forces."""
    found = uk.solve_contact(problem.W, problem.q, problem.mu, kinds=problem.kinds, tolerance=tolerance)
    return found.r, found.iterations


def warm(problem: Problem, tolerance: float) -> tuple[Array, int]:
    """`ukemi.solve_contact` from the last forces, where they are known."""
    found = uk.solve_contact(
        problem.W, problem.q, problem.mu, kinds=problem.kinds, tolerance=tolerance, start=problem.last
    )
    return found.r, found.iterations


def pin_admm(problem: Problem, tolerance: float) -> tuple[Array, int]:
    """Pinocchio's ADMM (pin 4.1; Carpentier, Le Lidec, Montaut 2024), 2000 iterations, where all rows are contacts.

    W and q are brought to a mean diagonal and a largest entry of 1; it is asked for a hundredth of the tolerance.
    """
    import pinocchio as pin

    if set(problem.kinds) != {"contact"}:
        raise NotImplementedError("contacts only")
    n, scale, speed = len(problem.q), float(np.diag(problem.W).mean()), float(np.abs(problem.q).max())
    order = np.arange(n).reshape(-1, 3)[:, [1, 2, 0]].ravel()  # its normal is the last of three
    model = pin.Model()
    models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
    for mu in problem.mu:
        contact = pin.PointContactConstraintModel(model, 0, pin.SE3.Identity())
        contact.setFriction(float(mu))
        models.append(pin.ConstraintModel(contact))
        datas.append(models[-1].createData())
    settings, result = pin.ADMMSolverSettings(), pin.ADMMSolverResult()
    settings.max_iterations = 2000
    for name in ("feasibility", "complementarity"):
        for kind in ("absolute", "relative"):
            setattr(settings, f"{kind}_{name}_tol", 0.01 * tolerance)
    W = pin.DelassusOperatorDense(np.ascontiguousarray(problem.W[np.ix_(order, order)] / scale))
    pin.ADMMConstraintSolver(n).solve(W, problem.q[order] / speed, models, datas, settings, result)
    r = np.zeros(n)
    r[order] = result.retrieveConstraintImpulses() * speed / scale
    return r, int(result.iterations)


SOLVERS: dict[str, Solver] = {"ukemi": cold, "ukemi-warm": warm, "pin": pin_admm}
