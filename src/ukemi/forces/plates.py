"""What force plates measured, as forces on feet: smoothed, each stance given to the foot that stood there."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ukemi.errors import InvalidInputError, UkemiWarning
from ukemi.forces.agreement import STANCE, resampled
from ukemi.model.arrays import Array
from ukemi.motion.footfalls import runs
from ukemi.motion.ground_forces import GroundForces
from ukemi.motion.trajectory import low_pass

#: A plate's centre of pressure this far from every foot belongs to none [m]; feet nearer to each other than this to it
#: may both stand on the plate.
FAR, SHARED = 0.35, 0.08
#: Laboratories are smaller than this [m].
FARTHEST = 100.0
#: Shorter stances are noise [s].
SHORTEST = 0.03
#: A third of a stance of which plates see less than this share of what they see of another is half beside them.
HALF = 0.5
#: Plates are compared and written at no more than this rate [Hz].
PLATE_RATE = 250.0
#: Fewer samples tell no mass. So much missing weight, for so long [s], is borne by something beside the plates.
FEWEST, MISSING, MISSING_TIME = 20, 0.4, 0.3


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
        raise InvalidInputError(f"plates {', '.join(plates.names)}: {_why_nothing(plates)}")
    return of_wrenches(plates.time, names, total, heights)


def _why_nothing(plates: GroundForces) -> str:
    """Why no plate bears anything near a foot."""
    most, least = float(plates.force[..., 2].max()), float(plates.force[..., 2].min())
    far = float(np.abs(plates.point).max())
    if most <= STANCE:
        hint = "are they in kN?" if least > -STANCE else "do they hold the force on the ground, not on the body?"
        return f"none bears more than {STANCE:g} N (at most {most:.3g}): {hint}"
    if far > FARTHEST:
        return f"a centre of pressure lies {far:.3g} m away: are places in mm?"
    return f"none bears more than {STANCE:g} N near a foot: are plates and motion on one clock and in one place?"


def during(plates: GroundForces, start: float, end: float) -> GroundForces:
    """Plates from one time to another [s], at no more than 250 Hz (every so many samples: forces are hardly faster).

    Raises:
        InvalidInputError: plates that were read at other times.
    """
    if len(plates) < 2:
        raise InvalidInputError(f"plates: expected at least two samples, got {len(plates)}")
    step = float(plates.time[-1] - plates.time[0]) / (len(plates) - 1)
    rows = np.flatnonzero((plates.time >= start - step) & (plates.time <= end + step))
    if len(rows) < FEWEST:
        raise InvalidInputError(
            f"plates: read from {plates.time[0]:g} to {plates.time[-1]:g} s, the motion lasts from {start:g} to "
            f"{end:g} s: expected one clock, and more of both"
        )
    rows = rows[:: max(round(1 / (step * PLATE_RATE)), 1)]
    return GroundForces(plates.time[rows], plates.names, plates.force[rows], plates.point[rows], plates.torque[rows])


def seen_whole(estimate: GroundForces, measured: GroundForces) -> NDArray[np.bool_]:
    """(n,) samples of the measurement in which no foot stands beside the plates: in an estimated stance that no plate
    has seen any part of, or of which a plate has seen one third hardly while it saw another."""
    mine = resampled(measured.time, estimate.time, estimate.force)[..., 2]
    out = np.ones(len(measured), dtype=bool)
    for k in range(len(measured.names)):
        for first, last in runs(mine[:, k] > STANCE):
            plate = measured.force[first:last, k, 2]
            shares = [
                float(m.sum() / e.sum())
                for m, e in zip(np.array_split(plate, 3), np.array_split(mine[first:last, k], 3), strict=True)
                if len(e)
            ]
            whole = first > 0 and last < len(measured)
            if not (plate > STANCE).any() or (whole and min(shares) < HALF * max(shares)):
                out[first:last] = False
                for a, b in runs(measured.force[:, k, 2] > STANCE):
                    out[a:b] &= b <= first or a >= last
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


def mass_ratio(needed: Array, measured: Array, counts: NDArray[np.bool_]) -> float | None:
    """How many times heavier the person is than the body that ``needed`` (n,) vertical forces [N] were computed for, by
    the measured ones (n,), over the samples that count; None where these are too few."""
    if counts.sum() < FEWEST or needed[counts].sum() <= 0:
        return None
    return float(measured[counts].sum() / needed[counts].sum())


def carried(lack: Array, time: Array, weight: float) -> NDArray[np.bool_]:
    """(n,) samples in which the plates carry the body: elsewhere more than two fifths of the weight is missing on
    average over a third of a second. lack (n,): vertical force that is missing [N]."""
    from scipy.ndimage import uniform_filter1d

    width = max(round(MISSING_TIME / float(np.median(np.diff(time)))), 1) if len(time) > 1 else 1
    out: NDArray[np.bool_] = np.abs(uniform_filter1d(lack, width)) < MISSING * weight
    return out
