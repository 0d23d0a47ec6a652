"""Toes that bear on their own: on the floor while the ball is, and bent at the ball's line as the heel rises.

The joint of the toes lies on that line (`figure_from_clip`), so that points of foot and toes may all stick to the floor
and the heel is still free to rise. Few captures follow toes, and those that do let them sink in: here they prolong the
sole, as they do on average in flat stances, bent by as much as keeps them above the ground.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ukemi.dynamics.kinematics import link_poses
from ukemi.model.arrays import Array
from ukemi.model.model import Model
from ukemi.motion.footfalls import Contacts
from ukemi.motion.rotations import exponential, inverse, mean_rotation, product, rotated
from ukemi.motion.soles import Height, Sole, above_ground, ground_normals
from ukemi.motion.trajectory import low_pass

#: How far toes reach ahead of the ball [m].
REACH = 0.05
#: They bend by no more than this [rad], and so fast [Hz].
MOST, QUICK = np.deg2rad(70), 10.0
#: Ground that is steeper than this is the edge of a step.
STEEP = 0.7


def toes_of(model: Model, sole: Sole) -> str | None:
    """The link of the toes of a sole, if it turns about the middle of the ball."""
    ball = sole.points[2:4].mean(axis=0)
    for link in model.link(sole.link).children:
        if not sole.hand and link.joint.nq == 4 and np.linalg.norm(link.at.position - ball) < 1e-6:
            return link.name
    return None


def straight_toes(model: Model, q: Array, soles: Mapping[str, Sole], contacts: Contacts) -> dict[str, Array]:
    """Link -> quaternion of toes that prolong their sole: the mean of q (frames, nq) while the foot is flat."""
    straight = {}
    for foot, sole in enumerate(soles.values()):
        name = toes_of(model, sole)
        if name is not None:
            flat = np.logical_and.reduce(contacts[:, foot, :4], axis=1)
            turns = q[:, model.link(name).q]
            straight[name] = mean_rotation(turns[flat] if flat.any() else turns)
    return straight


def laid_down(
    model: Model, q: Array, fps: float, soles: Mapping[str, Sole], straight: Mapping[str, Array], height: Height | None
) -> Array:
    """q (frames, nq) with toes that are straight, or bent by as much as keeps their tips above the ground."""
    bent, X = q.copy(), link_poses(model, q)
    for sole in soles.values():
        name = toes_of(model, sole)
        if name is None:
            continue
        X_WF = X[:, model.link_index(sole.link)]
        ball = X_WF[:, :3, :3] @ sole.points[2:4].mean(axis=0) + X_WF[:, :3, 3]
        normal = ground_normals(ball, height)
        normal[normal[:, 2] < STEEP] = (0.0, 0.0, 1.0)
        ahead, _, up = np.einsum("fi,fij,jk->kf", normal, X_WF[:, :3, :3], sole.at.R)
        down = np.arcsin(np.clip(above_ground(ball, height) / REACH, 0.0, 1.0))  # as far as toes may point
        angle = low_pass(np.clip(np.arctan2(ahead, up) + down, -MOST, 0.0)[:, None], fps, QUICK)
        turn = exponential(angle * sole.at.R[:, 1])
        bent[:, model.link(name).q] = product(turn, np.tile(straight[name], (len(q), 1)))
    return bent


def toe_tips(sole: Sole, straight: Array) -> Array:
    """(2, 3): where toes end, left and right, in coordinates of their link."""
    ahead = sole.points[2:4] + REACH * sole.at.R[:, 0] - sole.points[2:4].mean(axis=0)
    return rotated(np.tile(inverse(straight), (2, 1)), ahead)
