"""Knees and elbows on the floor."""

from __future__ import annotations

import numpy as np
import pytest

import ukemi as uk
from ukemi.dynamics.kinematics import link_poses
from ukemi.model.arrays import Array
from ukemi.motion.knees import LOW, knee_pads
from ukemi.motion.synthesis import walk

FPS = 100.0


def kneeling(figure: uk.ClipFigure, above: float, frames: int = 60) -> Array:
    """(frames, nq): upright on the left knee, whose joint is so high [m], its shank lying back."""
    q = np.array(figure.q())[0]
    model = figure.model
    q[model.link("left_shank").q] = (np.cos(0.7), 0.0, np.sin(0.7), 0.0)
    q[2] += above - link_poses(model, q)[model.link_index("left_shank"), 2, 3]
    return np.repeat(q[None], frames, axis=0)


def test_a_knee_that_is_low_and_still_bears_below_its_joint() -> None:
    figure = uk.figure_from_clip(walk(1.0))
    q = kneeling(figure, 0.05)
    pads = knee_pads(figure.model, q, FPS)
    assert set(pads) <= {"left_shank", "right_shank"}
    pose = link_poses(figure.model, q[0])[figure.model.link_index("left_shank")]
    place = pose[:3, :3] @ pads["left_shank"].points[0] + pose[:3, 3]
    assert place == pytest.approx([*pose[:2, 3], 0.0], abs=1e-12)


def test_other_knees_do_not_bear() -> None:
    figure = uk.figure_from_clip(walk(2.0))
    assert not knee_pads(figure.model, np.array(figure.q()), figure.clip.fps)  # in a walk
    assert not knee_pads(figure.model, kneeling(figure, LOW["shank"] + 0.05), FPS)  # above the floor
    moving = kneeling(figure, 0.05)
    moving[:, 0] += 1.0 * np.arange(len(moving)) / FPS
    assert not knee_pads(figure.model, moving, FPS)
