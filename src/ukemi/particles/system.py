"""ParticleSystem: a figure as particles held together by springs [PART05]."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ukemi import _core
from ukemi.errors import InvalidInputError, UnknownNameError
from ukemi.particles.checks import Array, array, direction, not_negative, positive
from ukemi.particles.floors import Floor
from ukemi.particles.forces import Hinge, Link, Plane, equivalent_mass, merged
from ukemi.particles.step import Control, Recording, advance, run

if TYPE_CHECKING:
    from ukemi.model.model import Model


class ParticleSystem:
    """Particles in space, links between them, hinges of three, a floor; open and closed chains alike.

    gravity [m/s^2]. Links take their stiffness from ``stretch``, the share of its length by which ``load`` [N] may
    stretch one, and their damping from ``ratio``, the share of critical damping. The load is the system's weight unless
    it is given. A particle is meant by its number or its name.

    Attributes:
        x, v: (n, 3) places [m] and velocities [m/s]; may be changed in place.
        time: [s].
        force: (n, 3) external forces [N], kept until changed.
        torque: (hinges,) torques [N m], + on link b -> a and - on d -> c [eq. 21].
        target, target_rate: (hinges,) what the drives of hinges follow: target + target_rate * (time since the last
            call of `advance`, or since the last sample of `run`).
    """

    def __init__(
        self,
        gravity: ArrayLike = (0, 0, -9.81),
        *,
        stretch: float = 1e-3,
        ratio: float = 0.1,
        load: float | None = None,
        floor: Floor | None = None,
    ) -> None:
        self.gravity = array("gravity", gravity, 3)
        self.stretch = positive("stretch", stretch)
        self.ratio = not_negative("ratio", ratio)
        self.given_load = None if load is None else positive("load", load)
        self.time = 0.0
        self.x, self.v, self.force = np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3))
        self.mass, self.added_mass, self.fixed = np.zeros(0), np.zeros(0), np.zeros(0, dtype=bool)
        self.torque, self.target, self.target_rate = np.zeros(0), np.zeros(0), np.zeros(0)
        self._names: dict[str, int] = {}
        self._links: list[Link] = []
        self._hinges: list[Hinge] = []
        self._planes: list[Plane] = []
        self._merged: list[Plane] = []  # with those of the held hinges
        self._floor = floor
        self._compiled: _core.Particles | None = None
        self._rows = np.zeros((0, 5))
        self._of: tuple[Array, ...] = ()  # masses and gravity that were compiled

    # --- building ---------------------------------------------------------------------------------------------------

    def add(
        self,
        at: ArrayLike,
        mass: float = 1.0,
        *,
        velocity: ArrayLike = (0, 0, 0),
        fixed: bool = False,
        name: str | None = None,
    ) -> int:
        """A particle; returns its number."""
        if name is not None and (not isinstance(name, str) or name in self._names):
            raise InvalidInputError(f"particle {name!r}: expected a name that is not taken")
        index = self.add_many(array("at", at, 3)[None], positive("mass", mass), array("velocity", velocity, 3)).start
        self.fixed[index] = fixed
        if name is not None:
            self._names[name] = index
        return index

    def add_many(self, at: ArrayLike, mass: ArrayLike = 1.0, velocity: ArrayLike = (0, 0, 0)) -> range:
        """Particles at (k, 3), with one mass or k, one velocity or k; returns their numbers."""
        x = array("at", at, None, 3)
        masses = np.broadcast_to(np.asarray(mass, dtype=np.float64), len(x))
        if not (np.isfinite(masses) & (masses > 0)).all():
            bad = int(np.flatnonzero(~(np.isfinite(masses) & (masses > 0)))[0])
            raise InvalidInputError(f"mass[{bad}]: expected a positive number, got {masses[bad]:g}")
        v = array("velocity", np.broadcast_to(np.asarray(velocity, dtype=np.float64), x.shape), None, 3)
        first = len(self.x)
        self.x, self.v = np.concatenate([self.x, x]), np.concatenate([self.v, v])
        self.force = np.concatenate([self.force, np.zeros_like(x)])
        self.mass = np.concatenate([self.mass, masses])
        self.added_mass = np.concatenate([self.added_mass, np.zeros(len(x))])
        self.fixed = np.concatenate([self.fixed, np.zeros(len(x), dtype=bool)])
        self._compiled = None
        return range(first, len(self.x))

    def link(
        self,
        a: int | str,
        b: int | str,
        length: float | None = None,
        *,
        stretch: float | None = None,
        ratio: float | None = None,
        stiffness: float | None = None,
        damping: float | None = None,
    ) -> Link:
        """Joins two particles; slack at the distance they have now unless a length [m] is given."""
        i, j = self.number(a), self.number(b)
        apart = self._apart(i, j)
        link = Link(
            i,
            j,
            apart if length is None else positive("length", length),
            self.stretch if stretch is None else positive("stretch", stretch),
            self.ratio if ratio is None else not_negative("ratio", ratio),
            None if stiffness is None else positive("stiffness", stiffness),
            None if damping is None else not_negative("damping", damping),
        )
        self._links.append(link)
        self._compiled = None
        return link

    def hinge(
        self,
        a: int | str,
        b: int | str,
        c: int | str,
        d: int | str | None = None,
        *,
        normal: ArrayLike | None = None,
        held: bool | None = None,
        friction: float = 0.0,
        kp: float = 0.0,
        kd: float = 0.0,
    ) -> Hinge:
        """A joint at b between the links b-a and b-c, or between b-a and d-c; see `Hinge`.

        With a normal the rotation plane is held unless said otherwise; without, it is spanned by the links now, and
        free to turn with them.
        """
        i, j, k = (self.number(p) for p in (a, b, c))
        m = j if d is None else self.number(d)
        if len({i, j, k, m}) < (3 if d is None or j == m else 4):
            raise InvalidInputError(f"hinge: expected different particles, got {i}, {j}, {k}, {m}")
        r1, r2 = self.x[i] - self.x[j], self.x[k] - self.x[m]
        self._apart(i, j), self._apart(k, m)
        held = normal is not None if held is None else bool(held)
        if normal is None:
            across = np.cross(r2, r1)
            if np.linalg.norm(across) < 1e-9 * np.linalg.norm(r1) * np.linalg.norm(r2):
                raise InvalidInputError(f"hinge {i}-{j}-{k}: the links are in line and span no plane: give a normal")
            normal = across
        n = direction("normal", normal)
        for end, r in ((i, r1), (k, r2)):
            if np.linalg.norm(np.cross(n, r)) < 1e-9 * np.linalg.norm(r):
                raise InvalidInputError(f"hinge {i}-{j}-{k}: the link to particle {end} lies along the normal")
        settings = not_negative("friction", friction), not_negative("kp", kp), not_negative("kd", kd)
        hinge = Hinge(len(self._hinges), i, j, k, m, n, held, *settings)
        if held:
            self._merged = merged(self._merged, Plane(n, frozenset(hinge.particles)))
        self._hinges.append(hinge)
        self.torque, self.target, self.target_rate = (
            np.append(u, 0.0) for u in (self.torque, self.target, self.target_rate)
        )
        self._compiled = None
        return hinge

    def plane(self, normal: ArrayLike, *particles: int | str) -> Plane:
        """Particles that move as one along a normal, as those of a held hinge do [eq. 12]."""
        plane = Plane(direction("normal", normal), frozenset(self.number(p) for p in particles))
        self._merged = merged(self._merged, plane)
        self._planes.append(plane)
        self._compiled = None
        return plane

    def cut(self, link: Link) -> None:
        """Takes a link away."""
        if link not in self._links:
            raise InvalidInputError(f"{link}: this system has no such link")
        self._links.remove(link)
        self._compiled = None

    def fix(self, *particles: int | str) -> None:
        """Particles that stand still: x'' = x' = 0."""
        self._set_fixed(particles, True)

    def release(self, *particles: int | str) -> None:
        """Lets fixed particles go."""
        self._set_fixed(particles, False)

    def add_inertia(self, end: int | str, centre: int | str, inertia: float) -> None:
        """A moment of inertia [kg m^2] of the link centre-end about its centre, as a mass at its end that has no weight
        [eq. 33]."""
        i, j = self.number(end), self.number(centre)
        self.added_mass[i] += equivalent_mass(positive("inertia", inertia), self._apart(i, j))
        self._compiled = None

    # --- asking -----------------------------------------------------------------------------------------------------

    @property
    def links(self) -> tuple[Link, ...]:
        return tuple(self._links)

    @property
    def hinges(self) -> tuple[Hinge, ...]:
        return tuple(self._hinges)

    @property
    def planes(self) -> tuple[Plane, ...]:
        """Those given; held hinges have theirs besides."""
        return tuple(self._planes)

    @property
    def floor(self) -> Floor | None:
        return self._floor

    @floor.setter
    def floor(self, floor: Floor | None) -> None:
        self._floor, self._compiled = floor, None

    @property
    def names(self) -> dict[str, int]:
        """Of the particles that have one."""
        return dict(self._names)

    @property
    def load(self) -> float | None:
        """What links and floor are made for [N]: as given, or the weight; None without gravity."""
        if self.given_load is not None:
            return self.given_load
        weight = float(self.mass[~self.fixed].sum() * np.linalg.norm(self.gravity))
        return weight or None

    def number(self, particle: int | str) -> int:
        """The number of a particle."""
        if isinstance(particle, str):
            if particle not in self._names:
                raise UnknownNameError("particle", particle, self._names)
            return self._names[particle]
        n = len(self.x)
        if isinstance(particle, bool) or not isinstance(particle, int | np.integer) or not 0 <= particle < n:
            raise InvalidInputError(f"particle {particle!r}: there are {n} (0 to {n - 1})" if n else "no particles yet")
        return int(particle)

    def center_of_mass(self) -> Array:
        """Of the particles that can move; the masses of `add_inertia` do not count."""
        free = ~self.fixed
        com: Array = self.mass[free] @ self.x[free] / self.mass[free].sum()
        return com

    def momentum(self) -> tuple[Array, Array]:
        """Linear momentum [kg m/s], and angular momentum about the origin [kg m^2/s]."""
        p = np.where(self.fixed, 0, self.mass + self.added_mass)[:, None] * self.v
        return p.sum(axis=0), np.cross(self.x, p).sum(axis=0)

    def energy(self) -> float:
        """Kinetic, of gravity and of the links [J]; a floor's is not counted."""
        free = ~self.fixed
        kinetic = 0.5 * ((self.mass + self.added_mass)[free, None] * self.v[free] ** 2).sum()
        height = -(self.mass[free] * (self.x[free] @ self.gravity)).sum()
        longer = self.stretches() * self._rows[:, 2]
        return float(kinetic + height + 0.5 * (self._rows[:, 3] * longer**2).sum())

    def stretches(self) -> Array:
        """(links,): how much longer each is than slack, as a share of its length."""
        self.core  # noqa: B018  compiled: its rows are up to date
        a, b = self._rows[:, :2].astype(int).T
        stretched: Array = np.linalg.norm(self.x[b] - self.x[a], axis=1) / self._rows[:, 2] - 1
        return stretched

    def angles(self) -> Array:
        """(hinges, 2): angle [rad] and its rate [rad/s]."""
        return self.core.hinge_state(self.x, self.v)[:, :2]

    def stable_step(self) -> float:
        """The largest step [s] that is surely stable with the semi-implicit method; infinite without springs."""
        return self.core.stable_step(self.x, self.v)

    # --- moving -----------------------------------------------------------------------------------------------------

    def advance(self, duration: float, dt: float | None = None, *, method: str = "semi-implicit") -> Array:
        """Moves on by a time [s]; returns the mean force of the floor on each particle (n, 3) [N].

        dt: half of `stable_step` by default, and a little less so that steps fill the time.
        method: "semi-implicit", or "implicit" (backward Euler: steps of any size, and damping that grows with them).
        """
        return advance(self, duration, dt, method)

    def run(
        self,
        duration: float,
        dt: float | None = None,
        *,
        sample: float = 0.01,
        control: Control | None = None,
        method: str = "semi-implicit",
    ) -> Recording:
        """Moves on and records a state every ``sample`` seconds; control(t, system) may set torques, targets and forces
        at the beginning of each."""
        return run(self, duration, dt, sample, control, method)

    # --- other forms ------------------------------------------------------------------------------------------------

    @classmethod
    def from_model(cls, model: Model, q: ArrayLike | None = None, v: ArrayLike | None = None, **settings: Any) -> Any:
        """A figure of the package as particles: see `ukemi.particles.convert.from_model`."""
        from ukemi.particles.convert import from_model

        return from_model(model, q, v, **settings)

    def to_json(self) -> str:
        """The system as text that can be read and edited: see docs/particles.md."""
        from ukemi.particles.text import to_json

        return to_json(self)

    def save(self, path: str | Path) -> None:
        """Writes `to_json`."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load_json(cls, path: str | Path) -> ParticleSystem:
        """Reads what `save` wrote, or what was written by hand."""
        from ukemi.particles.text import load_json

        return load_json(path)

    # --- within -----------------------------------------------------------------------------------------------------

    @property
    def core(self) -> _core.Particles:
        """The compiled system; made anew after the structure, a mass or gravity changed."""
        now = (self.mass, self.added_mass, self.fixed, self.gravity)
        if self._compiled is None or not all(map(np.array_equal, now, self._of)):
            self._compiled = self._compile()
            self._of = tuple(np.array(a) for a in now)
        return self._compiled

    def _compile(self) -> _core.Particles:
        if not len(self.x):
            raise InvalidInputError("no particles yet")
        members = [(k, p) for k, plane in enumerate(self._merged) for p in sorted(plane.particles)]
        floor, heights = np.zeros(16), np.zeros((0, 0))
        if self._floor is not None:
            floor, heights = self._floor.numbers(self.load, float(np.linalg.norm(self.gravity)))
        self._rows = self._link_rows()
        return _core.Particles(
            np.stack([self.mass + self.added_mass, self.mass, self.fixed], axis=1),
            self._rows,
            np.array([h.row() for h in self._hinges], dtype=np.float64).reshape(-1, 11),
            np.array(members, dtype=np.float64).reshape(-1, 2),
            np.array([plane.normal for plane in self._merged], dtype=np.float64).reshape(-1, 3),
            floor,
            heights,
            self.gravity,
        )

    def _link_rows(self) -> Array:
        """a, b, length, stiffness, damping."""
        load, masses = self.load, np.where(self.fixed, np.inf, self.mass + self.added_mass).tolist()
        rows = [(e.a, e.b, e.length, *e.constants(load, masses[e.a], masses[e.b])) for e in self._links]
        return np.array(rows, dtype=np.float64).reshape(-1, 5)

    def _apart(self, i: int, j: int) -> float:
        distance = float(np.linalg.norm(self.x[i] - self.x[j]))
        if i == j or distance < 1e-12:
            raise InvalidInputError(
                f"particles {i} and {j} stand at the same place, {self.x[i].tolist()}: no direction"
            )
        return distance

    def _set_fixed(self, particles: Sequence[int | str], fixed: bool) -> None:
        for i in [self.number(p) for p in particles]:
            self.fixed[i] = fixed
            self.v[i] = 0.0
        self._compiled = None
