"""Where hands bear on the floor: the point of each that stays where it is while the hand is low.

Skeletons end at wrists or at short fingers (in some captures 20 cm above the floor that the hand stands on), and the
hand turns about the floor while the arm swings over it. So the point r of the hand's frame is sought that keeps to one
place c on the floor in each of the hand's contacts: min sum |p(t) + R(t) r - c|^2 with c_z = 0, near the finger tips.
"""

from __future__ import annotations

import numpy as np

from ukemi.dynamics.kinematics import link_poses
from ukemi.model.arrays import Array, frozen
from ukemi.model.model import Model
from ukemi.model.pose import Pose
from ukemi.motion.body import SIDES
from ukemi.motion.footfalls import FootfallSettings, point_velocities, runs
from ukemi.motion.soles import Height, Sole, above_ground

#: Finger tips so low and so slow may stand [m], [m/s], for so long [s].
LOW, SLOW, SHORTEST = 0.16, 0.8, 0.08
#: How much staying near the finger tips counts beside one frame's distance from the place on the floor.
NEAR_TIPS = 0.3
#: The point is at most so far from the finger tips [m].
FARTHEST = 0.2
#: Hands of captures wobble more than feet, and roll over their heels and fingers.
HANDFALLS = FootfallSettings(on_height=0.05, on_speed=0.8, off_height=0.07, off_speed=1.2, rise=0.04, wander=0.12)


def hand_pads(model: Model, q: Array, fps: float, height: Height | None = None, size: float = 1.0) -> dict[str, Sole]:
    """``"left_hand"``, ``"right_hand"`` -> where it bears, for the hands of a motion (frames, nq) that come down.

    A hand bears at one point: its pad is a sole whose corners coincide. Models without the landmarks ``left_palm`` and
    ``right_palm`` have none. size: of the body beside an adult's.
    """
    X, pads = link_poses(model, q), {}
    for side in SIDES:
        palm = model.landmarks.get(f"{side}_palm")
        if palm is None:
            continue
        pose = X[:, model.link_index(palm.link)]
        tips = 2 * palm.at.position - _wrist(model, side, palm.link)
        place = pose[:, :3, :3] @ tips + pose[:, :3, 3]
        down = (above_ground(place, height) < LOW * size) & (
            np.linalg.norm(point_velocities(place, fps), axis=1) < SLOW * np.sqrt(size)
        )
        contacts = [(a, b) for a, b in runs(down) if b - a >= SHORTEST * np.sqrt(size) * fps]
        if not contacts:
            continue
        point = _pivot(pose, contacts, tips, height)
        if np.linalg.norm(point - tips) > FARTHEST * size:
            continue
        first, end = contacts[0]
        up = pose[first:end, 2, :3].mean(axis=0)
        pads[f"{side}_hand"] = Sole(palm.link, frozen(np.tile(point, (4, 1))), _at(up, point), hand=True)
    return pads


def _wrist(model: Model, side: str, link: str) -> Array:
    """In coordinates of the link that carries the palm: its origin, or on a forearm without hand the landmark there."""
    mark = model.landmarks.get(f"{side}_hand")
    return np.zeros(3) if mark is None or mark.link != link else np.asarray(mark.at.position)


def _pivot(pose: Array, contacts: list[tuple[int, int]], near: Array, height: Height | None) -> Array:
    """The point of a link with poses (frames, 4, 4) that stays on the floor in its contacts, in link coordinates."""
    frames = np.concatenate([np.arange(a, b) for a, b in contacts])
    which = np.concatenate([np.full(b - a, k) for k, (a, b) in enumerate(contacts)])
    A = np.zeros((len(frames), 3, 3 + 2 * len(contacts)))
    A[:, :, :3] = pose[frames, :3, :3]
    for axis in range(2):
        A[np.arange(len(frames)), axis, 3 + 2 * which + axis] = -1.0
    rhs = -pose[frames, :3, 3]
    if height is not None:
        rhs[:, 2] += height(pose[frames, :2, 3])
    stay = NEAR_TIPS * np.sqrt(len(frames))
    rows = np.concatenate([A.reshape(-1, A.shape[2]), stay * np.eye(3, A.shape[2])])
    return np.linalg.lstsq(rows, np.concatenate([rhs.ravel(), stay * near]), rcond=None)[0][:3]


def _at(up: Array, point: Array) -> Pose:
    z = up / np.linalg.norm(up)
    x = np.cross(np.eye(3)[np.abs(z).argmin()], z)
    x /= np.linalg.norm(x)
    return Pose.from_rotation(frozen(np.stack([x, np.cross(z, x), z], axis=1)), frozen(point))
