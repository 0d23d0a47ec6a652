"""What a page shows: parts that move, and forces on them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ukemi.contact.terrain import Solids, pieces
from ukemi.dynamics.coupled import coupled_neutral
from ukemi.dynamics.kinematics import link_poses
from ukemi.dynamics_filter.result import FilterResult
from ukemi.errors import FileFormatError, InvalidInputError
from ukemi.model.arrays import Array, numbers
from ukemi.model.model import Model
from ukemi.motion.clip import Clip
from ukemi.motion.figure import figure_from_clip
from ukemi.motion.rotations import matrices
from ukemi.report.strip import LEFT, MIDDLE, RIGHT
from ukemi.sim.recording import Recording, is_recording
from ukemi.viewer.meshes import SHORTEST, Mesh, bone_mesh, joined, link_mesh, shape_mesh

#: Pages show no more frames a second than this.
FASTEST = 60.0
#: Colour of steps and seats.
WOOD = "#c9b79c"


@dataclass(frozen=True, eq=False)
class Part:
    """Something rigid. poses: (frames, 3, 4), rotation and place in the world. still: a view does not follow it."""

    name: str
    colour: str
    mesh: Mesh
    poses: Array
    still: bool = False


@dataclass(frozen=True, eq=False)
class Stage:
    """Parts over time (frames,) [s]; forces: per frame (n, 6): where [m] and what [N]."""

    name: str
    time: Array
    parts: tuple[Part, ...]
    forces: tuple[Array, ...] = field(default=())

    def __post_init__(self) -> None:
        if not self.parts:
            raise InvalidInputError(f"view: {self.name!r} has no shapes and no bones to show")

    def moved(self, by: ArrayLike) -> Stage:
        """The same, somewhere else."""
        shift = np.concatenate([np.zeros((3, 3)), numbers("by", by, (3,))[:, None]], axis=1)
        parts = tuple(replace(part, poses=part.poses + shift) for part in self.parts)
        places = tuple(f + np.concatenate([shift[:, 3], np.zeros(3)]) for f in self.forces)
        return replace(self, parts=parts, forces=places)

    def on_floor(self) -> Stage:
        """The same, with the lowest point of its first frame at z = 0."""
        lowest = min(float((p.mesh[0] @ p.poses[0, 2, :3] + p.poses[0, 2, 3]).min()) for p in self.parts)
        return self.moved((0.0, 0.0, -lowest))


def stage_of_model(
    model: Model, q: ArrayLike | None = None, time: ArrayLike | None = None, *, poses: Array | None = None
) -> Stage:
    """A model at coordinates q (frames, nq), by default its zero pose; or with its links' poses (frames, nlinks, 4, 4).

    A model without any shapes shows bones between its joints.
    """
    if poses is None:
        poses = link_poses(model, np.atleast_2d(coupled_neutral(model) if q is None else numbers("q", q)))
    times = np.arange(len(poses)) / FASTEST if time is None else numbers("time", time, (len(poses),))
    chosen = _frames(times)
    bare = not any(link.shapes for link in model.links)
    parts = []
    for link in model.links:
        mesh = link_mesh(link, bare)
        if mesh is not None:
            parts.append(Part(link.name, _colour(link.name), mesh, poses[chosen, link.index, :3]))
    return Stage(model.name, times[chosen], tuple(parts))


def stage_of_clip(clip: Clip) -> Stage:
    """A clip's person; its bare skeleton where no person is found in it."""
    try:
        figure = figure_from_clip(clip)
    except InvalidInputError:
        return _skeleton(clip)
    return replace(stage_of_model(figure.model, figure.q(), clip.time), name=clip.name)


def stage_of_recording(recording: Recording, model: Model) -> Stage:
    """A run of one figure in a world, with what touched it.

    Raises:
        InvalidInputError: a recording of other links than the model's.
    """
    places = {name: k for k, name in enumerate(recording.link_names)}
    # links are called figure/link, and the names of links may hold strokes themselves
    figures = ["", *dict.fromkeys(name.partition("/")[0] + "/" for name in places if "/" in name)]
    missing = {figure: [name for name in model.link_names if figure + name not in places] for figure in figures}
    whose = min(figures, key=lambda figure: len(missing[figure]))
    if missing[whose]:
        what = f"the recording has no {missing[whose][0]!r}: it is not of the model {model.name!r}"
        raise InvalidInputError(f"view: {what}; links are {', '.join(recording.link_names[:6])}")
    order = [places[whose + name] for name in model.link_names]
    stage = stage_of_model(model, time=recording.time, poses=recording.poses[:, order])
    forces = []
    for k in _frames(recording.time) if recording.contacts else ():
        rows = [np.concatenate([c.cop, c.wrench[:3]]) for c in recording.contacts[k] if np.isfinite(c.cop).all()]
        forces.append(np.array(rows).reshape(-1, 6))
    return replace(stage, forces=tuple(forces))


def stage_of_result(result: FilterResult) -> Stage:
    """What the filter made, with the forces of the ground and of supports, and the boxes it stands on."""
    stage = stage_of_model(result.model, result.q, result.time)
    ground = result.ground_forces
    forces = []
    for k in _frames(result.time):
        bears = ground.force[k, :, 2] > 0
        feet = np.concatenate([ground.point[k], ground.force[k]], axis=1)[bears]
        forces.append(np.concatenate([feet, result.held_at(float(result.time[k]))]))
    still = np.broadcast_to(np.eye(3, 4), (len(stage.time), 3, 4))
    shapes = [x for piece in pieces(result.terrain) if isinstance(piece, Solids) for x in piece.shapes]
    boxes = tuple(Part(f"box {i + 1}", WOOD, shape_mesh(x), still, True) for i, x in enumerate(shapes))
    return replace(stage, parts=stage.parts + boxes, forces=tuple(forces))


def read_stage(path: Path, model: Model | None = None) -> Stage:
    """A motion file, or a recording (.npz) of a model."""
    from ukemi.motion.read import read_motion

    if path.suffix.lower() == ".npz" and model is not None:
        return replace(stage_of_recording(Recording.load(path), model), name=path.stem)
    if is_recording(path):
        names = Recording.load(path).link_names
        raise FileFormatError(path, None, f"a recording: say whose with --model; links are {', '.join(names[:6])}")
    return stage_of_clip(read_motion(path))


def _skeleton(clip: Clip) -> Stage:
    chosen = _frames(clip.time)
    turns = matrices(clip.world_rotations[chosen])
    poses = np.concatenate([turns, clip.positions[chosen][..., None]], axis=-1)
    parts = []
    for j, name in enumerate(clip.skeleton.names):
        tips = [clip.skeleton.offsets[k] for k in clip.skeleton.children[j]]
        tips += [tip for k, tip in clip.skeleton.ends if k == j]
        mesh = joined([bone_mesh(tip) for tip in tips if np.linalg.norm(tip) > SHORTEST])
        if mesh is not None:
            parts.append(Part(name, _colour(name), mesh, poses[:, j]))
    return Stage(clip.name, clip.time[chosen], tuple(parts))


def _frames(time: Array) -> NDArray[np.intp]:
    """Indices of the frames that are shown, first and last included."""
    if len(time) < 2 or time[-1] <= time[0]:
        return np.arange(len(time))
    count = min(len(time), int(np.ceil((time[-1] - time[0]) * FASTEST)) + 1)
    wanted = np.linspace(time[0], time[-1], max(count, 2)) - 1e-9
    return np.unique(np.searchsorted(time, wanted).clip(0, len(time) - 1)).astype(np.intp)


def _colour(name: str) -> str:
    from ukemi.motion.body import side_of

    side = side_of(name.rpartition("/")[2])
    return LEFT if side == "left" else RIGHT if side == "right" else MIDDLE
