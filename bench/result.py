"""What the benchmark found: races against the peers, and limits to keep."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ukemi.model.arrays import Array

PEERS = ("Pinocchio", "MuJoCo")


@dataclass(frozen=True)
class Race:
    """One case: times of ukemi and of the peers [us, medians], and how many times faster than the best is wanted."""

    case: str
    ukemi: float
    peers: dict[str, float]
    goal: float
    #: first and third quartile of every engine's times [us]: wide on a busy machine
    quartiles: dict[str, list[float]]
    #: peers that could not be run: then a goal can be missed, but not met
    absent: tuple[str, ...]

    @property
    def best(self) -> tuple[str, float] | None:
        """The fastest peer."""
        return min(self.peers.items(), key=lambda peer: peer[1], default=None)

    @property
    def ratio(self) -> float | None:
        return None if self.best is None else self.best[1] / self.ukemi

    @property
    def met(self) -> bool | None:
        if self.ratio is None or (self.ratio >= self.goal and self.absent):
            return None
        return self.ratio >= self.goal

    def as_json(self) -> dict[str, Any]:
        return {
            "case": self.case,
            "ukemi_us": self.ukemi,
            "peers_us": self.peers,
            "quartiles_us": self.quartiles,
            "best_peer": self.best and self.best[0],
            "ratio": self.ratio,
            "goal": self.goal,
            "met": self.met,
            "absent": self.absent,
        }


@dataclass(frozen=True)
class Limit:
    """A number that must stay below a bound."""

    case: str
    value: float
    bound: float
    unit: str
    #: the numbers it was made from
    parts: dict[str, float]

    @property
    def met(self) -> bool:
        return self.value <= self.bound

    def as_json(self) -> dict[str, Any]:
        shown = {"case": self.case, "value": self.value, "bound": self.bound, "unit": self.unit}
        return {**shown, "met": self.met, "parts": self.parts}


@dataclass
class Results:
    """All that one run found."""

    races: list[Race] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    #: largest relative difference between ukemi and each peer, or from tau for a round trip, by case
    accuracy: dict[str, dict[str, float]] = field(default_factory=dict)
    #: why a case or a peer is missing
    missing: dict[str, str] = field(default_factory=dict)

    def add_race(
        self, case: str, engines: list[str], seconds: Array, goal: float, peers: tuple[str, ...] = PEERS
    ) -> None:
        """A race from the times (rounds, engines) of ukemi, who stands first, and the peers that can run it."""
        us = (np.median(seconds, axis=0) * 1e6).tolist()
        spread = dict(zip(engines, (np.percentile(seconds, (25, 75), axis=0) * 1e6).T.tolist(), strict=True))
        absent = tuple(name for name in peers if name not in engines)
        self.races.append(Race(case, us[0], dict(zip(engines[1:], us[1:], strict=True)), goal, spread, absent))

    @property
    def worst_difference(self) -> float:
        return max((x for case in self.accuracy.values() for x in case.values()), default=0.0)
