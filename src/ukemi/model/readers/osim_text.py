"""What the elements of an OpenSim file say: numbers, names and flags stand between the tags, not in attributes."""

from __future__ import annotations

import math

import numpy as np

from ukemi.model.arrays import Array
from ukemi.model.pose import Pose, quaternion_product
from ukemi.model.readers.xmltree import LARGEST_NUMBER, Element


def words_of(element: Element, *tags: str) -> list[str]:
    """The words of the first of these children that is there; none where none is."""
    for tag in tags:
        found = element.one(tag)
        if found is not None:
            return found.content.split()
    return []


def word_of(element: Element, *tags: str) -> str:
    """One word, or an empty one."""
    words = words_of(element, *tags)
    if len(words) > 1:
        raise element.error(f"<{tags[0]}>: expected one word, got {' '.join(words)[:80]!r}")
    return words[0] if words else ""


def flag(element: Element, tag: str, default: bool = False) -> bool:
    word = word_of(element, tag).lower()
    if word not in ("", "true", "false"):
        raise element.error(f"<{tag}>: expected true or false, got {word[:40]!r}")
    return word == "true" if word else default


def floats(element: Element, tag: str, count: int | None = None, default: tuple[float, ...] | None = None) -> Array:
    """Numbers of a child; without a default it must be there. ``count``: how many, any number if None."""
    words = words_of(element, tag)
    if not words and default is not None:
        return np.array(default)
    try:
        values = np.array([float(word) for word in words])
    except ValueError:
        raise element.error(f"<{tag}>: expected numbers, got {' '.join(words)[:80]!r}") from None
    if not words or (count is not None and len(values) != count):
        raise element.error(f"<{element.tag[:80]}>: <{tag}>: expected {count or 'some'} numbers, got {len(values)}")
    if not all(math.isfinite(x) and abs(x) <= LARGEST_NUMBER for x in values):
        raise element.error(f"<{tag}>: expected finite numbers, got {' '.join(words)[:80]!r}")
    return values


def number(element: Element, tag: str, default: float | None = None) -> float:
    return float(floats(element, tag, 1, None if default is None else (default,))[0])


def turned(axis: Array, angle: float) -> Pose:
    """A turn about a unit axis."""
    return Pose(quaternion=np.array((math.cos(angle / 2), *(math.sin(angle / 2) * axis))))


def pose_of(element: Element, place: str, turn: str) -> Pose:
    """A frame: its origin, and angles about x, then y, then z of the turning frame."""
    a, b, c = 0.5 * floats(element, turn, 3, (0.0, 0.0, 0.0))
    x, y, z = (np.cos(a), np.sin(a), 0, 0), (np.cos(b), 0, np.sin(b), 0), (np.cos(c), 0, 0, np.sin(c))
    return Pose(floats(element, place, 3, (0.0, 0.0, 0.0)), quaternion_product(quaternion_product(x, y), z))
