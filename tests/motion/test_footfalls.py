"""Contacts found in walks, and feet that stand after the lock."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ukemi as uk
from ukemi.motion.foot_lock import contact_anchors, lock_feet
from ukemi.motion.footfalls import Contacts, FootfallSettings, foot_measures, footfalls, runs, sole_points
from ukemi.motion.synthesis import TOE_OFF, walk
from ukemi.motion.trajectory import smooth_coordinates

FPS = 100.0


def hopping(heights: list[float], frames: int = 20) -> np.ndarray:
    """One point that stays at each height in turn."""
    z = np.repeat(heights, frames)
    return np.stack([0 * z, 0 * z, z], axis=1)[:, None]


def test_a_point_lands_low_and_leaves_high() -> None:
    # between the two heights the state stays what it was
    by_height = FootfallSettings(on_speed=np.inf, off_speed=np.inf, rise=np.inf)
    state = footfalls(hopping([0.1, 0.04, 0.0, 0.04, 0.1, 0.04]), FPS, settings=by_height)[:, 0]
    assert [bool(state[20 * k + 10]) for k in range(6)] == [False, False, True, True, False, False]


def test_a_fast_point_does_not_stand() -> None:
    t = np.arange(200) / FPS
    for speed, stands in ((0.3, True), (1.5, False)):
        points = np.stack([speed * t, 0 * t, 0 * t], axis=1)[:, None]
        no_wander = FootfallSettings(wander=np.inf)
        assert footfalls(points, FPS, settings=no_wander).all() == stands
        # on a belt that moves with it, it stands
        assert footfalls(points, FPS, belt=(speed, 0, 0)).all()


def test_short_gaps_are_filled_and_short_touches_dropped() -> None:
    z = np.full(100, 0.2)
    z[10:13] = 0.0  # 30 ms
    z[40:80] = 0.0
    z[60:62] = 0.2  # a gap of 20 ms
    points = np.stack([0 * z, 0 * z, z], axis=1)[:, None]
    slow = FootfallSettings(on_speed=np.inf, off_speed=np.inf)
    assert runs(footfalls(points, FPS, settings=slow)[:, 0]) == [(40, 80)]


def test_a_low_step_is_found_by_its_wandering() -> None:
    t = np.arange(300) / FPS
    x = 0.2 * np.clip((t - 1.4) / 0.25, 0, 1)  # a slide of 20 cm at 0.8 m/s, below the limits
    points = np.stack([x, 0 * x, 0 * x + 0.01], axis=1)[:, None]
    stays = runs(footfalls(points, FPS)[:, 0])
    assert len(stays) == 2
    assert stays[0][1] <= 142
    assert stays[1][0] >= 163


def test_the_walk_is_read_as_it_was_made() -> None:
    clip = walk(3.0, skate=0.0, floating=0.0)
    figure = uk.figure_from_clip(clip)
    points = sole_points(figure.model, figure.soles.values(), figure.q())
    touching: Contacts = np.any(footfalls(points, clip.fps), axis=-1)
    # left feet strike at even multiples of the step time and stay for 62 % of a stride
    starts = [a / clip.fps for a, _ in runs(touching[:, 0])]
    assert np.abs(np.array(starts[1:]) - [1.12, 2.24]).max() < 0.06
    lengths = [(b - a) / clip.fps for a, b in runs(touching[:, 1]) if a > 0 and b < len(clip)]
    assert np.abs(np.array(lengths) - TOE_OFF * 1.12).max() < 0.08


def test_anchors_are_as_far_apart_as_the_points_of_the_sole() -> None:
    clip = walk(2.5)
    figure = uk.figure_from_clip(clip)
    soles = list(figure.soles.values())
    points = sole_points(figure.model, soles, figure.q())
    anchors, touching = contact_anchors(points, footfalls(points, clip.fps), soles)
    assert np.array_equal(np.isfinite(anchors[..., 0]), touching)
    for foot, sole in enumerate(soles):
        apart = np.linalg.norm(sole.points[0] - sole.points[3])
        both = touching[:, foot, 0] & touching[:, foot, 3]
        assert both.any()
        got = np.linalg.norm(anchors[both, foot, 0] - anchors[both, foot, 3], axis=1)
        assert np.abs(got - apart).max() < 1e-3


def test_locked_feet_stand() -> None:
    clip = walk(2.5)
    figure = uk.figure_from_clip(clip)
    q = smooth_coordinates(figure.model, figure.q(), clip.fps)
    locked = lock_feet(figure, q, clip.fps)
    assert locked.before.skate > 0.06  # it slides on purpose
    assert locked.after.skate < 0.4 * locked.before.skate
    assert locked.after.float_height < 1e-4
    # only root and legs move, and little
    change = uk.difference(figure.model, q, locked.q)
    arms = [i for link in figure.model.links if "arm" in link.name for i in range(link.v.start, link.v.stop)]
    assert np.abs(change[:, arms]).max() < 1e-12
    assert np.abs(change[:, :3]).max() < 0.05
    points = sole_points(figure.model, figure.soles.values(), locked.q)
    again = foot_measures(points, locked.contacts, clip.fps)
    assert again == locked.after


def test_a_motion_without_faults_is_left_alone() -> None:
    clip = walk(2.0, skate=0.0, floating=0.0)
    figure = uk.figure_from_clip(clip)
    q = figure.q()
    locked = lock_feet(figure, q, clip.fps)
    moved = np.abs(uk.difference(figure.model, q, locked.q))
    # a heel that rises counts as standing up to 1.5 cm: the root gives less than that
    assert moved[:, :3].max() < 0.01


def test_feet_lock_on_a_slope() -> None:
    slope = np.deg2rad(-6)

    def ground(xy: np.ndarray) -> np.ndarray:
        return np.asarray(np.tan(slope) * xy[..., 0])

    clip = walk(2.0, slope=slope)
    figure = uk.figure_from_clip(clip, ground=ground)
    locked = lock_feet(figure, figure.q(), clip.fps, height=ground)
    assert locked.contacts.any(axis=-1).mean() > 0.5
    assert locked.after.skate < 0.5 * locked.before.skate
    assert locked.after.float_height < 1e-3


@pytest.mark.parametrize("name", ["02_01", "143_32", "13_11"])
def test_real_captures_skate_less_than_half_as_much(shared: Path, name: str) -> None:
    clip = uk.read_motion(shared / "motions" / "cmu_bvh" / f"{name}.bvh")
    figure = uk.figure_from_clip(clip)
    locked = lock_feet(figure, smooth_coordinates(figure.model, figure.q(), clip.fps), clip.fps)
    assert locked.after.skate < 0.5 * locked.before.skate
    assert locked.after.float_height < 5e-4
    assert locked.after.penetration < 0.5 * locked.before.penetration
    left: Contacts = np.any(locked.contacts[:, 0], axis=-1)
    assert len(runs(left)) == {"02_01": 3, "143_32": 11, "13_11": 2}[name]
