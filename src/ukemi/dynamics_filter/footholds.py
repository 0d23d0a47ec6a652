"""Footholds on steps: every foot goes to the nearest place where it stands level, and the body goes with the feet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ukemi.dynamics_filter.reference import runs
from ukemi.model.arrays import Array
from ukemi.motion.foot_lock import contact_anchors
from ukemi.motion.footfalls import Contacts
from ukemi.motion.soles import Height, Sole

#: A foot is put so far beside its place at most, in steps of this, and so far from edges [m].
FARTHEST, GRID, MARGIN = 0.25, 0.01, 0.015
#: Feet in the air are kept above all that is so near below them [m].
AROUND = 0.1


@dataclass(frozen=True, eq=False)
class Footholds:
    """anchors (frames, feet, 4, 3): where points stand, NaN where they do not; contacts (frames, feet, 4); body
    (frames, 3): how far the body goes with its feet; over: what feet in the air are kept above."""

    anchors: Array
    contacts: Contacts
    body: Array
    over: Height


def footholds(points: Array, contacts: Contacts, soles: list[Sole], height: Height, fps: float) -> Footholds:
    """Of points (frames, feet, 4, 3) that walk on level ground at 0, on ground of another height."""
    frames = np.arange(len(points))
    shift = np.zeros((len(points), points.shape[1], 3))
    for foot in range(points.shape[1]):
        stances = runs(np.logical_or.reduce(contacts[:, foot], axis=1))
        for first, end in stances:
            touching = contacts[first:end, foot]
            places = np.array(
                [points[first:end, foot, k, :2][touching[:, k]].mean(axis=0) for k in np.flatnonzero(touching.any(axis=0))]
            )
            aside, z = _level_place(places, height)
            shift[first:end, foot] = (*aside, z)
        stands = contacts[:, foot].any(axis=1)
        if stands.any():
            shift[:, foot] = np.stack([np.interp(frames, frames[stands], x[stands]) for x in shift[:, foot].T], axis=1)
    anchors, kept = contact_anchors(points + shift[:, :, None] * (1, 1, 0), contacts, soles, height)
    body = np.append(shift[..., :2].mean(axis=1), shift[..., 2].min(axis=1)[:, None], axis=1)
    return Footholds(anchors, kept, body, lambda xy: _highest_near(xy, height))


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


def _highest_near(xy: Array, height: Height) -> Array:
    """Of the ground within `AROUND` of places (..., 2)."""
    turns = np.linspace(0, 2 * np.pi, 8, endpoint=False)
    around = AROUND * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    return np.maximum(height(xy), np.max([height(xy + d) for d in around], axis=0))
