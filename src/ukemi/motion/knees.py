"""Knees and elbows that are on the floor: joints so low that flesh must touch it.

A knee joint lies some centimetres within the knee. Where it is lower than that and slow, the leg kneels: what bears is
the point of the shank below the joint, found as the mean of where the floor is below it.
"""

from __future__ import annotations

import numpy as np

from ukemi.dynamics.kinematics import link_poses
from ukemi.model.arrays import Array, frozen
from ukemi.model.model import Model
from ukemi.model.pose import Pose
from ukemi.motion.body import SIDES
from ukemi.motion.footfalls import point_velocities, runs
from ukemi.motion.soles import Height, Sole, above_ground

#: Links that begin at a joint one may kneel or lean on, and how low that joint is then [m].
LOW = {"shank": 0.1, "forearm": 0.07}
#: They rest when slower than this [m/s] for so long [s].
SLOW, LONG = 0.5, 0.2


def knee_pads(model: Model, q: Array, fps: float, height: Height | None = None) -> dict[str, Sole]:
    """Names of links -> where they bear, for the knees and elbows of a motion (frames, nq) that rest on the ground.

    Each bears at one point, a sole whose corners coincide.
    """
    X, pads = link_poses(model, q), {}
    for name in (f"{side}_{part}" for part in LOW for side in SIDES):
        if name not in model.link_names:
            continue
        pose = X[:, model.link_index(name)]
        above = above_ground(pose[:, :3, 3], height)
        speed = np.linalg.norm(point_velocities(pose[:, :3, 3], fps), axis=1)
        rests = (above < LOW[name.split("_")[1]]) & (speed < SLOW)
        frames = [np.arange(a, b) for a, b in runs(rests) if b - a >= LONG * fps]
        if not frames:
            continue
        up = pose[np.concatenate(frames), 2, :3]  # the world's, in the link's frame
        below = -(np.maximum(above, 0.0)[np.concatenate(frames), None] * up).mean(axis=0)
        pads[name] = Sole(name, frozen(np.tile(below, (4, 1))), Pose(below), hand=True)
    return pads
