"""From a motion to a reference: smooth coordinates, when which part of a sole bears, feet that stay where they stand.

What is done here and why (measurements in docs/filter.md): heel and ball of a sole touch as pairs; a foot that stands
still counts as standing even some centimetres above the floor, because floors of captures are not level; the body is
moved to the feet slowly (1.5 Hz) and the legs do the rest, because a pelvis that follows its feet frame by frame
asks for
impossible forces; the toes prolong a sole that lies flat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ukemi.contact.terrain import Ground
from ukemi.dynamics.kinematics import difference, integrate
from ukemi.dynamics_filter.floor import SteppedGround, ground_height
from ukemi.dynamics_filter.footholds import Footholds, footholds
from ukemi.dynamics_filter.reference import GLIDE, HAND, PIVOT, SOLE, TIP, ContactPoints, Reference, runs
from ukemi.dynamics_filter.retiming import carried, flights, weight_asked_for
from ukemi.model.arrays import Array
from ukemi.model.model import Model
from ukemi.motion.foot_lock import FootLockSettings, lock_feet
from ukemi.motion.footfalls import Contacts, Footed, FootfallSettings, footfalls, point_velocities, sole_points
from ukemi.motion.hands import HANDFALLS, hand_pads
from ukemi.motion.pivots import turning, with_pivot
from ukemi.motion.soles import Height, Sole, above_ground
from ukemi.motion.trajectory import low_pass, smooth_coordinates, trajectory

#: A foot that hardly moves is standing, even where the floor of the capture is too low.
STILL = FootfallSettings(on_height=0.07, on_speed=0.25, off_height=0.09, off_speed=0.5)
GAP, HIGH = 0.08, 0.05  # interruptions shorter and lower than this are none [s, m]
SHORTEST = 0.05  # a contact [s]
RISE = 0.02  # a contact begins and ends with its points so little above their median height in it [m]
EARLIER, SLOW = 0.06, 0.2  # a contact begins so much earlier while the points are low and slower than this [s, m/s]
LIFTED, MOVED = 0.006, 0.015  # a contact ends when the held foot is so far above the ground or from its place [m]
HAND_RISE, HAND_LIFTED, HAND_MOVED = 0.04, 0.03, 0.05  # the same of hands, which captures follow less well [m]
TOES = 0.05  # how far toes reach ahead of the ball [m]
SETTLE = 1.5  # cut-off of the body's way to its feet [Hz]
STOOP = 1.6  # how long a body goes down that stands too high for its legs [s]
CUTOFF = 8.0  # of the whole motion [Hz]
REST, LONG = 0.15, 0.3  # a foot rests whose points are slower than this [m/s] for so long [s]
LEAN = 0.02  # between two sides of a foot that stands on one of them [m]
#: Of where the body goes only what is slower than SETTLE counts.
ROUGHLY = FootLockSettings(rounds=1)
#: With the body settled, legs reach for the floor and the root hardly moves.
LEGS_ONLY = FootLockSettings(root=1.0)


@dataclass(frozen=True, eq=False)
class Supported:
    """A model with all that it may stand on: soles, and hands if they come down."""

    model: Model
    soles: Mapping[str, Sole]


def sole_contacts(
    points: Array, fps: float, height: Height | None = None, hands: Sequence[bool] | None = None
) -> Contacts:
    """Which points (frames, feet, 4, 3) of the soles are meant to bear; heel and ball as pairs. hands: which are."""
    found = footfalls(points, fps, height=height) | footfalls(points, fps, settings=STILL, height=height)
    hand = np.zeros(points.shape[1], dtype=bool) if hands is None else np.asarray(hands)
    found[:, hand] = footfalls(points[:, hand], fps, settings=HANDFALLS, height=height)
    above = above_ground(points, height)
    for foot in range(found.shape[1]):
        for pair in ([0, 1], [2, 3]):
            on = found[:, foot, pair[0]] | found[:, foot, pair[1]]
            low = above[:, foot, pair].min(axis=1)
            way = points[:, foot, pair, :2].mean(axis=1)
            speed = np.linalg.norm(np.gradient(way, 1 / fps, axis=0), axis=1) if len(way) > 1 else np.zeros(len(way))
            fastest = np.linalg.norm(point_velocities(points[:, foot, pair], fps), axis=-1).max(axis=1)
            rise = HAND_RISE if hand[foot] else RISE
            found[:, foot, pair] = _tidy(on, low, speed, fastest, fps, rise)[:, None]
        if not hand[foot]:
            _put_down(found[:, foot], np.linalg.norm(point_velocities(points[:, foot], fps), axis=-1).max(axis=1), fps)
            _lean(found[:, foot], above[:, foot])
    return found


def _put_down(on: Contacts, fastest: Array, fps: float) -> None:
    """Whoever stands still on a heel has the whole sole on the floor, whatever a capture says about the ankle."""
    for first, end in runs(on[:, 0] & ~on[:, 2] & (fastest < REST)):
        if (end - first) / fps > LONG:
            on[first:end, 2:] = True


def _lean(on: Contacts, above: Array) -> None:
    """A foot on its ball or heel alone that leans to one side stands on that side; a flat one leans in captures only."""
    both = on[:, 0] & on[:, 2]
    for pair in ([0, 1], [2, 3]):
        for first, end in runs(on[:, pair[0]]):
            level = np.median(above[first:end, pair], axis=0)
            if both[first:end].mean() < 0.5:
                on[first:end, np.array(pair)[level > level.min() + LEAN]] = False


def _tidy(on: Contacts, low: Array, speed: Array, fastest: Array, fps: float, rise: float) -> Contacts:
    """Without short gaps and touches, and with beginnings and ends where the points are down."""
    n = len(on)
    for first, end in runs(~on):
        # a foot that is dragged has been neither lifted nor turned
        short = (end - first) / fps < GAP and low[first:end].max() < HIGH
        dragged = low[first:end].max() < LIFTED and fastest[first:end].max() < STILL.off_speed
        if first > 0 and end < n and (short or dragged):
            on[first:end] = True
    for first, end in runs(on):
        if first > 0 and end < n and (end - first) / fps < SHORTEST:
            on[first:end] = False
    for first, end in runs(on):
        level = np.median(low[first:end]) + rise
        while end - first > 2 and first > 0 and low[first] > level:
            on[first] = False
            first += 1
        while end - first > 2 and end < n and low[end - 1] > level:
            on[end - 1] = False
            end -= 1
        earliest = first - round(EARLIER * fps)
        while first > max(earliest, 0) and not on[first - 1] and low[first - 1] < level and speed[first - 1] < SLOW:
            first -= 1
            on[first] = True
    return on


def let_go(contacts: Contacts, feet: Array, height: Height | None, hands: Sequence[bool]) -> Contacts:
    """Contacts (frames, feet, 4) of points (frames, feet, 4, 3) without beginnings and ends at which a pair is above
    the ground or away from its place: what could not be held there does not stand there.
    """
    held, above = contacts.copy(), above_ground(feet, height)
    for foot, hand in enumerate(hands):
        lifted, far = (HAND_LIFTED, HAND_MOVED) if hand else (LIFTED, MOVED)
        for pair in ([0, 1], [2, 3], [4])[: 2 if feet.shape[2] == 4 else 3]:
            way = feet[:, foot, pair, :2].mean(axis=1)
            for first, end in runs(held[:, foot, pair].any(axis=1)):
                moved = np.linalg.norm(way[first:end] - np.median(way[first:end], axis=0), axis=1)
                stands = np.flatnonzero((above[first:end, foot, pair].min(axis=1) < lifted) & (moved < far))
                a, b = (first + stands[0], first + stands[-1] + 1) if len(stands) else (end, end)
                held[first : a if first > 0 else first, foot, pair] = False
                held[b if end < len(held) else end : end, foot, pair] = False
    return held


def settled(
    figure: Footed,
    q: Array,
    fps: float,
    contacts: Contacts,
    height: Height | None,
    moved: Array | None = None,
    steps: Footholds | None = None,
) -> Array:
    """q with feet that stay where they stand, and a body that comes to them slowly, and is moved."""
    model = figure.model
    anchors, lead = (None, None) if steps is None else (steps.anchors, steps.lead)
    locked = lock_feet(figure, q, fps, contacts=contacts, settings=ROUGHLY, height=height, anchors=anchors, lead=lead)
    move = difference(model, q, locked.q)
    move[:, 6:] = 0.0
    body = integrate(model, q, low_pass(move, fps, SETTLE), 1.0)
    if moved is not None:
        body[:, :3] += moved

    def held(body: Array) -> Array:
        return lock_feet(
            figure, body, fps, contacts=contacts, settings=LEGS_ONLY, height=height, anchors=anchors, lead=lead
        ).q

    still = held(body)
    # legs that are too short for their feet: the body goes down by what they lack, at once for all of a step
    feet = [not sole.hand for sole in figure.soles.values()]
    above = above_ground(sole_points(model, list(figure.soles.values()), still), height)
    short = np.where(contacts, above, 0.0)[:, feet].max(axis=(1, 2))
    if moved is not None or steps is not None or short.max(initial=0.0) < LIFTED:
        return still
    wide = 2 * max(1, round(0.25 * STOOP * fps)) + 1
    short = sliding_window_view(np.pad(short, wide // 2, mode="edge"), wide).max(axis=1)
    for _ in range(2):
        short = sliding_window_view(np.pad(short, wide // 2, mode="edge"), wide).mean(axis=1)
    body[:, 2] -= short
    return held(body)


def contact_points(model: Model, soles: Mapping[str, Sole]) -> ContactPoints:
    """Heel and ball of every sole, and where toes prolong it its tip: four or six points each; one of a hand."""
    groups = []
    for sole in soles.values():
        corners, pivot = np.split(np.asarray(sole.points, dtype=np.float64), [4])
        points, kinds = corners, [SOLE] * 4
        if sole.hand:
            points, kinds = points[:1], [HAND]
        elif any(link.joint.nv for link in model.link(sole.link).children):
            points = np.concatenate([points, points[2:] + TOES * sole.at.R[:, 0]])
            kinds += [TIP] * 2
        if len(pivot) and not sole.hand:
            points = np.concatenate([points, pivot, corners[2:]])
            kinds += [PIVOT, GLIDE, GLIDE]
        groups.append((sole.link, points, kinds))
    return ContactPoints.of(model, groups)


def schedule(points: ContactPoints, contacts: Contacts) -> Contacts:
    """(frames, points) from those of heels and balls (frames, feet, 4): tips bear while the sole lies flat."""
    flat = np.logical_and.reduce(contacts[:, :, :4], axis=2)
    columns = []
    for foot in range(points.groups):
        kind = points.kind[points.group == foot]
        corner = np.cumsum((kind == SOLE) | (kind == HAND)) - 1
        for k, of in enumerate(kind):
            turns = of in (PIVOT, GLIDE)
            columns.append(flat[:, foot] if of == TIP else contacts[:, foot, 4 if turns else corner[k]])
    return np.stack(columns, axis=1)


def make_reference(
    figure: Footed,
    q: Array,
    fps: float,
    dt: float,
    ground: Ground | None = None,
    *,
    hands: bool = False,
    move: Array | None = None,
    there: bool = False,
    pivots: bool = True,
) -> Reference:
    """A figure's motion q (frames, nq) as a reference with steps of dt on a ground.

    On a slope the body keeps its height above the ground, as in [DF03] Fig. 10. hands: whether they may bear.
    move: (frames, 3), of the body before its feet are held where they stood without it [m]. there: whether the motion
    was made on this ground; otherwise it was made on level ground at 0, and is brought to this one.
    """
    model, height = figure.model, ground_height(ground)
    smooth = smooth_coordinates(model, q, fps, CUTOFF)
    if hands:
        figure = Supported(model, {**figure.soles, **hand_pads(model, smooth, fps)})
    soles = list(figure.soles.values())
    bears_hands = [sole.hand for sole in soles]
    feet = sole_points(model, soles, smooth)
    contacts = sole_contacts(feet, fps, height if there else None, hands=bears_hands)
    turns = turning(feet, fps, height=height if there else None, hands=bears_hands)
    if turns.any() and pivots:
        figure = Supported(model, {name: with_pivot(sole) for name, sole in figure.soles.items()})
        soles = list(figure.soles.values())
        feet = sole_points(model, soles, smooth)
        contacts = np.concatenate([contacts & ~turns[..., None], turns[..., None]], axis=2)
    if not there:
        contacts = carried(contacts, feet, weight_asked_for(model, smooth, fps))
    steps = None
    if height is not None and isinstance(ground, SteppedGround) and not there:
        steps = footholds(feet, contacts, soles, height, fps)
        contacts = steps.contacts
        smooth[:, :3] += low_pass(steps.body, fps, SETTLE)
    elif height is not None and not there:
        smooth[:, 2] += height(smooth[:, :2])
    still = settled(figure, smooth, fps, contacts, height, move, steps)
    motion = trajectory(model, still, fps, dt, CUTOFF)
    nearest = np.clip(np.round(motion.time * fps).astype(int), 0, len(still) - 1)
    points = contact_points(model, figure.soles)
    feet = sole_points(model, soles, motion.q)
    wanted = contacts[nearest]
    held = let_go(wanted, feet, height, bears_hands)
    for first, end in flights(held):
        if wanted[first:end].any(axis=(1, 2)).all():  # nothing was to be a flight here
            held[first:end] = wanted[first:end]
    return Reference(model, dt, motion.q, motion.v, motion.a, points, schedule(points, held))
