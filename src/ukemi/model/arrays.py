"""Checked conversion of numbers that users write into read-only arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ukemi.errors import InvalidInputError

Array = NDArray[np.float64]


def frozen(x: ArrayLike) -> Array:
    """A read-only copy."""
    a = np.array(x, dtype=np.float64)
    a.setflags(write=False)
    return a


def numbers(name: str, x: ArrayLike, *shapes: tuple[int, ...]) -> Array:
    """A read-only array of finite numbers with one of the given shapes (none given: any shape)."""
    try:
        a = frozen(x)
    except (TypeError, ValueError, OverflowError) as cause:
        raise InvalidInputError(f"{name}: expected numbers, got {x!r:.200}") from cause
    if shapes and a.shape not in shapes:
        wanted = " or ".join(str(s) if s else "a number" for s in shapes)
        raise InvalidInputError(f"{name}: expected {wanted}, got shape {a.shape}")
    if not np.isfinite(a).all():
        raise InvalidInputError(f"{name}: expected finite numbers, got {a.tolist()}")
    return a


def positive(name: str, x: ArrayLike) -> float:
    """A number above zero."""
    value = float(numbers(name, x, ()))
    if value <= 0:
        raise InvalidInputError(f"{name}: expected a positive number, got {value:g}")
    return value


def direction(name: str, x: ArrayLike) -> Array:
    """A unit vector along x."""
    a = numbers(name, x, (3,))
    length = float(np.linalg.norm(a))
    if length < 1e-12:
        raise InvalidInputError(f"{name}: expected a direction, got the zero vector")
    # Axes written with a few digits less than double (0.7071068) are meant to be unit; exact ones stay exact.
    return a if abs(length - 1) < 1e-15 else frozen(a / length)
