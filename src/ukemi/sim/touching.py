"""What a world touches: its terrain, how surfaces meet, and which links may."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ukemi.contact.reports import Contact
from ukemi.contact.scene import Pair, Scene
from ukemi.contact.terrain import Piece, Surface, Terrain, pieces
from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array
from ukemi.model.description import WORLD
from ukemi.model.kinds import of_kind
from ukemi.sim.connection import LinkHandle

if TYPE_CHECKING:
    from ukemi import _core
    from ukemi.model.model import Model
    from ukemi.sim.connection import Connection
    from ukemi.sim.figure import Figure
    from ukemi.sim.tie import Tie

#: A start deeper inside something than this is refused [m].
DEEP = 1e-3
#: `World.separate` takes no more.
MOST_ROUNDS = 100_000
#: Forces of a state from which no step has been made are the means over a step of this length [s].
FIRST_STEP = 1e-3


class Touching:
    """The part of a `World` that knows what may touch."""

    model: Model
    figures: dict[str, Figure]
    connections: list[Connection]
    version: int
    q: Array
    v: Array
    tau: Array
    gravity: Array
    ties: list[Tie]
    _were_joined: set[Pair]

    def chain_without_stops(self) -> _core.ClosedChain:
        raise NotImplementedError

    def __init__(self) -> None:
        self._terrain: Terrain = None
        self._pieces: tuple[Piece, ...] = ()
        self._surface = Surface()
        self._surfaces: dict[Pair, Surface] = {}
        self._apart: set[Pair] = set()
        self._collisions: bool | None = None
        self._stepped: tuple[int, Array, Array, Scene] | None = None

    @property
    def terrain(self) -> Terrain:
        """What stands in the world: `Ground`, `Solids`, `stairs(...)`, `HeightField`, or a list of them; or None."""
        return self._terrain

    @terrain.setter
    def terrain(self, terrain: Terrain) -> None:
        self._pieces = pieces(terrain)
        self._terrain = terrain
        self.version += 1

    @property
    def surface(self) -> Surface:
        """How links touch each other, where `set_surface` says nothing else."""
        return self._surface

    @surface.setter
    def surface(self, surface: Surface) -> None:
        if not isinstance(surface, Surface):
            raise InvalidInputError(f"World.surface: expected a Surface, got {surface!r}")
        self._surface = surface
        self.version += 1

    @property
    def collisions(self) -> bool:
        """Do links touch each other? Where nothing is set: yes in a world with a terrain.

        Links on one joint, links joined by a connection, and links of one figure that meet in its zero pose never do.
        """
        return bool(self._pieces) if self._collisions is None else self._collisions

    @collisions.setter
    def collisions(self, on: bool) -> None:
        if not isinstance(on, bool):
            raise InvalidInputError(f"World.collisions: expected True or False, got {on!r}")
        self._collisions = on
        self.version += 1

    def set_surface(self, a: LinkHandle, b: LinkHandle, surface: Surface | None) -> None:
        """How two links touch; None: they pass through each other.

        One of them may be ``world.ground``: then it is how the other touches the terrain, whatever piece of it, in
        place of what the terrain says. A skate is ``set_surface(man["left_foot"], world.ground, Surface(0.02))``.
        """
        pair = frozenset(_name(self, handle) for handle in (a, b))
        if len(pair) < 2:
            raise InvalidInputError("set_surface: expected two different links")
        if surface is None:
            self._apart.add(pair)
        elif isinstance(surface, Surface):
            self._apart.discard(pair)
            self._surfaces[pair] = surface
        else:
            raise InvalidInputError(f"set_surface: expected a Surface or None, got {surface!r}")
        self.version += 1

    @property
    def touches(self) -> bool:
        """Is there anything that may touch?"""
        return bool(self._pieces) or self.collisions

    def scene(self, limits: bool = True) -> Scene:
        """The present structure's shapes, terrain and stops, compiled."""
        joined = {frozenset((c.a.name or "", c.b.name or "")) for c in self.connections}
        return Scene(
            self.model,
            {name: figure.model for name, figure in self.figures.items()},
            self._pieces,
            surface=self._surface,
            surfaces=self._surfaces,
            apart=self._apart | joined,
            between=self.collisions,
            closed=self.chain_without_stops() if self.connections or self.ties else None,
            limits=limits,
        )

    def checked_scene(self, limits: bool = True) -> Scene:
        """The scene, unless the state is deep inside something.

        Links of one figure that overlap when a run begins, and links that overlap when their connection is cut, pass
        through each other from then on.
        """
        scene = self.scene(limits)
        scene.engine.look(self.q, self.v)
        inside = [c for c in scene.contacts() if c.gap < -DEEP]
        own = {frozenset(c.links) for c in inside if _of_one_figure(c) or frozenset(c.links) in self._were_joined}
        if own:
            self._apart |= own
            return self.checked_scene(limits)
        if inside:
            worst = min(inside, key=lambda c: c.gap)
            where = f"{worst.links[0]!r} is {-1e3 * worst.gap:.3g} mm inside {worst.links[1]!r}"
            free = any(_free_root(self.model, name) is not None for name in worst.links)
            hint = "move it, or call world.separate()" if free else "move it; on a free joint world.separate() could"
            raise InvalidInputError(f"{where}: {hint}")
        return scene

    def stepped(self, scene: Scene) -> None:
        """The present state is the end of a step of this scene's engine."""
        self._stepped = (self.version, self.q, self.v, scene)

    def forces_beside_contacts(self) -> Array:
        """Along the rows of connections and ties: means over the last step, or over one from here if there was none."""
        if self._stepped is not None:
            version, q, v, scene = self._stepped
            if version == self.version and q is self.q and v is self.v:
                return np.array(scene.engine.loop_forces())
        scene = self.scene()
        scene.engine.advance(self.q, self.v, FIRST_STEP, 1, self.tau, None, self.gravity)
        return np.array(scene.engine.loop_forces())

    def separate(self, rounds: int = 50) -> float:
        """Moves figures on free joints out of what they are inside of; returns what is left [m].

        First along the normals of the deepest contacts, one after the other; what is left after so many rounds for each
        figure, such as figures that stand in one place, goes up in as many more: of two figures the higher one.
        """
        if of_kind("separate: rounds", rounds, int, "a whole number") > MOST_ROUNDS:
            raise InvalidInputError(f"separate: rounds: expected at most {MOST_ROUNDS}, got {rounds!r:.100}")
        scene = self.scene()
        up = -self.gravity / (np.linalg.norm(self.gravity) or 1.0)
        rounds *= max(1, sum(link.parent is None and link.joint.nq == 7 for link in self.model.links))
        for k in range(2 * rounds):
            worst = _deepest_outside(scene, self.q, self.v)
            if worst is None or worst.gap >= 0:
                return 0.0
            roots = {_free_root(self.model, name): sign for name, sign in zip(worst.links, (1, -1), strict=True)}
            movable = [root for root in roots if root is not None]
            if not movable:
                break
            q = self.q.copy()
            if k < rounds:
                root = movable[0]
                way = roots[root] * worst.normal
            else:
                root = max(movable, key=lambda i: float(q[i : i + 3] @ up))
                way = 2 * up  # overlaps of limbs are much less than what lies between two figures
            q[root : root + 3] += (1.01 * -worst.gap + 1e-9) * way
            self.q = q
        worst = _deepest_outside(scene, self.q, self.v)
        return 0.0 if worst is None else max(0.0, -worst.gap)


def _of_one_figure(contact: Contact) -> bool:
    a, b = (name.split("/")[0] for name in contact.links)
    return a == b


def _deepest_outside(scene: Scene, q: Array, v: Array) -> Contact | None:
    """The deepest contact between a figure and something else: moving a figure cannot part its own links."""
    scene.engine.look(q, v)
    return min((c for c in scene.contacts() if not _of_one_figure(c)), key=lambda c: c.gap, default=None)


def _name(world: Touching, handle: Any) -> str:
    if not isinstance(handle, LinkHandle) or handle.world is not world:
        raise InvalidInputError(
            f"set_surface: expected links of this world such as man['left_hand'], got {handle!r:.100}"
        )
    return WORLD if handle.name is None else handle.name


def _free_root(model: Model, name: str) -> int | None:
    """Where the position of the free joint that carries a link stands in q."""
    if name not in model.link_names:
        return None
    link = model.link(name)
    while link.parent is not None:
        link = link.parent
    return link.q.start if link.joint.nq == 7 else None
