"""Figure: one mechanism in a world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from ukemi.errors import UnknownNameError
from ukemi.model.arrays import Array, frozen, numbers
from ukemi.model.model import Model
from ukemi.sim.connection import JointHandle, LinkHandle

if TYPE_CHECKING:
    from ukemi.sim.world import World


@dataclass(eq=False)
class Figure:
    """A mechanism in a world. ``figure["left_hand"]`` is a link or landmark, ``figure.joint("left_elbow")`` a joint.

    ``q`` and ``v`` read and set its part of the world's state.
    """

    world: World
    name: str
    model: Model

    def _indices(self, kind: str) -> list[int]:
        links = (link for link in self.world.model.links if link.name.startswith(f"{self.name}/"))
        return [i for link in links for i in range(getattr(link, kind).start, getattr(link, kind).stop)]

    @property
    def q_index(self) -> list[int]:
        """Where its coordinates stand in the world's q, in the present structure."""
        return self._indices("q")

    @property
    def v_index(self) -> list[int]:
        """Where its velocities stand in the world's v, in the present structure."""
        return self._indices("v")

    @property
    def q(self) -> Array:
        """Coordinates (nq), a copy; assign the whole to change them."""
        return frozen(self.world.q[self.q_index])

    @q.setter
    def q(self, value: ArrayLike) -> None:
        new = self.world.q.copy()
        new[self.q_index] = numbers(f"{self.name}.q", value, (len(self.q_index),))
        self.world.set_state(q=new)

    @property
    def v(self) -> Array:
        """Velocities (nv), a copy; assign the whole to change them."""
        return frozen(self.world.v[self.v_index])

    @v.setter
    def v(self, value: ArrayLike) -> None:
        new = self.world.v.copy()
        new[self.v_index] = numbers(f"{self.name}.v", value, (len(self.v_index),))
        self.world.set_state(v=new)

    def __getitem__(self, name: str) -> LinkHandle:
        if isinstance(name, str) and name in self.model.landmarks:
            mark = self.model.landmarks[name]
            return LinkHandle(self.world, f"{self.name}/{mark.link}", mark.at)
        if not isinstance(name, str) or name not in self.model.link_names:
            raise UnknownNameError("link or landmark", name, (*self.model.link_names, *self.model.landmarks))
        return LinkHandle(self.world, f"{self.name}/{name}")

    def joint(self, name: str) -> JointHandle:
        return JointHandle(self.world, f"{self.name}/{self.model.joint(name).name}")
