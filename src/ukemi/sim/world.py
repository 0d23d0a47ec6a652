"""World: several mechanisms in one forest that grows from the ground, and their state."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ukemi.dynamics.momentum import energy
from ukemi.errors import InvalidInputError, ModelError, UnknownNameError
from ukemi.model.arrays import Array, numbers
from ukemi.model.description import WORLD, Description, LinkDescription
from ukemi.model.model import Model


@dataclass(eq=False)
class Figure:
    """A mechanism in a world. ``figure.q`` and ``figure.v`` read and set its part of the world's state."""

    world: World
    name: str
    model: Model
    _q: slice
    _v: slice

    @property
    def q(self) -> Array:
        """Coordinates (nq)."""
        return self.world.q[self._q]

    @q.setter
    def q(self, value: ArrayLike) -> None:
        self.world.q[self._q] = numbers(f"{self.name}.q", value, (self.model.nq,))

    @property
    def v(self) -> Array:
        """Velocities (nv)."""
        return self.world.v[self._v]

    @v.setter
    def v(self, value: ArrayLike) -> None:
        self.world.v[self._v] = numbers(f"{self.name}.v", value, (self.model.nv,))


class World:
    """Holds the structure and the state; gravity (3,) in world axes [m/s^2]."""

    def __init__(self, gravity: ArrayLike = (0, 0, -9.81)) -> None:
        self.gravity = numbers("World.gravity", gravity, (3,))
        self.time = 0.0
        self.figures: dict[str, Figure] = {}
        self.model = Model(Description("world"))
        self.q: Array = np.zeros(0)
        self.v: Array = np.zeros(0)

    def add(
        self, model: Model, name: str | None = None, q: ArrayLike | None = None, v: ArrayLike | None = None
    ) -> Figure:
        """Puts a mechanism into the world, at rest in its zero pose unless q and v say otherwise.

        Its links are called ``name/link`` in `World.model`.
        """
        if not isinstance(model, Model):
            raise InvalidInputError(f"World.add: expected a Model, got {model!r}")
        name = model.name if name is None else name
        if name in self.figures:
            raise ModelError(f"World.add: the name {name!r} is taken")
        start = model.neutral() if q is None else numbers("q", q, (model.nq,))
        speed = np.zeros(model.nv) if v is None else numbers("v", v, (model.nv,))
        energy(model, start, speed)  # lets the core refuse bad quaternions before anything changes
        figure = Figure(
            self, name, model, slice(len(self.q), len(self.q) + model.nq), slice(len(self.v), len(self.v) + model.nv)
        )
        parts = [*((f.name, f.model) for f in self.figures.values()), (name, model)]
        self.model = _forest(parts)
        self.q, self.v = np.concatenate([self.q, start]), np.concatenate([self.v, speed])
        self.figures[name] = figure
        return figure

    def figure(self, name: str) -> Figure:
        try:
            return self.figures[name]
        except (KeyError, TypeError):
            raise UnknownNameError("figure", name, self.figures) from None

    def energy(self) -> float:
        """Kinetic and potential energy of everything [J]."""
        return float(energy(self.model, self.q, self.v, self.gravity))


def _forest(parts: list[tuple[str, Model]]) -> Model:
    """One model of all figures, their links called figure/link."""
    forest = Description("world")
    for figure, model in parts:
        for link in model.links:
            parent = WORLD if link.parent is None else f"{figure}/{link.parent.name}"
            forest.links.append(
                LinkDescription(
                    f"{figure}/{link.name}",
                    parent,
                    link.joint,
                    f"{figure}/{link.joint_name}",
                    link.at,
                    link.mass_properties,
                    link.shapes,
                )
            )
        for name, landmark in model.landmarks.items():
            forest.landmarks[f"{figure}/{name}"] = replace(landmark, link=f"{figure}/{landmark.link}")
    return Model(forest)
