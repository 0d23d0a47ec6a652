"""Contacts that a body's own weight asks for: whoever does not fall stands on something.

Feet that slide or fade from one clip into another are never still, and so count as lifted. But in the air the centre
of mass falls freely. Where no contact was found and the centre of mass goes on as if it were carried, the contact
before lasts longer and the one after begins earlier: up to a fall in between, if there is one, else up to the moment at
which the feet have to be moved least for it. At the ends of a motion there is one contact to prolong.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ukemi import _core
from ukemi.dynamics_filter.reference import runs
from ukemi.model.arrays import Array
from ukemi.model.model import Model
from ukemi.motion.footfalls import Contacts

#: A flight in which the centre of mass asks on average for more than this is none [body weights]. In captured runs and
#: jumps it is at most 0.33, in flights that are none at least 0.74 (docs/decisions.md).
CARRIED = 0.5
#: What asks for less than that for so long [s], and on average for less than this, is a flight, whatever comes before
#: and after it.
FALL, FALLING = 0.04, 0.25
#: Smoothing takes off so much of a flight at either end: weight that is asked for longer is borne by a contact [s]. In
#: captured runs and jumps it is at most 0.042.
BLUR = 0.045
#: Smoothing bends the ends of a motion straight: what is in the air there for a shorter time than this [s], and not
#: lower than this [m], is left alone.
ENDS, LOW = 0.125, 0.02
#: A pair that stands elsewhere afterwards [m] has turned under the weight: it cannot be held, and is left alone.
PIVOT = 0.03
HEEL_AND_BALL = ((0, 1), (2, 3))


def carried(contacts: Contacts, points: Array, weight: Array, fps: float) -> Contacts:
    """Contacts (frames, feet, 4) of points (frames, feet, 4, 3), without flights in which something carries.

    weight: (frames,) the force that the centre of mass asks for [body weights].
    """
    kept, n = contacts.copy(), len(contacts)
    pairs = [(foot, list(pair)) for foot in range(contacts.shape[1]) for pair in HEEL_AND_BALL]
    for first, end in flights(contacts, ends=bool(contacts.any())):
        fall, inside = _fall(weight[first:end], fps), first > 0 and end < n
        low = points[first:end, :, :4, 2].min(axis=(1, 2)).max() < LOW
        unknown = not inside and (end - first) / fps < ENDS and not low
        if (fall is None and weight[first:end].mean() < CARRIED) or unknown:
            continue
        # the pair that stood carries up to a frame, then the one that will stand
        stays, comes = np.zeros((2, len(pairs), end - first + 1))
        for k, (foot, pair) in enumerate(pairs):
            if first > 0:
                stays[k] = _moved(points[first - 1 : end, foot, pair], contacts[first - 1, foot, pair])
            if end < n:
                comes[k] = _moved(points[first : end + 1, foot, pair][::-1], contacts[end, foot, pair])[::-1]
        change = int((stays.min(axis=0) + comes.min(axis=0)).argmin())
        last, again = fall or ((change, change) if inside else (end - first, 0))
        falls = (last if first > 0 else 0, again if end < n else end - first)
        before, after = (pairs[int(costs[:, at].argmin())] for costs, at in zip((stays, comes), falls, strict=True))
        if inside and not fall and before == after and _apart(points[first - 1], points[end], *before) > PIVOT:
            continue
        if np.isfinite(stays[:, falls[0]]).any():
            kept[first : first + falls[0], before[0], before[1]] = True
        if np.isfinite(comes[:, falls[1]]).any():
            kept[first + falls[1] : end, after[0], after[1]] = True
    return kept


def _fall(weight: Array, fps: float) -> tuple[int, int] | None:
    """(first, end) of a flight within the time in which nothing is seen to bear, as far as its blurred ends tell."""
    falls = [(a, b) for a, b in runs(weight < CARRIED) if (b - a) / fps >= FALL and weight[a:b].mean() < FALLING]
    if not falls:
        return None
    first, end = falls[0][0], falls[-1][1]
    return first if first / fps > BLUR else 0, end if (len(weight) - end) / fps > BLUR else len(weight)


def _apart(here: Array, there: Array, foot: int, pair: list[int]) -> float:
    return float(np.linalg.norm((there - here)[foot, pair], axis=1).max())


def _moved(way: Array, stands: Contacts) -> Array:
    """(n,): how far in all points (n, 2, 3) are moved that are kept where they first are, on the floor, for 0, 1, ...
    frames more; what does not stand there at first cannot be kept.
    """
    if not stands.any():
        return np.full(len(way), np.inf)
    place = way[0] * (1, 1, 0)
    off = ((way - place).mean(axis=1) ** 2).sum(axis=1)
    total: Array = np.cumsum(off) - off[0]
    return total


def flights(contacts: Contacts, *, ends: bool = False) -> list[tuple[int, int]]:
    """(first, end) of every time in which nothing bears; ends: also before the first contact and after the last."""
    bears: NDArray[np.bool_] = np.logical_or.reduce(contacts, axis=(1, 2))
    return [(first, end) for first, end in runs(~bears) if ends or (first > 0 and end < len(bears))]


def weight_asked_for(model: Model, q: Array, fps: float) -> Array:
    """(frames,): 1 for a centre of mass that moves evenly, 0 for one that falls [body weights]."""
    com = _core.mechanics(model.tree, q, np.zeros((len(q), model.nv)), None)[:, 2]
    if len(com) < 3:
        return np.ones(len(com))
    weight: Array = 1 + np.gradient(np.gradient(com, 1 / fps), 1 / fps) / 9.81
    return weight
