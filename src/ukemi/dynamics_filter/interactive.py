"""The filter online: one reference frame in, one physical step out; the figure may be pushed ([DF03] Fig. 12)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ukemi import _core
from ukemi.contact.terrain import Terrain
from ukemi.dynamics_filter.floor import above_floor, as_ground
from ukemi.dynamics_filter.online import Follower
from ukemi.dynamics_filter.prepare import contact_points
from ukemi.dynamics_filter.reference import Reference
from ukemi.dynamics_filter.run import FALL_HEIGHT, lies
from ukemi.dynamics_filter.settings import STANDARD, Settings
from ukemi.dynamics_filter.stepping import COMMIT, LOOK, MARGIN, PAUSE, SWING, Step, outside, plan_step
from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array, numbers
from ukemi.model.kinds import of_kind
from ukemi.model.model import Model
from ukemi.motion.humanoid import model_soles
from ukemi.motion.soles import Sole
from ukemi.sim.world import World

#: While it saves itself by stepping, and so long after [s], the body keeps its place less strictly.
RECOVERY, RECOVERY_PLACE = 1.0, 0.3
LEVEL = np.array([1.0, 1.0, 0.0])


@dataclass(frozen=True, eq=False)
class Frame:
    """What the figure should do now: coordinates, and if it moves their rates; contact (feet,): which feet should
    bear.
    """

    q: ArrayLike
    v: ArrayLike | None = None
    a: ArrayLike | None = None
    contact: ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class FilteredStep:
    """State after a step, and what acted in it: forces on the points of the soles (points, 3) at their places [N],
    [m].
    """

    time: float
    q: Array
    v: Array
    a: Array
    tau: Array
    force: Array
    place: Array
    contact: NDArray[np.bool_]
    fell: bool


class DynamicsFilter:
    """Follows frames given one at a time, as far ahead as it can guess: the body as it is, moving on.

    A figure that lies on the floor stays as it is, and its steps say that it fell, until `reset`.

    Args:
        body: a model with a free base and two feet, or a world with one figure (whose terrain and state are taken).
        settings: gains and weights.
        terrain: the ground, level by default; or boxes on level ground, such as `stairs`. Steps that save it from a
            fall are taken on its own level.
        soles: where its feet touch, if its shapes do not tell (`ukemi.motion.humanoid.model_soles`).
        q: first configuration; by default the first frame's.
        v: first velocity; by default the first frame's.
        stepping: whether a foot may be moved on purpose when the figure would fall.
    """

    def __init__(
        self,
        body: Model | World,
        settings: Settings | None = None,
        *,
        terrain: Terrain = None,
        soles: Mapping[str, Sole] | None = None,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        stepping: bool = True,
    ) -> None:
        self.world = body if isinstance(body, World) else None
        if isinstance(body, World):
            if len(body.figures) != 1:
                raise InvalidInputError(f"DynamicsFilter: expected a world with one figure, got {len(body.figures)}")
            model = body.model
            q, v = body.q if q is None else q, body.v if v is None else v
            terrain = getattr(body, "terrain", None) if terrain is None else terrain
        else:
            model = of_kind("body", body, Model, "a Model or a World")
        ground = as_ground(terrain)
        self.model, self.ground, self.stepping = model, ground, stepping
        s = STANDARD if settings is None else of_kind("settings", settings, Settings)
        friction = s.friction if ground is None else float(min(ground.friction, 10.0))
        # a frame does not say how hard the floor will be pushed
        self.settings = replace(s, friction=friction, preview=min(s.preview, 0.8), plan_push=0.0)
        feet = model_soles(model) if soles is None else of_kind("soles", soles, Mapping, "{link: Sole}")  # type: ignore[type-abstract]
        for sole in feet.values():
            of_kind("soles", sole, Sole)
        if len(feet) != 2:
            raise InvalidInputError(f"DynamicsFilter: expected two feet, got {len(feet)}")
        self.points = contact_points(model, feet)
        self.time = 0.0
        self._start = (q, v)
        self._fallen: FilteredStep | None = None
        self._follower: Follower | None = None
        self._step: Step | None = None
        self._landed = -np.inf
        self._shifts = np.zeros((2, 3))
        self._often = round(self.settings.plan_every / self.settings.dt)
        self._saving = replace(self.settings, plan_place=RECOVERY_PLACE * self.settings.plan_place)
        self._anew, self._feet_meant = False, b""
        self._feet = np.zeros((0, 3))

    @property
    def q(self) -> Array:
        return self._state()[0]

    @property
    def v(self) -> Array:
        return self._state()[1]

    def reset(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Goes on from another state; the time runs on."""
        self._start = (q, v)
        self._follower, self._step, self._landed, self._fallen = None, None, -np.inf, None
        self._shifts = np.zeros((2, 3))

    def _state(self) -> tuple[Array, Array]:
        if self._follower is None:
            raise InvalidInputError("DynamicsFilter: no step was taken yet")
        return self._follower.core.state()

    def step(self, reference: Frame | ArrayLike, external: ArrayLike | None = None) -> FilteredStep:
        """One step of ``settings.dt`` towards a frame (or its q).

        external: (nlinks, 6), wrenches on links in link coordinates.
        """
        frame = reference if isinstance(reference, Frame) else Frame(reference)
        q = np.array(numbers("reference.q", frame.q, (self.model.nq,)))
        v = np.zeros(self.model.nv) if frame.v is None else numbers("reference.v", frame.v, (self.model.nv,))
        a = np.zeros(self.model.nv) if frame.a is None else numbers("reference.a", frame.a, (self.model.nv,))
        feet = (
            np.ones(2, dtype=bool) if frame.contact is None else numbers("reference.contact", frame.contact, (2,)) != 0
        )
        push = None if external is None else numbers("external", external, (self.model.nlinks, 6))[None]
        s = self.settings
        if self._fallen is not None:
            self.time += s.dt
            self._fallen = replace(self._fallen, time=self.time)
            return self._fallen
        landing = self._landing_shifts()
        offset = 0.5 * (landing[0] + landing[1]) * LEVEL  # the body belongs between its feet
        q[:3] += offset
        follower = self._follower
        if follower is None:
            follower = self._follower = Follower(self._ahead(q, v, a, feet), s, self.ground)
            if self._start[0] is not None:
                start_v = np.zeros(self.model.nv) if self._start[1] is None else self._start[1]
                follower.core.reset(self._start[0], start_v)
            follower.place_feet = False
        elif follower.step >= self._often or self._feet_meant != feet.tobytes() or self._anew:
            saving = self._step is not None or self.time - self._landed < RECOVERY
            follower.settings = self._saving if saving else s
            follower.aim(self._ahead(q, v, a, feet))
        self._anew, self._feet_meant = False, feet.tobytes()
        follower.shift = self._foot_shifts() - offset
        follower.shift_rate = np.zeros((2, 3))
        if self._step is not None:
            follower.shift_rate[self._step.foot] = self._step.rate(self.time)
        follower.landing = landing - offset
        out = follower.advance(1, push, (q[None], v[None], a[None]))
        self.time += s.dt
        if int(out["steps"]) == 0 or lies(out["q"][0], out["v"][0], q):
            before, still = out["q_before"][0], np.zeros(self.model.nv)
            follower.core.reset(before, still)
            none = np.zeros((len(self.points), 3))
            places = self.points.in_world(self.model, before)
            touches = np.zeros(len(self.points), dtype=bool)
            self._fallen = FilteredStep(self.time, before, still, still, still, none, places, touches, fell=True)
            return self._fallen
        self._look(out)
        if self.world is not None:
            self.world.set_state(out["q"][0], out["v"][0])
        off = abs(float(out["q"][0, 2] - q[2]))
        q_new, v_new, a_new, tau, force, place = (out[name][0] for name in ("q", "v", "a", "tau", "force", "place"))
        return FilteredStep(self.time, q_new, v_new, a_new, tau, force, place, out["down"][0] > 0, off > FALL_HEIGHT)

    # --- what is to come ----------------------------------------------------------------------------------------------
    def _ahead(self, q: Array, v: Array, a: Array, feet: NDArray[np.bool_]) -> Reference:
        """The frame held over the window (its places move on with v), with the contacts that are intended."""
        s = self.settings
        n = max(round(s.preview / s.dt), 20) + 1
        contact = np.repeat(feet[self.points.group][None], n, axis=0)
        if self._step is not None:
            left = round((self._step.start + SWING - self.time) / s.dt)
            contact[: max(left, 0), self.points.group == self._step.foot] = False
        held_q, held_v, held_a = (np.broadcast_to(x, (n, len(x))) for x in (q, v, a))
        reference = Reference(self.model, s.dt, held_q, held_v, held_a, self.points, contact)
        one = _core.mechanics(self.model.tree, q, v, None)[:9] / np.repeat([1.0, self.model.mass, self.model.mass], 3)
        centroid = np.repeat(one[None], n, axis=0)
        centroid[:, :3] += s.dt * np.arange(n)[:, None] * one[3:6]
        push = np.outer(np.any(contact, axis=1), (0.0, 0.0, 9.81))
        places = self.points.in_world(self.model, q)
        reference.__dict__.update(centroid=centroid, push=push, places=np.broadcast_to(places, (n, *places.shape)))
        return reference

    # --- steps on purpose ---------------------------------------------------------------------------------------------
    def _foot_shifts(self) -> Array:
        shifts = self._shifts.copy()
        if self._step is not None:
            shifts[self._step.foot] = self._step.shift(self.time)
        return shifts

    def _landing_shifts(self) -> Array:
        shifts = self._shifts.copy()
        if self._step is not None:
            shifts[self._step.foot] = self._step.after
        return shifts

    def _look(self, out: dict[str, Array]) -> None:
        if self._step is not None and self.time >= self._step.start + SWING:
            self._shifts[self._step.foot] = self._step.after
            self._step, self._landed = None, self.time
        aims = self._step is not None and self._step.start + SWING - self.time > COMMIT
        waits = self.time - self._landed < PAUSE
        if (
            not self.stepping
            or self._follower is None
            or (self._step is not None and not aims)
            or (self._step is None and waits)
        ):
            return
        if round(self.time / self.settings.dt) % LOOK:
            return
        q, _, x = self._follower.state()
        down = out["down"][0] > 0
        places = self.points.in_world(self.model, q)
        c = np.append(x[:2], above_floor(self._follower.floor, x[:3]))
        xi = c[:2] + x[3:5] / np.sqrt(9.81 / max(c[2], 0.3))
        if self._step is None and outside(places[down][:, :2], xi) < -MARGIN:
            return
        if self._step is None:
            self._feet = places
        else:
            mine = self.points.group == self._step.foot
            places[mine] = self._feet[mine]
        w, u = q[3], q[4:7]
        e = np.array([1.0, 0, 0])
        ahead = e + 2 * w * np.cross(u, e) + 2 * np.cross(u, np.cross(u, e))
        heading = ahead[:2] / max(float(np.linalg.norm(ahead[:2])), 1e-9)
        new = plan_step(self.points, places, c, x[3:6], self.time, self._shifts, heading, self._step)
        if self._step is None or np.linalg.norm(new.after - self._step.after) > 0.01:
            self._step, self._anew = new, True
