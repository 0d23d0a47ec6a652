"""Reference: the motion that a filter is asked to make possible, sampled at the filter's step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ukemi import _core
from ukemi.dynamics.kinematics import link_poses
from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array
from ukemi.model.model import Model

#: Kinds of contact points, as in core/filter_data.hpp (whose seat nothing here makes).
SOLE, TIP, _, PIVOT, GLIDE, TOE, HAND = range(7)
#: Nobody walks so soon before or after a flight [s].
FLIGHT = 0.5


@dataclass(frozen=True, eq=False)
class ContactPoints:
    """Points of links that may touch the floor, in groups (a foot, a hand) that step together.

    links: (points,) indices; places: (points, 3) in link coordinates [m]; group: (points,) which group each is in;
    kind: (points,) `SOLE`; `TIP`, which prolongs a sole that is flat and gives way when it is not; `PIVOT`, on which a
    foot turns; `GLIDE`, which slides while it does; `TOE`, an end of toes that bend at the ball; or `HAND`, which lets
    go when it bears no more.
    """

    links: NDArray[np.intp]
    places: Array
    group: NDArray[np.intp]
    kind: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.links)

    @property
    def tip(self) -> NDArray[np.bool_]:
        """(points,): ends of toes."""
        return (self.kind == TIP) | (self.kind == TOE)

    @property
    def turns(self) -> NDArray[np.bool_]:
        """(points,): those that bear while a foot turns."""
        return (self.kind == PIVOT) | (self.kind == GLIDE)

    @property
    def groups(self) -> int:
        return int(self.group.max(initial=-1)) + 1

    @classmethod
    def of(cls, model: Model, parts: Sequence[tuple[int, str, Array, int]]) -> ContactPoints:
        """From parts of groups: (group, link name, points (n, 3), their kind)."""
        each = [(group, model.link_index(link), kind) for group, link, points, kind in parts for _ in points]
        group, links, kind = np.array(each, dtype=np.intp).T
        return cls(links, np.concatenate([points for _, _, points, _ in parts]), group, kind)

    def in_world(self, model: Model, q: Array) -> Array:
        """Places (..., points, 3) in the world."""
        X = link_poses(model, q)[..., self.links, :, :]
        return np.einsum("...pij,pj->...pi", X[..., :3, :3], self.places) + X[..., :3, 3]


@dataclass(frozen=True, eq=False)
class Reference:
    """A motion of a model at equal steps.

    q (n, nq), v (n, nv), a (n, nv); contact (n, points): which points are meant to bear on the floor.
    """

    model: Model
    dt: float
    q: Array
    v: Array
    a: Array
    points: ContactPoints
    contact: NDArray[np.bool_]

    def __post_init__(self) -> None:
        n = len(self.q)
        wanted = {
            "q": (n, self.model.nq),
            "v": (n, self.model.nv),
            "a": (n, self.model.nv),
            "contact": (n, len(self.points)),
        }
        for name, shape in wanted.items():
            got = np.shape(getattr(self, name))
            if got != shape or n == 0:
                raise InvalidInputError(f"Reference.{name}: expected shape {shape}, got {got}")

    def __len__(self) -> int:
        return len(self.q)

    @property
    def time(self) -> Array:
        return self.dt * np.arange(len(self), dtype=np.float64)

    @cached_property
    def centroid(self) -> Array:
        """(n, 9): centre of mass, its velocity, angular momentum about it per unit mass."""
        m = _core.mechanics(self.model.tree, self.q, self.v, None)
        mass = self.model.mass
        return np.concatenate([m[:, :3], m[:, 3:6] / mass, m[:, 6:9] / mass], axis=1)

    @cached_property
    def push(self) -> Array:
        """(n, 3): the force per unit mass that the reference's centre of mass asks for; none while nothing may
        touch.
        """
        f = self.centroid_goal[:, 6:9] + (0.0, 0.0, 9.81)
        f[:, 2] = np.maximum(f[:, 2], 0.0)
        f[~self.contact.any(axis=1)] = 0.0
        return f

    @cached_property
    def walks(self) -> NDArray[np.bool_]:
        """(n,): whether no flight is near."""
        far = round(FLIGHT / self.dt)
        flies = np.concatenate([[0], np.cumsum(~self.contact.any(axis=1))])
        steps = np.arange(len(self))
        near: NDArray[np.bool_] = flies[np.minimum(steps + far + 1, len(steps))] > flies[np.maximum(steps - far, 0)]
        return ~near

    @cached_property
    def centroid_goal(self) -> Array:
        """(n, 15): place, velocity and acceleration of the centre of mass, angular momentum and its rate."""
        c, mass = self.centroid, self.model.mass
        rate = np.gradient(c[:, 3:], self.dt, axis=0) if len(self) > 1 else np.zeros((1, 6))
        return np.concatenate([c[:, :6], rate[:, :3], mass * c[:, 6:], mass * rate[:, 3:]], axis=1)

    @cached_property
    def places(self) -> Array:
        """(n, points, 3): where the points are in the world."""
        return self.points.in_world(self.model, self.q)

    def share(self, ramp: float, early: float = 0.0) -> Array:
        """(n, points): 0 where a point is not meant to bear, rising to 1 within ``ramp`` seconds of touch-down and
        falling as much before lift-off, if there are others that the load comes from or goes to (not into or out of
        flight); just below 0 for ``early`` seconds before touch-down, where it may bear if it happens to touch."""
        if self.contact.all():
            return np.ones(self.contact.shape)
        steps = max(ramp / self.dt, 1.0)
        flies: NDArray[np.bool_] = np.logical_not(np.logical_or.reduce(self.contact, axis=1))
        turns = self.points.turns
        out = np.zeros(self.contact.shape)
        for p in range(len(self.points)):
            # a foot that begins or ends to turn bears as much as before
            beside = (self.points.group == self.points.group[p]) & (turns != turns[p])
            other: NDArray[np.bool_] = np.logical_or.reduce(self.contact[:, beside], axis=1)
            for start, stop in runs(self.contact[:, p]):
                takes = start and not flies[start - 1] and not other[start - 1]
                up = np.arange(1, stop - start + 1) / steps if takes else np.ones(stop - start)
                gives = stop < len(self) and not flies[stop] and not other[stop]
                down = np.arange(stop - start, 0, -1) / steps if gives else np.ones(stop - start)
                out[start:stop, p] = np.minimum(1.0, np.minimum(up, down))
                before = slice(max(start - round(early / self.dt), 0), start)
                out[before, p] = np.where(self.contact[before, p], out[before, p], -0.02)
        return out

    @cached_property
    def contact_left(self) -> Array:
        """(n, points): seconds until a point that is meant to bear is not any more; 0 where it is not."""
        steps = np.arange(len(self))[:, None]
        ends = np.where(self.contact, len(self), steps)
        left: Array = self.dt * (np.minimum.accumulate(ends[::-1], axis=0)[::-1] - steps).astype(np.float64)
        return left

    @cached_property
    def next_landing(self) -> NDArray[np.intp]:
        """(n, groups): the next step at which a group that is off the floor touches it; n if it never does. A group
        on the
        floor: now."""
        groups = self.points.groups
        out = np.empty((len(self), groups), dtype=np.intp)
        for g in range(groups):
            down = self.contact[:, self.points.group == g].any(axis=1)
            at = np.where(down, np.arange(len(self)), len(self))
            out[:, g] = np.minimum.accumulate(at[::-1])[::-1]
        return out


def runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """(start, stop) of every run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
