"""A figure from a clip's own skeleton: its proportions, a person's masses, soles under its feet.

Kept are pelvis, one or two trunk links, head, arms with hands, legs with feet and toes: a free base and spherical
joints. Collar bones, necks, fingers and zero-length bones are merged. Each link turns exactly as its joint in the clip;
a joint's place in its parent is the mean over the clip (what lies between two kept joints may bend).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array, frozen, numbers, positive
from ukemi.model.builder import Builder
from ukemi.model.figures.anthropometry import DE_LEVA, Sex
from ukemi.model.joints import Free, Spherical
from ukemi.model.kinds import choice, of_kind, truth
from ukemi.model.model import Model
from ukemi.model.pose import Pose
from ukemi.motion.body import SIDES, body_parts
from ukemi.motion.clip import Clip
from ukemi.motion.flesh import LinkFlesh, flesh_of
from ukemi.motion.proportions import Proportions, proportions_of
from ukemi.motion.rotations import continuous, inverse, product, rotated
from ukemi.motion.sampling import sample
from ukemi.motion.soles import Height, Sole, floor_height, foot_stance, ground_under, sole_of

#: Parent and joint name of every link.
TREE = {
    "pelvis": ("world", "root"),
    "abdomen": ("pelvis", "waist"),
    "chest": ("abdomen", "thorax"),
    "head": ("chest", "neck"),
    **{
        f"{side}_{part}": (parent if parent == "chest" or parent == "pelvis" else f"{side}_{parent}", f"{side}_{joint}")
        for side in SIDES
        for part, parent, joint in (
            ("upper_arm", "chest", "shoulder"),
            ("forearm", "upper_arm", "elbow"),
            ("hand", "forearm", "wrist"),
            ("thigh", "pelvis", "hip"),
            ("shank", "thigh", "knee"),
            ("foot", "shank", "ankle"),
            ("toes", "foot", "ball"),
        )
    },
}


@dataclass(frozen=True, eq=False)
class ClipFigure:
    """A model of the person in a clip, and the way between the two.

    clip: where it came from. model: free base and spherical joints. soles: ``"left"`` and ``"right"``.
    joints: link name -> joint of the clip's skeleton.
    floor: height of the floor in the clip [m]; for the model it is z = 0. height, mass: of the person [m, kg].
    """

    clip: Clip
    model: Model
    soles: Mapping[str, Sole]
    joints: Mapping[str, int]
    floor: float
    height: float
    mass: float

    def q(self, clip: Clip | None = None) -> Array:
        """Coordinates (frames, nq) of a clip on the same skeleton; quaternions without jumps of sign."""
        source = self.clip if clip is None else of_kind("ClipFigure.q", clip, Clip)
        if source.skeleton.names != self.clip.skeleton.names:
            raise InvalidInputError("ClipFigure.q: expected a clip on the figure's skeleton, got other joints")
        turns = source.world_rotations
        q = np.empty((len(source), self.model.nq))
        for link in self.model.links:
            j = self.joints[link.name]
            if link.parent is None:
                q[:, link.q.start : link.q.start + 3] = source.positions[:, j] - (0.0, 0.0, self.floor)
                local = turns[:, j]
            else:
                local = product(inverse(turns[:, self.joints[link.parent.name]]), turns[:, j])
            local = local / np.linalg.norm(local, axis=-1, keepdims=True)
            q[:, link.q.stop - 4 : link.q.stop] = continuous(local)
        return q

    def to_clip(self, q: ArrayLike, fps: float | None = None) -> Clip:
        """The clip's own skeleton moved as the model moves.

        q: (frames, nq). With the clip's number of frames, or with ``fps`` for other samples from the same start. Joints
        that the model has not, such as fingers, turn as in the clip.
        """
        states = numbers("to_clip: q", q)
        fps = None if fps is None else positive("to_clip: fps", fps)
        if states.ndim != 2 or states.shape[1] != self.model.nq:
            raise InvalidInputError(f"to_clip: expected q (frames, {self.model.nq}), got shape {states.shape}")
        if fps is None and len(states) != len(self.clip):
            raise InvalidInputError(f"to_clip: {len(states)} samples for {len(self.clip)} frames: give their fps")
        base = self.clip if fps is None else sample(self.clip, np.arange(len(states)) / fps, fps)
        skeleton = self.clip.skeleton
        kept = {j: name for name, j in self.joints.items()}
        link_turns = self._link_turns(states)
        local, world = np.array(base.rotations), np.array(base.rotations)
        translations = {j: np.array(p) for j, p in base.translations.items()}
        for j, parent in enumerate(skeleton.parents):
            above = world[:, parent] if parent >= 0 else np.tile((1.0, 0, 0, 0), (len(states), 1))
            if j in kept:
                local[:, j] = product(inverse(above), link_turns[kept[j]])
            world[:, j] = product(above, local[:, j])
        local /= np.linalg.norm(local, axis=-1, keepdims=True)
        moved = base.with_motion(local, translations, base.fps)
        # the pelvis goes where the model's is: by its own place channels, else by the root's
        pelvis = self.joints["pelvis"]
        wanted = states[:, :3] + (0.0, 0.0, self.floor)
        if pelvis in translations and pelvis != 0:
            parent = skeleton.parents[pelvis]
            offset = wanted - moved.positions[:, parent]
            translations[pelvis] = rotated(inverse(moved.world_rotations[:, parent]), offset)
        else:
            translations[0] = translations[0] + wanted - moved.positions[:, pelvis]
        return base.with_motion(local, translations, base.fps)

    def _link_turns(self, states: Array) -> dict[str, Array]:
        turns: dict[str, Array] = {}
        for link in self.model.links:
            local = states[:, link.q.stop - 4 : link.q.stop]
            turns[link.name] = local if link.parent is None else product(turns[link.parent.name], local)
        return turns


def figure_from_clip(
    clip: Clip,
    mass: float | None = None,
    height: float | None = None,
    *,
    sex: Sex = "male",
    parts: Mapping[str, str] | None = None,
    toes: bool = True,
    ground: Height | None = None,
) -> ClipFigure:
    """The person in a clip as a model: free base, spherical joints, de Leva's masses.

    Args:
        clip: the motion; its bones give the proportions, the frames where feet stand still the soles and the floor.
        mass: [kg]; by default that of de Leva's subjects, scaled with the square of the height.
        height: stature [m]; by default from the length of the legs.
        sex: whose table.
        parts: body part -> joint name, where names and bones do not tell (see `ukemi.motion.body`).
        toes: whether toes are links of their own.
        ground: z of the ground in the clip under places (..., 2), up to a constant; by default it is level.

    Raises:
        InvalidInputError: a skeleton in which no human body is found.
    """
    of_kind("figure_from_clip", clip, Clip, "a clip such as read_motion gives")
    choice("sex", sex, DE_LEVA)
    truth("toes", toes)
    if ground is not None and not callable(ground):
        raise InvalidInputError(f"ground: expected a function of places (..., 2), got {ground!r:.100}")
    joints = body_parts(clip.skeleton, parts)
    stances = {side: foot_stance(clip, joints[f"{side}_foot"], joints.get(f"{side}_toes"), ground) for side in SIDES}
    floor = floor_height(list(stances.values()))
    if not toes:
        joints = {part: j for part, j in joints.items() if not part.endswith("toes")}
    tree = _parents(joints)
    shape = proportions_of(clip, joints, {part: parent for part, (parent, _) in tree.items()}, sex)
    stature = shape.height if height is None else positive("height", height)
    table = DE_LEVA[sex]
    weight = 73.0 * (stature / 1.741) ** 2 if sex == "male" else 61.9 * (stature / 1.735) ** 2
    weight = weight if mass is None else positive("mass", mass)
    scale = stature / table.height
    soles = {side: sole_of(f"{side}_foot", stances[side], ground_under(stances[side], floor), scale) for side in SIDES}
    # toes turn about the ball's line on the sole: the skeleton's joint, above and behind it, would lock a foot that
    # stands on ball and toes
    balls = {f"{side}_toes": soles[side].points[2:].mean(axis=0) for side in SIDES if f"{side}_toes" in joints}
    shape = replace(shape, places={**shape.places, **balls})
    flesh = flesh_of(shape, soles, weight, scale, sex)
    model = _build(clip.name or "figure", tree, shape, flesh, soles)
    return ClipFigure(clip, model, soles, joints, floor, stature, weight)


def _parents(joints: Mapping[str, int]) -> dict[str, tuple[str, str]]:
    """Parent and joint name of the links that this skeleton has."""
    tree = {part: TREE[part] for part in TREE if part in joints}
    if "abdomen" not in joints:
        tree["chest"] = ("pelvis", "waist")
    return tree


def _build(
    name: str,
    tree: Mapping[str, tuple[str, str]],
    shape: Proportions,
    flesh: Mapping[str, LinkFlesh],
    soles: Mapping[str, Sole],
) -> Model:
    b = Builder(name)
    for part, (parent, joint) in tree.items():
        body = flesh[part].properties
        b.link(
            part,
            parent,
            Free() if parent == "world" else Spherical(),
            Pose() if parent == "world" else Pose(frozen(shape.places[part])),
            mass=body.mass,
            com=body.com,
            inertia=body.inertia,
            shapes=flesh[part].shapes,
            joint_name=joint,
        )
    for side, sole in soles.items():
        b.landmark(f"{side}_sole", sole.link, sole.at)
        b.landmark(f"{side}_palm", f"{side}_hand", Pose(0.5 * shape.tips[f"{side}_hand"]))
    b.landmark("vertex", "head", Pose(flesh["head"].tip))
    return b.build()
