"""Whole clips: the embedded walk, slopes, a treadmill, look-ahead, errors; captures where they are at hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ukemi as uk
from ukemi.dynamics_filter.result import FilterResult
from ukemi.motion.synthesis import walk

RESIDUAL = 1e-6  # body weights, the bound; measured 1e-15


@pytest.fixture(scope="module")
def walked() -> FilterResult:
    return uk.filter_motion(walk(2.0))


def test_the_embedded_walk_becomes_possible(walked: FilterResult) -> None:
    q = walked.quality
    assert not q.fell
    assert q.residual_bw < RESIDUAL
    assert q.skate_mm < 1.0 < 2 * q.skate_before_mm
    assert q.penetration_mm < 1.0 < q.penetration_before_mm
    assert q.joint_rms_deg < 5.0
    assert q.com_rms_cm < 3.0
    assert q.friction_use <= 0.8 + 1e-9


def test_ground_forces_carry_the_body(walked: FilterResult) -> None:
    g, m = walked.ground_forces, walked.reference.model.mass
    # momentum theorem over the whole run: mean force = m (g + change of velocity / time)
    h0, h1 = (uk.momentum(walked.reference.model, q, v)[:3] for q, v in ((walked.q[0], walked.v[0]), walked.end))
    impulse = g.total.sum(axis=0) * walked.dt
    duration = len(walked) * walked.dt
    # a step takes the mass's place at its beginning: momentum changes by O(dt^2) in each, 0.02 % of the weight measured
    np.testing.assert_allclose(impulse, h1 - h0 + [0, 0, m * 9.81 * duration], atol=5e-4 * m * 9.81 * duration)


def test_pressure_lies_in_the_soles(walked: FilterResult) -> None:
    cop, points = walked.cop, walked.reference.points
    for g in range(points.groups):
        mine = walked.place[:, points.group == g]
        bears = np.isfinite(cop[:, g, 0])
        assert bears.any()
        assert (cop[bears, g, :2] >= mine[bears].min(axis=1)[:, :2] - 1e-9).all()
        assert (cop[bears, g, :2] <= mine[bears].max(axis=1)[:, :2] + 1e-9).all()


def test_the_motion_is_on_the_clips_own_skeleton(walked: FilterResult) -> None:
    clip = walk(2.0)
    assert walked.motion.skeleton.names == clip.skeleton.names
    assert abs(len(walked.motion) - len(clip)) <= 1
    assert walked.torques.shape == (len(walked), walked.reference.model.nv - 6)


def test_the_same_clip_gives_the_same_result_bit_for_bit() -> None:
    first, second = (uk.filter_motion(walk(0.6)) for _ in range(2))
    assert first.q.tobytes() == second.q.tobytes()
    assert first.tau.tobytes() == second.tau.tobytes()


def test_a_treadmill_is_the_floor_for_whoever_walks_with_it() -> None:
    clip = walk(0.8)
    belt = np.array([-1.1, 0.0, 0.0])
    moved = clip.with_motion(clip.rotations, {0: clip.root + clip.time[:, None] * belt})
    level = uk.filter_motion(clip)
    treadmill = uk.filter_motion(moved, terrain=uk.Ground(velocity=belt))
    np.testing.assert_allclose(treadmill.ground_forces.force, level.ground_forces.force, atol=1e-3)
    np.testing.assert_allclose(treadmill.q[:, :3], level.q[:, :3] + level.time[:, None] * belt, atol=1e-6)


def test_a_walk_down_a_slope() -> None:
    a = np.deg2rad(-4)
    result = uk.filter_motion(walk(1.6), terrain=uk.Ground(normal=(-np.sin(a), 0, np.cos(a))))
    assert not result.quality.fell
    assert result.quality.penetration_mm < 1.0
    assert result.q[-1, 2] < result.q[0, 2] - 0.05


@pytest.mark.parametrize("preview", [0.0, np.inf])
def test_other_previews_keep_the_laws_of_motion(preview: float) -> None:
    result = uk.filter_motion(walk(0.8), preview=preview)
    assert result.quality.residual_bw < RESIDUAL


def test_bad_arguments_are_named() -> None:
    clip = walk(0.3)
    with pytest.raises(uk.InvalidInputError, match="solver: expected 'qp' or 'paper', got 'lp'"):
        uk.filter_motion(clip, solver="lp")
    with pytest.raises(uk.InvalidInputError, match="preview: expected seconds"):
        uk.filter_motion(clip, preview=-1.0)
    with pytest.raises(uk.InvalidInputError, match="terrain: expected a Ground"):
        uk.filter_motion(clip, terrain="hill")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["02_01", "16_19", "16_35", "13_39"])
def test_captures_stay_up(shared: Path, name: str) -> None:
    quality = uk.filter_motion(shared / "motions" / "cmu_bvh" / f"{name}.bvh").quality
    assert not quality.fell
    assert quality.preset == "standard"
    assert quality.joint_rms_deg < 5.0
    assert quality.com_rms_cm < 3.0
    assert quality.skate_mm < 1.0
    assert quality.penetration_mm < 1.0
    assert quality.residual_bw < RESIDUAL
