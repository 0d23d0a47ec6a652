"""The scene: shapes of a world's links, its terrain and its joint stops, compiled for the core."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import combinations
from weakref import WeakKeyDictionary

import numpy as np

from ukemi import _core
from ukemi.chain.limits import curved_limits
from ukemi.contact.conditions import Check, Condition
from ukemi.contact.reports import Certificate, Contact, ContactReport, Trial, contact
from ukemi.contact.solids import Solid, solid
from ukemi.contact.terrain import Ground, HeightField, Piece, Solids, Surface
from ukemi.errors import InvalidInputError
from ukemi.model.description import WORLD
from ukemi.model.model import Link, Model

#: Links of one figure that are nearer than this in its zero pose never count as touching [m].
TOGETHER = 0.005

Pair = frozenset[str]
_together: WeakKeyDictionary[Model, frozenset[Pair]] = WeakKeyDictionary()


class Scene:
    """What may touch in a world, and the engine that moves it."""

    def __init__(
        self,
        model: Model,
        figures: Mapping[str, Model],
        pieces: tuple[Piece, ...],
        *,
        surface: Surface,
        surfaces: Mapping[Pair, Surface],
        apart: Collection[Pair] = (),
        between: bool = True,
        closed: _core.ClosedChain | None = None,
        limits: bool = True,
    ) -> None:
        """``apart``: pairs of links that never touch. ``between``: shapes touch each other, not the terrain alone.

        In pairs, ``WORLD`` is the terrain, whatever it is made of.
        """
        self.model = model
        solids, links = _solids_of(model)
        self.terrain_names: tuple[str, ...] = tuple(_names(pieces))
        planes, fields, walls = [], [], []
        for piece in pieces:
            if isinstance(piece, Ground):
                planes.append(
                    (np.asarray(piece.normal), piece.height, np.asarray(piece.velocity), piece.surface.material)
                )
            elif isinstance(piece, HeightField):
                x, y = np.asarray(piece.corner), np.asarray(piece.spacing)
                where = (float(x[0]), float(x[1]), float(y[0]), float(y[1]))
                fields.append((*where, np.asarray(piece.heights), np.asarray(piece.velocity), piece.surface.material))
            else:
                walls.append(piece)
        moving = len(solids)
        wall_surfaces: list[Solids] = []
        for piece in walls:
            for shape in piece.shapes:
                solids.append(solid(shape, -1, -1 - len(planes) - len(fields) - len(wall_surfaces)))
                wall_surfaces.append(piece)
        ground = [frozenset((WORLD, link.name)) for link in links]
        _check_one_surface(links, [surfaces.get(pair) for pair in ground], ground, apart)
        on_ground = [
            (i, None if ground[i] in apart else surfaces[ground[i]].material)
            for i in range(moving)
            if ground[i] in apart or ground[i] in surfaces
        ]
        pairs = [
            (i, moving + k, np.asarray(piece.velocity), surfaces.get(ground[i], piece.surface).material)
            for i in range(moving)
            if _moves(links[i]) and ground[i] not in apart
            for k, piece in enumerate(wall_surfaces)
        ]
        if between:
            never = set(apart) | _neighbours(model)
            for name, figure in figures.items():
                never |= {frozenset(f"{name}/{link}" for link in pair) for pair in _close_at_rest(figure)}
            for i, j in _pairs(solids, links, never):
                pair = frozenset((links[i].name, links[j].name))
                pairs.append((i, j, np.zeros(3), surfaces.get(pair, surface).material))
        curved = curved_limits(model) if limits else []
        self.curved_labels = [limit.label for limit in curved]
        self.stop_labels = stop_labels(model) if limits else []
        rows = _core.ClosedChain(model.tree, [], [limit.row for limit in curved]) if curved else None
        restitution = [limit.restitution for limit in curved]
        stops = stops_of(model) if limits else []
        self.engine = _core.Contacts(
            model.tree, solids, planes, fields, pairs, stops, closed, rows, restitution, on_ground
        )

    def reactions(self) -> dict[str, float]:
        """{limit: generalized force} of the joint limits that pushed in the last step, along the limit [N m, N]."""
        forces = self.engine.stop_forces()
        plain, curved = forces[: len(self.stop_labels)], forces[len(self.stop_labels) :]
        sides = [(name, "lower" if f > 0 else "upper", abs(f)) for name, f in zip(self.stop_labels, plain, strict=True)]
        found = [(f"{name} {side}", f) for name, side, f in sides] + list(zip(self.curved_labels, curved, strict=True))
        return {label: f for label, f in found if f > 0}

    def contacts(self) -> list[Contact]:
        return [contact(raw, self.model.link_names, self.terrain_names) for raw in self.engine.contacts()]

    def report(self) -> ContactReport:
        r = self.engine.report()
        residuals = ("normal_force", "approach", "complementarity", "cone", "dissipation", "pressure", "valid")
        counts = ("solves", "trials", "swept", "exact", "impacts", "splits")
        amounts = ("restitution_kept", "energy_lost", "penetration")
        return ContactReport(
            Certificate(*(r[name] for name in residuals)), tuple(self.trace()), *(r[name] for name in counts + amounts)
        )

    def trace(self) -> list[Trial]:
        def name(i: int) -> str:
            return self.model.link_names[i] if i >= 0 else self.terrain_names[-1 - i]

        return [
            Trial(solve, trial, (name(a), name(b)), Condition(condition), Check(failed), amount)
            for solve, trial, a, b, condition, failed, amount in self.engine.trace()
            if a >= 0
        ]


def _solids_of(model: Model) -> tuple[list[Solid], list[Link]]:
    pairs = [(solid(shape, link.index, link.index), link) for link in model.links for shape in link.shapes]
    return [s for s, _ in pairs], [link for _, link in pairs]


def _moves(link: Link | None) -> bool:
    """Not fixed to the world, neither itself nor through others."""
    return link is not None and (link.joint.nv > 0 or _moves(link.parent))


def _check_one_surface(
    links: list[Link], own: list[Surface | None], ground: list[Pair], apart: Collection[Pair]
) -> None:
    """Links fixed to each other touch the ground as one body, with one surface."""
    first: dict[str, int] = {}
    for i, link in enumerate(links):
        if ground[i] in apart:
            continue
        carrier = link
        while carrier.joint.nv == 0 and carrier.parent is not None:
            carrier = carrier.parent
        other = first.setdefault(carrier.name, i)
        a, b = own[i], own[other]
        if (None if a is None else a.material) != (None if b is None else b.material):
            raise InvalidInputError(
                f"set_surface: {links[other].name!r} and {link.name!r} are fixed to each other and touch the ground as "
                "one: expected one surface for both"
            )


def _pairs(solids: list[Solid], links: list[Link], never: Collection[Pair]) -> Iterator[tuple[int, int]]:
    """Solids on two links of which one moves: that first, and of two the rounder one (balls and capsules, then
    cylinders), which keeps its contact point below its centre."""
    moves = [_moves(link) for link in links]
    for i, j in combinations(range(len(links)), 2):
        pair = frozenset((links[i].name, links[j].name))
        if len(pair) == 2 and pair not in never and (moves[i] or moves[j]):
            yield (j, i) if not moves[i] or (moves[j] and _roundness(solids[j]) > _roundness(solids[i])) else (i, j)


def _roundness(shape: Solid) -> int:
    return 2 if shape[2] > 0 else 1 if shape[6] > 0 else 0


def _names(pieces: tuple[Piece, ...]) -> list[str]:
    kinds = {Ground: "ground", HeightField: "height field"}
    grounds = [kinds[type(p)] for kind in (Ground, HeightField) for p in pieces if isinstance(p, kind)]
    walls = [f"solid {k + 1}" for p in pieces if isinstance(p, Solids) for k, _ in enumerate(p.shapes)]
    return [*grounds, *walls]


def stop_labels(model: Model) -> list[str]:
    """Names of the coordinates of `stops_of`, as `chain.limits` gives them."""
    coordinates = {
        link.q.start + k: link.joint_name if link.joint.nv == 1 else f"{link.joint_name}[{k}]"
        for link in model.links
        if link.joint.nq == link.joint.nv
        for k in range(link.joint.nv)
    }
    return [coordinates[stop[0]] for stop in stops_of(model)]


def stops_of(model: Model) -> list[tuple[int, int, float, float, float]]:
    """Joint limits as stops: coordinate, freedom, lower, upper, restitution."""
    found = []
    for link in model.links:
        joint = link.joint
        if joint.limits is None or joint.nq != joint.nv:
            continue
        for k, (lower, upper) in enumerate(np.asarray(joint.limits, dtype=np.float64)):
            if np.isfinite(lower) or np.isfinite(upper):
                e = float(getattr(joint, "restitution", 0.0))
                found.append((link.q.start + k, link.v.start + k, float(lower), float(upper), e))
    return found


def _neighbours(model: Model) -> set[Pair]:
    """Links joined by one joint, or fixed to each other."""
    body: dict[str, str] = {}
    for link in model.links:
        fixed = link.joint.nv == 0 and link.parent is not None
        body[link.name] = body[link.parent.name] if fixed and link.parent is not None else link.name
    near: set[tuple[str, str]] = set()
    for link in model.links:
        if link.parent is not None:
            near.add((body[link.name], body[link.parent.name]))
    members: dict[str, list[str]] = {}
    for name, carrier in body.items():
        members.setdefault(carrier, []).append(name)
    pairs = {frozenset((a, b)) for x, y in near for a in members[x] for b in members[y]}
    pairs |= {frozenset((a, b)) for group in members.values() for a in group for b in group}
    return {p for p in pairs if len(p) == 2}


def _close_at_rest(model: Model) -> frozenset[Pair]:
    """Pairs of links of a figure that meet in its zero pose, or nearly: they never count as touching."""
    if model not in _together:
        solids, links = _solids_of(model)
        pairs = [(i, j, np.zeros(3), (0.0, 0.0, 0.0)) for i, j in _pairs(solids, links, _neighbours(model))]
        engine = _core.Contacts(model.tree, solids, [], [], pairs, [], None)
        engine.options(TOGETHER, TOGETHER, 0, False)
        engine.look(model.neutral(), np.zeros(model.nv))
        names = model.link_names
        _together[model] = frozenset(frozenset((names[c[0]], names[c[1]])) for c in engine.contacts())
    return _together[model]
