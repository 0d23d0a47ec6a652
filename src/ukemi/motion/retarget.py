"""A clip's motion on another body: `human(28)`, or any humanoid that was loaded ([DF03] VII).

Bodies differ in size, so places are not copied. The pelvis goes along the clip's way scaled by the length of the legs;
from there every limb's bones point where the clip's bones point, with the lengths of the new body; pelvis, chest, head
and feet turn as in the clip. Joints follow by inverse kinematics within their limits.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ukemi.dynamics.coupled import coupled_coordinates, coupled_neutral
from ukemi.dynamics.kinematics import link_poses
from ukemi.errors import InvalidInputError, UkemiWarning
from ukemi.model.arrays import Array
from ukemi.model.joints import Free
from ukemi.model.kinds import of_kind
from ukemi.model.model import Model
from ukemi.motion.body import SIDES
from ukemi.motion.figure import ClipFigure
from ukemi.motion.humanoid import humanoid_parts, model_soles, standing_poses
from ukemi.motion.inverse_kinematics import Goal, Solution, follow_goals
from ukemi.motion.proportions import Proportions, proportions_of
from ukemi.motion.rotations import continuous, of_matrices
from ukemi.motion.soles import Sole
from ukemi.motion.trajectory import smooth_coordinates

#: Limbs from the trunk outwards: (upper, lower, end).
LEGS = [tuple(f"{side}_{part}" for part in ("thigh", "shank", "foot")) for side in SIDES]
ARMS = [tuple(f"{side}_{part}" for part in ("upper_arm", "forearm", "hand")) for side in SIDES]
#: Feet count more than knees and hands, hands more than elbows.
PLACE_WEIGHTS = {"foot": 3.0, "shank": 1.0, "hand": 1.0, "forearm": 0.7}
#: Cut-offs [Hz] of the motions from which the solution is sought again.
SMOOTHING = (3.0, 6.0)
TURN_WEIGHTS = {"pelvis": 0.5, "chest": 0.3, "head": 0.1, "foot": 0.6}


@dataclass(frozen=True, eq=False)
class Retargeted:
    """A motion on another model: q (frames, nq) at fps; its soles; how far the goals are missed [m], [rad]."""

    model: Model
    soles: Mapping[str, Sole]
    q: Array
    fps: float
    scale: float
    place_errors: Mapping[str, float]
    turn_errors: Mapping[str, float]


def retarget(figure: ClipFigure, model: Model, parts: Mapping[str, str] | None = None) -> Retargeted:
    """The figure's clip on another model.

    The model must have a free base and stand upright in its zero pose, as humanoids are published. parts: body part ->
    link, where names do not tell (see `ukemi.motion.humanoid`).

    Raises:
        InvalidInputError: a model on a fixed base, or one whose limbs are not found.
    """
    of_kind("retarget", figure, ClipFigure, "a figure such as figure_from_clip gives")
    of_kind("retarget", model, Model)
    if not model.links or not isinstance(model.links[0].joint, Free):
        raise InvalidInputError(f"retarget: the model {model.name!r} has no free base: load it with base=Free()")
    links = humanoid_parts(model, parts)
    limbs = [(leg, "pelvis") for leg in LEGS] + [(arm, "chest") for arm in ARMS if arm[0] in links]
    if len(limbs) == len(LEGS):
        text = "no link looks like a forearm: the arms of the motion are left out; parts={...} says which they are"
        warnings.warn(f"retarget: {model.name!r}: {text}", UkemiWarning, stacklevel=2)
    soles = _soles(model, parts)
    source = _Source(figure)
    neutral = standing_poses(model, links)
    place = {part: neutral[model.link_index(link), :3, 3] for part, link in links.items()}
    points = _wrists(model, links)
    for part, (link, point) in points.items():
        place[part] = (neutral[model.link_index(link)] @ np.append(point, 1))[:3]
    turn = {part: neutral[model.link_index(link), :3, :3] for part, link in links.items()}
    scale = float(np.mean([_length(place, leg) for leg in LEGS]) / source.leg_length)

    pelvis_turn = source.axes("pelvis")
    pelvis = scale * source.places["pelvis"]
    # the middle of the hips is on the way, wherever the links' frames are
    hips = 0.5 * (place["left_thigh"] + place["right_thigh"]) - place["pelvis"]
    lift = _ankle_height(soles) - scale * source.ankle_height if soles else 0.0
    root = pelvis + scale * source.hips_offset - np.einsum("fij,j->fi", pelvis_turn, hips) + (0, 0, lift)

    goals = [Goal(links["pelvis"], root, _turns(pelvis_turn @ turn["pelvis"]), place_weight=1.0, turn_weight=0.5)]
    for part in ("chest", "head"):
        if part in links and part in source.parts:
            goals.append(
                Goal(links[part], None, _turns(source.axes(part) @ turn[part]), turn_weight=TURN_WEIGHTS[part])
            )
    for limb, trunk in limbs:
        goals += _limb_goals(source, links, points, place, turn, limb, trunk, root, pelvis_turn)
    rest = coupled_neutral(model)
    start = np.tile(rest, (len(figure.clip), 1))
    base = np.einsum("fij,j->fi", pelvis_turn, neutral[0, :3, 3] - place["pelvis"])  # the free link may be the torso
    start[:, :3] = root + base
    start[:, 3:7] = _turns(pelvis_turn @ neutral[0, :3, :3])
    fps = figure.clip.fps
    solution: Solution = follow_goals(model, goals, start, rest=rest)
    # where goals leave a joint free (a straight arm's twist) frames were solved apart: once more, from a smooth motion
    for cutoff in SMOOTHING:
        smooth = smooth_coordinates(model, solution.q, fps, cutoff)
        solution = follow_goals(model, goals, smooth, rest=smooth, stay=0.05, iterations=15)
    q = coupled_coordinates(model, smooth_coordinates(model, solution.q, fps, None))
    return Retargeted(model, soles, q, fps, scale, solution.place_errors, solution.turn_errors)


def _soles(model: Model, parts: Mapping[str, str] | None) -> dict[str, Sole]:
    try:
        return model_soles(model, parts)
    except InvalidInputError:  # feet without shapes: nothing is known of them
        return {}


def _ankle_height(soles: Mapping[str, Sole]) -> float:
    return float(np.mean([-sole.at.position @ sole.normal for sole in soles.values()]))


def _limb_goals(
    source: _Source,
    links: Mapping[str, str],
    points: Mapping[str, tuple[str, Array]],
    place: Mapping[str, Array],
    turn: Mapping[str, Array],
    limb: tuple[str, ...],
    trunk: str,
    root: Array,
    pelvis_turn: Array,
) -> list[Goal]:
    upper, lower, end = limb
    # where the limb begins: fixed in the trunk as in the zero pose of the new body
    base = root + np.einsum("fij,j->fi", pelvis_turn, place[trunk] - place["pelvis"])
    trunk_turn = source.axes(trunk) if trunk in source.parts else pelvis_turn
    shoulder = base + np.einsum("fij,j->fi", trunk_turn, place[upper] - place[trunk])
    goals, here = [], shoulder
    for first, second in ((upper, lower), (lower, end)):
        if second not in place:
            break
        here = here + float(np.linalg.norm(place[second] - place[first])) * source.direction(first, second)
        kind = second.split("_", 1)[1]
        turned = _turns(source.sole_axes(second) @ turn[second]) if kind == "foot" else None
        weight = TURN_WEIGHTS["foot"] if turned is not None else 0.0
        link, point = points.get(second, (links.get(second, ""), np.zeros(3)))
        goals.append(Goal(link, here, turned, point, place_weight=PLACE_WEIGHTS[kind], turn_weight=weight))
    return goals


def _wrists(model: Model, links: Mapping[str, str]) -> dict[str, tuple[str, Array]]:
    """Hands that are no links but landmarks, as (link, point)."""
    hands = [f"{side}_hand" for side in SIDES]
    return {
        hand: (model.landmarks[hand].link, model.landmarks[hand].at.position)
        for hand in hands
        if hand not in links and hand in model.landmarks
    }


def _turns(R: Array) -> Array:
    return continuous(of_matrices(R))


def _length(place: Mapping[str, Array], limb: tuple[str, ...]) -> float:
    return float(sum(np.linalg.norm(place[b] - place[a]) for a, b in pairwise(limb)))


class _Source:
    """The clip's body: places of its joints above the floor, directions of its bones, axes of its trunk and feet."""

    def __init__(self, figure: ClipFigure) -> None:
        self.figure = figure
        X = link_poses(figure.model, figure.q())
        self.parts = figure.model.link_names
        self.turns = {name: X[:, k, :3, :3] for k, name in enumerate(self.parts)}
        self.places = {name: X[:, k, :3, 3] for k, name in enumerate(self.parts)}
        parents = {x.name: "world" if x.parent is None else x.parent.name for x in figure.model.links}
        self.shape: Proportions = proportions_of(figure.clip, figure.joints, parents, "male")
        self.leg_length = float(
            np.mean([sum(np.linalg.norm(self.shape.places[part]) for part in leg[1:]) for leg in LEGS])
        )
        heights = [-float(sole.at.position @ sole.normal) for sole in figure.soles.values()]
        self.ankle_height = float(np.mean(heights))
        self.hips_offset = np.einsum("fij,j->fi", self.turns["pelvis"], self.shape.hips)

    def axes(self, part: str) -> Array:
        """(frames, 3, 3): forward, left and up of a trunk link in the world; upright in the mean posture."""
        body = np.stack([self.shape.forward, self.shape.left, self.shape.up], axis=1)
        return self.turns[part] @ self.shape.mean_poses[part].R.T @ body

    def sole_axes(self, foot: str) -> Array:
        """(frames, 3, 3): towards the toes, left, out of the floor."""
        return self.turns[foot] @ self.figure.soles[foot.split("_")[0]].at.R

    def direction(self, first: str, second: str) -> Array:
        way = self.places[second] - self.places[first]
        return way / np.linalg.norm(way, axis=1, keepdims=True)
