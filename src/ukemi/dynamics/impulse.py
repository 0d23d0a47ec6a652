"""Impulses through a tree [HAND07 ch. 4]: responses, the inverse inertia of links, impacts without friction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ukemi import _core
from ukemi.dynamics.forward import forward_dynamics
from ukemi.dynamics.kinematics import jacobian, jacobian_rate, link_poses
from ukemi.dynamics.wrenches import Wrenches, on_links
from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array, direction, numbers
from ukemi.model.kinds import items_of
from ukemi.model.model import Model, tree_of

#: Speeds below this share of those before the impact are rest.
AT_REST = 1e-12
#: Impacts that follow each other at one instant; the last is without restitution and ends them.
MOST_ROUNDS = 100


def impulse_response(
    model: Model, q: ArrayLike, impulses: Wrenches | None = None, joint: ArrayLike | None = None
) -> Array:
    """Change of the velocities (..., nv) when impulses act: M^-1 (joint + sum_i J_i^T impulse_i), in O(n).

    impulses: on links, (..., nlinks, 6) or {link name: (..., 6)}, as the wrenches of `forward_dynamics` [N s, N m s].
    joint: impulses of the joints' torques (..., nv). Springs, dampers and gravity give none.
    """
    external = None if impulses is None else on_links(model, impulses)
    return _core.impulse_response(tree_of(model), q, joint, external)


def inverse_inertia(model: Model, q: ArrayLike, *links: str) -> Array:
    """Psi (6 m, 6 m): changes of the velocities of m links per impulse on them [HAND07 eq. 4.18, 4.26].

    Blocks in link coordinates at the links' origins, linear part first; links may stand on any branches, and twice.
    One link costs O(n), m links O(n + m^2).
    """
    return _core.inverse_inertia(tree_of(model), q, [model.link_index(name) for name in links])


@dataclass(frozen=True, eq=False)
class Touch:
    """A point where a link touches the ground, or another link.

    link, point: the link, and the point in its coordinates [m].
    normal: in world axes, towards the link, away from what it touches.
    other, other_point: the other link and the same point in its coordinates; None: the ground.
    """

    link: str
    point: ArrayLike = (0, 0, 0)
    normal: ArrayLike = (0, 0, 1)
    other: str | None = None
    other_point: ArrayLike = (0, 0, 0)

    def ends(self) -> list[tuple[str, Array, float]]:
        """(link, point, sign) of each link that feels it."""
        found = [(self.link, numbers("Touch.point", self.point, (3,)), 1.0)]
        if self.other is not None:
            found.append((self.other, numbers("Touch.other_point", self.other_point, (3,)), -1.0))
        return found


@dataclass(frozen=True, eq=False)
class Impact:
    """What an impact did.

    Attributes:
        v: velocities after it (nv).
        impulses: along each normal, none negative [N s].
        before, after: speeds along the normals, negative when approaching [m/s].
    """

    v: Array
    impulses: Array
    before: Array
    after: Array


def impact(model: Model, q: ArrayLike, v: ArrayLike, touches: Sequence[Touch], restitution: ArrayLike = 0.0) -> Impact:
    """Velocities after simultaneous impacts without friction, by Newton's law of restitution.

    One impact with the ground is [HAND07] eq. 4.23, of two structures eq. 4.24 (put both into one model, as a world
    does), several at once eq. 4.28. Points that approach leave with ``restitution`` times that speed; impulses only
    push, so a point that the others push away faster than that takes none. Points that were leaving and are turned
    back by the others hit in turn: the law is applied again, until none approaches. Energy never rises.
    """
    rows = _Rows(model, q, touches)
    velocity = numbers("v", v, (model.nv,))
    e = numbers("restitution", restitution)
    if not ((e >= 0) & (e <= 1)).all():
        raise InvalidInputError(f"restitution: expected numbers from 0 to 1, got {e.tolist()}")
    before = rows.J @ velocity
    impulses = newton_impulses(rows.response, before, np.broadcast_to(e, before.shape))
    after = velocity + impulse_response(model, q, rows.wrenches(impulses))
    return Impact(after, impulses, before, rows.J @ after)


def newton_impulses(B: Array, before: Array, e: Array) -> Array:
    """Impulses of Newton's law [HAND07 eq. 4.28]: B their response along the normals, ``before`` the speeds (negative
    when approaching), e the restitution of each."""
    still = AT_REST * (1 + np.abs(before).max(initial=0.0))
    speeds, impulses = before.copy(), np.zeros(len(before))
    for again in range(MOST_ROUNDS):
        if again and speeds.min(initial=0.0) >= -still:
            break
        last = again == MOST_ROUNDS - 1  # over all touches and without restitution: a projection, which none can follow
        hit = np.flatnonzero((speeds <= still) | last)
        bounce = e[hit] * (not last)
        given = push(B[np.ix_(hit, hit)], -(1 + bounce) * (speeds[hit] if last else np.minimum(speeds[hit], 0)))
        impulses[hit] += given
        speeds += B[:, hit] @ given
    return impulses


def contact_forces(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    touches: Sequence[Touch],
    gravity: ArrayLike | None = None,
) -> Array:
    """Forces along the normals (m,) of touches without friction that stay: no point accelerates inwards.

    [HAND07] eq. 4.41 for one, eq. 4.43 for several; forces only push, and a point that leaves takes none.
    """
    rows = _Rows(model, q, touches)
    a = forward_dynamics(model, q, v, tau, None, gravity)
    return push(rows.response, -(rows.J @ a + rows.products(numbers("v", v, (model.nv,)))))


def push(B: Array, wanted: Array) -> Array:
    """x >= 0 with B x >= wanted, and x = 0 where it is more: the least of x^T B x / 2 - x^T wanted over x >= 0.

    B is symmetric and not negative; it may be singular (touches that hold each other).
    """
    from scipy.optimize import nnls

    if (np.linalg.eigvalsh(B) if len(B) else np.ones(1)).min() > 1e-9 * np.abs(B).max(initial=1e-300):
        direct = np.asarray(np.linalg.solve(B, wanted), dtype=np.float64)
        if (direct >= 0).all():
            return direct
    # |C x - d|^2 / 2 with C^T C = B and C^T d = wanted, in the directions that B moves
    size, axes = np.linalg.eigh(B)
    kept = size > 1e-12 * size.max(initial=0.0)
    C = np.sqrt(size[kept])[:, None] * axes[:, kept].T
    d = (axes[:, kept].T @ wanted) / np.sqrt(size[kept])
    x: Array = np.array(nnls(C, d)[0], dtype=np.float64)
    return _polished(B, wanted, x)


def _polished(B: Array, wanted: Array, x: Array) -> Array:
    """The same solution to rounding: which touches push is put right where the iteration left it to its tolerance."""
    active, found = x > 0, x
    rounding = 1e-13 * (np.abs(wanted).max() + np.abs(B).max() * np.abs(x).max())
    for _ in range(2 * len(x) + 2):
        found = np.zeros(len(x))
        if active.any():
            found[active] = np.linalg.lstsq(B[np.ix_(active, active)], wanted[active], rcond=1e-12)[0]
        lacking = np.where(active, 0.0, wanted - B @ found)
        if found.min() < 0:
            active[np.argmin(found)] = False
        elif lacking.max() > rounding:
            active[np.argmax(lacking)] = True
        else:
            return found
    return np.maximum(found, 0)


class _Rows:
    """Unit impulses of touches: rows J (touches, nv), wrenches N on links, and the response N Psi N^T of eq. 4.28."""

    def __init__(self, model: Model, q: ArrayLike, touches: Sequence[Touch]) -> None:
        self.model, self.q = model, numbers("q", q, (tree_of(model).nq,))
        self.touches = items_of("touches", touches, "at least one Touch")
        if not self.touches or not all(isinstance(touch, Touch) for touch in self.touches):
            raise InvalidInputError(f"touches: expected at least one Touch, got {touches!r:.100}")
        poses = link_poses(model, self.q)
        ends = [model.link_index(name) for touch in self.touches for name, _, _ in touch.ends()]
        self.links = [model.link_names[i] for i in sorted(set(ends))]
        self.N = np.zeros((len(self.touches), len(self.links), 6))
        self.J = np.zeros((len(self.touches), model.nv))
        for row, touch in enumerate(self.touches):
            normal = direction("Touch.normal", touch.normal)
            for name, point, sign in touch.ends():
                n = sign * normal @ poses[model.link_index(name)][:3, :3]
                self.N[row, self.links.index(name)] += np.concatenate([n, np.cross(point, n)])
                self.J[row] += sign * normal @ jacobian(model, self.q, name, point)[:3]
        flat = self.N.reshape(len(self.touches), -1)
        B = flat @ inverse_inertia(model, self.q, *self.links) @ flat.T
        self.response: Array = 0.5 * (B + B.T)

    def wrenches(self, sizes: Array) -> dict[str, Array]:
        return dict(zip(self.links, np.einsum("r,rlk->lk", sizes, self.N), strict=True))

    def products(self, v: Array) -> Array:
        """Accelerations along the (fixed) normals when v does not change."""
        total = np.zeros(len(self.touches))
        for row, touch in enumerate(self.touches):
            for name, point, sign in touch.ends():
                along = jacobian_rate(self.model, self.q, v, name, point)[:3]
                total[row] += sign * direction("Touch.normal", touch.normal) @ along
        return total
