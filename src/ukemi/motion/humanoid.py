"""Which link of a loaded humanoid is which part of a body, and the soles of its feet."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from ukemi.dynamics.coupled import coupled_neutral
from ukemi.dynamics.kinematics import link_poses
from ukemi.errors import InvalidInputError, UnknownNameError
from ukemi.model.arrays import Array, frozen
from ukemi.model.joints import Prismatic
from ukemi.model.kinds import name_pairs
from ukemi.model.model import Link, Model
from ukemi.model.pose import Pose
from ukemi.model.shapes import Box, Capsule, ConvexMesh, Cylinder, Shape, Sphere
from ukemi.motion.body import SIDES, side_of
from ukemi.motion.soles import Sole

KNEE, FOOT = r"knee|shank|shin|calf|tibia|lower_?leg", r"foot|ankle|sole|talus"
ELBOW, HAND = r"elbow|fore_?arm|ulna|radius|lower_?arm", r"hand|wrist|palm|gripper"
CHEST = r"torso|trunk|thorax|chest"


def humanoid_parts(model: Model, parts: Mapping[str, str] | None = None) -> dict[str, str]:
    """Part -> link: pelvis, chest, head if there is one, and per side thigh, shank, foot, upper_arm, forearm, hand.

    Found by names of knees, feet, elbows and hands; thigh and upper arm are the links they hang on, the chest is where
    the arms meet. A model may have no arms, as some of OpenSim's: its chest is known by name. parts: what is known
    better.
    """
    given = name_pairs("parts", parts)
    for link in given.values():
        model.link(link)
    found: dict[str, str] = {}
    has_arms = any("arm" in part for part in given) or any(_named(model, side, ELBOW) for side in SIDES)
    for side in SIDES:
        shank = _first(model, side, KNEE, given.get(f"{side}_shank"))
        foot = _last(model, side, FOOT, given.get(f"{side}_foot"), below=shank)
        found |= {f"{side}_thigh": _above(shank), f"{side}_shank": shank.name, f"{side}_foot": foot.name}
        if not has_arms:
            continue
        forearm = _first(model, side, ELBOW, given.get(f"{side}_forearm"))
        found |= {f"{side}_upper_arm": _above(forearm), f"{side}_forearm": forearm.name}
        hand = next((x for x in _below(forearm) if re.search(HAND, x.name, re.IGNORECASE)), None)
        if hand is not None:
            found[f"{side}_hand"] = hand.name
    for trunk, limb in (("pelvis", "thigh"), *([("chest", "upper_arm")] if has_arms else [])):
        ways = [_path(model.link(found[f"{side}_{limb}"])) for side in SIDES]
        shared = [a.name for a, b in zip(*ways, strict=False) if a is b]
        if not shared:
            raise InvalidInputError(f"the {limb}s hang on no common link: say which is the {trunk} with parts={{...}}")
        found[trunk] = shared[-1]
    chests = [x for x in model.links if re.search(CHEST, x.name, re.IGNORECASE)]
    if not has_arms and chests:
        found["chest"] = max(chests, key=lambda x: x.mass_properties.mass).name
    head = next((x.name for x in model.links if re.search(r"head", x.name, re.IGNORECASE) and x.joint.nv), None)
    if head is not None:
        found["head"] = head
    for part in given:
        if part not in found and part not in ("chest", "head", "left_hand", "right_hand"):
            raise UnknownNameError("body part", part, found)
    return {**found, **given}


def _named(model: Model, side: str, pattern: str) -> list[Link]:
    """Links of this name; a knee that slides before it turns is the link that turns."""
    return [
        x
        for x in model.links
        if re.search(pattern, x.name, re.IGNORECASE) and side_of(x.name) == side and not isinstance(x.joint, Prismatic)
    ]


def _first(model: Model, side: str, pattern: str, given: str | None) -> Link:
    if given is not None:
        return model.link(given)
    links = _named(model, side, pattern)
    if not links:
        raise InvalidInputError(
            f"no link looks like a {side} {pattern.split('|')[0]}; there are {', '.join(model.link_names[:40])}: "
            "say which it is with parts={...}"
        )
    return links[0]


def _last(model: Model, side: str, pattern: str, given: str | None, below: Link) -> Link:
    """The one farthest from the shank that still moves: ankles are often two links."""
    if given is not None:
        return model.link(given)
    links = [x for x in _below(below) if re.search(pattern, x.name, re.IGNORECASE) and x.joint.nv]
    if not links:
        names = ", ".join(x.name for x in _below(below)) or "none"
        raise InvalidInputError(
            f"no link below {below.name!r} looks like a foot; there are {names}: say which it is with parts={{...}}"
        )
    return max(links, key=lambda x: len(_path(x)))


def _below(link: Link) -> list[Link]:
    found, pending = [], list(link.children)
    while pending:
        found.append(pending.pop(0))
        pending.extend(found[-1].children)
    return found


def _path(link: Link) -> list[Link]:
    way = [link]
    while way[-1].parent is not None:
        way.append(way[-1].parent)
    return way[::-1]


def _above(link: Link) -> str:
    """The bone that it turns on: slides between them belong to the joint."""
    above = link.parent
    while above is not None and isinstance(above.joint, Prismatic):
        above = above.parent
    if above is None:
        raise InvalidInputError(f"{link.name!r} hangs on the world: expected a limb on a body")
    return above.name


def standing_poses(model: Model, parts: Mapping[str, str]) -> Array:
    """X_WL (links, 4, 4) in the zero pose, turned so that the body stands upright with its face along x.

    Up is from the feet to the hips, left from the right hip to the left: some models are published with y up.
    """
    X = link_poses(model, coupled_neutral(model))
    place = {part: X[model.link_index(link), :3, 3] for part, link in parts.items()}
    across = place["left_thigh"] - place["right_thigh"]
    down = 0.5 * (place["left_foot"] + place["right_foot"] - place["left_thigh"] - place["right_thigh"])
    # the nearest of the 24 ways to name axes: frames of published models are parallel to the body's
    left, up = (_axis(v) for v in (across, -down))
    if abs(left @ up) > 0.5:
        raise InvalidInputError(f"the model {model.name!r} does not stand in its zero pose: its legs run sideways")
    turn = np.eye(4)
    turn[:3, :3] = np.stack([np.cross(left, up), left, up])
    return turn @ X


def _axis(v: Array) -> Array:
    k = int(np.abs(v).argmax())
    return float(np.sign(v[k])) * np.eye(3)[k]


def model_soles(model: Model, parts: Mapping[str, str] | None = None) -> dict[str, Sole]:
    """The soles of a model that stands in its zero pose: the lowest face of each foot's shapes.

    Raises:
        InvalidInputError: feet without shapes.
    """
    feet = humanoid_parts(model, parts)
    X = standing_poses(model, feet)
    soles = {}
    for side in SIDES:
        foot = model.link(feet[f"{side}_foot"])
        R = X[foot.index, :3, :3]
        carriers = [foot, *(x for x in _below(foot) if x.joint.nv == 0)]
        corners = []
        for link in carriers:
            X_FL = np.linalg.inv(X[foot.index]) @ X[link.index]
            for shape in link.shapes:
                corners.append(shape.at.apply(_corners(shape)) @ X_FL[:3, :3].T + X_FL[:3, 3])
        if not corners:
            raise InvalidInputError(
                f"the foot {foot.name!r} of {model.name!r} has no shapes: where it touches the ground is not known"
            )
        p = np.concatenate(corners) @ R.T  # in the world's axes, at the foot
        z = float(p[:, 2].min())
        flat = p[p[:, 2] < z + 0.01]
        if np.ptp(flat[:, 0]) < 0.05:  # round feet: the whole shadow bears
            flat = p
        (x0, y0), (x1, y1) = flat[:, :2].min(axis=0), flat[:, :2].max(axis=0)
        points = np.array([(x0, y1, z), (x0, y0, z), (x1, y1, z), (x1, y0, z)])
        at = Pose.from_rotation(frozen(R.T), frozen(R.T @ (0.0, 0.0, z)))
        soles[side] = Sole(foot.name, frozen(points @ R), at)
    return soles


def _corners(shape: Shape) -> Array:
    """Extreme points of a shape in its own frame."""
    signs = np.stack(np.meshgrid(*[(-1.0, 1.0)] * 3), axis=-1).reshape(-1, 3)
    if isinstance(shape, Box):
        return 0.5 * signs * np.asarray(shape.size)
    if isinstance(shape, ConvexMesh):
        return np.asarray(shape.points)
    if isinstance(shape, Sphere):
        return shape.radius * np.concatenate([np.eye(3), -np.eye(3)])
    if isinstance(shape, Capsule | Cylinder):
        half = 0.5 * shape.length + (shape.radius if isinstance(shape, Capsule) else 0.0)
        return signs * (shape.radius, shape.radius, half)
    return np.zeros((1, 3))
