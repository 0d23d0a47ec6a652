"""When the feet are on the ground, and how badly they slide, float and sink."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ukemi.dynamics.kinematics import link_poses
from ukemi.model.arrays import Array
from ukemi.model.model import Model
from ukemi.motion.soles import Height, Sole, above_ground

Contacts = NDArray[np.bool_]


@dataclass(frozen=True)
class FootfallSettings:
    """A point touches down when it is low and slow, and leaves when it is high or fast (hysteresis)."""

    on_height: float = 0.03  # [m]
    on_speed: float = 0.6  # [m/s]
    off_height: float = 0.045
    off_speed: float = 0.9
    #: a contact begins and ends with its point so little above its median height in it [m]: a heel that rises, or a
    #: ball that comes down, does not bear yet, however slowly it moves
    rise: float = 0.015
    #: shorter interruptions are filled, and shorter contacts dropped [s]
    gap: float = 0.04
    shortest: float = 0.05
    #: a contact whose point goes further than this from its mean place was a slide or a low step [m]: it is looked at
    #: again with half the speeds, down to the slowest [m/s]
    wander: float = 0.04
    slowest: float = 0.1


class Footed(Protocol):
    """A model whose soles are known: a `ClipFigure`, or what `retarget` gives."""

    @property
    def model(self) -> Model: ...
    @property
    def soles(self) -> Mapping[str, Sole]: ...


def sole_points(model: Model, soles: Iterable[Sole], q: ArrayLike) -> Array:
    """Places (frames, feet, 4, 3) of the soles' points in the world [m]."""
    X = link_poses(model, q)
    feet = []
    for sole in soles:
        X_WL = X[..., model.link_index(sole.link), :, :]
        feet.append(np.einsum("...ij,pj->...pi", X_WL[..., :3, :3], sole.points) + X_WL[..., None, :3, 3])
    return np.stack(feet, axis=-3)


def footfalls(
    points: Array,
    fps: float,
    *,
    settings: FootfallSettings | None = None,
    height: Height | None = None,
    belt: ArrayLike = (0, 0, 0),
) -> Contacts:
    """Which points (frames, ..., 3) touch the ground, frame by frame.

    height: of the ground under a place. belt: velocity of the ground [m/s], for a treadmill.
    """
    s = FootfallSettings() if settings is None else settings
    above = above_ground(points, height)
    drift = np.multiply.outer(np.arange(len(points)) / fps, np.asarray(belt, dtype=np.float64))
    places = points - drift.reshape(len(points), *(1,) * (points.ndim - 2), 3)
    speed = np.linalg.norm(point_velocities(places, fps), axis=-1)
    state = np.empty(above.shape, dtype=bool)
    for k in np.ndindex(above.shape[1:]):
        point = (slice(None), *k)
        state[point] = _contact(above[point], speed[point], places[point], fps, s, 1.0)
    return state


def _contact(above: Array, speed: Array, place: Array, fps: float, s: FootfallSettings, slower: float) -> Contacts:
    """Of one point; speeds of the settings count ``slower`` times."""
    on = (above < s.on_height) & (speed < slower * s.on_speed)
    off = (above > s.off_height) | (speed > slower * s.off_speed)
    # the state is that of the last frame that decided: on, or off; before the first, off
    decided = np.where(on, 1, np.where(off, 0, -1))
    last = np.maximum.accumulate(np.where(decided >= 0, np.arange(len(on)), -1))
    state = np.where(last >= 0, decided[last], 0).astype(bool)
    without_short_runs(state, round(s.gap * fps), value=False)
    for first, end in runs(state):
        low = np.flatnonzero(above[first:end] <= np.median(above[first:end]) + s.rise)
        state[first : first + low[0]] = state[first + low[-1] + 1 : end] = False
    without_short_runs(state, round(s.shortest * fps), value=True)
    if 0.5 * slower * s.on_speed < s.slowest:
        return state
    for first, end in runs(state):
        here = place[first:end, :2]
        if np.linalg.norm(here - here.mean(axis=0), axis=1).max() > s.wander:
            inner = slice(first, end)
            state[inner] = _contact(above[inner], speed[inner], place[inner], fps, s, 0.5 * slower)
    return state


def point_velocities(points: Array, fps: float) -> Array:
    return np.gradient(points, axis=0) * fps if len(points) > 1 else np.zeros_like(points)


def runs(flags: Contacts) -> list[tuple[int, int]]:
    """(first, one past the last) of every run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def without_short_runs(flags: Contacts, shorter: int, *, value: bool) -> None:
    """Inverts runs of ``value`` that are shorter than this and do not touch the ends of the motion."""
    for first, last in runs(flags == value):
        if last - first < shorter and first > 0 and last < len(flags):
            flags[first:last] = not value


@dataclass(frozen=True)
class FootMeasures:
    """How feet offend: skate is the horizontal speed of points that should stand (mean, and the worst step between two
    frames), float how far the lowest point of a standing foot is above the ground on average, penetration the deepest
    of all points."""

    skate: float  # [m/s]
    skate_step: float  # [m per frame]
    float_height: float  # [m]
    penetration: float  # [m]


def foot_measures(
    points: Array, contacts: Contacts, fps: float, *, height: Height | None = None, belt: ArrayLike = (0, 0, 0)
) -> FootMeasures:
    """Of points (frames, feet, 4, 3) and their contacts (frames, feet, 4)."""
    above = above_ground(points, height)
    move = np.asarray(belt, dtype=np.float64)[:2] / fps
    steps = np.linalg.norm(np.diff(points[..., :2], axis=0) - move, axis=-1)
    standing = contacts[1:] & contacts[:-1]
    feet = contacts.any(axis=-1)
    lowest = np.where(contacts, above, np.inf).min(axis=-1)
    return FootMeasures(
        float(steps[standing].mean() * fps) if standing.any() else 0.0,
        float(steps[standing].max(initial=0.0)),
        float(np.maximum(lowest[feet], 0).mean()) if feet.any() else 0.0,
        float(max(0.0, -above.min())),
    )
