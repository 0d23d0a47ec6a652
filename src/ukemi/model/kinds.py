"""Checks of what users pass that is no number: things of a kind, collections, flags, paths."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ukemi.errors import InvalidInputError

T = TypeVar("T")


def of_kind(name: str, x: object, kind: type[T], wanted: str | None = None) -> T:
    """x, if it is one; ``wanted``: what to say was expected."""
    if not isinstance(x, kind):
        raise InvalidInputError(f"{name}: expected {wanted or f'a {kind.__name__}'}, got {x!r:.100}")
    return x


def items_of(name: str, x: Iterable[T], wanted: str) -> tuple[T, ...]:
    """What is in a collection."""
    try:
        return tuple(x)
    except TypeError:
        raise InvalidInputError(f"{name}: expected {wanted}, got {x!r:.100}") from None


def name_pairs(name: str, x: Mapping[str, str] | None) -> dict[str, str]:
    """A mapping from names to names; none is an empty one."""
    pairs = {} if x is None else dict(of_kind(name, x, Mapping, "{name: name}"))  # type: ignore[type-abstract]
    for pair in pairs.items():
        for word in pair:
            of_kind(name, word, str, "names")
    return pairs


def choice(name: str, x: object, known: Iterable[Any]) -> None:
    """Refuses what is none of these."""
    if not isinstance(x, str | int | np.integer | None) or x not in tuple(known):
        *most, last = (repr(k) for k in known if k is not None)
        raise InvalidInputError(f"{name}: expected {', '.join(most)} or {last}, got {x!r:.100}")


def truth(name: str, x: object) -> bool:
    """Whether; an array is neither true nor false."""
    if not isinstance(x, bool | np.bool_ | int):
        raise InvalidInputError(f"{name}: expected True or False, got {x!r:.100}")
    return bool(x)


def path_of(name: str, x: str | os.PathLike[str]) -> Path:
    """A path that names something."""
    if not isinstance(x, str | os.PathLike) or not Path(x).name:
        raise InvalidInputError(f"{name}: expected a path, got {x!r:.100}")
    return Path(x)
