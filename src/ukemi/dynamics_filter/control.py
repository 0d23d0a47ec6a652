"""What users say of a whole clip: which contacts are known, which parts are to stay close to the input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ukemi.dynamics_filter.trajectory.problem import Problem
from ukemi.errors import InvalidInputError
from ukemi.model.arrays import numbers
from ukemi.model.kinds import of_kind

#: Intervals of contact [s], by part of the body.
Intervals = Mapping[str, Sequence[tuple[float, float]]]


def give_contacts(problem: Problem, contacts: Intervals | None, start: float = 0.0) -> None:
    """Parts of the body bear in these intervals, and in no others. start: time of the first frame [s]."""
    if contacts is None:
        return
    of_kind("contacts", contacts, Mapping, "{part: [(start, end), ...]}")  # type: ignore[type-abstract]
    groups = problem.points.groups
    for part, intervals in contacts.items():
        mine = np.array([part == g for g in groups])
        if not mine.any():
            known = ", ".join(dict.fromkeys(groups))
            raise InvalidInputError(f"contacts: no part {part!r} touches the ground; there are {known}")
        times = numbers(f"contacts[{part!r}]", np.array(intervals, dtype=np.float64).reshape(-1, 2))
        inside = np.zeros(len(problem.times), dtype=bool)
        for first, last in times:
            inside |= (problem.times >= first - start) & (problem.times <= last - start)
        problem.given[np.ix_(inside, mine)] = 1
        problem.given[np.ix_(~inside, mine)] = -1


def keep_parts(problem: Problem, keep: Mapping[str, float] | None) -> None:
    """Distances, rates and accelerations of these parts cost so many times more."""
    if keep is None:
        return
    of_kind("keep", keep, Mapping, "{part: factor}")  # type: ignore[type-abstract]
    sides: dict[str, tuple[str, ...]] = {}
    sides |= {"arms": ("arm", "hand", "shoulder", "elbow", "wrist"), "legs": ("thigh", "shank", "foot", "toe", "knee")}
    sides |= {"trunk": ("pelvis", "abdomen", "chest", "torso", "waist"), "head": ("head", "neck")}
    for part, factor in keep.items():
        size = float(numbers(f"keep[{part!r}]", factor, ()))
        if size <= 0:
            raise InvalidInputError(f"keep[{part!r}]: expected a positive factor, got {size:g}")
        words = sides.get(part, (part,))
        chosen = [x for x in problem.model.links if any(w in x.name.lower() for w in words) and x.joint.nv]
        if not chosen:
            known = ", ".join([*sides, *problem.model.link_names])
            raise InvalidInputError(f"keep: no part {part!r}; there are {known}")
        for link in chosen:
            problem.spread[link.v] *= size
            problem.rates[link.v] *= size
            problem.jolts[link.v] *= size
