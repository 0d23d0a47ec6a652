"""Walks that are made, turned and joined."""

from __future__ import annotations

import numpy as np
import pytest

import ukemi as uk
from ukemi.motion.clip import Skeleton
from ukemi.motion.join import join, moved, turned
from ukemi.motion.synthesis import walk


def test_the_walk_walks() -> None:
    clip = walk(3.0, speed=1.0, height=1.7)
    assert len(clip) == 361
    assert clip.root[-1, 0] - clip.root[0, 0] == pytest.approx(3.0, abs=1e-9)
    assert abs(clip.root[:, 1]).max() < 0.05
    assert uk.figure_from_clip(clip).height == pytest.approx(1.7, rel=1e-9)
    # bones are rigid and the feet are where the legs end
    feet = clip.positions[:, clip.skeleton.index("LeftFoot"), 2]
    assert 0.05 < feet.min() < feet.max() < 0.35


def test_knees_bend_as_people_do() -> None:
    clip = walk(3.0)
    angle = 2 * np.arccos(np.abs(clip.rotations[:, clip.skeleton.index("LeftLeg"), 0]))
    assert np.deg2rad(7) < angle.min() < np.deg2rad(15)
    assert np.deg2rad(50) < angle.max() < np.deg2rad(80)


def test_slope_and_turn_do_what_they_say() -> None:
    up = walk(3.0, slope=0.1)
    assert up.root[-1, 2] - up.root[0, 2] == pytest.approx(np.tan(0.1) * 3.3, abs=0.06)
    bent = walk(4.0, turn=np.deg2rad(60))
    way = np.diff(bent.root[:, :2], axis=0)
    heading = np.arctan2(way[:, 1], way[:, 0])
    half = 60  # frames over which the sway averages out
    assert heading[-half * 2 :].mean() - heading[: half * 2].mean() == pytest.approx(np.deg2rad(43), abs=np.deg2rad(8))


def test_steps_beyond_the_legs_are_refused() -> None:
    with pytest.raises(uk.InvalidInputError, match="longer than the legs"):
        walk(speed=3.0)


def test_turning_and_moving_keep_the_motion() -> None:
    clip = walk(1.0)
    other = moved(turned(clip, np.pi / 2, (1.0, 0.0)), (0, 0, 0.5))
    p, o = clip.positions, other.positions
    assert np.allclose(o, np.stack([1 - p[..., 1], p[..., 0] - 1, p[..., 2] + 0.5], axis=-1), atol=1e-14)
    assert np.array_equal(other.rotations[:, 1:], clip.rotations[:, 1:])


def test_two_walks_join_into_a_turn() -> None:
    clip = walk(3.0)
    joined = join(clip, clip, 0.5, turn=np.deg2rad(30))
    assert np.abs(joined.rotations[:300] - clip.rotations[:300]).max() < 1e-15
    way = joined.root[-1] - joined.root[-135]  # a stride, so that the sway cancels
    assert np.arctan2(way[1], way[0]) == pytest.approx(np.deg2rad(30), abs=np.deg2rad(3))
    # the seam is no jump: no joint moves faster than 1.5 times as in the walk
    speed, usual = (np.linalg.norm(np.diff(c.positions, axis=0), axis=-1).max(axis=0) for c in (joined, clip))
    assert (speed < 1.5 * usual).all()
    # the second walk enters in step: its knees are where the first's were
    unmatched = join(clip, clip, 0.5, match=False)
    assert len(unmatched) == 2 * 361 - 60


def test_joining_resamples_and_refuses_strangers() -> None:
    a, b = walk(2.0), walk(2.0, fps=60)
    assert join(a, b, 0.3).fps == 120
    with pytest.raises(uk.InvalidInputError, match="overlap"):
        join(a, b, 5.0)
    bone = Skeleton(("x",), (-1,), np.zeros((1, 3)))
    stranger = uk.Clip(bone, 120.0, np.tile((1.0, 0, 0, 0), (9, 1, 1)), {0: np.zeros((9, 3))})
    with pytest.raises(uk.InvalidInputError, match="one skeleton"):
        join(a, stranger, 0.3)
