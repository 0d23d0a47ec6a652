"""The proportions of the person in a clip: where joints stand in their parents, and where bones end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ukemi.model.arrays import Array
from ukemi.model.figures.anthropometry import DE_LEVA, Sex
from ukemi.model.figures.human import SHOULDER_DROP
from ukemi.model.pose import Pose
from ukemi.motion.body import SIDES
from ukemi.motion.clip import Clip
from ukemi.motion.rotations import inverse, mean_rotation, product, rotated


@dataclass(frozen=True, eq=False)
class Proportions:
    """Means over a clip; all lengths in metres.

    places: link -> its joint in the parent link. tips: link -> the far end of its bone, in the link.
    mean_poses: link -> X_PL, pose in the pelvis' frame when every joint has its mean rotation.
    forward, left, up: the body's axes in the pelvis' frame. hips, neck: middle of the hips and top of the trunk there.
    height: stature, from the length of the legs.
    """

    places: Mapping[str, Array]
    tips: Mapping[str, Array]
    mean_poses: Mapping[str, Pose]
    left: Array
    up: Array
    hips: Array
    neck: Array
    height: float

    @property
    def forward(self) -> Array:
        return np.cross(self.left, self.up)

    def in_link(self, link: str, direction: Array) -> Array:
        """A direction of the pelvis' frame, in a link."""
        return self.mean_poses[link].R.T @ direction


def proportions_of(clip: Clip, joints: Mapping[str, int], parents: Mapping[str, str], sex: Sex) -> Proportions:
    places, poses = {}, {"pelvis": Pose()}
    for link, parent in parents.items():
        if parent == "world":
            continue
        to_parent = inverse(clip.world_rotations[:, joints[parent]])
        step = clip.positions[:, joints[link]] - clip.positions[:, joints[parent]]
        places[link] = rotated(to_parent, step).mean(axis=0)
        turn = mean_rotation(product(to_parent, clip.world_rotations[:, joints[link]]))
        poses[link] = poses[parent] @ Pose(places[link], turn)
    hips = 0.5 * (places["left_thigh"] + places["right_thigh"])
    shoulders = 0.5 * sum(poses[f"{side}_upper_arm"].position for side in SIDES)
    up = shoulders - hips
    up = up / np.linalg.norm(up)
    left = places["left_thigh"] - places["right_thigh"]
    left = left - (left @ up) * up
    left = left / np.linalg.norm(left)
    legs = np.mean([np.linalg.norm(places[f"{s}_shank"]) + np.linalg.norm(places[f"{s}_foot"]) for s in SIDES])
    table = DE_LEVA[sex]
    height = float(legs) / (table.segments["thigh"].length + table.segments["shank"].length) * table.height
    tips = {link: _tip(clip, joints, places, link, parents, height) for link in parents}
    return Proportions(places, tips, poses, left, up, hips, shoulders + SHOULDER_DROP * height * up, height)


#: The link whose joint ends a limb's bone.
NEXT = {"upper_arm": "forearm", "forearm": "hand", "thigh": "shank", "shank": "foot"}
#: Lengths [fraction of height] of links whose end the file may not tell: hand 0.108 (Winter, Fig. 4.1), head 0.117
#: (de Leva), toes 0.035 (estimate).
TIP_LENGTHS = {"hand": 0.108, "head": 0.117, "toes": 0.035}


def _tip(
    clip: Clip,
    joints: Mapping[str, int],
    places: Mapping[str, Array],
    link: str,
    parents: Mapping[str, str],
    height: float,
) -> Array:
    """The far end of a link's bone, in the link."""
    side, _, part = link.rpartition("_") if "upper_arm" not in link else (link.split("_")[0], "", "upper_arm")
    if part in NEXT:
        return places[f"{side}_{NEXT[part]}"]
    if part not in TIP_LENGTHS:
        return np.zeros(3)
    length = TIP_LENGTHS[part] * height
    joint = joints[link]
    to_link = inverse(clip.world_rotations[:, joint])
    here = clip.positions[:, joint]
    beyond = [rotated(to_link, clip.end_positions[:, k] - here) for k in _ends_below(clip, joint)]
    means = [p.mean(axis=0) for p in beyond]
    farthest = max(means, key=np.linalg.norm, default=np.zeros(3))
    if np.linalg.norm(farthest) > 0.2 * length:  # its direction is known; fingers may be cut short
        return length * farthest / np.linalg.norm(farthest)
    # straight on from the joint before it
    way = rotated(to_link, here - clip.positions[:, joints[parents[link]]]).mean(axis=0)
    return length * way / np.linalg.norm(way)


def _ends_below(clip: Clip, joint: int) -> list[int]:
    return [k for k, (j, _) in enumerate(clip.skeleton.ends) if joint in clip.skeleton.path(j)]
