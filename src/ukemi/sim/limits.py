"""Joint limits as events [HAND07 3.3]: the time a joint reaches its limit is located, it is held there by a reaction
that only pushes, and let go when the reaction would have to pull. Implicit steps take limits as unilateral constraints.

A limit is a row x <= 0: a tie that may be open. At an event all limits that touch are solved together: their impulses
by Newton's law, then which of them push, as a complementarity problem over the reactions. Loops and ties take part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ukemi import _core
from ukemi.chain.limits import Limit, limit_chain
from ukemi.model.arrays import Array

if TYPE_CHECKING:
    from ukemi.sim.world import World

#: A joint that is put farther than this beyond its limit moves freely until it is back within [rad, m].
OUTSIDE = 1e-6


@dataclass(frozen=True, eq=False)
class Stop:
    """A limit that holds now, and its place among the limits."""

    index: int
    limit: Limit


class LimitKeeper:
    """Knows the limits of a world's joints while a simulation runs.

    `refresh` finds what has changed from outside. Smooth steps stop in the core where a limit is crossed or a held one
    would pull (core/limit_guard.hpp), and `settle` finds how the motion goes on; implicit
    steps keep the limits themselves, as unilateral constraints at the end of each step (core/limit_step.hpp), and tell
    `follow` which of them push.
    """

    def __init__(self, world: World, implicit: bool) -> None:
        self.world, self.implicit = world, implicit
        self._version = -1
        #: limits whose joints stand beyond them
        self.outside: list[int] = []
        self._read()

    def _read(self) -> None:
        self._model = self.world.model
        self.limits, self.chain = limit_chain(self._model)
        self._settler = _core.LimitSettler(self._model.tree, self.chain, self.restitution) if self.limits else None

    @property
    def held(self) -> list[int]:
        return [stop.index for stop in self.world.stops]

    @property
    def restitution(self) -> list[float]:
        return [limit.restitution for limit in self.limits]

    def refresh(self) -> None:
        """After a change from outside: which joints are beyond their limits, which limits push."""
        if self.world.version == self._version:
            self._come_within()
            return
        if self.world.model is not self._model:
            self._read()
        error, _ = self.chain.state(self.world.q, self.world.v)
        self.outside = [int(k) for k in np.flatnonzero(error > OUTSIDE) if k not in self.held]
        if not self.implicit:
            self.settle()
        self._version = self.world.version

    def _come_within(self) -> None:
        """Joints that are back within their limits are outside no more."""
        if self.outside:
            error, _ = self.chain.state(self.world.q, self.world.v)
            self.outside = [k for k in self.outside if error[k] > 0]

    def reactions(self) -> Array:
        """Of the stops of smooth steps: generalized forces along their rows, positive when they push."""
        world = self.world
        _, forces = world.closed.dynamics(world.q, world.v, world.acting(), None, world.gravity)
        return -world.closed.least_norm(forces)[-len(world.stops) :]

    def settle(self) -> None:
        """At an event: velocities after the impacts of all limits that touch, then which of them hold."""
        world = self.world
        if self._settler is None:
            return
        self._come_within()
        closed = world.chain_without_stops() if world.connections or world.ties else None
        motion = world.q, world.v, world.acting(), world.gravity
        world.v, hits, pushing = self._settler.settle(closed, self.outside, *motion)
        for k, speed, impulse in hits:
            if k not in self.held:
                self._tell(world.time, k, "limit reached", speed=speed, impulse=impulse)
        for k in sorted(set(self.held) - set(pushing)):
            self._tell(world.time, k, "limit left")
        self._hold(pushing)

    def follow(self, changes: list[tuple[float, int, bool]], active: list[int]) -> None:
        """What implicit steps did: (time, limit, reached), and the limits that push now."""
        for time, k, reached in changes:
            self._tell(time, k, "limit reached" if reached else "limit left")
        self._hold(active)

    def _tell(self, time: float, k: int, what: str, **more: float) -> None:
        self.world.events.append({"time": time, "what": f"{self.limits[k].label}: {what}", **more})

    def _hold(self, rows: list[int]) -> None:
        if set(rows) != set(self.held):
            self.world.hold_limits([Stop(k, self.limits[k]) for k in rows])
            self._version = self.world.version
