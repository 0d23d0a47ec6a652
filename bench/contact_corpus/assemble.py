"""The contact problem of a world's next step, assembled from the outside: contact points, limits and loops as rows.

A fixed rule for the whole corpus, not the engine's own: u = J v_free + gap / h, v_free = v + h M^-1 (tau - bias); what
is inside comes out by a tenth of its depth a step, at most 0.1 m/s fast. Impacts are the same rows, gap 0, with v.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import ukemi as uk
from ukemi import _core
from ukemi.chain.limits import curved_limits
from ukemi.contact.scene import stops_of
from ukemi.model.arrays import Array

from .problem import Problem

#: Gaps below count as none [m]: gap / h of a nanometre is already 1e-6 m/s at 1 ms.
DEAD_BAND = 1e-6
#: What is inside comes out by this share a step, at most so fast [m/s].
RECOVERY, FASTEST_RECOVERY = 0.1, 0.1
#: Joint limits nearer than this are rows [rad, m].
LIMIT_REACH = 0.01
#: Points of one pair of links further apart than this from step to step are not the same [m].
SAME_POINT = 0.03


@dataclass(frozen=True, eq=False)
class Rows:
    """A problem, and by what its blocks are known again in the next step: a name and a place (3,) in the first link."""

    problem: Problem
    names: tuple[tuple[object, ...], ...]
    places: Array


def assemble(world: uk.World, dt: float, mu: float, name: str, step: int, reach: float = 2e-5) -> Rows | None:
    """The problem of the present state; None where nothing touches. ``reach``: points further away than that are
    left out [m]."""
    model, q, v = world.model, world.q, world.v
    scene = world.scene()
    scene.engine.options(reach, reach, 0, False)
    scene.engine.look(q, v)
    free = v + dt * uk.forward_dynamics(model, q, v, np.zeros(model.nv), gravity=world.gravity)
    J: list[Array] = []
    lag: list[float] = []
    kinds: list[str] = []
    names: list[tuple[object, ...]] = []
    places: list[Array] = []
    poses = uk.link_poses(model, q)
    for contact in scene.contacts():
        for point in contact.points:
            ends = []
            for link in contact.links:
                if link in model.link_names:
                    X = poses[model.link_index(link)]
                    ends.append((link, X[:3, :3].T @ (point - X[:3, 3])))
            H = sum(sign * uk.jacobian(model, q, link, at)[:3] for sign, (link, at) in zip((1, -1), ends, strict=False))
            R = contact.frame[:3, :3]
            J += [*(R[:, [2, 0, 1]].T @ H)]
            lag += [_approach(contact.gap, dt), 0.0, 0.0]
            kinds.append("contact")
            names.append(contact.links)
            places.append(ends[0][1])
    one_sided = [*_stops(model, q), *_curved(model, q, v)]
    for label, row, gap in one_sided:
        J.append(row)
        lag.append(_approach(gap, dt))
        kinds.append("unilateral")
        names.append(label)
        places.append(np.zeros(3))
    if world.connections or world.ties:
        chain = world.chain_without_stops()
        H, product = chain.jacobian(q, v)
        error, _ = chain.state(q, v)
        for i in range(chain.rows):
            J.append(H[i])
            lag.append(dt * float(product[i]) + RECOVERY * float(error[i]) / dt)
            kinds.append("bilateral")
            names.append(("loop", i))
            places.append(np.zeros(3))
    if not J:
        return None
    rows = np.array(J)
    answer = uk.InertiaFactor(model, q).solve(rows)
    W = rows @ answer.T
    contacts = kinds.count("contact")
    problem = Problem(0.5 * (W + W.T), rows @ free + lag, np.full(contacts, mu), tuple(kinds), name, step)
    return Rows(problem, tuple(names), np.array(places))


def _approach(gap: float, dt: float) -> float:
    return max(gap - DEAD_BAND, 0.0) / dt + max(RECOVERY * min(gap + DEAD_BAND, 0.0) / dt, -FASTEST_RECOVERY)


def _stops(model: uk.Model, q: Array) -> list[tuple[tuple[object, ...], Array, float]]:
    found: list[tuple[tuple[object, ...], Array, float]] = []
    for iq, iv, lower, upper, _ in stops_of(model):
        for sign, gap in ((1.0, q[iq] - lower), (-1.0, upper - q[iq])):
            if gap < LIMIT_REACH:
                found.append((("stop", iv, sign), sign * np.eye(model.nv)[iv], float(gap)))
    return found


def _curved(model: uk.Model, q: Array, v: Array) -> list[tuple[tuple[object, ...], Array, float]]:
    limits = curved_limits(model)
    if not limits:
        return []
    chain = _core.ClosedChain(model.tree, [], [limit.row for limit in limits])
    H, _ = chain.jacobian(q, v)
    error, _ = chain.state(q, v)
    near = [i for i in range(chain.rows) if error[i] > -LIMIT_REACH]
    return [((limits[i].label,), -H[i], -float(error[i])) for i in near]


def carry(before: Rows, forces: Array, now: Rows) -> Array:
    """The forces of the last step at the rows of this one: of one pair of links from the nearest point."""
    start, first = np.zeros(len(now.problem.q)), _first_rows(before.problem.kinds)
    for i, at in enumerate(_first_rows(now.problem.kinds)):
        same = [k for k, name in enumerate(before.names) if name == now.names[i]]
        if not same:
            continue
        distances = [float(np.linalg.norm(before.places[k] - now.places[i])) for k in same]
        nearest = same[int(np.argmin(distances))]
        if min(distances) < SAME_POINT:
            size = 3 if now.problem.kinds[i] == "contact" else 1
            start[at : at + size] = forces[first[nearest] : first[nearest] + size]
    return start


def _first_rows(kinds: tuple[str, ...]) -> list[int]:
    return [*np.cumsum([0, *(3 if kind == "contact" else 1 for kind in kinds)])[:-1].tolist()]
