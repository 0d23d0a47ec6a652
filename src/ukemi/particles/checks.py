"""Numbers at the border: what came, and what was wanted."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ukemi.errors import InvalidInputError

Array = NDArray[np.float64]


def array(name: str, x: ArrayLike, *shape: int | None) -> Array:
    """A new array of finite numbers; None in the shape stands for any size."""
    try:
        a = np.array(x, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as cause:
        raise InvalidInputError(f"{name}: expected numbers, got {x!r:.200}") from cause
    if a.ndim != len(shape) or any(want is not None and want != got for want, got in zip(shape, a.shape, strict=True)):
        wanted = f"({', '.join('n' if s is None else str(s) for s in shape)})" if shape else "a number"
        raise InvalidInputError(f"{name}: expected {wanted}, got shape {a.shape}")
    if not np.isfinite(a).all():
        raise InvalidInputError(f"{name}: expected finite numbers, got {a[~np.isfinite(a)].ravel()[0]}")
    return a


def positive(name: str, x: float) -> float:
    """A number above zero."""
    value = float(array(name, x))
    if value <= 0:
        raise InvalidInputError(f"{name}: expected a positive number, got {value:g}")
    return value


def not_negative(name: str, x: float, *, infinite: bool = False) -> float:
    """Zero or more; infinity if allowed."""
    if infinite and x == math.inf:
        return math.inf
    value = float(array(name, x))
    if value < 0:
        raise InvalidInputError(f"{name}: expected zero or a positive number, got {value:g}")
    return value


def direction(name: str, x: ArrayLike) -> tuple[float, float, float]:
    """A unit vector along x."""
    a = array(name, x, 3)
    length = float(np.linalg.norm(a))
    if length < 1e-12:
        raise InvalidInputError(f"{name}: expected a direction, got the zero vector")
    x_, y, z = (a / length).tolist()
    return x_, y, z
