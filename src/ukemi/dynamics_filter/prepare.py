"""From a motion to a reference: smooth coordinates, when which part of a sole bears, feet that stay where they stand.

What is done here and why (measurements in docs/filter.md): heel and ball of a sole touch as pairs; a foot that stands
still counts as standing even some centimetres above the floor, because floors of captures are not level; the body is
moved to the feet slowly (1.5 Hz) and the legs do the rest, because a pelvis that follows its feet frame by frame
asks for
impossible forces; the toes prolong a sole that lies flat.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ukemi.contact.terrain import Ground
from ukemi.dynamics.kinematics import difference, integrate
from ukemi.dynamics_filter.reference import ContactPoints, Reference, runs
from ukemi.dynamics_filter.retiming import carried, flights, weight_asked_for
from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array
from ukemi.model.model import Model
from ukemi.motion.foot_lock import FootLockSettings, lock_feet
from ukemi.motion.footfalls import Contacts, Footed, FootfallSettings, footfalls, point_velocities, sole_points
from ukemi.motion.soles import Height, Sole, above_ground
from ukemi.motion.trajectory import low_pass, smooth_coordinates, trajectory

#: A foot that hardly moves is standing, even where the floor of the capture is too low.
STILL = FootfallSettings(on_height=0.07, on_speed=0.25, off_height=0.09, off_speed=0.5)
GAP, HIGH = 0.08, 0.05  # interruptions shorter and lower than this are none [s, m]
SHORTEST = 0.05  # a contact [s]
RISE = 0.02  # a contact begins and ends with its points so little above their median height in it [m]
EARLIER, SLOW = 0.06, 0.2  # a contact begins so much earlier while the points are low and slower than this [s, m/s]
LIFTED, MOVED = 0.006, 0.015  # a contact ends when the held foot is so far above the ground or from its place [m]
TOES = 0.05  # how far toes reach ahead of the ball [m]
SETTLE = 1.5  # cut-off of the body's way to its feet [Hz]
STOOP = 1.6  # how long a body goes down that stands too high for its legs [s]
CUTOFF = 8.0  # of the whole motion [Hz]
#: Of where the body goes only what is slower than SETTLE counts.
ROUGHLY = FootLockSettings(rounds=1)
#: With the body settled, legs reach for the floor and the root hardly moves.
LEGS_ONLY = FootLockSettings(root=1.0)


def ground_height(ground: Ground | None) -> Height | None:
    """z over places (..., 2); None for level ground at 0."""
    if ground is None:
        return None
    n, offset = np.asarray(ground.normal, dtype=np.float64), float(getattr(ground, "height", 0.0))
    if n[2] < 0.3:
        raise InvalidInputError(f"terrain: expected ground that one can stand on, got the normal {n.tolist()}")
    if abs(n[2] - 1) < 1e-12 and offset == 0:
        return None
    return lambda xy: (offset - xy[..., 0] * n[0] - xy[..., 1] * n[1]) / n[2]


def sole_contacts(points: Array, fps: float, height: Height | None = None) -> Contacts:
    """Which points (frames, feet, 4, 3) of the soles are meant to bear; heel and ball as pairs."""
    found = footfalls(points, fps, height=height) | footfalls(points, fps, settings=STILL, height=height)
    above = above_ground(points, height)
    for foot in range(found.shape[1]):
        for pair in ([0, 1], [2, 3]):
            on = found[:, foot, pair[0]] | found[:, foot, pair[1]]
            low = above[:, foot, pair].min(axis=1)
            way = points[:, foot, pair, :2].mean(axis=1)
            speed = np.linalg.norm(np.gradient(way, 1 / fps, axis=0), axis=1) if len(way) > 1 else np.zeros(len(way))
            fastest = np.linalg.norm(point_velocities(points[:, foot, pair], fps), axis=-1).max(axis=1)
            found[:, foot, pair] = _tidy(on, low, speed, fastest, fps)[:, None]
    return found


def _tidy(on: Contacts, low: Array, speed: Array, fastest: Array, fps: float) -> Contacts:
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
        level = np.median(low[first:end]) + RISE
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


def let_go(contacts: Contacts, feet: Array, height: Height | None) -> Contacts:
    """Contacts (frames, feet, 4) of points (frames, feet, 4, 3) without beginnings and ends at which a pair is above
    the ground or away from its place: what could not be held there does not stand there.
    """
    held, above = contacts.copy(), above_ground(feet, height)
    for foot in range(held.shape[1]):
        for pair in ([0, 1], [2, 3]):
            way = feet[:, foot, pair, :2].mean(axis=1)
            for first, end in runs(held[:, foot, pair[0]]):
                moved = np.linalg.norm(way[first:end] - np.median(way[first:end], axis=0), axis=1)
                stands = np.flatnonzero((above[first:end, foot, pair].min(axis=1) < LIFTED) & (moved < MOVED))
                a, b = (first + stands[0], first + stands[-1] + 1) if len(stands) else (end, end)
                held[first : a if first > 0 else first, foot, pair] = False
                held[b if end < len(held) else end : end, foot, pair] = False
    return held


def settled(figure: Footed, q: Array, fps: float, contacts: Contacts, height: Height | None) -> Array:
    """q with feet that stay where they stand, and a body that comes to them slowly."""
    model = figure.model
    locked = lock_feet(figure, q, fps, contacts=contacts, settings=ROUGHLY, height=height)
    move = difference(model, q, locked.q)
    move[:, 6:] = 0.0
    body = integrate(model, q, low_pass(move, fps, SETTLE), 1.0)
    still = lock_feet(figure, body, fps, contacts=contacts, settings=LEGS_ONLY, height=height).q
    # legs that are too short for their feet: the body goes down by what they lack, at once for all of a step
    above = above_ground(sole_points(model, list(figure.soles.values()), still), height)
    short = np.where(contacts, above, 0.0).max(axis=(1, 2))
    if short.max(initial=0.0) < LIFTED:
        return still
    wide = 2 * max(1, round(0.25 * STOOP * fps)) + 1
    short = sliding_window_view(np.pad(short, wide // 2, mode="edge"), wide).max(axis=1)
    for _ in range(2):
        short = sliding_window_view(np.pad(short, wide // 2, mode="edge"), wide).mean(axis=1)
    body[:, 2] -= short
    return lock_feet(figure, body, fps, contacts=contacts, settings=LEGS_ONLY, height=height).q


def contact_points(model: Model, soles: Mapping[str, Sole]) -> ContactPoints:
    """Heel and ball of every sole, and where toes prolong it its tip: four or six points each."""
    groups = []
    for sole in soles.values():
        points, tip = np.asarray(sole.points, dtype=np.float64), np.zeros(4, dtype=bool)
        if any(link.joint.nv for link in model.link(sole.link).children):
            points = np.concatenate([points, points[2:] + TOES * sole.at.R[:, 0]])
            tip = np.array([False] * 4 + [True] * 2)
        groups.append((sole.link, points, tip))
    return ContactPoints.of(model, groups)


def schedule(points: ContactPoints, contacts: Contacts) -> Contacts:
    """(frames, points) from those of heels and balls (frames, feet, 4): tips bear while the sole lies flat."""
    flat = np.logical_and.reduce(contacts, axis=2)
    tips = [int(points.tip[points.group == foot].sum()) for foot in range(points.groups)]
    columns = [np.hstack([contacts[:, f], np.repeat(flat[:, f : f + 1], n, axis=1)]) for f, n in enumerate(tips)]
    return np.hstack(columns)


def make_reference(figure: Footed, q: Array, fps: float, dt: float, ground: Ground | None = None) -> Reference:
    """A figure's motion q (frames, nq) as a reference with steps of dt on a ground.

    On a slope the body keeps its height above the ground, as in [DF03] Fig. 10.
    """
    model, height = figure.model, ground_height(ground)
    smooth = smooth_coordinates(model, q, fps, CUTOFF)
    soles = sole_points(model, list(figure.soles.values()), smooth)
    contacts = carried(sole_contacts(soles, fps), soles, weight_asked_for(model, smooth, fps))
    if height is not None:
        smooth[:, 2] += height(smooth[:, :2])
    still = settled(figure, smooth, fps, contacts, height)
    motion = trajectory(model, still, fps, dt, CUTOFF)
    nearest = np.clip(np.round(motion.time * fps).astype(int), 0, len(still) - 1)
    points = contact_points(model, figure.soles)
    feet = sole_points(model, list(figure.soles.values()), motion.q)
    wanted = contacts[nearest]
    held = let_go(wanted, feet, height)
    for first, end in flights(held):
        if wanted[first:end].any(axis=(1, 2)).all():  # nothing was to be a flight here
            held[first:end] = wanted[first:end]
    return Reference(model, dt, motion.q, motion.v, motion.a, points, schedule(points, held))
