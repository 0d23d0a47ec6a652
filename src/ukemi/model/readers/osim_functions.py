"""Functions of one coordinate in OpenSim files: lines, polynomials, splines, and multiples of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ukemi.model.arrays import Array
from ukemi.model.readers.osim_text import floats, number
from ukemi.model.readers.xmltree import Element

SPLINES = ("SimmSpline", "NaturalCubicSpline")
KINDS = ("Constant", "LinearFunction", "PolynomialFunction", "PiecewiseLinearFunction", *SPLINES, "MultiplierFunction")


@dataclass(frozen=True)
class Function:
    """A function of arrays; ``line``: (slope, intercept) if it is a straight one; ``span``: between its first and last
    knot, if it has any."""

    values: Callable[[Array], Array]
    line: tuple[float, float] | None = None
    span: tuple[float, float] | None = None

    @classmethod
    def straight(cls, slope: float, intercept: float) -> Function:
        return cls(lambda x: slope * np.asarray(x) + intercept, (slope, intercept))

    def __call__(self, x: Array) -> Array:
        return self.values(x)

    def times(self, factor: float) -> Function:
        if self.line is not None:
            return Function.straight(factor * self.line[0], factor * self.line[1])
        return Function(lambda x: factor * self.values(x), span=self.span)


def read_function(parent: Element) -> Function | None:
    """The function below an element, bare or wrapped in <function>; None where there is none.

    Raises:
        FileFormatError: a kind of function that is not read.
    """
    for child in parent.children:
        if child.tag in ("function", "coupled_coordinates_function"):
            return read_function(child)
        if child.tag in KINDS:
            return _read(child)
        if child.tag.endswith(("Function", "Spline")):
            raise child.error(f"<{child.tag[:80]}>: this kind of function is not read; {', '.join(KINDS)} are")
    return None


def _read(element: Element) -> Function:
    if element.tag == "Constant":
        return Function.straight(0.0, number(element, "value", 0.0))
    if element.tag == "LinearFunction":
        slope, intercept = floats(element, "coefficients", 2)
        return Function.straight(float(slope), float(intercept))
    if element.tag == "PolynomialFunction":
        coefficients = floats(element, "coefficients")
        if len(coefficients) <= 2:
            return Function.straight(*(float(c) for c in (0.0, *coefficients)[-2:]))
        return Function(lambda x: np.asarray(np.polyval(coefficients, x), dtype=np.float64))
    if element.tag == "MultiplierFunction":
        inner = read_function(element)
        if inner is None:
            raise element.error("<MultiplierFunction>: expected a <function>")
        return inner.times(number(element, "scale", 1.0))
    x, y = floats(element, "x"), floats(element, "y")
    if len(x) != len(y) or len(x) < 2 or (np.diff(x) <= 0).any():
        raise element.error(f"<{element.tag}>: expected as many y as x, at least two, and x that grow")
    straight = len(x) == 2 or element.tag == "PiecewiseLinearFunction"
    bends = np.zeros(len(x)) if straight else _bends(x, y)
    span = (float(x[0]), float(x[-1]))
    return Function(lambda at: _pieces(np.asarray(at, dtype=np.float64), x, y, bends), span=span)


def _bends(x: Array, y: Array) -> Array:
    """Second derivatives at the knots of the spline of SIMM: at both ends the third derivative is that of the cubic
    through the four nearest knots (Forsythe, Malcolm and Moler 1977, 4.4), zero with three knots.
    """
    n, h = len(x), np.diff(x)
    slopes = np.diff(y) / h
    A, b = np.zeros((n, n)), np.zeros(n)
    for i in range(1, n - 1):
        A[i, i - 1 : i + 2] = h[i - 1], 2 * (h[i - 1] + h[i]), h[i]
        b[i] = 6 * (slopes[i] - slopes[i - 1])
    A[0, :2], A[-1, -2:] = (-1, 1), (-1, 1)
    if n > 3:
        second = np.diff(slopes) / (x[2:] - x[:-2])
        third = np.diff(second) / (x[3:] - x[:-3])
        b[0], b[-1] = 6 * h[0] * third[0], 6 * h[-1] * third[-1]
    return np.asarray(np.linalg.solve(A, b), dtype=np.float64)


def _pieces(at: Array, x: Array, y: Array, bends: Array) -> Array:
    """A cubic between each two knots; straight on beyond the ends."""
    h = np.diff(x)
    inside = np.clip(at, x[0], x[-1])
    k = np.clip(np.searchsorted(x, inside, side="right") - 1, 0, len(h) - 1)
    s, M0, M1 = inside - x[k], bends[k], bends[k + 1]
    first = (y[k + 1] - y[k]) / h[k] - h[k] * (2 * M0 + M1) / 6
    cubic = (M1 - M0) / (6 * h[k])
    slope = first + s * (M0 + 3 * s * cubic)
    value: Array = y[k] + s * (first + s * (0.5 * M0 + s * cubic)) + (at - inside) * slope
    return value
