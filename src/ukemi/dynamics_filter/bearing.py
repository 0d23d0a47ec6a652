"""Which parts of a sole are meant to bear, and when: heel and ball as pairs, with what captures get wrong mended.

A foot that stands still counts as standing even some centimetres above the floor, because floors of captures are not
level; one that stands still on its heel is flat; one on its ball alone that leans to one side stands on that side.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ukemi.dynamics_filter.reference import runs
from ukemi.model.arrays import Array
from ukemi.motion.footfalls import Contacts, FootfallSettings, footfalls, point_velocities
from ukemi.motion.hands import HANDFALLS
from ukemi.motion.soles import Height, above_ground
from ukemi.motion.trajectory import low_pass

#: A foot that hardly moves is standing, even where the floor of the capture is too low.
STILL = FootfallSettings(on_height=0.07, on_speed=0.25, off_height=0.09, off_speed=0.5)
GAP, HIGH = 0.08, 0.05  # interruptions shorter and lower than this are none [s, m]
SHORTEST = 0.05  # a contact [s]
RISE = 0.02  # a contact begins and ends with its points so little above their median height in it [m]
EARLIER, SLOW = 0.06, 0.2  # a contact begins so much earlier while the points are low and slower than this [s, m/s]
LIFTED, MOVED = 0.006, 0.015  # a contact ends when the held foot is so far above the ground or from its place [m]
HAND_RISE, HAND_LIFTED, HAND_MOVED = 0.04, 0.03, 0.05  # the same of hands, which captures follow less well [m]
REST, LONG = 0.15, 0.3  # a foot rests whose points are slower than this [m/s] for so long [s],
DRIFT = 3.0  # trembling that is faster than this left out [Hz]
LEAN = 0.02  # between two sides of a foot that stands on one of them [m]


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
            drift = point_velocities(low_pass(points[:, foot], fps, DRIFT), fps)
            _put_down(found[:, foot], np.linalg.norm(drift, axis=-1).max(axis=1), fps)
            _lean(found[:, foot], above[:, foot])
    return found


def _put_down(on: Contacts, fastest: Array, fps: float) -> None:
    """Whoever stands still on a heel has the whole sole on the floor, whatever a capture says about the ankle."""
    for first, end in runs(on[:, 0] & ~on[:, 2] & (fastest < REST)):
        if (end - first) / fps > LONG:
            on[first:end, 2:] = True


def _lean(on: Contacts, above: Array) -> None:
    """A foot on its ball or heel alone that leans to one side stands on that side; a flat one only seems to lean."""
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
        for pair in ([0, 1], [2, 3], [4], [5])[: feet.shape[2] - 2]:
            way = feet[:, foot, pair, :2].mean(axis=1)
            for first, end in runs(np.logical_or.reduce(held[:, foot, pair], axis=1)):
                moved = np.linalg.norm(way[first:end] - np.median(way[first:end], axis=0), axis=1)
                stands = np.flatnonzero((above[first:end, foot, pair].min(axis=1) < lifted) & (moved < far))
                a, b = (first + stands[0], first + stands[-1] + 1) if len(stands) else (end, end)
                held[first : a if first > 0 else first, foot, pair] = False
                held[b if end < len(held) else end : end, foot, pair] = False
    return held
