"""How many threads batches of states are shared among."""

from __future__ import annotations

from ukemi import _core
from ukemi.model.kinds import of_kind


def set_threads(count: int) -> None:
    """Sets the number, 1 to 1024."""
    _core.set_threads(min(max(of_kind("threads", count, int, "a whole number"), 0), 2000))
