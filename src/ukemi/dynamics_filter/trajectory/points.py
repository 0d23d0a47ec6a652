"""Where a body may touch: points of all links, from its soles and shapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ukemi.dynamics.kinematics import link_poses
from ukemi.model.arrays import Array
from ukemi.model.model import Link, Model
from ukemi.model.shapes import Box, Capsule, ConvexMesh, Cylinder, Sphere
from ukemi.motion.soles import Sole

#: Points of one link nearer to each other than this are one [l].
SAME = 0.02
#: Points of a shank so near to the ankle are its foot's [l].
ANKLE = 0.1
#: Sine of the angle above the ground below which a limb lies rather than stands.
STEEP = 0.3


@dataclass(frozen=True, eq=False)
class ContactPoints:
    """Candidates: centre (np, 3) on links (np,) with a radius (np,) around it [m]; sole (np,): of a foot or its toes.

    base (np,): the link at whose origin the limb begins that the point stands on, -1 for the trunk.
    """

    model: Model
    links: NDArray[np.intp]
    centres: Array
    radii: Array
    sole: NDArray[np.bool_]
    base: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.links)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """(np,): the part of the body that each point counts as; toes count as their foot."""
        names = []
        for index, sole in zip(self.links, self.sole, strict=True):
            link = self.model.links[index]
            feet = {int(i) for i in self.links[self.sole]}
            while sole and link.parent is not None and link.parent.index in feet:
                link = link.parent
            names.append(link.name)
        return tuple(names)

    def places(self, q: Array, normals: Array) -> Array:
        """(n, np, 3) in link coordinates: of a ball, the material point that faces the ground with these normals."""
        out = np.broadcast_to(self.centres, (len(q), *self.centres.shape)).copy()
        round_ones = np.flatnonzero(self.radii > 0)
        if len(round_ones):
            R = link_poses(self.model, q)[:, self.links[round_ones], :3, :3]
            facing = np.einsum("npji,npj->npi", R, normals[:, round_ones])
            out[:, round_ones] -= self.radii[round_ones, None] * facing
        return out

    def bases(self, q: Array) -> Array:
        """(n, np, 3): where each point's limb begins, in the world; for the trunk NaN."""
        X = link_poses(self.model, q)[:, :, :3, 3]
        return np.where((self.base >= 0)[:, None], X[:, self.base], np.nan)

    def lines(self, q: Array, place: Array, normals: Array) -> Array:
        """(n, np, 3): from each point to its limb's base, one long along the normal; along the normal for the trunk."""
        toward = np.nan_to_num(self.bases(q) - place)
        rise = (toward * normals).sum(-1, keepdims=True)
        steep = rise > STEEP * np.linalg.norm(toward, axis=-1, keepdims=True)
        return np.where(steep, toward / np.where(steep, rise, 1.0), normals)


def contact_points(
    model: Model, soles: Mapping[str, Sole], leg: float, pads: Mapping[str, Sole] | None = None
) -> ContactPoints:
    """Corners of soles, tips of toes, ends of capsules, corners of boxes and hulls, balls. pads: where hands bear that
    come down (`ukemi.motion.hands`); such a hand bears there alone, as the end of its shape may be below the ground.
    The lower end of a shank is its foot's."""
    found: list[tuple[int, Array, float, bool]] = []
    covered = {model.link_index(pad.link) for pad in (pads or {}).values()}
    ankles: dict[int, Array] = {}
    for sole in soles.values():
        foot = model.link(sole.link)
        covered.add(foot.index)
        if foot.parent is not None:
            ankles[foot.parent.index] = np.asarray(foot.at.position)
        found += [(foot.index, np.asarray(p), 0.0, True) for p in np.unique(sole.points, axis=0)]
        for toes in foot.children:
            if toes.joint.nv and toes.shapes:
                covered.add(toes.index)
                found += [(toes.index, p, 0.0, True) for p in _toe_tips(model, sole, toes)]
    for link in model.links:
        if link.index in covered or not link.joint.nv:
            continue
        mine: list[tuple[Array, float]] = []
        for centre, radius in _extremes(link):
            starts_here = np.linalg.norm(centre) < SAME * leg and link.parent is not None
            ankle = link.index in ankles and np.linalg.norm(centre - ankles[link.index]) < ANKLE * leg
            if starts_here or ankle or any(np.linalg.norm(centre - c) < SAME * leg for c, _ in mine):
                continue
            mine.append((centre, radius))
        found += [(link.index, c, r, False) for c, r in mine]
    for pad in (pads or {}).values():
        found.append((model.link_index(pad.link), np.asarray(pad.points[0]), 0.0, False))
    links = np.array([f[0] for f in found], dtype=np.intp)
    return ContactPoints(
        model,
        links,
        np.array([f[1] for f in found], dtype=np.float64).reshape(-1, 3),
        np.array([f[2] for f in found], dtype=np.float64),
        np.array([f[3] for f in found], dtype=np.bool_),
        np.array([_limb_base(model.links[i]) for i in links], dtype=np.intp),
    )


def _toe_tips(model: Model, sole: Sole, toes: Link) -> list[Array]:
    """The two front corners of the toes, put into the sole's plane with straight toes."""
    points = np.concatenate([shape.at.apply(s) for shape in toes.shapes for s in [_hull(shape)]])
    X = link_poses(model, model.neutral())
    foot = model.link_index(sole.link)
    to_foot = np.linalg.inv(X[foot]) @ X[toes.index]
    into_sole = sole.at.inverse()
    flat = into_sole.apply(points @ to_foot[:3, :3].T + to_foot[:3, 3])
    low = flat[flat[:, 2] < flat[:, 2].min() + 0.005]
    front = low[low[:, 0] > low[:, 0].max() - 0.01]
    left, right = front[front[:, 1].argmax()].copy(), front[front[:, 1].argmin()].copy()
    left[2] = right[2] = 0.0
    out = []
    for p in (left, right):
        at_foot = sole.at.apply(p)
        out.append(to_foot[:3, :3].T @ (at_foot - to_foot[:3, 3]))
    return out


def _hull(shape: object) -> Array:
    if isinstance(shape, ConvexMesh):
        return np.asarray(shape.points)
    if isinstance(shape, Box):
        signs = np.stack(np.meshgrid(*[(-1.0, 1.0)] * 3), axis=-1).reshape(-1, 3)
        return 0.5 * signs * np.asarray(shape.size)
    return np.zeros((1, 3))


def _extremes(link: Link) -> list[tuple[Array, float]]:
    """Balls that a link's shapes bear on: (centre in the link, radius)."""
    out: list[tuple[Array, float]] = []
    for shape in link.shapes:
        if isinstance(shape, Sphere):
            out.append((np.asarray(shape.at.position), float(shape.radius)))
        elif isinstance(shape, Capsule | Cylinder):
            half = 0.5 * shape.length * np.asarray(shape.at.R)[:, 2]
            out += [(np.asarray(shape.at.position) + s * half, float(shape.radius)) for s in (-1, 1)]
        elif isinstance(shape, Box | ConvexMesh):
            corners = _hull(shape)
            if len(corners) > 12:  # a mesh: its extremes along the axes and diagonals of its box
                signs = np.stack(np.meshgrid(*[(-1.0, 1.0)] * 3), axis=-1).reshape(-1, 3)
                corners = corners[np.unique((corners @ (signs / np.ptp(corners, axis=0).clip(1e-3)).T).argmax(axis=0))]
            out += [(p, 0.0) for p in shape.at.apply(corners)]
    return out


def _limb_base(link: Link) -> int:
    """The first link of the chain without branches that ends here, -1 for what carries more than one chain."""
    below = link
    while below.children:
        if len(below.children) > 1:
            return -1
        below = below.children[0]
    at = link
    while at.parent is not None and len(at.parent.children) == 1:
        at = at.parent
    return at.index if at.parent is not None else -1


def leg_length(model: Model, soles: Mapping[str, Sole]) -> float:
    """From hip to sole [m]: the bones below the joint at which the leg leaves the body."""
    lengths = []
    for sole in soles.values():
        link = model.link(sole.link)
        length = float(abs(sole.at.position @ sole.normal))
        while link.parent is not None and len(link.parent.children) == 1:
            length += float(np.linalg.norm(link.at.position))
            link = link.parent
        lengths.append(length)
    return float(np.mean(lengths))
