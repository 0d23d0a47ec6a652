"""What the benchmark found: one row per case."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ukemi.model.arrays import Array

NAMES = {"ukemi": "ukemi", "pinocchio": "Pinocchio", "mujoco": "MuJoCo"}


@dataclass
class Row:
    """A case: ukemi's time and the peers', in microseconds (medians), and the ratio that is wanted.

    With a ``ratio`` of its own the row is not a race: a quotient of ukemi's times, or a time limit.
    """

    case: str
    ukemi: float
    peers: dict[str, float] = field(default_factory=dict)
    goal: float | None = None
    #: peers that the goal is about; all of them by default
    against: tuple[str, ...] | None = None
    note: str = ""

    @property
    def best(self) -> tuple[str, float] | None:
        """The fastest peer that the goal is about."""
        names = [name for name in self.peers if self.against is None or name in self.against]
        return min(((name, self.peers[name]) for name in names), key=lambda peer: peer[1], default=None)

    @property
    def ratio(self) -> float | None:
        """How many times ukemi is faster than the best peer."""
        return None if self.best is None else self.best[1] / self.ukemi

    @property
    def met(self) -> bool | None:
        return None if self.goal is None or self.ratio is None else self.ratio >= self.goal

    def as_json(self) -> dict[str, Any]:
        best = self.best
        return {
            "case": self.case,
            "ukemi_us": self.ukemi,
            "peers_us": self.peers,
            "best_peer": best and best[0],
            "ratio": self.ratio,
            "goal": self.goal,
            "met": self.met,
            "note": self.note,
        }


@dataclass
class Limit:
    """A number that must stay below a bound."""

    case: str
    value: float
    unit: str
    bound: float
    note: str = ""

    @property
    def met(self) -> bool:
        return self.value <= self.bound

    def as_json(self) -> dict[str, Any]:
        return {
            "case": self.case,
            "value": self.value,
            "unit": self.unit,
            "bound": self.bound,
            "met": self.met,
            "note": self.note,
        }


def medians(engines: list[str], seconds: Array) -> dict[str, float]:
    """Median of each column, in microseconds."""
    return {NAMES[name]: float(x) * 1e6 for name, x in zip(engines, np.median(seconds, axis=0), strict=True)}
