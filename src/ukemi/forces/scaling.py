"""A generic OpenSim model scaled to a person by a static trial: factors of the bodies, and markers where they stand.

Factors come from distances between pairs of markers: of a setup file of OpenSim's ScaleTool (each the mean ratio of
its pairs, the model in its default pose), or of all pairs that model and trial share. In the latter case, with s_b the
logarithm of body b's factor,

    log(measured / modelled) = sum over b of (d log distance / d s_b) s_b + error

is solved by weighted least squares for all bodies at once. The error of a pair is that of its markers on the skin, and
of the pose: pairs whose distance depends on a joint's angle say little. Bodies are like the whole person, and left
like right, but for what the pairs say. Distances are taken anew in the pose that the static trial has on the scaled
model, until factors settle; a person stands there much as the model does by default. Models have clusters of markers
that stand elsewhere on the person: a marker weighs less in the next round the further it is off (Huber's weights).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ukemi.errors import InvalidInputError, UnknownNameError
from ukemi.forces.ik import InverseKinematics, inverse_kinematics
from ukemi.forces.ik_tasks import Tasks
from ukemi.forces.osim_kinematics import OsimKinematics
from ukemi.forces.scale_setup import ALWAYS, ScaleSetup
from ukemi.model.arrays import Array
from ukemi.model.pose import Pose
from ukemi.model.readers.osim_parts import GROUND, Osim
from ukemi.model.readers.osim_text import flag, floats, word_of
from ukemi.model.readers.xmltree import Element, read_xml
from ukemi.motion.ground_forces import to_opensim
from ukemi.motion.markers import Markers

Factors = dict[str, tuple[float, ...]]

#: Of a marker beside its place on the model [m]: palpation, and what models have for other laboratories' markers.
PLACEMENT = 0.015
#: Of joint angles [rad], and distances where coordinates are such [m]: default pose against static trial (arms hang or
#: are held out), then after inverse kinematics on a model that is not yet right.
STANCE, SETTLED = 0.35, 0.05
#: Standard deviations of log factors: of a body from the whole person, of left from right (people of one height differ
#: by some 5 % in a segment's length, their sides by 1 %).
SEGMENTS, SIDES = 0.05, 0.01
ROUNDS = 6
#: Nearer pairs say more about placement than about size [m].
NEAREST = 0.05
#: Step of the differences that tell how distances grow with a body.
GROWTH = 1e-3
#: Pairs that are named for each body.
MOST = 2
#: A person is not that many times a model; lengths in another unit are.
STRANGE = (0.5, 2.0)


@dataclass(frozen=True, eq=False)
class Scaled:
    """A model for a person: factors, markers where the person has them (body, place [m]), and the static pose.

    told: body -> the pairs of markers that told its factor most. pose: None where markers were not placed.
    """

    factors: Factors
    markers: dict[str, tuple[str, Pose]]
    told: dict[str, tuple[tuple[str, str], ...]]
    pose: InverseKinematics | None


def scale_to(
    osim: Osim,
    static: Markers,
    setup: ScaleSetup | None = None,
    *,
    tasks: Tasks | None = None,
    fixed: frozenset[str] = frozenset(),
) -> Scaled:
    """The model scaled to a static trial; without a setup, by all pairs of markers. tasks: of the static pose, if no
    setup says. fixed: markers that keep their places on the bodies.

    Raises:
        InvalidInputError: model and trial have too few markers in common, or factors that no person has.
    """
    if setup is None:
        factors, told, trust = automatic_factors(osim, average(static, ALWAYS))
        setup = ScaleSetup(tasks=tasks if tasks is not None and tasks.markers else trust)
    else:
        factors, told = setup_factors(osim, static, setup)
    for body, factor in factors.items():
        if not all(STRANGE[0] < x < STRANGE[1] for x in factor):
            by = ", ".join(f"{a} - {b}" for a, b in told.get(body, ())[:3])
            raise InvalidInputError(
                f"{static.name}: scale factors of {body!r} are {', '.join(f'{x:.3g}' for x in factor)}: expected "
                f"{STRANGE[0]:g} to {STRANGE[1]:g}; look at the unit of the trial, and at the markers {by}"
            )
    kinematics = OsimKinematics(osim, factors=factors)
    grown = {m: (body, Pose(at.position * kinematics.scale(body))) for m, (body, at) in osim.markers.items()}
    if setup.tasks is None:
        return Scaled(factors, grown, told, None)
    standing = average(static, setup.place)
    pose = inverse_kinematics(kinematics, standing, setup.tasks)
    seen = dict(zip(standing.names, to_opensim(standing.positions[0]), strict=True))
    R, p = (part[0] for part in kinematics.poses(pose.q))
    placed = {}
    for name, (body, at) in grown.items():
        if name in seen:  # as in OpenSim, markers that the static trial lacks are no markers of the person
            k = kinematics.bodies[body]
            moved = setup.move_markers and name not in fixed and not np.isnan(seen[name]).any()
            placed[name] = (body, Pose(R[k].T @ (seen[name] - p[k])) if moved else at)
    return Scaled(factors, placed, told, pose)


def with_marker_set(osim: Osim, path: Path) -> Osim:
    """The model with the markers of a file (<MarkerSet>) put in, or in the place of those of the same name.

    Raises:
        FileFormatError: a file that cannot be read, with its line.
    """
    root = read_xml(path)
    markers = dict(osim.markers)
    for e in root.walk():
        if e.tag == "Marker":
            body = word_of(e, "socket_parent_frame", "socket_parent_frame_connectee_name", "body").rpartition("/")[2]
            if body not in osim.bodies:
                raise e.error(f"marker {e.text('name')!r}: {UnknownNameError('body', body, osim.bodies)}")
            markers[e.text("name")] = (body, Pose(floats(e, "location", 3, (0.0, 0.0, 0.0))))
    return replace(osim, markers=markers)


def fixed_markers(*roots: Element) -> frozenset[str]:
    """Markers that keep their places on the bodies, as the last of these files says that names them."""
    said = {e.text("name"): flag(e, "fixed") for root in roots for e in root.walk() if e.tag == "Marker"}
    return frozenset(name for name, fixed in said.items() if fixed)


def average(markers: Markers, times: tuple[float, float]) -> Markers:
    """One frame: every marker's mean over the times in which it is seen."""
    p = markers.positions[_between(markers, times)]
    seen = ~np.isnan(p[..., :1])
    mean = np.where(seen, p, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    return replace(markers, positions=np.where(seen.any(axis=0), mean, np.nan)[None], forces=None)


def _between(markers: Markers, times: tuple[float, float]) -> NDArray[np.intp]:
    rows = np.flatnonzero((markers.time >= times[0] - 1e-9) & (markers.time <= times[1] + 1e-9))
    if not len(rows):
        raise InvalidInputError(
            f"{markers.name}: no frame between {times[0]:g} and {times[1]:g} s: the trial has {markers.time[0]:g} to "
            f"{markers.time[-1]:g} s"
        )
    return rows


# --- by a setup -------------------------------------------------------------------------------------------------------
def setup_factors(
    osim: Osim, static: Markers, setup: ScaleSetup
) -> tuple[Factors, dict[str, tuple[tuple[str, str], ...]]]:
    """Factors as OpenSim's ScaleTool has them, measurements and manual ones in the setup's order, and the pairs."""
    kinematics = OsimKinematics(osim)
    places = dict(zip(kinematics.markers, kinematics.positions(kinematics.default[None])[0], strict=True))
    p = static.positions[_between(static, setup.measure)]
    factors = {body: np.ones(3) for body in osim.bodies}
    told: dict[str, tuple[tuple[str, str], ...]] = {}
    for kind in setup.order:
        if kind == "manualScale":
            for body, manual in setup.manual.items():
                if body in factors:
                    factors[body] = np.array(manual)
            continue
        for measurement in setup.measurements:
            ratios = []
            for pair in measurement.pairs:
                for name in pair:
                    if name not in places:
                        raise UnknownNameError(
                            f"marker of the model, for measurement {measurement.name!r},", name, places
                        )
                    if name not in static.names:
                        raise UnknownNameError(
                            f"marker in {static.name}, for measurement {measurement.name!r},", name, static.names
                        )
                a, b = (static.names.index(name) for name in pair)
                measured = np.linalg.norm(p[:, a] - p[:, b], axis=-1)
                ratios.append(np.nanmean(measured) / np.linalg.norm(places[pair[0]] - places[pair[1]]))
            for body, axes in measurement.axes.items():
                if body in factors:
                    factors[body][list(axes)] = np.mean(ratios)
                    told[body] = measurement.pairs
    return {body: tuple(map(float, factor)) for body, factor in factors.items()}, told


# --- by all pairs -----------------------------------------------------------------------------------------------------
def automatic_factors(osim: Osim, standing: Markers) -> tuple[Factors, dict[str, tuple[tuple[str, str], ...]], Tasks]:
    """One factor for each body from all pairs of markers, the pairs that told most of each, and weights of markers."""
    seen = {n: x for n, x in zip(standing.names, to_opensim(standing.positions[0]), strict=True) if not np.isnan(x[0])}
    names = tuple(name for name in osim.markers if name in seen)
    pairs = np.array(list(combinations(range(len(names)), 2)), dtype=int).reshape(-1, 2)
    goal = np.array([seen[name] for name in names]).reshape(-1, 3)
    measured = np.linalg.norm(goal[pairs[:, 0]] - goal[pairs[:, 1]], axis=-1)
    pairs, measured = pairs[measured > NEAREST], measured[measured > NEAREST]
    if len(names) < 4 or not len(pairs):
        raise InvalidInputError(
            f"{standing.name}: scaling needs four markers that the model knows, got {', '.join(names) or 'none'}; the "
            f"model {osim.name!r} has {', '.join(osim.markers) or 'none'}"
        )
    bodies = tuple(osim.bodies)
    prior, wanted = _alike(bodies)
    s, q, doubt = np.zeros(len(bodies)), OsimKinematics(osim, names).default[None], STANCE
    trust = np.ones(len(names))
    own = {c.name for joint in osim.joints if joint.parent != GROUND for c in joint.coordinates}
    stance = {name: (None, (PLACEMENT / STANCE) ** 2 / len(names)) for name in own}
    for turn in range(ROUNDS):
        k = OsimKinematics(osim, names, _factors(bodies, s))
        points, J = k.linearized(k.free_of(q))
        distance, along = _distances(points[0], pairs)
        grown = [
            OsimKinematics(osim, names, _factors(bodies, s + step)).positions(q)[0] for step in GROWTH * np.eye(len(s))
        ]
        share = np.stack([np.log(_distances(x, pairs)[0] / distance) / GROWTH for x in grown], axis=1)
        turned = np.einsum("pi,npi->pn", along, J[0][:, pairs[:, 0]] - J[0][:, pairs[:, 1]])
        placed = PLACEMENT**2 * (1 / trust[pairs]).sum(axis=1)
        variance = (placed + (doubt * turned) ** 2 @ np.ones(turned.shape[1])) / distance**2
        variance *= max(len(pairs) / (3 * len(names)), 1.0)  # so many pairs share the errors of few markers
        weight = 1 / np.sqrt(variance)
        rows = np.concatenate([weight[:, None] * share, prior])
        right = np.concatenate([weight * (np.log(measured / distance) + share @ s), wanted])
        s = np.linalg.solve(rows.T @ rows, rows.T @ right)
        k = OsimKinematics(osim, names, _factors(bodies, s))
        tasks = Tasks(dict(zip(names, trust, strict=True)), 0.0, stance)
        pose = inverse_kinematics(k, standing, tasks)
        q, doubt = pose.q, SETTLED
        errors = dict(zip(pose.markers, pose.errors[0], strict=True))
        off = np.array([errors[name] for name in names]) / PLACEMENT
        trust = 1 / np.maximum(1, off) if turn < ROUNDS // 2 else 1 / (1 + off**2)
    # that of which a body makes up most
    says = (weight[:, None] * share) ** 2 * (share > 0.5)
    told = {}
    for c, body in enumerate(bodies):
        most = [k for k in np.argsort(-says[:, c])[:MOST] if says[k, c] > 0]
        told[body] = tuple((names[pairs[k, 0]], names[pairs[k, 1]]) for k in most)
    return _factors(bodies, s), told, tasks


def _factors(bodies: tuple[str, ...], s: Array) -> Factors:
    return {body: (float(np.exp(x)),) * 3 for body, x in zip(bodies, s, strict=True)}


def _distances(points: Array, pairs: Array) -> tuple[Array, Array]:
    """(pairs,) [m] and the directions from second to first."""
    apart = points[pairs[:, 0]] - points[pairs[:, 1]]
    length = np.maximum(np.linalg.norm(apart, axis=-1), 1e-6)
    return length, apart / length[:, None]


def _alike(bodies: tuple[str, ...]) -> tuple[Array, Array]:
    """Rows (and right sides) that make bodies like the mean of all, and left like right."""
    n = len(bodies)
    rows = [(np.eye(n) - 1 / n) / SEGMENTS]
    for i, body in enumerate(bodies):
        other = re.sub(r"_r$|_right$", lambda m: {"_r": "_l"}.get(m[0], "_left"), body)
        if other != body and other in bodies:
            rows.append((np.eye(n)[i] - np.eye(n)[bodies.index(other)])[None] / SIDES)
    A = np.concatenate(rows)
    return A, np.zeros(len(A))
