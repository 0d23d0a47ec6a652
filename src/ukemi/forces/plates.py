"""What force plates measured, as forces on feet: smoothed, each stance given to the foot that stood there."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ukemi.errors import InvalidInputError, UkemiWarning
from ukemi.forces.agreement import GRAVITY, STANCE, resampled
from ukemi.model.arrays import Array
from ukemi.motion.footfalls import runs
from ukemi.motion.ground_forces import GroundForces
from ukemi.motion.trajectory import low_pass

#: A plate's centre of pressure this far from every foot belongs to none [m]; feet nearer to each other than this to it
#: may both stand on the plate.
FAR, SHARED = 0.35, 0.08
#: Shorter stances are noise [s].
SHORTEST = 0.03


@dataclass(frozen=True)
class Stance:
    """Of a foot: when it touches down and releases [s]; whole: whether the record has both."""

    foot: str
    touch_down: float
    release: float
    whole: bool


def smoothed(forces: GroundForces, cutoff: float | None) -> GroundForces:
    """Forces and moments without what is faster than the cut-off [Hz]; where a plate bears less than 20 N it has no
    centre of pressure and stays zero (`low_pass`)."""
    rate = (len(forces) - 1) / float(forces.time[-1] - forces.time[0])
    wrench = low_pass(wrenches(forces), rate, cutoff)
    return of_wrenches(forces.time, forces.names, wrench, forces.point[..., 2])


def wrenches(forces: GroundForces) -> Array:
    """(n, feet, 6): force and its moment about the origin [N, N m]."""
    return np.concatenate([forces.force, np.cross(forces.point, forces.force) + forces.torque], axis=-1)


def of_wrenches(time: Array, names: tuple[str, ...], wrench: Array, height: Array) -> GroundForces:
    """The inverse of `wrenches`, on surfaces at heights (n, feet) [m]; below 20 N all is zero."""
    force, moment = wrench[..., :3], wrench[..., 3:]
    on = force[..., 2] > STANCE
    z = np.where(on, force[..., 2], 1.0)
    point = np.stack(
        [
            (height * force[..., 0] - moment[..., 1]) / z,
            (height * force[..., 1] + moment[..., 0]) / z,
            height,
        ],
        axis=-1,
    )
    torque = moment - np.cross(point, force)
    torque[..., :2] = 0.0
    keep = on[..., None]
    return GroundForces(time, names, force * keep, point * keep, torque * keep)


def on_feet(plates: GroundForces, feet: Mapping[str, tuple[Array, Array]]) -> GroundForces:
    """Plates as forces on feet: every stance on a plate goes to the foot that is nearest to its centre of pressure.

    feet: name -> (times (n,), places (n, 3)) of the middle of its sole, on the plates' clock and in their place.
    """
    names = tuple(feet)
    places = np.stack([resampled(plates.time, *feet[name]) for name in names], axis=1)
    wrench, heights = wrenches(plates), np.zeros((len(plates), len(names)))
    total = np.zeros((len(plates), len(names), 6))
    for k, plate in enumerate(plates.names):
        for first, last in runs(plates.force[:, k, 2] > STANCE):
            if plates.time[last - 1] - plates.time[first] < SHORTEST:
                continue
            part = slice(first, last)
            apart = np.linalg.norm((plates.point[part, k, None] - places[part])[..., :2], axis=-1)
            away = np.median(apart, axis=0)
            best = int(away.argmin())
            when = f"plate {plate}, {plates.time[first]:.2f} to {plates.time[last - 1]:.2f} s"
            if away[best] > FAR:
                text = f"{when}: no foot is nearer than {100 * away[best]:.0f} cm to the centre of pressure: left out"
                warnings.warn(text, UkemiWarning, stacklevel=3)
                continue
            if len(names) > 1 and np.sort(away)[1] - away[best] < SHARED:
                text = f"{when}: both feet are near: if both stand on it, their forces cannot be told apart"
                warnings.warn(text, UkemiWarning, stacklevel=3)
            total[part, best] += wrench[part, k]
            heights[part, best] = np.where(heights[part, best] == 0, plates.point[part, k, 2], heights[part, best])
    if not total.any():
        raise InvalidInputError(
            f"plates {', '.join(plates.names)}: none bears more than {STANCE:g} N near a foot: are plates and motion "
            "on one clock and in one place?"
        )
    return of_wrenches(plates.time, names, total, heights)


def seen_whole(estimate: GroundForces, measured: GroundForces) -> NDArray[np.bool_]:
    """(n,) samples of the measurement in which no foot stands beside the plates: in an estimated stance that no plate
    has seen any part of."""
    bears = resampled(measured.time, estimate.time, estimate.force)[..., 2] > STANCE
    out = np.ones(len(measured), dtype=bool)
    for k in range(len(measured.names)):
        for first, last in runs(bears[:, k]):
            if not (measured.force[first:last, k, 2] > STANCE).any():
                out[first:last] = False
    return out


def stances(forces: GroundForces) -> tuple[Stance, ...]:
    """Every time a foot bears more than 20 N, in order of touch-down."""
    found = []
    for k, foot in enumerate(forces.names):
        for first, last in runs(forces.force[:, k, 2] > STANCE):
            start, end = float(forces.time[first]), float(forces.time[last - 1])
            if end - start >= SHORTEST:
                found.append(Stance(foot, start, end, first > 0 and last < len(forces)))
    return tuple(sorted(found, key=lambda s: s.touch_down))


def mass_on_plates(forces: GroundForces) -> float | None:
    """Body mass [kg] from forces on feet: the mean over whole strides, or over a record in which the person stands;
    None where plates tell neither."""
    total = forces.total[:, 2]
    if total.min() > STANCE and np.ptp(total) < 0.1 * total.mean():  # stands still
        return float(total.mean()) / GRAVITY
    downs = [s.touch_down for s in stances(forces) if s.foot == forces.names[0] and s.touch_down > forces.time[0]]
    if len(downs) < 2:
        return None
    strides = (forces.time >= downs[0]) & (forces.time < downs[-1])
    return float(total[strides].mean()) / GRAVITY
