"""How a structure changes: connections and ties made at one instant with one velocity jump, taken away, or not at all.

What cannot be made leaves everything as it was: models, chains, lists and arrays are values that are replaced, never
changed in place, so that going back is to take the old ones again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ukemi.errors import InvalidInputError, SingularError
from ukemi.model.arrays import Array, numbers
from ukemi.model.kinds import truth
from ukemi.model.model import Model
from ukemi.model.pose import Pose
from ukemi.sim.connection import Connection, JointHandle
from ukemi.sim.figure import Figure
from ukemi.sim.forest import freed
from ukemi.sim.limits import Stop
from ukemi.sim.structure import Structure
from ukemi.sim.tie import Tie

#: Frames that are to meet may be this far apart [m, rad]; more wants snap=True.
MEETING = 1e-6


class ChangingStructure(Structure):
    """A structure whose connections, ties and joints come and go."""

    def __init__(self, gravity: ArrayLike, allow_rigid: bool) -> None:
        super().__init__(gravity)
        #: lets connections take the last freedom away
        self.allow_rigid = allow_rigid
        self.figures: dict[str, Figure] = {}
        self._held: list[Connection | Tie] | None = None
        #: names of links that were connected
        self._were_joined: set[frozenset[str]] = set()

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Connections and ties made inside are made at the same instant, with one velocity jump for all."""
        if self._held is not None:
            raise InvalidInputError("World.at_once: already collecting connections")
        self._held = []
        with self._all_or_nothing():
            try:
                yield
                held, self._held = self._held, None
                self._jump(held)
            finally:
                self._held = None

    def _make(self, new: Sequence[Connection | Tie], at: Pose | str | None, snap: bool) -> None:
        truth("snap", snap)
        before = self._snapshot()
        try:
            for item in new:
                if isinstance(item, Connection):
                    item.place(self.model, self.q, at)
                else:
                    item.renumber(self.model)
            self._activate(new)
            if snap:
                self._snap(new)
            if self._held is None:
                self._jump(new)
            else:
                self._held += new
        except BaseException:
            self._restore(before)
            raise

    def _activate(self, new: Sequence[Connection | Tie]) -> None:
        for item in new:
            item.active = True
        self.connections = [*self.connections, *(c for c in new if isinstance(c, Connection))]
        self.ties = [*self.ties, *(t for t in new if isinstance(t, Tie))]
        self._changed()

    def _snap(self, new: Sequence[Connection | Tie]) -> None:
        self.q, _, left = self.closed.project(self.q, self.v)
        if left > 1e-9:
            names = ", ".join(item.name for item in new)
            raise SingularError(f"connect: the loop of {names} cannot close: {left:.3g} m (or rad) are left")

    def _jump(self, new: Sequence[Connection | Tie]) -> None:
        """Velocity jump at a connection ([SV00] eq. 25-38, [CC00] eq. 13-19), all rows in one solve."""
        rebounding = [item for item in new if item.restitution is not None]
        v, gap, lost, acting, impulses, freedoms = self.closed.jump(self.q, self.v, self._restitution(rebounding))
        if gap > MEETING:
            worst = max(new, key=self.gap)
            what = "frames" if isinstance(worst, Connection) else "coordinates"
            apart = f"{self.gap(worst):.3g} m (or rad) apart"
            raise InvalidInputError(
                f"connect: the {what} of {worst.name!r} are {apart}; bring them together, or snap=True"
            )
        if freedoms == 0 and not self.allow_rigid:
            self._refuse_rigid([item for item in new if isinstance(item, Connection) and item.restitution is None])
        self.v = v
        for item in new:
            if isinstance(item, Connection):
                item.impulse = acting[self.connections.index(item)]
            else:
                item.impulse = float(impulses[self.rows_of(item)][0])
            item.energy_lost = lost
        if rebounding:
            self._drop(rebounding)

    def _restitution(self, rebounding: Sequence[Connection | Tie]) -> Array | None:
        """One per row."""
        if not rebounding:
            return None
        restitution = np.zeros(self.closed.rows)
        for item in rebounding:
            rows = self.rows_of(item)
            assert item.restitution is not None
            count = rows.stop - rows.start
            restitution[rows] = numbers(f"restitution of {item.name!r}", item.restitution, (), (count,))
        return restitution

    def _refuse_rigid(self, new: Sequence[Connection]) -> None:
        """A held joint may come to rest at its stop, but connecting should leave something that moves."""
        if any(len(range(*self.closed.rows_of(self.connections.index(c)))) for c in new):
            names = ", ".join(repr(c.name) for c in new)
            raise SingularError(
                f"connect: {names} would take the last of the {self.model.nv} freedoms: nothing could move. "
                "Leave a freedom, or let it stand with World(allow_rigid=True)"
            )

    def _drop(self, gone: Sequence[Connection | Tie]) -> None:
        for item in gone:
            item.active = False
            if isinstance(item, Connection):
                self._were_joined.add(frozenset((item.a.name or "", item.b.name or "")))
        self.connections = [c for c in self.connections if c not in gone]
        self.ties = [t for t in self.ties if t not in gone]
        if self._held is not None:
            self._held = [c for c in self._held if c not in gone]
        self._changed()

    def _free(self, handle: JointHandle) -> None:
        """Puts a link on a free joint at its present pose and velocity."""
        with self._all_or_nothing():
            model, q, v = freed(self.model, handle.link, self.q, self.v)
            self._drop([tie for tie in self.ties if any(term.link == handle.link for term in tie.terms)])
            self._restructure(model, q, v)

    def hold_limits(self, stops: Sequence[Stop]) -> None:
        """Which joint limits hold from now on; velocities go on as they are."""
        self.stops = list(stops)
        self._changed()

    def _changed(self) -> None:
        self.version += 1
        self._closed = None

    def _restructure(self, model: Model, q: Array, v: Array) -> None:
        self.model, self.q, self.v = model, q, v
        self.tau = np.zeros(model.nv)
        self.stops = []  # found again by the simulation
        self._renumber()
        self._changed()

    def _renumber(self) -> None:
        for connection in self.connections:
            connection.renumber(self.model)
        for tie in self.ties:
            tie.renumber(self.model)

    def _snapshot(self) -> tuple[Any, ...]:
        """All that a change may replace; lists and arrays in it are never changed in place."""
        structure = self.model, self.connections, self.ties, self.stops, self.figures
        return (*structure, self.q, self.v, self.tau, self._closed)

    def _restore(self, snapshot: tuple[Any, ...]) -> None:
        changed = self.model is not snapshot[0]
        self._set_active(False)
        self.version += 1
        self.model, self.connections, self.ties, self.stops, self.figures, *state = snapshot
        self.q, self.v, self.tau, self._closed = state
        self._set_active(True)
        if self._held is not None:
            self._held = [item for item in self._held if item.active]
        if changed:
            self._renumber()

    def _set_active(self, active: bool) -> None:
        for connection in self.connections:
            connection.active = active
        for tie in self.ties:
            tie.active = active

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        before = self._snapshot()
        try:
            yield
        except BaseException:
            self._restore(before)
            raise
