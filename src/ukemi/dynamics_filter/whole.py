"""A plan for a whole clip: how far the clip is from possible, before it is filtered."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ukemi.contact.terrain import Ground
from ukemi.dynamics_filter.floor import floor_of
from ukemi.dynamics_filter.reference import Reference
from ukemi.dynamics_filter.settings import Settings
from ukemi.dynamics_filter.start import flying_start
from ukemi.dynamics_filter.window import Plan, Window

#: The product of place and force is linearised anew so many times.
ROUNDS = 3


@dataclass(frozen=True, eq=False)
class WholePlan:
    """plan: of the whole clip. shift: the farthest that the centre of mass is moved [m]; turn: the largest angular
    momentum
    beyond the reference's [kg m^2/s]."""

    plan: Plan
    shift: float
    turn: float


def whole_plan(reference: Reference, settings: Settings, ground: Ground | None = None) -> WholePlan:
    """The nearest course of centre of mass and angular momentum for which forces on the given footholds exist."""
    window = Window(reference, replace(settings, preview=np.inf), floor_of(ground)[:9])
    start = np.concatenate([reference.centroid[0], np.zeros(3)])
    start[3:9] += flying_start(reference)
    nowhere = np.full((len(reference.points), 3), np.nan)
    still = np.zeros((len(reference.points), 3))
    plan: Plan | None = None
    for _ in range(ROUNDS):
        plan = window.plan(0, start, nowhere, still, np.zeros(len(reference.points)), plan)
    assert plan is not None
    at = np.clip(np.round(plan.time / reference.dt).astype(int), 0, len(reference) - 1)
    off = plan.state[:, :9] - reference.centroid[at]
    shift = float(np.linalg.norm(off[:, :3], axis=1).max())
    return WholePlan(plan, shift, float(reference.model.mass * np.abs(off[:, 6:]).max()))


def follow_plan(reference: Reference, whole: WholePlan) -> Reference:
    """The reference with the plan's centre of mass and angular momentum in place of its own."""
    goal = whole.plan.at(reference.time, reference.model.mass)
    planned = replace(reference)
    planned.__dict__["centroid"] = np.concatenate([goal[:, :6], goal[:, 9:12] / reference.model.mass], axis=1)
    return planned
