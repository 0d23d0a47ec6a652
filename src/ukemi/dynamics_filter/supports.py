"""What a motion needs to bear on besides its feet, found where feet alone could not hold it.

Hands (`ukemi.motion.hands`) and seats are tried when the plan of the whole clip says that on its feet the centre of
mass would have to leave its way by `NEEDED`, and kept when they bring it `NEARER`. Other motions are left as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ukemi.contact.terrain import Ground
from ukemi.dynamics.kinematics import link_poses
from ukemi.dynamics_filter.floor import ground_height
from ukemi.dynamics_filter.prepare import make_reference
from ukemi.dynamics_filter.reference import SEAT, ContactPoints, Reference, runs
from ukemi.dynamics_filter.seat import Seat
from ukemi.dynamics_filter.settings import Settings
from ukemi.dynamics_filter.stepping import outside
from ukemi.dynamics_filter.steps import shown_steps
from ukemi.dynamics_filter.whole import whole_plan
from ukemi.model.arrays import Array
from ukemi.model.model import Model
from ukemi.motion.body import SIDES
from ukemi.motion.footfalls import Footed, sole_points

#: Motions that are farther than this from possible [m] are looked at again.
NEEDED = 0.05
#: What is found counts if the motion is so many times nearer to possible with it.
NEARER = 2.0
#: Somebody sits whose centre of mass is so far outside of the feet [m], with hips lower than this share of the legs'
#: length and slower than this [m/s], for so long [s], or at the ends of the motion for the last.
OUTSIDE, LOW, SLOW, LONG, ENDS = 0.03, 0.75, 0.25, 0.2, 0.06
#: They bear on the seat while their hips are so little above where they rest, and away from there [m].
RISE, SLID = 0.01, 0.05
#: From and to where it sits the body moves within this time [s].
FADE = 0.3
#: Under the hip joint of a thigh that lies level, and behind it, is what one sits on [m], on a thigh of 0.42 m.
UNDER, BEHIND, THIGH = 0.09, 0.04, 0.42
#: A seat reaches so far beyond what is seen to touch it [m]; one so low is the floor [m].
BEYOND, FLOOR = 0.15, 0.08
#: Seats that differ by no more than this in height are one if they overlap [m].
SAME = 0.03


@dataclass(frozen=True, eq=False)
class SupportedMotion:
    """A reference, how far it is from possible [m], and the ground that it is on."""

    reference: Reference
    shift: float
    ground: Ground | None


def supported_reference(
    figure: Footed,
    q: Array,
    fps: float,
    settings: Settings,
    ground: Ground | None = None,
    *,
    only_feet: bool = False,
) -> SupportedMotion:
    """The reference of a motion q (frames, nq), with the hands, seats and steps that it needs.

    only_feet: nothing else is looked for, and feet do not turn.
    """
    first = make_reference(figure, q, fps, settings.dt, ground, only_feet=only_feet)
    best = SupportedMotion(first, whole_plan(first, settings, ground).shift, ground)
    if only_feet or best.shift < NEEDED:
        return best

    feet = sole_points(figure.model, figure.soles.values(), q)
    steps = shown_steps(feet, fps, ground) if ground_height(ground) is None else None
    # what is seen to touch comes before what has to be guessed
    for there in (ground,) if steps is None else (steps, ground):
        make = partial(make_reference, figure, q, fps, settings.dt, there, there=there is not ground)
        on_feet = first if there is ground else make()
        with_hands = make(hands=True)
        tries = [
            on_feet,
            with_hands,
            with_seats(on_feet, fps, make),
            with_seats(with_hands, fps, partial(make, hands=True)),
        ]
        for tried in tries:
            if there is not ground or len(tried.points) > len(first.points):
                shift = whole_plan(tried, settings, there).shift
                if NEARER * shift < best.shift:
                    best = SupportedMotion(tried, shift, there)
    return best


def with_seats(reference: Reference, fps: float, make: Callable[..., Reference]) -> Reference:
    """The reference with seats where somebody sits on nothing, and points of the thighs that bear on them.

    make: gives the reference of the same motion with the body moved by ``move`` (frames, 3): who sits does not slide.
    """
    model = reference.model
    thighs = [f"{side}_thigh" for side in SIDES]
    if not all(name in model.link_names for name in thighs):
        return reference
    X = link_poses(model, reference.q)[:, [model.link_index(name) for name in thighs]]
    thigh = model.link(thighs[0])
    legs = sum(float(np.linalg.norm(link.children[0].at.position)) for link in (thigh, thigh.children[0]))
    sits = _sitting(reference, X[:, :, :3, 3], legs)
    if not sits:
        return reference
    frames = np.concatenate([np.arange(a, b) for a, b in sits])
    places = _places(model, thighs, X[frames])
    points = ContactPoints.of(model, [(k, name, places[k][None], SEAT) for k, name in enumerate(thighs)])
    where = points.in_world(model, reference.q)
    contact, move = np.zeros((len(reference), len(points)), dtype=bool), np.zeros((len(reference), 3))
    seats: list[Seat] = []
    for first, end in sits:
        rest = np.median(where[first:end].mean(axis=1), axis=0)
        away = where.mean(axis=1) - rest
        low = (away[:, 2] < RISE) & (np.hypot(away[:, 0], away[:, 1]) < SLID)
        first, end = next((a, b) for a, b in runs(low | _between(len(low), first, end)) if a <= first < b)
        contact[first:end] = True
        _add(seats, where[first:end], float(rest[2]), (first * reference.dt, end * reference.dt))
        steps = np.arange(len(reference))
        far = np.maximum(np.maximum(first - steps, steps - end + 1), 0) * reference.dt
        held = -away[np.clip(steps, first, end - 1)]
        move += np.maximum(1 - far / FADE, 0.0)[:, None] * held
    frames = np.arange(round(reference.time[-1] * fps) + 1) / fps
    reference = make(move=np.stack([np.interp(frames, reference.time, m) for m in move.T], axis=1))
    together = ContactPoints(
        np.concatenate([reference.points.links, points.links]),
        np.concatenate([reference.points.places, points.places]),
        np.concatenate([reference.points.group, reference.points.groups + points.group]),
        np.concatenate([reference.points.kind, points.kind]),
    )
    return replace(reference, points=together, contact=np.hstack([reference.contact, contact]), seats=tuple(seats))


def _sitting(reference: Reference, hips: Array, legs: float) -> list[tuple[int, int]]:
    """Steps (first, end) in which hips (n, 2, 3) rest low and the feet do not hold the centre of mass. legs: how long
    they are [m]."""
    middle = hips.mean(axis=1)
    speed = np.linalg.norm(np.gradient(middle, reference.dt, axis=0), axis=1)
    rests = (middle[:, 2] < LOW * legs) & (speed < SLOW)
    every = max(round(0.02 / reference.dt), 1)
    alone = np.zeros(len(reference), dtype=bool)
    for k in np.flatnonzero(rests)[::every]:
        feet = reference.places[k, reference.contact[k], :2]
        alone[k : k + every] = len(feet) == 0 or outside(feet, reference.centroid[k, :2]) > OUTSIDE
    # at the ends of a motion somebody may have sat for longer
    shortest = {True: ENDS / reference.dt, False: LONG / reference.dt}
    return [(a, b) for a, b in runs(rests & alone) if b - a >= shortest[a == 0 or b == len(reference)]]


def _between(n: int, first: int, end: int) -> NDArray[np.bool_]:
    steps = np.arange(n)
    return (steps >= first) & (steps < end)


def _places(model: Model, thighs: list[str], X: Array) -> list[Array]:
    """What is sat on, in coordinates of the thighs, from their poses (frames, 2, 4, 4) while somebody sits: both at
    the same height, under and a little behind the hips."""
    height = X[:, :, 2, 3].mean(axis=0)
    out = []
    for k, name in enumerate(thighs):
        knee = model.link(name).children[0].at.position
        up = X[:, k, 2, :3].mean(axis=0)
        up /= np.linalg.norm(up)
        along = knee - (knee @ up) * up
        along /= np.linalg.norm(along)
        size = float(np.linalg.norm(knee)) / THIGH
        under = UNDER * size if height.mean() - UNDER * size > FLOOR else height.mean()
        out.append(-(under + height[k] - height.mean()) * up - BEHIND * size * along)
    return out


def _add(seats: list[Seat], places: Array, level: float, time: tuple[float, float]) -> None:
    """A seat under places (steps, 2, 3), or one more time on the same."""
    level = 0.0 if level < FLOOR else level
    low, high = places[..., :2].min(axis=(0, 1)) - BEYOND, places[..., :2].max(axis=(0, 1)) + BEYOND
    for k, seat in enumerate(seats):
        if abs(seat.height - level) < SAME and (low < seat.high).all() and (seat.low < high).all():
            seats[k] = Seat(np.minimum(low, seat.low), np.maximum(high, seat.high), seat.height, (*seat.times, time))
            return
    seats.append(Seat(low, high, level, (time,)))
