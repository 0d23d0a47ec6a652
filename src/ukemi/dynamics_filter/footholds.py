"""Footholds on steps: every foot goes to the nearest place where it stands level, and the body goes with the feet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ukemi.dynamics_filter.reference import runs
from ukemi.model.arrays import Array
from ukemi.motion.foot_lock import Lead, contact_anchors
from ukemi.motion.footfalls import Contacts
from ukemi.motion.soles import Height, Sole

#: A foot is put so far beside its place at most, in steps of this, and so far from edges [m].
FARTHEST, GRID, MARGIN = 0.25, 0.01, 0.02
#: Feet in the air are kept by this above what is so near ahead and behind on their way [m].
CLEAR, AHEAD, BEHIND = 0.06, 0.18, 0.01
#: The body is as low as the lower foot is within this time [s], and by a share of the height gained or lost about one
#: step before and after lower: legs that are straight on level ground have to reach down to the next step.
EARLY, BEND, STRIDE = 0.15, 0.15, 0.6
#: Share of a swing in which a foot goes up before it goes ahead, and comes down where it will stand.
UPRIGHT = 0.35


@dataclass(frozen=True, eq=False)
class Footholds:
    """anchors (frames, feet, 4, 3): where points stand, NaN where they do not; contacts (frames, feet, 4); body
    (frames, 3): how far the body goes with its feet; lead: takes feet in the air over the steps."""

    anchors: Array
    contacts: Contacts
    body: Array
    lead: Lead


def footholds(points: Array, contacts: Contacts, soles: list[Sole], height: Height, fps: float) -> Footholds:
    """Of points (frames, feet, 4, 3) that walk on level ground at 0, on ground of another height."""
    frames = np.arange(len(points))
    shift = np.zeros((len(points), points.shape[1], 3))
    for foot in range(points.shape[1]):
        stances = runs(np.logical_or.reduce(contacts[:, foot], axis=1))
        for first, end in stances:
            touching = contacts[first:end, foot]
            places = np.array(
                [
                    points[first:end, foot, k, :2][touching[:, k]].mean(axis=0)
                    for k in np.flatnonzero(touching.any(axis=0))
                ]
            )
            aside, z = _level_place(places, height)
            shift[first:end, foot] = (*aside, z)
        stands = contacts[:, foot].any(axis=1)
        if stands.any():
            shift[:, foot] = np.stack([np.interp(frames, frames[stands], x[stands]) for x in shift[:, foot].T], axis=1)
    anchors, kept = contact_anchors(points + shift[:, :, None] * (1, 1, 0), contacts, soles, height)
    low = shift[..., 2].min(axis=1)
    bent = _around(low, EARLY, fps).min(axis=1) - BEND * np.ptp(_around(low, STRIDE, fps), axis=1)
    body = np.append(shift[..., :2].mean(axis=1), bent[:, None], axis=1)
    return Footholds(anchors, kept, body, lambda way, stands: lead_over(way, stands, height))


def _around(x: Array, time: float, fps: float) -> Array:
    """(n, window): values of x (n,) within a time before and after."""
    reach = round(time * fps)
    return np.lib.stride_tricks.sliding_window_view(np.pad(x, reach, mode="edge"), 2 * reach + 1)


def _level_place(places: Array, height: Height) -> tuple[Array, float]:
    """The least shift (2,) that puts places (n, 2) on one level, away from edges, and the height there. Where there is
    none the first place counts."""
    reach = np.arange(-FARTHEST, FARTHEST + 1e-9, GRID)
    shifts = np.stack(np.meshgrid(reach, reach, indexing="ij"), axis=-1).reshape(-1, 2)
    shifts = shifts[np.argsort(np.linalg.norm(shifts, axis=1), kind="stable")]
    corners = MARGIN * np.array([(0, 0), (1, 1), (1, -1), (-1, 1), (-1, -1)])
    z = height((places[:, None] + corners).reshape(-1, 2) + shifts[:, None])
    level = np.flatnonzero(np.ptp(z, axis=1) < 1e-6)
    best = int(level[0]) if len(level) else 0
    return shifts[best], float(z[best, 0])


def lead_over(way: Array, stands: Contacts, height: Height) -> Array:
    """The way (frames, 4, 3) of a foot's points over the edges of steps: up, ahead and down, as one does on stairs."""
    led = way.copy()
    for first, end in runs(~stands):
        swing = slice(max(first - 1, 0), end + 1)
        here = led[swing]
        s = np.linspace(0.0, 1.0, len(here))[:, None, None]
        ahead = np.clip((s - 0.5 * UPRIGHT) / (1 - UPRIGHT), 0, 1)
        straight = here[0] + ahead**2 * (3 - 2 * ahead) * (here[-1] - here[0])
        if np.ptp(height(here[..., :2])) > 0:
            here[..., :2] = straight[..., :2]
        ground = height(here[..., :2])
        apart = np.linalg.norm(here[:, None, :, :2] - here[None, :, :, :2], axis=-1)
        near = apart < np.where(np.tri(len(here), k=-1, dtype=bool), BEHIND, AHEAD)[..., None]
        highest = np.where(near, ground[None], -np.inf).max(axis=1)
        clear = CLEAR * np.minimum(1.0, 8 * s[:, 0] * (1 - s[:, 0]))
        here[..., 2] += np.maximum(highest + clear - here[..., 2], 0.0).max(axis=1, keepdims=True)
        led[swing] = here
    return led
