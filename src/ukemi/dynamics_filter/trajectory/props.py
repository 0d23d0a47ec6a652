"""Steps and seats that a motion shows: where feet stand flat and still, or the pelvis rests, high above the ground
while the ground does not explain what holds the body."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ukemi.dynamics_filter.support import Support
from ukemi.dynamics_filter.trajectory.loads import Loads
from ukemi.dynamics_filter.trajectory.problem import GRAVITY, Problem
from ukemi.dynamics_filter.trajectory.state import State
from ukemi.model.arrays import Array
from ukemi.model.pose import Pose
from ukemi.model.shapes import Box
from ukemi.motion.footfalls import runs, without_short_runs

#: A foot stands on a step: its points are slower than this [c], as high within this and so far above the ground [l],
#: for so long [tau], of which something must hold the body for this share.
STILL, FLAT, HIGH, STEP_TIME, HELD = 0.08, 0.04, 0.04, 0.4, 0.5
#: A body sits: its lowest point near the pelvis is slower than this [c], so high above the ground and at most so high
#: above the lower foot [l], for so long [tau]. How far such a point is from the root at most [l].
RESTS, SEAT_HIGH, SEAT_LOW, SEAT_TIME, NEAR = 0.08, 0.2, 0.75, 1.6, 0.35
#: Room around a foot, size of a seat, thickness of both; steps nearer than this, as high within this, are one [l].
ROOM, SEAT, THICK, BESIDE, LEVEL = 0.05, 0.45, 0.05, 0.15, 0.05
#: A point so near to the top of a step or seat, in height [l], is on it; less than this share of weight is nothing.
ON_TOP, BEARS = 0.03, 0.02


@dataclass(frozen=True)
class Prop:
    """Something besides the ground that bears. kind: ``"step"`` or ``"seat"``; box: its top, a slab."""

    kind: str
    box: Box


def infer_props(problem: Problem, state: State) -> list[Prop]:
    """Slabs under what rests high above the ground while something besides it holds the body."""
    if not state.supported.any():
        return []
    p, leg = problem, problem.leg
    q, v, a = p.reference.at(p.times)
    up = np.broadcast_to(np.array((0.0, 0.0, 1.0)), (len(q), len(p.points), 3))
    _, at, velocity, _ = p.core.kinematics(q, v, a, p.points.places(q, up))
    above, speed = p.ground.look(at)[0], np.linalg.norm(velocity, axis=-1) / np.sqrt(GRAVITY * leg)
    found = []
    for group in dict.fromkeys(g for g, sole in zip(p.points.groups, p.points.sole, strict=True) if sole):
        mine = np.array([g == group for g in p.points.groups])
        foot = mine & (p.points.links == p.points.links[np.flatnonzero(mine)[0]])  # without toes
        z = above[:, foot]
        stands = (speed[:, foot].max(axis=1) < STILL) & (np.ptp(z, axis=1) < FLAT * leg) & (z.mean(axis=1) > HIGH * leg)
        for part in _held(problem, stands, state.supported, STEP_TIME):
            place = at[part][:, mine].reshape(-1, 3)
            low, high = place[:, :2].min(axis=0) - ROOM * leg, place[:, :2].max(axis=0) + ROOM * leg
            top = float(np.median(at[part][:, foot, 2].mean(axis=1)))
            found.append(Prop("step", _slab(0.5 * (low + high), high - low, top, leg)))
    found = _merged(found, leg)
    away = np.linalg.norm(at - q[:, None, :3], axis=-1)
    parents = np.array([0 if x.parent is None else x.parent.index for x in p.model.links])
    pelvis = (away < NEAR * leg) & (parents[p.points.links] == 0) & ~p.points.sole
    feet = np.where(p.points.sole, above, np.inf).min(axis=1)
    lowest, row = np.where(pelvis, above, np.inf).argmin(axis=1), np.arange(len(q))
    high = above[row, lowest]
    rests = (speed[row, lowest] < RESTS) & (high > SEAT_HIGH * leg) & (high - feet < SEAT_LOW * leg)
    seats = []
    for part in _held(problem, rests & pelvis.any(axis=1), state.supported, SEAT_TIME):
        place = at[row, lowest][part]
        top = float(np.median(place[:, 2]))
        seats.append(Prop("seat", _slab(place[:, :2].mean(axis=0), np.full(2, SEAT * leg), top, leg)))
    return [*found, *_merged(seats, leg)]


def _merged(props: list[Prop], leg: float) -> list[Prop]:
    """Those that are as high and beside each other are one."""
    out: list[Prop] = []
    for prop in props:
        low, high = _corners(prop.box)
        for k, other in enumerate(out):
            low_2, high_2 = _corners(other.box)
            apart = np.maximum(low, low_2)[:2] - np.minimum(high, high_2)[:2]
            if abs(high[2] - high_2[2]) < LEVEL * leg and (apart < BESIDE * leg).all():
                low, high = np.minimum(low, low_2), np.maximum(high, high_2)
                top = 0.5 * (_corners(prop.box)[1][2] + high_2[2])
                rest = out[:k] + out[k + 1 :]
                slab = _slab(0.5 * (low + high)[:2], (high - low)[:2], float(top), leg)
                return _merged([*rest, Prop(prop.kind, slab), *props[props.index(prop) + 1 :]], leg)
        out.append(prop)
    return out


def _corners(box: Box) -> tuple[Array, Array]:
    centre, half = np.asarray(box.at.position), 0.5 * np.asarray(box.size)
    return centre - half, centre + half


def _held(problem: Problem, rests: NDArray[np.bool_], supported: NDArray[np.bool_], time: float) -> Iterator[slice]:
    """Runs of rest that are long enough, and in which something holds the body."""
    for first, last in runs(rests):
        long = (last - first) * problem.knots.step >= time * problem.tau
        if long and supported[first:last].mean() >= HELD:
            yield slice(first, last)


def _slab(centre: Array, size: Array, top: float, leg: float) -> Box:
    thick = THICK * leg
    return Box((float(size[0]), float(size[1]), thick), at=Pose(np.array((*centre, top - 0.5 * thick))))


def carried_by(problem: Problem, loads: Loads, props: Sequence[Prop]) -> Iterator[Support]:
    """What each bears, and when."""
    groups, names = np.array(problem.points.groups), list(dict.fromkeys(problem.points.groups))
    gap, short = (round(time * problem.tau / problem.knots.step) for time in (SEAT_TIME, STEP_TIME))
    for prop in props:
        half, centre = 0.5 * np.asarray(prop.box.size), np.asarray(prop.box.at.position)
        beside = np.abs(loads.place[..., :2] - centre[:2]) <= half[:2]
        level = np.abs(loads.place[..., 2] - centre[2] - half[2]) < ON_TOP * problem.leg
        force = np.where((beside.all(axis=-1) & level)[..., None], loads.force, 0.0)
        total = force.sum(axis=1)
        bears = total[:, 2] > BEARS * problem.weight
        without_short_runs(bears, gap, value=False)
        without_short_runs(bears, short, value=True)
        for first, last in runs(bears):
            up = force[first:last, :, 2]
            place = (up[..., None] * loads.place[first:last]).sum(axis=(0, 1)) / up.sum()
            mean, size = total[first:last].mean(axis=0), np.linalg.norm(total[first:last], axis=1)
            yield Support(
                float(loads.time[first]),
                float(loads.time[last - 1]),
                names[int(np.argmax([up[:, groups == name].sum() for name in names]))],
                (float(place[0]), float(place[1]), float(place[2])),
                (float(mean[0]), float(mean[1]), float(mean[2])),
                float(size.max() / problem.weight),
                prop.kind,
            )
