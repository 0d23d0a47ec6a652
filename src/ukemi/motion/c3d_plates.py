"""Force plates of C3D files: what the ground does to the feet, from analog channels.

A plate measures in its own frame, z down into the floor, at an origin beneath its surface. With o from that origin to
the middle of the surface (ORIGIN) the moment there is M - o x F, the centre of pressure (x, y) = (-My, Mx) / Fz and the
free moment Mz - x Fy + y Fx. Types are those of the C3D user guide: 1 gives force, centre of pressure and free moment,
2 force and moment, 3 eight forces at four corners (Kistler), 4 is 2 through a calibration matrix.

What an unloaded plate shows is taken away, and below `LOADED` a plate is taken as unloaded: a centre of pressure is a
quotient of two noises there.
"""

from __future__ import annotations

import re
import warnings

import numpy as np
from numpy.typing import NDArray

from ukemi.errors import UkemiWarning
from ukemi.model.arrays import Array
from ukemi.motion.c3d import C3D
from ukemi.motion.footfalls import runs
from ukemi.motion.ground_forces import GroundForces

#: Vertical force from which a plate counts as loaded [N]; laboratories use 10 to 20 N to tell contact.
LOADED = 20.0
#: An offset is looked for where a plate shows less than this [N] for so long [s] in a row.
OFFSET, LONG = 60.0, 0.1
#: Channels that a type of plate has.
CHANNELS = {1: 6, 2: 6, 3: 8, 4: 6}
#: N m per unit of moment.
MOMENTS = {"mm": 0.001, "cm": 0.01, "m": 1.0}


def plate_forces(c3d: C3D, unit: float, up: int = 2) -> GroundForces | None:
    """Forces on the feet in the file's axes, metres and newtons; None where there are no plates.

    unit: metres per unit of length of the file. up: which axis of the file points up. Plates of other types, or without
    channels, are left out with a warning. A plate pushes: its sign is the one with which it does.
    """
    used = int(next(iter(c3d.values("FORCE_PLATFORM:USED")), 0))
    found: dict[str, tuple[Array, Array, Array]] = {}
    for k in range(used if len(c3d.analog) else 0):
        plate = _plate(c3d, k, unit, up)
        if plate is None:
            warnings.warn(
                f"force plate {k + 1}: not of type 1 to 4, or incomplete: left out", UkemiWarning, stacklevel=4
            )
        else:
            found[str(k + 1)] = plate
    if not found:
        return None
    force, point, torque = (np.stack(values, axis=1) for values in zip(*found.values(), strict=True))
    time = (c3d.first - 1) / c3d.rate + np.arange(len(force)) / c3d.analog_rate
    return GroundForces(time, tuple(found), force, point, torque)


def _plate(c3d: C3D, k: int, unit: float, up: int) -> tuple[Array, Array, Array] | None:
    """Force, centre of pressure and free moment (samples, 3) of plate k."""
    kind = int((*c3d.values("FORCE_PLATFORM:TYPE"), *[0] * (k + 1))[k])
    corners, origin = (_part(c3d, f"FORCE_PLATFORM:{name}", k, size) for name, size in (("CORNERS", 12), ("ORIGIN", 3)))
    channels = c3d.parameters.get("FORCE_PLATFORM:CHANNEL")
    if kind not in CHANNELS or corners is None or origin is None or not isinstance(channels, np.ndarray):
        return None
    channels = channels.reshape(channels.shape[0], -1)
    if channels.shape[0] < CHANNELS[kind] or channels.shape[1] <= k:
        return None
    use = channels[: CHANNELS[kind], k].astype(int) - 1
    if (use < 0).any() or (use >= c3d.analog.shape[1]).any() or not np.isfinite(c3d.analog[:, use]).all():
        return None
    signals = c3d.analog[:, use]
    if kind == 4:
        matrix = c3d.parameters.get("FORCE_PLATFORM:CAL_MATRIX")
        if not isinstance(matrix, np.ndarray) or matrix.ndim != 3 or matrix.shape[2] <= k or matrix.shape[0] < 6:
            return None
        signals = signals @ matrix[:6, :6, k].T
    if kind != 1:  # its centre of pressure is no sum of channels
        signals = signals - _offset(_vertical(kind, signals), signals, c3d.analog_rate)
    moment = _moment_unit(c3d, use, unit)
    middle, R = unit * corners.reshape(4, 3).mean(axis=0), _axes(corners.reshape(4, 3))
    F, cop, free = _in_plate(kind, signals, origin, unit, moment)
    # channels tell what the foot does to the plate or, in some laboratories, what the plate does to the foot
    push = F[:, 2] * (1.0 if R[up, 2] > 0 else -1.0)
    sign = 1.0 if push[np.abs(push) > LOADED].sum() >= 0 else -1.0
    loaded = sign * push > LOADED
    F, free = np.where(loaded[:, None], sign * F, 0.0), np.where(loaded, sign * free, 0.0)
    places = np.where(loaded[:, None], middle + cop @ R[:, :2].T, 0.0)
    return F @ R.T, places, free[:, None] * R[:, 2]


def _part(c3d: C3D, name: str, k: int, size: int) -> Array | None:
    values = c3d.values(name)[size * k : size * (k + 1)]
    return values if len(values) == size and np.isfinite(values).all() else None


def _axes(corners: Array) -> Array:
    """(3, 3), columns x, y, z of the plate: its corners stand at +x+y, -x+y, -x-y, +x-y."""
    x = corners[0] + corners[3] - corners[1] - corners[2]
    z = np.cross(x, corners[0] + corners[1] - corners[2] - corners[3])
    x, z = (v / max(float(np.linalg.norm(v)), 1e-12) for v in (x, z))
    return np.stack([x, np.cross(z, x), z], axis=1)


def _vertical(kind: int, signals: Array) -> Array:
    return signals[:, 4:8].sum(axis=1) if kind == 3 else signals[:, 2]


def _offset(vertical: Array, signals: Array, rate: float) -> Array:
    """What the channels show while nobody stands on the plate: medians there, or nothing where that never happens."""
    low: NDArray[np.bool_] = np.zeros(len(vertical), dtype=bool)
    for first, last in runs(np.abs(vertical) < OFFSET):
        low[first:last] = last - first >= LONG * rate
    if not low.any():
        return np.zeros(signals.shape[1])
    # of what is low, only what is level: a foot that lands passes through
    level = np.median(vertical[low])
    quiet = low & (np.abs(vertical - level) < 3.0 * np.median(np.abs(vertical[low] - level)) + 1.0)
    return np.asarray(np.median(signals[quiet], axis=0))


def _moment_unit(c3d: C3D, use: NDArray[np.int_], unit: float) -> float:
    """Newton metres per unit of the moments' channels: what they say, or the file's unit of length."""
    units = c3d.texts("ANALOG:UNITS")
    said = [re.sub(r"[^a-z]", "", units[c].lower()) for c in use[3:6] if c < len(units)]
    for text in said:
        if text.startswith("n") and text[1:] in MOMENTS:
            return MOMENTS[text[1:]]
    return unit


def _in_plate(kind: int, s: Array, origin: Array, unit: float, moment: float) -> tuple[Array, Array, Array]:
    """Force (n, 3), centre of pressure (n, 2) [m] and free moment (n,) [N m] in the plate's axes."""
    if kind == 1:
        return s[:, :3], unit * s[:, 3:5], moment * s[:, 5]
    # some programs write the vector the other way round: the surface is above the sensors, z is down
    o = unit * (-origin if origin[2] > 0 and kind != 3 else origin)
    if kind == 3:
        a, b, height = abs(o[0]), abs(o[1]), -abs(o[2])
        x12, x34, y14, y23, z1, z2, z3, z4 = s.T
        F = np.stack([x12 + x34, y14 + y23, z1 + z2 + z3 + z4], axis=1)
        M = np.stack([b * (z1 + z2 - z3 - z4), a * (-z1 + z2 + z3 - z4), b * (-x12 + x34) + a * (y14 - y23)], axis=1)
        o = np.array((0.0, 0.0, height))
    else:
        F, M = s[:, :3], moment * s[:, 3:6]
    M = M - np.cross(o, F)
    safe = np.where(np.abs(F[:, 2]) > LOADED, F[:, 2], np.inf)
    x, y = -M[:, 1] / safe, M[:, 0] / safe
    return F, np.stack([x, y], axis=1), M[:, 2] - x * F[:, 1] + y * F[:, 0]
