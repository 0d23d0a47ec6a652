"""Functions of one coordinate in OpenSim files: lines, polynomials, splines, and multiples of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import PPoly

from ukemi.model.arrays import Array
from ukemi.model.readers.osim_text import floats, number
from ukemi.model.readers.xmltree import Element

#: Also as OpenSim 1 wrote them.
SPLINES = ("SimmSpline", "NaturalCubicSpline", "natCubicSpline")
KINDS = ("Constant", "LinearFunction", "PolynomialFunction", "PiecewiseLinearFunction", *SPLINES, "MultiplierFunction")


@dataclass(frozen=True, eq=False)
class Function:
    """A function of arrays, with its derivatives; ``pieces``: a polynomial in each stretch, the outermost go on for
    ever; ``span``: between its first and last knot, if it has any."""

    pieces: PPoly
    span: tuple[float, float] | None = None

    @classmethod
    def polynomial(cls, coefficients: Array) -> Function:
        """Of coefficients, the highest power first."""
        return cls(PPoly(np.array(coefficients, dtype=np.float64)[:, None], np.array([0.0, 1.0])))

    @classmethod
    def straight(cls, slope: float, intercept: float) -> Function:
        return cls.polynomial(np.array((slope, intercept)))

    @property
    def line(self) -> tuple[float, float] | None:
        """(slope, intercept) if it is a straight one."""
        c = self.pieces.c
        return (float(c[0, 0]), float(c[1, 0])) if c.shape == (2, 1) else None

    def __call__(self, x: Array, order: int = 0) -> Array:
        """Its values at x, or its derivative of this order there."""
        values: Array = self.pieces(np.asarray(x, dtype=np.float64), order)
        return values

    def times(self, factor: float) -> Function:
        return Function(PPoly(factor * self.pieces.c, self.pieces.x), self.span)


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
        return Function.polynomial(np.concatenate([np.zeros(max(0, 2 - len(coefficients))), coefficients]))
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
    return Function(_pieces(x, y, bends), (float(x[0]), float(x[-1])))


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


def _pieces(x: Array, y: Array, bends: Array) -> PPoly:
    """A cubic between each two knots, from its second derivatives there; straight on beyond the ends."""
    h, M = np.diff(x), bends
    slopes = np.diff(y) / h - h * (2 * M[:-1] + M[1:]) / 6
    cubics = np.stack([np.diff(M) / (6 * h), 0.5 * M[:-1], slopes, y[:-1]])
    last = slopes[-1] + h[-1] * (M[-2] + M[-1]) / 2
    before, after = (0, 0, slopes[0], y[0] - slopes[0]), (0, 0, last, y[-1])
    c = np.column_stack([before, cubics, after])
    return PPoly(c, np.concatenate([[x[0] - 1], x, [x[-1] + 1]]))  # one wide: the outermost pieces go on
