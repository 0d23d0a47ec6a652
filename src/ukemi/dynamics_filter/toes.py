"""Toes that lie on the floor while the ball bears: they bend at the ball's line when the heel rises."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ukemi.dynamics.kinematics import link_poses
from ukemi.model.arrays import Array
from ukemi.model.model import Model
from ukemi.motion.footfalls import Contacts
from ukemi.motion.rotations import exponential, inverse, mean_rotation, product, rotated
from ukemi.motion.soles import Sole
from ukemi.motion.trajectory import low_pass

MOST, LEAST = np.deg2rad(70), np.deg2rad(10)
QUICK = 10.0


def toes_of(model: Model, sole: Sole) -> str | None:
    """The link of the toes, if it turns on the ball's line."""
    for link in model.link(sole.link).children:
        if link.joint.nq == 4 and np.linalg.norm(link.at.position - sole.points[2:4].mean(axis=0)) < 1e-6:
            return link.name
    return None


def straight(model: Model, q: Array, soles: Mapping[str, Sole], contacts: Contacts) -> dict[str, Array]:
    """Quaternions of toes that prolong the sole: the mean while the foot is flat."""
    out = {}
    for k, sole in enumerate(soles.values()):
        name = toes_of(model, sole)
        if name is not None:
            flat = contacts[:, k, :4].all(axis=1)
            turns = q[:, model.link(name).q]
            out[name] = mean_rotation(turns[flat] if flat.any() else turns)
    return out


def laid_down(model: Model, q: Array, fps: float, soles: Mapping[str, Sole], contacts: Contacts, rest: Mapping[str, Array]) -> Array:
    bent = q.copy()
    X = link_poses(model, q)
    for k, sole in enumerate(soles.values()):
        name = toes_of(model, sole)
        if name is None:
            continue
        R = X[:, model.link_index(sole.link), :3, :3] @ sole.at.R
        pitch = np.arctan2(R[:, 2, 0], R[:, 2, 2])
        ball = (X[:, model.link_index(sole.link), 2, :3] @ sole.points[2:4].T).mean(axis=1) + X[:, model.link_index(sole.link), 2, 3]
        free = np.arcsin(np.clip(ball / 0.05, 0.0, 1.0))
        angle = low_pass(np.clip(pitch + free, -MOST, 0.0)[:, None], fps, QUICK)
        turn = exponential(angle * sole.at.R[:, 1])
        bent[:, model.link(name).q] = product(turn, np.tile(rest[name], (len(q), 1)))
    return bent


def tips(sole: Sole, rest: Array, reach: float) -> Array:
    """(2, 3): in coordinates of the toes."""
    ahead = sole.points[2:4] + reach * sole.at.R[:, 0] - sole.points[2:4].mean(axis=0)
    return rotated(np.tile(inverse(rest), (2, 1)), ahead)
