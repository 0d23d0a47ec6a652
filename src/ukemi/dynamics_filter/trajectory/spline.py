"""Uniform cubic B-splines: the basis at given times, and a robust smoothing fit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ukemi.model.arrays import Array

#: Of 1, u, u^2, u^3 in the four basis functions that an interval feels.
CUBIC = np.array([[1, 4, 1, 0], [-3, 0, 3, 0], [3, -6, 3, 0], [-1, 3, -3, 1]]) / 6.0


@dataclass(frozen=True)
class Knots:
    """``intervals`` of length ``step`` from time 0; a spline on them has ``intervals + 3`` coefficients."""

    step: float
    intervals: int

    @classmethod
    def of_frames(cls, frames: int, interval: float, step: float, coarse: float) -> Knots:
        """Knots on the frames where these are ``step`` to ``coarse`` apart: a spline through the frames is then the
        same spline. Otherwise every so many frames (the last beyond the end), or some in every interval."""
        if interval >= step:
            parts = math.ceil(interval / coarse - 1e-9)
            return cls(interval / parts, max((frames - 1) * parts, 1))
        every = max(round(step / interval), 1)
        return cls(every * interval, max(-(-(frames - 1) // every), 1))

    @property
    def size(self) -> int:
        return self.intervals + 3

    def basis(self, times: Array) -> tuple[NDArray[np.intp], Array]:
        """First of the four coefficients that each time feels; (n, 3, 4): values, first and second derivatives."""
        at = np.asarray(times) / self.step
        first = np.clip(np.floor(at).astype(int), 0, self.intervals - 1)
        u = at - first
        one, zero = np.ones_like(u), np.zeros_like(u)
        powers = np.stack(
            [
                np.stack([one, u, u**2, u**3], axis=-1),
                np.stack([zero, one, 2 * u, 3 * u**2], axis=-1) / self.step,
                np.stack([zero, zero, 2 * one, 6 * u], axis=-1) / self.step**2,
            ],
            axis=1,
        )
        return first, powers @ CUBIC

    def at_knots(self) -> tuple[Array, NDArray[np.intp], Array]:
        """Times of the knots, and the basis there: three functions are felt."""
        count = self.intervals + 1
        rows = np.stack([CUBIC[0, :3], CUBIC[1, :3] / self.step, 2 * CUBIC[2, :3] / self.step**2])
        times: Array = self.step * np.arange(count, dtype=np.float64)
        return times, np.arange(count, dtype=np.intp), np.tile(rows, (count, 1, 1))


def evaluate(coefficients: Array, first: NDArray[np.intp], basis: Array) -> tuple[Array, Array, Array]:
    """Values, first and second derivatives (n, ...) of a spline with coefficients (size, ...)."""
    near = coefficients[first[:, None] + np.arange(basis.shape[2])]
    out = np.einsum("ndb,nb...->nd...", basis, near)
    return out[:, 0], out[:, 1], out[:, 2]


def fit(knots: Knots, times: Array, values: Array, weights: Array, cutoff: float) -> Array:
    """Coefficients (size, k) of the spline that is nearest to values (n, k), each weighed by weights (n,).

    min sum w |s(t_i) - y_i|^2 + rate integral |s'''|^2 / (2 pi cutoff)^6: a low-pass, half of its gain at ``cutoff``.
    """
    from scipy.linalg import solveh_banded

    first, basis = knots.basis(times)
    band = np.zeros((4, knots.size))
    right = np.zeros((knots.size, values.shape[1]))
    B = basis[:, 0]
    for i in range(4):
        np.add.at(right, first + i, (weights * B[:, i])[:, None] * values)
        for j in range(i + 1):
            np.add.at(band[i - j], first + j, weights * B[:, i] * B[:, j])
    third = np.array([-1.0, 3.0, -3.0, 1.0]) / knots.step**3
    rate = (len(times) - 1) / max(times[-1] - times[0], knots.step) if len(times) > 1 else 1 / knots.step
    smooth = rate * knots.step / (2 * np.pi * cutoff) ** 6
    for i in range(4):
        for j in range(i + 1):
            band[i - j, j : j + knots.intervals] += smooth * third[i] * third[j]
    # what few frames leave open is straight and still
    for size, difference in ((1e-6, np.array([1.0, -2.0, 1.0])), (1e-9, np.array([-1.0, 1.0]))):
        count = len(difference)
        for i in range(count):
            for j in range(i + 1):
                band[i - j, j : j + knots.size - count + 1] += size * rate * knots.step * difference[i] * difference[j]
    out: Array = solveh_banded(band, right, lower=True)
    return out
