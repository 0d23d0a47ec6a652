"""What acts across joints: springs and dampers that couple them, and limits that depend on other coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array, frozen, numbers
from ukemi.model.kinds import items_of, of_kind

#: A coordinate: a joint by name (its first coordinate), or (joint, number of the coordinate).
Coordinate = str | tuple[str, int]
#: Highest power in a term of a limit.
DEGREE = 4


def coordinate(name: str, given: object) -> tuple[str, int]:
    """(joint, number) of a coordinate as users name it."""
    found = (given, 0) if isinstance(given, str) else given
    if not isinstance(found, tuple) or len(found) != 2 or not isinstance(found[0], str):
        raise InvalidInputError(f"{name}: expected a joint's name or (name, number), got {given!r}")
    if isinstance(found[1], bool) or not isinstance(found[1], int) or found[1] < 0:
        raise InvalidInputError(f"{name}: expected a joint's name or (name, number), got {given!r}")
    return found[0], found[1]


@dataclass(frozen=True, eq=False)
class JointSpring:
    """A spring and damper across joints: tau = -K (q - rest) - B v over their coordinates."""

    coordinates: tuple[tuple[str, int], ...]
    stiffness: Array
    damping: Array
    rest: Array

    @classmethod
    def of(
        cls,
        coordinates: Sequence[Coordinate],
        stiffness: ArrayLike | None,
        damping: ArrayLike | None,
        rest: ArrayLike | None,
    ) -> JointSpring:
        """Checked: symmetric, without negative directions."""
        given_items = items_of("spring: coordinates", coordinates, "joints by name, or (name, number)")
        where = tuple(coordinate("spring", item) for item in given_items)
        n = len(where)
        if n == 0 or len(set(where)) < n:
            raise InvalidInputError(f"spring: expected different coordinates, got {coordinates!r}")
        matrices = []
        for name, given in (("stiffness", stiffness), ("damping", damping)):
            m = numbers(f"spring: {name}", np.zeros((n, n)) if given is None else given, (n, n))
            if not np.allclose(m, m.T, rtol=1e-9, atol=0):
                raise InvalidInputError(f"spring: {name}: expected a symmetric matrix, got {m.tolist()}")
            if np.linalg.eigvalsh(m).min() < -1e-9 * np.abs(m).max():
                raise InvalidInputError(f"spring: {name}: expected no negative direction, got {m.tolist()}")
            matrices.append(m)
        slack = numbers("spring: rest", np.zeros(n) if rest is None else rest, (n,))
        return cls(where, matrices[0], matrices[1], slack)

    def joints(self) -> set[str]:
        return {joint for joint, _ in self.coordinates}

    def renamed(self, prefix: str) -> JointSpring:
        return replace(self, coordinates=tuple((f"{prefix}{joint}", k) for joint, k in self.coordinates))


@dataclass(frozen=True, eq=False)
class JointLimit:
    """sum of p_i(x_i) <= at_most, with polynomials p_i of coordinates: coefficients (terms, 4) of x, x^2, x^3, x^4."""

    coordinates: tuple[tuple[str, int], ...]
    coefficients: Array
    at_most: float
    restitution: float = 0.0

    @classmethod
    def of(cls, terms: Mapping[Coordinate, ArrayLike], at_most: float, restitution: float) -> JointLimit:
        of_kind("limit: terms", terms, Mapping, "{joint: factor}")  # type: ignore[type-abstract]
        where = tuple(coordinate("limit", item) for item in terms)
        if not where or len(set(where)) < len(where):
            raise InvalidInputError(f"limit: expected different coordinates, got {list(terms)!r}")
        rows = []
        for item, given in terms.items():
            c = np.atleast_1d(numbers(f"limit: {item!r}", given))
            if c.ndim != 1 or not 1 <= c.size <= DEGREE or not c.any():
                raise InvalidInputError(
                    f"limit: {item!r}: expected a factor, or coefficients of x, x^2, x^3, x^4, got {given!r}"
                )
            rows.append(np.concatenate([c, np.zeros(DEGREE - c.size)]))
        e = float(numbers("limit: restitution", restitution, ()))
        if not 0 <= e <= 1:
            raise InvalidInputError(f"limit: restitution: expected a number from 0 to 1, got {e:g}")
        return cls(where, frozen(rows), float(numbers("limit: at_most", at_most, ())), e)

    def joints(self) -> set[str]:
        return {joint for joint, _ in self.coordinates}

    def renamed(self, prefix: str) -> JointLimit:
        return replace(self, coordinates=tuple((f"{prefix}{joint}", k) for joint, k in self.coordinates))
