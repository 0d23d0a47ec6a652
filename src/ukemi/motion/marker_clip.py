"""A clip from marker captures: a skeleton between the joint centres, each bone turned as its ends lie.

Bones have the median of their lengths. A limb's twist follows the pelvis (legs) or the chest (arms), a foot lies from
heel to toe. Where arms or a head were not captured they hang and stand as in the zero pose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ukemi.model.arrays import Array
from ukemi.model.figures.anthropometry import DE_LEVA
from ukemi.model.figures.human import SHOULDER_HALF_WIDTH
from ukemi.motion.clip import Clip, Skeleton
from ukemi.motion.marker_body import JointCentres, joint_centres
from ukemi.motion.markers import Markers
from ukemi.motion.rotations import continuous, inverse, of_matrices, product
from ukemi.motion.soles import TOE_HEIGHT

#: A marker on a shoe is no higher above the floor than this [m].
THICKEST = 0.1
#: Share of the frames in which a foot is taken to stand: a walking foot stands for 60 % of them, a sprinter's for 25 %.
LOWEST = 0.2
SIDES = (("left", "Left", 1.0), ("right", "Right", -1.0))


def clip_from_markers(
    markers: Markers, static: Markers | None = None, mapping: Mapping[str, str] | None = None
) -> Clip:
    """The person under the markers; see `ukemi.motion.marker_names` for the names that are known.

    static: a standing trial with more markers, for captures whose knees and ankles carry none. mapping: label ->
    landmark, for labels that are not known.
    """
    centres = joint_centres(markers, static, mapping)
    body = _Body(centres)
    turns = body.turns()
    skeleton = body.skeleton(turns)
    local = np.empty((len(centres.pelvis), len(skeleton), 4))
    for j, (name, parent) in enumerate(zip(skeleton.names, skeleton.parents, strict=True)):
        turn = of_matrices(turns[name])
        local[:, j] = turn if parent < 0 else product(inverse(of_matrices(turns[skeleton.names[parent]])), turn)
    local = continuous(local / np.linalg.norm(local, axis=-1, keepdims=True))
    return Clip(
        skeleton,
        markers.fps,
        local,
        {0: body.hips},
        name=markers.name,
        start=markers.start + centres.first / markers.fps,
        on_skin=True,
    )


def _unit(v: Array) -> Array:
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def _along(up: Array, left: Array) -> Array:
    """(frames, 3, 3): forward, left, up of a bone that points down against ``up``."""
    z = _unit(up)
    y = _unit(left - (left * z).sum(axis=-1, keepdims=True) * z)
    return np.stack([np.cross(y, z), y, z], axis=-1)


@dataclass(frozen=True)
class _Body:
    centres: JointCentres

    @property
    def hips(self) -> Array:
        p = self.centres.places
        return 0.5 * (p["left_hip"] + p["right_hip"])

    @property
    def height(self) -> float:
        """Stature, from the legs."""
        segments = DE_LEVA["male"].segments
        legs = np.mean(
            [self._length(f"{s}_hip", f"{s}_knee") + self._length(f"{s}_knee", f"{s}_ankle") for s, _, _ in SIDES]
        )
        return float(legs) / (segments["thigh"].length + segments["shank"].length) * DE_LEVA["male"].height

    def _length(self, a: str, b: str) -> float:
        p = self.centres.places
        return float(np.median(np.linalg.norm(p[a] - p[b], axis=1)))

    @property
    def waist(self) -> Array:
        """Where the skeleton hinges the trunk on the pelvis."""
        return self.hips + self._lower_trunk * self.centres.pelvis[:, :, 2]

    @property
    def _lower_trunk(self) -> float:
        male = DE_LEVA["male"]
        return male.segments["lower_trunk"].length * self.height / male.height

    def turns(self) -> dict[str, Array]:
        p, pelvis, across = self.centres.places, self.centres.pelvis, self.centres.across
        left, top = pelvis[:, :, 1], self._top()
        between = left
        if {"left_shoulder", "right_shoulder"} <= set(p):
            between = p["left_shoulder"] - p["right_shoulder"]
        # from the waist, not from the hips: else every tilt of the pelvis would swing the trunk about the waist
        chest = _along(top - self.waist, across.get("chest", between))
        turns = {"Hips": pelvis, "Spine": chest, "Head": chest}
        if "head" in p:
            turns["Head"] = _along(p["head"] - top, chest[:, :, 1])
        for side, name, _ in SIDES:
            knee = across.get(f"{side}_knee", left)
            turns[f"{name}UpLeg"] = _along(p[f"{side}_hip"] - p[f"{side}_knee"], knee)
            turns[f"{name}Leg"] = _along(p[f"{side}_knee"] - p[f"{side}_ankle"], knee)
            turns[f"{name}Foot"] = self._foot(side)
            arm = {f"{side}_shoulder", f"{side}_elbow"} <= set(p)
            turns[f"{name}Arm"] = _along(p[f"{side}_shoulder"] - p[f"{side}_elbow"], chest[:, :, 1]) if arm else chest
            hand = arm and f"{side}_wrist" in p
            lower = _along(p[f"{side}_elbow"] - p[f"{side}_wrist"], chest[:, :, 1]) if hand else turns[f"{name}Arm"]
            turns |= {f"{name}ForeArm": lower, f"{name}Hand": lower}
        return turns

    def _foot(self, side: str) -> Array:
        """From heel to toe, and to the left as the markers across the foot say. Those do not lie at one height on a
        shoe: the foot is level where it is lowest."""
        heel, toe = (self.centres.places[f"{side}_{end}"] for end in ("heel", "toe"))
        ahead = _unit(toe - heel)
        up = _unit(np.cross(ahead, self.centres.across.get(f"{side}_foot", self.centres.pelvis[:, :, 1])))
        left = np.cross(up, ahead)
        height = heel[:, 2] + toe[:, 2]
        low = height <= np.quantile(height, LOWEST)
        roll = np.arctan2(np.median(left[low, 2]), np.median(up[low, 2]))
        turned = np.cos(roll) * left - np.sin(roll) * up
        return np.stack([ahead, turned, np.cross(ahead, turned)], axis=-1)

    def _top(self) -> Array:
        """The top of the trunk: between the shoulders and at the neck's markers, which do not follow the arms (the mean
        of what is there of the two), or above the pelvis."""
        p, up = self.centres.places, self.centres.pelvis[:, :, 2]
        tops = []
        if {"left_shoulder", "right_shoulder"} <= set(p):
            tops.append(0.5 * (p["left_shoulder"] + p["right_shoulder"]))
        if "neck" in p:
            tops.append(p["neck"] - 0.04 * up)
        if tops:
            return np.asarray(np.mean(tops, axis=0))
        trunk = sum(DE_LEVA["male"].segments[f"{k}_trunk"].length for k in ("lower", "middle", "upper"))
        return self.hips + trunk * self.height / DE_LEVA["male"].height * up

    def skeleton(self, turns: dict[str, Array]) -> Skeleton:
        """Offsets are medians in the parent's frame; what was not captured has de Leva's lengths."""
        p, scale = self.centres.places, self.height / DE_LEVA["male"].height
        table = {name: row.length * scale for name, row in DE_LEVA["male"].segments.items()}
        top = self._top()
        waist = self._lower_trunk
        rows: list[tuple[str, str, Array]] = [("Hips", "", np.zeros(3)), ("Spine", "Hips", np.array((0, 0, waist)))]
        neck = max(float(np.median(np.linalg.norm(top - self.waist, axis=1))), 0.1)
        rows.append(("Head", "Spine", np.array((0, 0, neck + 0.06 * scale))))
        ends: list[tuple[str, Array]] = [("Head", np.array((0, 0, table["head"])))]
        for side, name, sign in SIDES:
            shoulder = np.array((0, sign * SHOULDER_HALF_WIDTH * self.height, neck))
            if f"{side}_shoulder" in p:
                shoulder = self._median(turns["Spine"], p[f"{side}_shoulder"] - self.waist)
            arm = self._length(f"{side}_shoulder", f"{side}_elbow") if f"{side}_elbow" in p else table["upper_arm"]
            fore = self._length(f"{side}_elbow", f"{side}_wrist") if f"{side}_wrist" in p else table["forearm"]
            rows.append((f"{name}Arm", "Spine", shoulder))
            rows.append((f"{name}ForeArm", f"{name}Arm", np.array((0, 0, -arm))))
            rows.append((f"{name}Hand", f"{name}ForeArm", np.array((0, 0, -fore))))
            ends.append((f"{name}Hand", np.array((0, 0, -2 * table["hand"]))))
        for side, name, _ in SIDES:
            rows.append((f"{name}UpLeg", "Hips", self._median(turns["Hips"], p[f"{side}_hip"] - self.hips)))
            rows.append((f"{name}Leg", f"{name}UpLeg", np.array((0, 0, -self._length(f"{side}_hip", f"{side}_knee")))))
            rows.append((f"{name}Foot", f"{name}Leg", np.array((0, 0, -self._length(f"{side}_knee", f"{side}_ankle")))))
            toe = self._median(turns[f"{name}Foot"], p[f"{side}_toe"] - p[f"{side}_ankle"])
            ends.append((f"{name}Foot", toe - (0, 0, self._toe_above_sole(side))))
        names = [name for name, _, _ in rows]
        parents = tuple(names.index(parent) if parent else -1 for _, parent, _ in rows)
        tips = tuple((names.index(name), place) for name, place in ends)
        return Skeleton(tuple(names), parents, np.array([offset for _, _, offset in rows]), tips)

    def _toe_above_sole(self, side: str) -> float:
        """Markers sit on the shoe. Laboratories put z = 0 on the floor: the toe's tip goes where soles expect it."""
        lowest = float(np.quantile(self.centres.places[f"{side}_toe"][:, 2], 0.05))
        return float(np.clip(lowest - TOE_HEIGHT, 0.0, THICKEST))

    @staticmethod
    def _median(turn: Array, way: Array) -> Array:
        return np.median(np.einsum("fji,fj->fi", turn, way), axis=0)
