"""Whole clips: the embedded walk, slopes, a treadmill, look-ahead, errors; captures where they are at hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ukemi as uk
from ukemi.dynamics_filter.clip import _presets
from ukemi.dynamics_filter.online import Follower
from ukemi.dynamics_filter.pace import likely_pace
from ukemi.dynamics_filter.prepare import make_reference
from ukemi.dynamics_filter.reference import runs
from ukemi.dynamics_filter.result import FilterResult, plate_force
from ukemi.dynamics_filter.settings import STANDARD
from ukemi.dynamics_filter.whole import whole_plan
from ukemi.model.arrays import Array
from ukemi.motion.figure import figure_from_clip
from ukemi.motion.join import join
from ukemi.motion.read import read_motion
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
    assert q.contact_bw < 1e-12  # forces push, within their cones; to rounding
    assert q.contact_gap_mm < 1.0


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
    assert result.quality.peak_bw < 1.4  # legs reach the ground in time: 1.2 measured, 2.0 when they did not
    assert result.quality.penetration_mm < 1.0
    assert result.q[-1, 2] < result.q[0, 2] - 0.05


def test_two_walks_joined_at_an_angle_have_no_flight() -> None:
    clip = join(walk(2.0), walk(2.0), turn=np.deg2rad(30))
    result = uk.filter_motion(clip)
    assert not result.quality.fell
    assert result.reference.contact.any(axis=1).all()
    assert result.quality.peak_bw < 1.4  # 2.5 with a flight at the seam


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


def test_a_frame_rate_that_cannot_be_true_is_found() -> None:
    clip = walk(1.5)
    for rate, pace in ((1.0, 1.0), (2.0, 0.5)):
        played = clip.with_motion(clip.rotations, clip.translations, rate * clip.fps)
        figure = figure_from_clip(played)
        q = np.array(figure.q())
        shift = whole_plan(make_reference(figure, q, played.fps, STANDARD.dt), STANDARD).shift
        assert likely_pace(figure, q, played.fps, STANDARD, None, shift) == pace


def test_a_pace_is_that_of_the_written_motion() -> None:
    clip = walk(0.6)
    slow = uk.filter_motion(clip, pace=0.5)
    assert slow.quality.pace == 0.5
    assert slow.motion.fps == clip.fps / 2
    assert slow.motion.layout.frame_time == 2 / clip.fps
    assert slow.time[-1] > 1.9 * clip.duration


def test_what_was_done_before_an_interruption_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    advance, calls = Follower.advance, 0

    def interrupted(self: Follower, *given: object) -> dict[str, Array]:
        nonlocal calls
        calls += 1
        if calls > 20:
            raise KeyboardInterrupt
        return advance(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Follower, "advance", interrupted)
    result = uk.filter_motion(walk(1.0))
    assert result.interrupted
    assert len(result) == 100
    assert not result.quality.fell
    assert len(result.motion) > 0


def stances(result: FilterResult) -> list[Array]:
    """Vertical force in body weights, as a plate shows it, of every whole stance."""
    weight = result.reference.model.mass * 9.81
    found = []
    for foot in range(2):
        force = plate_force(result.ground_forces.force[:, foot, 2], result.dt) / weight
        found += [force[a:b] for a, b in runs(force > 0.02) if a > 0 and b < len(force) and (b - a) * result.dt > 0.3]
    return found


def test_a_walk_pushes_as_people_do(shared: Path) -> None:
    result = uk.filter_motion(shared / "motions" / "cmu_bvh" / "02_01.bvh")
    curves = stances(result)
    assert len(curves) >= 3
    for force in curves:
        third = len(force) // 3
        humps, valley = (force[: 2 * third].max(), force[third:].max()), force[third : 2 * third].min()
        assert all(1.0 < hump < 1.3 for hump in humps)
        assert valley < 0.95
        up = np.flatnonzero(force > 0.9)[0] - np.flatnonzero(force > 0.1)[0]
        assert up * result.dt > 0.04  # weight goes over, it does not jump
    assert result.quality.peak_bw < 1.5


@pytest.mark.parametrize("name", ["02_01", "08_01", "16_19", "02_03", "16_35", "13_39", "143_32"])
def test_captures_stay_up(shared: Path, name: str) -> None:
    clip = read_motion(shared / "motions" / "cmu_bvh" / f"{name}.bvh")
    quality = uk.filter_motion(clip[: round(4.0 * clip.fps)]).quality
    assert quality.pace == (0.5 if name == "143_32" else 1.0)
    assert not quality.fell
    assert quality.preset == "standard"
    assert quality.joint_rms_deg < 5.0
    assert quality.com_rms_cm < 3.0
    assert quality.skate_mm < 1.0
    assert quality.penetration_mm < 1.0
    assert quality.residual_bw < RESIDUAL


def test_what_falls_is_planned_as_a_whole(shared: Path) -> None:
    """A kick in the air that falls with the window of the standard setting."""
    clip = read_motion(shared / "motions" / "retarget_deepmimic" / "humanoid3d_spinkick.txt")
    assert uk.filter_motion(clip, settings=STANDARD).quality.fell
    quality = uk.filter_motion(clip).quality
    assert quality.preset == "planned"
    assert not quality.fell
    assert quality.joint_rms_deg < 6.0
    assert quality.residual_bw < RESIDUAL


def test_nothing_is_planned_as_a_whole_with_a_short_look_ahead() -> None:
    assert [name for name, _ in _presets(0.8)] == ["standard", "planned", "loose", "safe", "safe, planned"]
    assert {s.preview for _, s in _presets(0.4)} == {0.4}
    assert {s.preview for _, s in _presets(np.inf)} == {np.inf}
