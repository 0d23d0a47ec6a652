"""Where hands bear on the floor."""

from __future__ import annotations

import numpy as np
import pytest

import ukemi as uk
from ukemi.dynamics.kinematics import link_poses
from ukemi.motion.hands import _pivot, hand_pads
from ukemi.motion.rotations import exponential, matrices


def test_hands_turn_about_the_point_that_stays() -> None:
    rng = np.random.default_rng(3)
    r, near, floor = np.array([0.02, 0.1, -0.17]), np.array([0.0, 0.0, -0.18]), np.array([0.7, -0.2, 0.0])
    pose = np.tile(np.eye(4), (60, 1, 1))
    pose[:, :3, :3] = matrices(exponential(rng.uniform(-0.7, 0.7, (60, 3))))
    pose[:, :3, 3] = floor - pose[:, :3, :3] @ r
    found = _pivot(pose, [(0, 60)], near, None)
    assert np.linalg.norm(found - r) < 0.5 * np.linalg.norm(near - r)  # it is also drawn to the finger tips
    assert _pivot(pose, [(0, 60)], r, None) == pytest.approx(r, abs=1e-9)


def test_finger_tips_are_as_far_from_the_palm_as_the_wrist() -> None:
    for dof in (28, 40):  # the palm is on the forearm, and on a hand
        model = uk.human(dof)
        q = np.tile(model.neutral(), (20, 1))
        palm = model.landmarks["left_palm"]
        wrist = np.asarray(model.landmarks["left_hand"].at.position) if dof == 28 else np.zeros(3)
        tip = link_poses(model, q[0])[model.link_index(palm.link)] @ np.append(2 * palm.at.position - wrist, 1.0)
        q[:, 2] -= tip[2]  # they touch the floor
        pads = hand_pads(model, q, 60.0)
        assert set(pads) == {"left_hand", "right_hand"}
        assert pads["left_hand"].points == pytest.approx(np.tile(2 * palm.at.position - wrist, (4, 1)), abs=1e-9)
