"""Motions of OpenSim (.mot, .sto): coordinates over time, and the model (.osim) that says what they mean.

A clip's joints are the model's bodies, their places and turns what the model's own functions give, splines included.
A model of legs and trunk gets a head and arms that hang, of de Leva's lengths, so that a person can be made of it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from ukemi.dynamics.coupled import coupled_coordinates
from ukemi.errors import FileFormatError, InvalidInputError, UkemiWarning
from ukemi.model.arrays import Array
from ukemi.model.figures.anthropometry import DE_LEVA
from ukemi.model.figures.human import SHOULDER_HALF_WIDTH
from ukemi.model.kinds import of_kind, path_of
from ukemi.model.model import Model
from ukemi.model.readers.diagnostics import Diagnostics
from ukemi.model.readers.osim_parts import GROUND, Osim, OsimJoint, read_parts
from ukemi.model.readers.xmltree import read_xml
from ukemi.motion.clip import Clip, Skeleton
from ukemi.motion.ground_forces import from_opensim
from ukemi.motion.rotations import continuous, exponential, product, rotated
from ukemi.motion.tables import Table, read_table

#: Times further from even than this share of a step are sampled anew.
UNEVEN = 0.05
#: How the state files of OpenSim 4 call a coordinate's value.
STATE = re.compile(r".*/([^/]+)/value")
LIMBS = ("humerus", "radius", "hand")


def read_coordinates(path: str | Path, skeleton: str | Path | None = None, *, fps: float | None = None) -> Clip:
    """A clip from a .mot or .sto file with coordinates; ``skeleton``: its .osim, by default the only one beside it.

    Raises:
        FileFormatError: a file that cannot be read, or one without any coordinate of the model.
    """
    file = Path(path)
    table = read_table(file)
    found = _model_beside(file, table) if skeleton is None else Path(skeleton)
    osim = read_parts(read_xml(found), Diagnostics(found))
    values = coordinate_values(osim, table, file)
    if len([joint for joint in osim.joints if joint.parent == GROUND]) > 1:
        raise FileFormatError(
            found, None, "several bodies stand on the ground: expected one, from which all others hang"
        )
    clip = _clip(osim, values, table.fps if fps is None else fps, file.stem)
    return replace(_with_head_and_arms(clip, found), start=float(table.time[0]))


def coordinate_values(osim: Osim, table: Table, file: Path) -> dict[str, Array]:
    """Every coordinate of the model over evenly spaced times [rad, m]: columns, what follows from them, defaults."""
    columns, known = _columns(table), osim.coordinates
    if not set(columns) & set(known):
        raise FileFormatError(
            file,
            None,
            f"no column is a coordinate of {osim.element.path.name}: columns are {', '.join(table.names[:6])}, "
            f"coordinates {', '.join(list(known)[:6])}; read_ground_forces reads ground forces",
        )
    turning = {a.coordinate for joint in osim.joints for a in joint.axes if a.turns and a.unit_slope}
    rows = _evenly(table)
    values = {}
    for name, coordinate in known.items():
        if name in columns:
            column = rows[:, columns[name]]
            values[name] = np.deg2rad(column) if table.in_degrees and name in turning else column
        else:
            values[name] = np.full(len(rows), coordinate.default)
    led = {follower for follower, _, _ in osim.couplers}
    for follower, function, leader in osim.couplers * len(osim.couplers):  # leaders that follow others have settled
        if follower not in columns:
            values[follower] = function(values[leader])
    free = [name for name, c in known.items() if name not in led and not c.locked]
    for message in _differences(columns, known, free, f"coordinates of {osim.element.path.name}"):
        warnings.warn(f"{file}: {message}", UkemiWarning, stacklevel=4)
    return values


def joint_coordinates(model: Model, path: str | Path) -> tuple[Array, Array]:
    """Times (n,) and q (n, nq) of a .mot or .sto file on a model that was loaded from its .osim.

    Joints without a column stand at the defaults of the model's file (`Model.defaults`), those that follow others
    (`Model.couplings`) where these put them; a column of a locked or following joint holds. Warnings name the joints
    that stand at defaults, and the columns that are no joint.

    Raises:
        FileFormatError: a file that cannot be read, or one without any joint of the model.
    """
    of_kind("model", model, Model)
    file = path_of("path", path)
    table = read_table(file)
    columns = _columns(table)
    joints = {link.joint_name: link for link in model.links if link.joint.nq == 1}
    if not set(columns) & set(joints):
        raise FileFormatError(
            file, None, f"no column is a joint of {model!r}; columns are {', '.join(table.names[:6])}"
        )
    q = np.tile(model.neutral(), (len(table), 1))
    for name, default in model.defaults.items():
        q[:, joints[name].q.start] = default
    for name, link in joints.items():
        if name in columns:
            column = table.values[:, columns[name]]
            q[:, link.q.start] = np.deg2rad(column) if table.in_degrees and link.joint.kind == 0 else column
    followers = {coupling.joint for coupling in model.couplings}
    free = [name for name in joints if name not in followers]
    for message in _differences(columns, joints, free, f"joints of {model.name!r}"):
        warnings.warn(f"{file}: {message}", UkemiWarning, stacklevel=2)
    return table.time, coupled_coordinates(model, q, given=columns)


def _columns(table: Table) -> dict[str, int]:
    """Coordinate -> column."""
    return {match[1] if (match := STATE.fullmatch(name)) else name: k for k, name in enumerate(table.names)}


def _differences(columns: Collection[str], known: Collection[str], free: list[str], what: str) -> Iterator[str]:
    """Free coordinates without a column, and columns that are no coordinate; in files of states, speeds and what
    muscles have are expected."""
    missing = [name for name in free if name not in columns]
    if missing:
        yield f"no columns for {_some(missing)}: they stay at the model's defaults"
    strange = [c for c in columns if c not in known and not re.search(r"[/.]", c) and c.removesuffix("_u") not in known]
    if strange:
        near = {name: get_close_matches(name, [k for k in known if k not in columns], n=1) for name in strange}
        named = [f"{name} (did you mean {near[name][0]}?)" if near[name] else name for name in strange]
        yield f"columns that are no {what} are left out: {_some(named)}"


def _some(names: list[str]) -> str:
    return f"{', '.join(names[:6])}{f', ... ({len(names)} in all)' if len(names) > 6 else ''}"


def _evenly(table: Table) -> Array:
    """The rows, sampled anew where their times are not even."""
    even = table.time[0] + np.arange(len(table)) / table.fps
    if len(table) < 3 or np.abs(table.time - even).max() <= UNEVEN / table.fps:
        return table.values
    return np.stack([np.interp(even, table.time, column) for column in table.values.T], axis=1)


def _model_beside(file: Path, table: Table) -> Path:
    if any(re.search(r"force.*vx$", name) for name in table.names):
        raise FileFormatError(file, None, "ground forces, not a motion: ukemi.motion.ground_forces reads them")
    beside = sorted(file.parent.glob("*.osim"))
    if len(beside) != 1:
        raise InvalidInputError(
            f"{file}: coordinates mean something only with their model: expected one .osim beside it, "
            f"found {len(beside)}; say which with skeleton='model.osim' (--skeleton model.osim)"
        )
    return beside[0]


def _clip(osim: Osim, values: Mapping[str, Array], fps: float, name: str) -> Clip:
    index = {joint.child: j for j, joint in enumerate(osim.joints)}
    frames = len(next(iter(values.values())))
    turns, offsets = np.empty((frames, len(index), 4)), np.zeros((len(index), 3))
    translations: dict[int, Array] = {}
    for j, joint in enumerate(osim.joints):
        place, turn = _moved(joint, values, frames)
        turns[:, j, 0], turns[:, j, 1:] = turn[:, 0], from_opensim(turn[:, 1:])
        place = from_opensim(place)
        if j > 0:
            offsets[j] = place.mean(axis=0)
        if j == 0 or np.ptp(place, axis=0).max() > 1e-12:
            translations[j] = place
    parents = tuple(index.get(joint.parent, -1) for joint in osim.joints)
    turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
    return Clip(Skeleton(tuple(index), parents, offsets), fps, continuous(turns), translations, name=name)


def _moved(joint: OsimJoint, values: Mapping[str, Array], frames: int) -> tuple[Array, Array]:
    """X_PC over time: places (frames, 3) and quaternions (frames, 4), in OpenSim's axes."""
    place = np.tile(joint.X_PF.position, (frames, 1))
    turn = np.tile(joint.X_PF.quaternion, (frames, 1))
    for axis in joint.steps:
        x = np.zeros(frames) if axis.coordinate is None else values[axis.coordinate]
        by = axis.function(x)[:, None] * axis.along
        if axis.turns:
            turn = product(turn, exponential(by))
        else:
            place = place + rotated(turn, by)
    back = joint.X_CM.inverse()
    place = place + rotated(turn, np.broadcast_to(back.position, (frames, 3)))
    return place, product(turn, np.broadcast_to(back.quaternion, (frames, 4)))


def _with_head_and_arms(clip: Clip, model: Path) -> Clip:
    """The clip, with joints for what the model leaves out; unchanged where there is no trunk with legs to put them on.

    Bodies of OpenSim have x forward and y up when they stand, here z up: joints that are added never turn.
    """
    s = clip.skeleton
    lower = {name.lower(): j for j, name in enumerate(s.names)}
    torso = next((j for name, j in lower.items() if re.search("torso|trunk|thorax|chest", name)), None)
    legs = [lower.get(f"{bone}_{side}") for side in "rl" for bone in ("femur", "tibia", "talus")]
    if torso is None or s.parents[torso] != 0 or None in legs:
        return clip
    bones = [float(np.linalg.norm(s.offsets[j])) for j in (*legs[1:3], *legs[4:6]) if j is not None]
    table = DE_LEVA["male"].segments
    scale = 0.5 * sum(bones) / (table["thigh"].length + table["shank"].length)
    hips = np.mean([s.offsets[j] for j in (legs[0], legs[3]) if j is not None], axis=0)
    trunk = sum(table[f"{part}_trunk"].length for part in ("lower", "middle", "upper"))
    up = np.array((0.0, 0.0, scale))
    neck = hips + trunk * up - s.offsets[torso]
    arms = {side: lower.get(f"humerus_{side}") for side in "rl"}
    if None not in arms.values():
        neck[2] = np.mean([s.offsets[j][2] for j in arms.values() if j is not None])
    added: list[tuple[str, int, Array]] = []
    if not any(re.search("head|skull|neck", name) for name in lower):
        added.append(("head", torso, neck + 0.06 * up))
    for side, sign in (("r", -1.0), ("l", 1.0)):
        if any(re.search(rf"(hand|humerus)\w*_{side}$", name) for name in lower):
            continue
        shoulder = neck + sign * SHOULDER_HALF_WIDTH * DE_LEVA["male"].height * scale * np.eye(3)[1]
        places = (shoulder, -table["upper_arm"].length * up, -table["forearm"].length * up)
        above = torso
        for bone, place in zip(LIMBS, places, strict=True):
            added.append((f"{bone}_{side}", above, place))
            above = len(s) + len(added) - 1
    if not added:
        return clip
    names = [name for name, _, _ in added]
    warnings.warn(
        f"{model.name} has no {', '.join(names)}: they were added to the clip, at rest, with de Leva's lengths",
        UkemiWarning,
        stacklevel=4,
    )
    still = np.zeros((len(clip), len(added), 4))
    still[..., 0] = 1.0
    skeleton = Skeleton(
        (*s.names, *names),
        (*s.parents, *(parent for _, parent, _ in added)),
        np.concatenate([s.offsets, [place for _, _, place in added]]),
        s.ends,
    )
    return Clip(skeleton, clip.fps, np.concatenate([clip.rotations, still], axis=1), clip.translations, name=clip.name)
