"""The exception tree.

::

    UkemiError
    ├── InvalidInputError   (ValueError)  wrong shape, NaN, a quaternion that is not unit, an impossible option
    ├── UnknownNameError    (KeyError)    a link, joint or landmark that does not exist
    ├── ModelError          (ValueError)  a mechanism that cannot be: cycles, negative mass, impossible inertia
    ├── FileFormatError     (ValueError)  a file that cannot be read; the message begins with file:line
    ├── SingularError       (ArithmeticError)  a structure whose accelerations are not determined
    └── SimulationError     (ArithmeticError)  a run that left the finite numbers, with its last good state
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from numpy import float64
from numpy.typing import NDArray


class UkemiError(Exception):
    """Root of everything that ukemi raises on purpose."""


class InvalidInputError(UkemiError, ValueError):
    """An argument has the wrong shape, type or value."""


class UnknownNameError(UkemiError, KeyError):
    """A name that nothing carries."""

    def __init__(self, what: str, name: object, known: Iterable[str]) -> None:
        self.name = name
        self.known = tuple(known)
        near = get_close_matches(str(name), self.known, n=3)
        some = near or self.known[:12]
        more = "" if near or len(self.known) <= 12 else f", ... ({len(self.known)} in all)"
        hint = "did you mean" if near else "there are"
        super().__init__(f"no {what} named {name!r}; {hint} {', '.join(some) or 'none'}{more}")

    def __str__(self) -> str:  # KeyError would print the repr
        return str(self.args[0])


class ModelError(UkemiError, ValueError):
    """A mechanism that cannot be built."""


class FileFormatError(UkemiError, ValueError):
    """A file that cannot be read. ``path`` and ``line`` say where."""

    def __init__(self, path: object, line: int | None, message: str) -> None:
        self.path = str(path)
        self.line = line
        where = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{where}: {message}")


class SingularError(UkemiError, ArithmeticError):
    """Accelerations that the structure does not determine."""


class SimulationError(UkemiError, ArithmeticError):
    """A run that could not go on. ``time``, ``q`` and ``v`` hold the last good state, ``recording`` all before it."""

    def __init__(self, message: str, time: float, q: NDArray[float64], v: NDArray[float64]) -> None:
        self.time = time
        self.q = q
        self.v = v
        self.recording: Any = None
        super().__init__(message)


class UkemiWarning(UserWarning):
    """Something in the input was left out or changed; the message says what."""
