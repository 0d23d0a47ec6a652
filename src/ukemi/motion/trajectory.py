"""A motion as dynamics needs it: smooth coordinates with their velocities and accelerations, at any step.

Noise of a capture grows with the square of its frequency in accelerations, so it is cut first: a Butterworth low-pass
of order 2, run forwards and backwards (no delay; order 4 in effect), 8 Hz by default, on places and on the components
of the quaternions. Cubic splines then give values, rates and second derivatives between the frames.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array, positive
from ukemi.model.model import Model
from ukemi.motion.rotations import continuous, inverse, product, rotated

CUTOFF = 8.0  # [Hz]


@dataclass(frozen=True, eq=False)
class Trajectory:
    """time (n,), q (n, nq), v (n, nv), a (n, nv); v and a are the derivatives of q in ukemi's conventions."""

    time: Array
    q: Array
    v: Array
    a: Array

    def __len__(self) -> int:
        return len(self.time)


def low_pass(x: ArrayLike, fps: float, cutoff: float | None, *, order: int = 2) -> Array:
    """Zero-phase Butterworth along the first axis; None: as it is. The ends are continued by point reflection."""
    values = np.asarray(x, dtype=np.float64)
    if cutoff is None or len(values) < 3:
        return values.copy()
    rate, edge = positive("fps", fps), positive("cutoff", cutoff)
    if edge >= 0.5 * rate:  # above what the samples can hold: nothing to cut
        return values.copy()
    from scipy.signal import butter, sosfiltfilt

    # a second or so of padding lets the start-up of the filter die out
    pad = min(len(values) - 1, int(np.ceil(3 * rate / edge)))
    smooth: Array = sosfiltfilt(butter(order, edge, fs=rate, output="sos"), values, axis=0, padlen=pad)
    return smooth


def smooth_coordinates(model: Model, q: ArrayLike, fps: float, cutoff: float | None = CUTOFF) -> Array:
    """q (frames, nq) without what is faster than the cut-off [Hz]; quaternions stay unit and without jumps of sign."""
    states = _checked(model, q)
    smooth = low_pass(_without_jumps(model, states), fps, cutoff)
    for link in model.links:
        if link.joint.nq >= 4:
            turn = slice(link.q.stop - 4, link.q.stop)
            smooth[:, turn] /= np.linalg.norm(smooth[:, turn], axis=1, keepdims=True)
    return smooth


def trajectory(
    model: Model, q: ArrayLike, fps: float, step: float | None = None, cutoff: float | None = CUTOFF
) -> Trajectory:
    """The motion q (frames, nq) at fps, smoothed and sampled every ``step`` [s] (by default at the frames)."""
    states = smooth_coordinates(model, q, fps, cutoff)
    rate = positive("fps", fps)
    end = (len(states) - 1) / rate
    if step is None:
        step = 1.0 / rate
    time: Array = np.arange(int(np.floor(end / positive("step", step) + 1e-9)) + 1, dtype=np.float64) * step
    x, dx, ddx = _spline(states, rate, time)
    x, v, a = state_rates(model, x, dx, ddx)
    return Trajectory(time, x, v, a)


def state_rates(model: Model, x: Array, dx: Array, ddx: Array) -> tuple[Array, Array, Array]:
    """q, v, a in ukemi's conventions from coordinates (n, nq) and their derivatives; quaternions need not be unit."""
    q = np.array(x)
    v, a = np.zeros((2, len(q), model.nv))
    for link in model.links:
        if link.joint.nq < 4:  # plain coordinates: velocities are their rates
            v[:, link.v], a[:, link.v] = dx[:, link.q], ddx[:, link.q]
            continue
        turn = slice(link.q.stop - 4, link.q.stop)
        omega, alpha = _turn_rates(q, dx, ddx, turn)
        v[:, link.v.stop - 3 : link.v.stop], a[:, link.v.stop - 3 : link.v.stop] = omega, alpha
        if link.joint.nq == 7:
            place, start = slice(link.q.start, link.q.start + 3), slice(link.v.start, link.v.start + 3)
            back = inverse(q[:, turn])
            v[:, start] = rotated(back, dx[:, place])
            a[:, start] = rotated(back, ddx[:, place]) - np.cross(omega, v[:, start])
    return q, v, a


def _checked(model: Model, q: ArrayLike) -> Array:
    states = np.array(q, dtype=np.float64)
    if states.ndim != 2 or states.shape[1] != model.nq or len(states) == 0:
        raise InvalidInputError(f"q: expected (frames, {model.nq}), got shape {states.shape}")
    if not np.isfinite(states).all():
        frame = int(np.argmax(~np.isfinite(states).all(axis=1)))
        raise InvalidInputError(f"q: expected finite numbers; frame {frame} has others")
    return states


def _without_jumps(model: Model, states: Array) -> Array:
    for link in model.links:
        if link.joint.nq >= 4:
            turn = slice(link.q.stop - 4, link.q.stop)
            states[:, turn] = continuous(states[:, turn])
    return states


def _spline(states: Array, fps: float, time: Array) -> tuple[Array, Array, Array]:
    if len(states) < 2:
        return np.repeat(states, len(time), axis=0), *np.zeros((2, len(time), states.shape[1]))
    from scipy.interpolate import CubicSpline

    # a not-a-knot spline needs four points; shorter motions end without curvature
    ends = "not-a-knot" if len(states) > 3 else "natural"
    spline = CubicSpline(np.arange(len(states)) / fps, states, bc_type=ends)
    return spline(time), spline(time, 1), spline(time, 2)


def _turn_rates(x: Array, dx: Array, ddx: Array, turn: slice) -> tuple[Array, Array]:
    """Angular velocity and acceleration in the link's frame; the spline s of a quaternion leaves the unit sphere a
    little between the frames, u = s / |s| is on it (written back into x)."""
    s, ds, dds = x[:, turn], dx[:, turn], ddx[:, turn]
    n = np.linalg.norm(s, axis=1, keepdims=True)
    u = s / n
    dn = (u * ds).sum(axis=1, keepdims=True)
    du = (ds - dn * u) / n
    ddn = (du * ds + u * dds).sum(axis=1, keepdims=True)
    ddu = (dds - ddn * u - 2 * dn * du) / n
    x[:, turn] = u
    # u' = u w / 2; in u'' the product w w has no vector part
    return 2 * product(inverse(u), du)[:, 1:], 2 * product(inverse(u), ddu)[:, 1:]
