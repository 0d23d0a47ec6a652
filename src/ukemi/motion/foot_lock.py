"""Feet that stay where they stand: kinematic repair of skating, floating and sinking before any dynamics.

Every contact of a sole's point gets one place on the ground, its mean; places of points that touch together are then
moved as little as makes them as far apart as on the sole. Points that touch aim at their places, the others keep their
own path plus an offset that goes over from one contact to the next. Root and legs follow by damped least squares, frame
by frame; the correction (not the motion) is then low-passed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ukemi.dynamics.kinematics import difference, integrate, jacobian, link_poses
from ukemi.model.arrays import Array
from ukemi.model.model import Model
from ukemi.motion.footfalls import (
    Contacts,
    Footed,
    FootfallSettings,
    FootMeasures,
    foot_measures,
    footfalls,
    runs,
    sole_points,
)
from ukemi.motion.soles import PIVOT, Height, Sole, above_ground
from ukemi.motion.trajectory import low_pass

#: Frames that are solved at once: more need more memory and are no faster.
AT_ONCE = 1000
#: Sweeps over the distances between anchors.
ROUNDS = 50
#: How far an anchor may move from the mean place of its contact [m].
FARTHEST = 0.06
#: The same where a foot turns: the ball of one that spins wanders.
TURNED = 0.12
#: So long before and after its contacts a hand is on its own way [s]; the offset of a foot goes over to the next.
HAND_FADE = 0.2


#: Of the ways (frames, 4, 3) of a foot's points, and whether the foot stands (frames,), the ways that it takes.
Lead = Callable[[Array, Contacts], Array]


@dataclass(frozen=True)
class FootLockSettings:
    clearance: float = 0.015  # of a swinging foot [m]
    #: the clearance is reached this long after lift-off, and kept until this long before touch-down [s]
    ramp: float = 0.1
    cutoff: float = 10.0  # of the correction [Hz]
    #: weights of points that swing (points that stand: 1), and of staying as it was: root [per m], joints [per rad]
    swing: float = 0.1
    root: float = 0.1
    joints: float = 0.01
    iterations: int = 8
    #: the low-pass moves feet off their places again; the whole is repeated
    rounds: int = 3


@dataclass(frozen=True, eq=False)
class LockedFeet:
    """q (frames, nq) with feet that stand; contacts (frames, feet, 4); anchors (frames, feet, 4, 3): where the points
    that touch should be (NaN where none touches); what was wrong before and what is left."""

    q: Array
    contacts: Contacts
    anchors: Array
    before: FootMeasures
    after: FootMeasures


def lock_feet(
    figure: Footed,
    q: ArrayLike,
    fps: float,
    *,
    contacts: Contacts | None = None,
    settings: FootLockSettings | None = None,
    footfall: FootfallSettings | None = None,
    height: Height | None = None,
    anchors: Array | None = None,
    lead: Lead | None = None,
) -> LockedFeet:
    """The motion q (frames, nq) with its feet held where they stand.

    contacts: which sole points touch; by default found by `footfalls`. height: of the ground under places (..., 2).
    anchors: where they touch, if that is known; lead: takes feet in the air over what is in their way.
    """
    s = FootLockSettings() if settings is None else settings
    model, soles = figure.model, list(figure.soles.values())
    start = np.array(q, dtype=np.float64)
    points = sole_points(model, soles, start)
    touching = footfalls(points, fps, settings=footfall, height=height) if contacts is None else np.asarray(contacts)
    if anchors is None:
        anchors, touching = contact_anchors(points, touching, soles, height)
    targets = foot_targets(points, touching, anchors, fps, s, height, [sole.hand for sole in soles], lead)
    free = np.where(touching.any(axis=2, keepdims=True), 0.1 * s.swing, s.swing)
    weights = np.where(touching, 1.0, free)[..., None].repeat(3, axis=-1)
    weights[:, :, PIVOT:][~touching[:, :, PIVOT:]] = 0.0
    columns = _leg_columns(model, soles)
    result = start
    for _ in range(s.rounds):
        pieces = [slice(k, k + AT_ONCE) for k in range(0, len(start), AT_ONCE)]
        reached = np.concatenate(
            [_follow(model, soles, result[p], start[p], targets[p], weights[p], columns, s, height) for p in pieces]
        )
        correction = low_pass(difference(model, start, reached), fps, s.cutoff)
        result = integrate(model, start, correction, 1.0)
    return LockedFeet(
        result,
        touching,
        anchors,
        foot_measures(points, touching, fps, height=height),
        foot_measures(sole_points(model, soles, result), touching, fps, height=height),
    )


def contact_anchors(
    points: Array, contacts: Contacts, soles: list[Sole], height: Height | None = None
) -> tuple[Array, Contacts]:
    """(frames, feet, 4, 3): one place per contact of a point, NaN where it does not touch; and the contacts that could
    be kept: one that would have to move by more than `FARTHEST` contradicts the others and is dropped."""
    anchors = np.full(points.shape, np.nan)
    kept = np.array(contacts)
    for foot, sole in enumerate(soles):
        apart = np.linalg.norm(sole.points[:, None] - sole.points, axis=-1)
        stands: Contacts = np.any(kept[:, foot], axis=-1)
        for first, last in runs(stands):
            stays = [
                _Stay(k, first + a, first + b)
                for k in range(len(sole.points))
                for a, b in runs(kept[first:last, foot, k])
            ]
            while stays:
                means = np.array([points[s.first : s.end, foot, s.point, :2].mean(axis=0) for s in stays])
                places = _rigid(means, stays, apart)
                moved = np.linalg.norm(places - means, axis=1)
                worst = int(moved.argmax())
                if moved[worst] <= (TURNED if any(s.point >= PIVOT for s in stays) else FARTHEST):
                    break
                gone = stays.pop(worst)
                kept[gone.first : gone.end, foot, gone.point] = False
            for stay, place in zip(stays, places if stays else (), strict=True):
                z = 0.0 if height is None else height(place)
                anchors[stay.first : stay.end, foot, stay.point] = (*place, z)
    return anchors, kept


@dataclass(frozen=True)
class _Stay:
    """A contact of one point of a sole, from the first frame to before the end."""

    point: int
    first: int
    end: int

    def meets(self, other: _Stay) -> bool:
        soon = int(max(self.point, other.point) >= PIVOT)  # a foot turns about where it stood
        return self.point != other.point and self.first < other.end + soon and other.first < self.end + soon


def _rigid(means: Array, stays: list[_Stay], apart: Array) -> Array:
    """Places near the means such that those that touch together are as far apart as on the sole."""
    places = means.copy()
    pairs = [(i, j) for i in range(len(stays)) for j in range(i) if stays[i].meets(stays[j])]
    give = np.array([1.0 / (s.end - s.first) for s in stays])  # what lasts longer moves less
    for _ in range(ROUNDS):
        for i, j in pairs:
            way = places[i] - places[j]
            now = float(np.hypot(*way))
            if now > 1e-9:
                change = (apart[stays[i].point, stays[j].point] / now - 1) / (give[i] + give[j]) * way
                places[i] += give[i] * change
                places[j] -= give[j] * change
    return places


def foot_targets(
    points: Array,
    contacts: Contacts,
    anchors: Array,
    fps: float,
    s: FootLockSettings,
    height: Height | None,
    hands: Sequence[bool] | None = None,
    lead: Lead | None = None,
) -> Array:
    """Where every point should be: at its anchor, or on its way shifted by offsets that go over between stances."""
    targets = points.copy()
    frames = np.arange(len(points))
    for foot in range(points.shape[1]):
        stands: Contacts = np.any(contacts[:, foot], axis=-1)
        far = _distance_to(stands)
        rise = s.clearance * np.minimum(1.0, far / max(s.ramp * fps, 1.0))
        kept = np.clip(1 - far / (HAND_FADE * fps), 0, 1)[:, None] if hands is not None and hands[foot] else 1.0
        for k in range(points.shape[2]):
            on = contacts[:, foot, k]
            if on.any():
                offset = (anchors - points)[:, foot, k]
                shift = np.stack([np.interp(frames, frames[on], offset[on, axis]) for axis in range(3)], axis=1)
                targets[:, foot, k] += kept * shift
            ground = 0.0 if height is None else height(targets[:, foot, k, :2])
            lowest = ground + np.where(stands, 0.0, rise)
            targets[:, foot, k, 2] = np.maximum(targets[:, foot, k, 2], lowest)
            targets[on, foot, k] = anchors[on, foot, k]
        if lead is not None:
            targets[:, foot] = lead(targets[:, foot], stands)
    return targets


def _distance_to(flags: Contacts) -> Array:
    """Frames to the nearest true value."""
    frames = np.arange(len(flags), dtype=np.float64)
    before = np.maximum.accumulate(np.where(flags, frames, -np.inf))
    after = np.minimum.accumulate(np.where(flags, frames, np.inf)[::-1])[::-1]
    return np.minimum(frames - before, after - frames)


def _leg_columns(model: Model, soles: list[Sole]) -> list[int]:
    """Velocities of the root and of all joints from it to the feet."""
    chosen = set(range(model.nv)[model.links[0].v])
    for sole in soles:
        link = model.link(sole.link)
        while link.parent is not None:
            chosen |= set(range(model.nv)[link.v])
            link = link.parent
    return sorted(chosen)


def _follow(
    model: Model,
    soles: list[Sole],
    q: Array,
    start: Array,
    targets: Array,
    weights: Array,
    columns: list[int],
    s: FootLockSettings,
    height: Height | None,
) -> Array:
    """Damped least squares, all frames at once: sum w |target - p|^2 + |stay (q - start)|^2."""
    stay = np.array([s.root if column < 6 else s.joints for column in columns])
    for _ in range(s.iterations):
        J, p = _point_jacobians(model, soles, q, columns)
        root = np.sqrt(weights)
        sunk = above_ground(p, height) < 0.0
        root[..., 2] = np.where(sunk, 1.0, root[..., 2])  # what is in the ground has to rise
        J = root.reshape(len(q), -1)[:, :, None] * J
        e = (root * (targets - p)).reshape(len(q), -1)
        away = difference(model, start, q)[:, columns]
        H = J.swapaxes(1, 2) @ J + np.diag(stay**2)
        g = (J.swapaxes(1, 2) @ e[..., None])[..., 0] - stay**2 * away
        step = np.zeros((len(q), model.nv))
        step[:, columns] = np.linalg.solve(H, g[..., None])[..., 0]
        q = integrate(model, q, step, 1.0)
    return q


def _point_jacobians(model: Model, soles: list[Sole], q: Array, columns: list[int]) -> tuple[Array, Array]:
    """(frames, 3 per point, columns) and the points (frames, feet, 4, 3)."""
    X = link_poses(model, q)
    rows, places = [], []
    for sole in soles:
        X_WL = X[:, model.link_index(sole.link)]
        J = jacobian(model, q, sole.link)[:, :, columns]
        r = np.einsum("fij,pj->fpi", X_WL[:, :3, :3], sole.points)
        # velocity of a point: v + w x r
        x, y, z = (r[:, :, k, None] for k in range(3))
        w = J[:, None, 3:]
        turn = [w[:, :, 1] * z - w[:, :, 2] * y, w[:, :, 2] * x - w[:, :, 0] * z, w[:, :, 0] * y - w[:, :, 1] * x]
        rows.append(J[:, None, :3] + np.stack(turn, axis=2))
        places.append(r + X_WL[:, None, :3, 3])
    J_points = np.concatenate(rows, axis=1)
    return J_points.reshape(len(q), -1, len(columns)), np.stack(places, axis=1)
