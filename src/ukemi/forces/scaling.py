"""A generic OpenSim model scaled to a person by a static trial: factors of the bodies, and markers where they stand.

A setup file of OpenSim's ScaleTool gives factors from distances between pairs of markers: each the mean ratio of its
pairs, the model in its default pose. Without one, pose q and logarithms s of the bodies' factors are found together,

    min  sum w |x(q, s) - m|^2 / PLACEMENT^2 + |q - default|^2 / STANCE^2 + (bodies as the whole person, left as right)

by Gauss-Newton steps: what all distances between markers say, each with the error that it has. Models have clusters
of markers that stand elsewhere on the person: a marker weighs less the further it is off, first by Huber's weights,
which find the right pose from afar, then by Cauchy's.
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
from ukemi.forces.osim_edit import write_scaled
from ukemi.forces.osim_kinematics import OsimKinematics, open_osim
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
#: Of joint angles [rad], and distances where coordinates are such [m], in a static trial beside the default pose: arms
#: hang or are held out.
STANCE = 0.35
#: Of the pose that was found, when it is told which pairs of markers say most of a body.
SETTLED = 0.05
#: Standard deviations of log factors: of a body from the whole person, of left from right (people of one height differ
#: by some 5 % in a segment's length, their sides by 1 %).
SEGMENTS, SIDES = 0.05, 0.01
#: Steps with either weights.
HUBER, CAUCHY = 6, 8
#: Nearer pairs say more about placement than about size [m].
NEAREST = 0.05
#: Step of the differences that tell how markers move with a body's size.
GROWTH = 1e-3
#: Keeps equations solvable where nothing says anything.
LEAST = 1e-6
#: Pairs that are named for each body.
MOST = 2
#: A person is not that many times a model; lengths in another unit are.
STRANGE = (0.5, 2.0)


@dataclass(frozen=True, eq=False)
class Scaled:
    """A model for a person: factors, markers where the person has them (body, place [m]), and the static pose.

    told: body -> the pairs of markers that told its factor most. pose: None where markers were not placed. removed:
    markers that the static trial does not have.
    """

    factors: Factors
    markers: dict[str, tuple[str, Pose]]
    told: dict[str, tuple[tuple[str, str], ...]]
    pose: InverseKinematics | None
    removed: tuple[str, ...] = ()


def scale_model(
    model: Path,
    standing: Markers,
    target: Path,
    setup: ScaleSetup | None = None,
    *,
    tasks: Tasks | None = None,
    mass: float | None = None,
) -> Scaled:
    """Writes the model of a file scaled to the person in a static trial; how, as `scale_to`.

    mass: of the person [kg]; by default that of the setup; without either the segments' masses stay, or grow with them
    where the setup does not preserve their shares.
    """
    osim = open_osim(model)
    roots = [osim.element]
    if setup is not None and setup.marker_set is not None:
        osim = with_marker_set(osim, setup.marker_set)
        roots.append(read_xml(setup.marker_set))
    scaled = scale_to(osim, standing, setup, tasks=tasks, fixed=fixed_markers(*roots))
    write_scaled(
        model,
        target,
        osim,
        OsimKinematics(osim, factors=scaled.factors),
        scaled.markers,
        mass=mass if mass is not None or setup is None else setup.mass,
        preserve_mass=setup is None or setup.preserve_mass,
        name=f"{osim.name}_scaled",
    )
    return replace(scaled, removed=tuple(name for name in osim.markers if name not in scaled.markers))


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


# --- by all markers ---------------------------------------------------------------------------------------------------
def automatic_factors(osim: Osim, standing: Markers) -> tuple[Factors, dict[str, tuple[tuple[str, str], ...]], Tasks]:
    """One factor for each body from all markers, the pairs that tell most of each, and tasks for the static pose."""
    seen = {n: x for n, x in zip(standing.names, to_opensim(standing.positions[0]), strict=True) if not np.isnan(x[0])}
    names = tuple(name for name in osim.markers if name in seen)
    if len(names) < 4:
        raise InvalidInputError(
            f"{standing.name}: scaling needs four markers that the model knows, got {', '.join(names) or 'none'}; the "
            f"model {osim.name!r} has {', '.join(osim.markers) or 'none'}"
        )
    goal = np.array([seen[name] for name in names])
    bodies = tuple(osim.bodies)
    k = OsimKinematics(osim, names)
    own = {c.name for joint in osim.joints if joint.parent != GROUND for c in joint.coordinates}
    stance = np.array([1 / STANCE**2 if name in own else 0.0 for name in k.free])
    alike = _alike(bodies)
    s, trust = np.zeros(len(bodies)), np.ones(len(names))
    default = np.clip(k.free_of(k.default), *k.limits)
    x = k.free_of(inverse_kinematics(k, standing, _tasks(k, trust, stance)).q[0])
    for turn in range(HUBER + CAUCHY):
        points, J, growth = _linearized(osim, names, x, s)
        off = np.linalg.norm(goal - points, axis=1) / PLACEMENT
        trust = 1 / np.maximum(1, off) if turn < HUBER else 1 / (1 + off**2)
        A = np.concatenate([J, growth]).reshape(len(x) + len(s), -1)  # rows: coordinates, then bodies
        weighted = A * np.repeat(trust / PLACEMENT**2, 3)
        H = weighted @ A.T
        g = weighted @ (goal - points).ravel()
        H[: len(x), : len(x)] += np.diag(stance + LEAST)
        H[len(x) :, len(x) :] += alike
        g[: len(x)] += stance * (default - x)
        g[len(x) :] -= alike @ s
        step = np.linalg.solve(H, g)
        x = np.clip(x + step[: len(x)], *k.limits)
        s = s + step[len(x) :]
    told = _telling(names, bodies, trust, *_linearized(osim, names, x, s))
    return _factors(bodies, s), told, _tasks(k, trust, stance)


def _linearized(osim: Osim, names: tuple[str, ...], x: Array, s: Array) -> tuple[Array, Array, Array]:
    """Markers (markers, 3), and how they move with coordinates (free, markers, 3) and log factors (bodies, ...)."""
    bodies = tuple(osim.bodies)
    k = OsimKinematics(osim, names, _factors(bodies, s))
    points, J = k.linearized(x[None])
    q = k.all_of(x[None])
    grown = [OsimKinematics(osim, names, _factors(bodies, s + d)).positions(q)[0] for d in GROWTH * np.eye(len(s))]
    return points[0], J[0], (np.array(grown) - points[0]) / GROWTH


def _tasks(k: OsimKinematics, trust: Array, stance: Array) -> Tasks:
    """Weights of inverse kinematics, which are beside markers' of one in all."""
    beside = PLACEMENT**2 / trust.sum()
    coordinates = {n: (None, float(w * beside)) for n, w in zip(k.free, stance, strict=True) if w > 0}
    return Tasks(dict(zip(k.markers, map(float, trust), strict=True)), 0.0, coordinates)


def _telling(
    names: tuple[str, ...], bodies: tuple[str, ...], trust: Array, points: Array, J: Array, growth: Array
) -> dict[str, tuple[tuple[str, str], ...]]:
    """Body -> the pairs of markers whose distance says most of its size: those of which it makes up most, that are well
    placed, and that depend little on the pose."""
    pairs = np.array(list(combinations(range(len(names)), 2)), dtype=int)
    first, second = pairs.T
    apart = points[first] - points[second]
    distance = np.maximum(np.linalg.norm(apart, axis=-1), 1e-6)
    along = apart / distance[:, None]
    share = np.einsum("pi,bpi->pb", along, growth[:, first] - growth[:, second]) / distance[:, None]
    turned = np.einsum("pi,npi->pn", along, J[:, first] - J[:, second])
    variance = PLACEMENT**2 * (1 / trust[pairs]).sum(axis=1) + ((SETTLED * turned) ** 2).sum(axis=1)
    says = share**2 * (distance**2 / variance)[:, None] * ((share > 0.5) & (distance > NEAREST)[:, None])
    told = {}
    for c, body in enumerate(bodies):
        most = [p for p in np.argsort(-says[:, c])[:MOST] if says[p, c] > 0]
        told[body] = tuple((names[first[p]], names[second[p]]) for p in most)
    return told


def _factors(bodies: tuple[str, ...], s: Array) -> Factors:
    return {body: (float(np.exp(x)),) * 3 for body, x in zip(bodies, s, strict=True)}


def _alike(bodies: tuple[str, ...]) -> Array:
    """H of s H s / 2, which makes bodies like the mean of all, and left like right."""
    n = len(bodies)
    H = (np.eye(n) - 1 / n) / SEGMENTS**2 + LEAST * np.eye(n)
    for i, body in enumerate(bodies):
        other = re.sub(r"_r$|_right$", lambda m: {"_r": "_l"}.get(m[0], "_left"), body)
        if other != body and other in bodies:
            d = np.eye(n)[i] - np.eye(n)[bodies.index(other)]
            H += np.outer(d, d) / SIDES**2
    return H
