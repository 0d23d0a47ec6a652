"""Ties of a world: joint coordinates that follow each other, or stay where they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ukemi import _core
from ukemi.chain.ties import coefficients_of, freedom_of
from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array
from ukemi.model.model import Model
from ukemi.sim.connection import JointHandle

if TYPE_CHECKING:
    from ukemi.sim.world import World


@dataclass(frozen=True, eq=False)
class TieTerm:
    """A polynomial of one coordinate of the joint above a link: coefficients (4) of x, x^2, x^3, x^4."""

    link: str
    freedom: int
    coefficients: Array


@dataclass(eq=False)
class Tie:
    """A constraint on joint coordinates: the sum of its terms is ``value``. Made by `World.tie` and `World.hold`.

    Attributes:
        active: whether it acts; `on` and `off` change it while the motion runs.
        impulse: along the tie, of the velocity jump when it was last switched on; freedom i felt p_i' times as much.
        energy_lost: of that velocity jump, shared with what was connected at the same instant [J].
    """

    world: World
    name: str
    terms: tuple[TieTerm, ...]
    value: float
    #: None: nothing comes back
    restitution: Array | None = None
    active: bool = False
    impulse: float = 0.0
    energy_lost: float = 0.0
    _row: _core.Tie | None = None

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_row": None}

    @property
    def force(self) -> float:
        """Its generalized force under the last torques: what it adds to the torque of a held joint [N m, N]."""
        return self.world.tie_force(self) if self.active else 0.0

    @property
    def gap(self) -> float:
        """How far the coordinates are from where the tie wants them."""
        return self.world.gap(self) if self.active else 0.0

    def on(self, value: float | None = None, *, snap: bool = False) -> None:
        """Lets it act, at ``value`` if given; velocities jump so that they fit (see `World.connect`)."""
        self.world.switch_on(self, value, snap=snap)

    def off(self) -> None:
        """Takes it away; velocities go on as they are."""
        self.world.cut(self)

    # --- the tie in the present structure ----------------------------------------------------------------------------

    def renumber(self, model: Model) -> None:
        """Finds its joints in a model, whose numbers may have changed."""
        freedoms = [freedom_of(model.link(term.link), term.freedom) for term in self.terms]
        coefficients = np.array([term.coefficients for term in self.terms])
        self._row = _core.Tie(model.tree, freedoms, coefficients, -self.value)

    @property
    def row(self) -> _core.Tie:
        """As the core knows it."""
        if self._row is None:  # a copy
            self.renumber(self.world.model)
        assert self._row is not None
        return self._row

    def __repr__(self) -> str:
        return f"<tie {self.name!r}: {', '.join(t.link for t in self.terms)}{'' if self.active else ', off'}>"


def tie_terms(world: World, terms: Mapping[JointHandle, ArrayLike]) -> tuple[TieTerm, ...]:
    """Checked terms of a tie."""
    if not isinstance(terms, Mapping) or not terms:
        raise InvalidInputError(f"tie: expected {{joint: factor}} such as {{man.joint('knee'): 1}}, got {terms!r}")
    found = []
    for handle, factor in terms.items():
        if not isinstance(handle, JointHandle) or handle.world is not world:
            raise InvalidInputError(f"tie: expected joints of this world such as man.joint('knee'), got {handle!r}")
        freedom_of(world.model.link(handle.link), handle.freedom)
        found.append(TieTerm(handle.link, handle.freedom, coefficients_of(f"tie of {handle.name!r}", factor)))
    if len({(term.link, term.freedom) for term in found}) < len(found):
        raise InvalidInputError("tie: a coordinate stands in it twice")
    return tuple(found)
