"""Whole clips: the embedded walk, slopes, a treadmill, hands and seats, control, bad input, what each term is for."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ukemi as uk
from tests.dynamics_filter.changes import CHANGES
from ukemi.dynamics_filter.quality import body_reach
from ukemi.dynamics_filter.result import FilterResult
from ukemi.dynamics_filter.trajectory import cost as costing
from ukemi.dynamics_filter.trajectory import solve as solving
from ukemi.dynamics_filter.trajectory.setting import STANDARD
from ukemi.dynamics_filter.trajectory.window import Window
from ukemi.model.arrays import Array
from ukemi.motion.join import join
from ukemi.motion.synthesis import walk

RESIDUAL = 1e-6  # body weights, at the samples


@cache
def walked() -> FilterResult:
    return uk.filter_motion(walk(2.0))


def feet_against_each_other(result: FilterResult) -> float:
    """How much the rear foot pushes forwards more than the front foot, on average while both bear [BW]."""
    g = result.ground_forces
    force = g.force / (result.model.mass * 9.81)
    both = (force[:, :2, 2] > 0.15).all(axis=1)
    foot = [result.point_groups.index(name) for name in g.names[:2]]
    front = result.place[:, foot, 0].argmax(axis=1)
    rows = np.arange(len(result))
    return float((force[rows, 1 - front, 0] - force[rows, front, 0])[both].mean())


def test_the_embedded_walk_becomes_feasible() -> None:
    q = walked().quality
    assert q.verdict == "feasible"
    assert q.residual_bw < RESIDUAL
    assert q.written_residual_rms < 0.01
    assert q.joint_rms_deg < 1.5
    assert q.joint_max_deg < 15
    assert q.com_rms_cm < 2.0
    assert q.skate_cm_s < 0.3 < q.skate_before_cm_s
    assert q.penetration_mm < 2.0 < q.penetration_before_mm
    assert q.float_mm < 1.0
    assert q.hand_acceleration_ratio < 1.2
    assert q.friction_use <= 0.8 + 1e-9
    assert q.contact_bw < 1e-12  # forces push, within their cones; to rounding
    assert 1.0 < q.peak_bw < 1.5


def test_ground_forces_carry_the_body() -> None:
    """Momentum theorem over the whole motion: mean force = m (g + change of velocity / time)."""
    r = walked()
    m = r.model.mass
    h0, h1 = (uk.momentum(r.model, r.q[k], r.v[k])[:3] for k in (0, -1))
    impulse = np.trapezoid(r.ground_forces.total, r.time, axis=0)
    wanted = h1 - h0 + [0, 0, m * 9.81 * r.time[-1]]
    np.testing.assert_allclose(impulse, wanted, atol=1e-3 * m * 9.81 * r.time[-1])


def test_torques_are_those_of_inverse_dynamics_and_smooth() -> None:
    r = walked()
    assert np.abs(r.tau[:, :6]).max() < RESIDUAL * 9.81 * r.model.mass
    rate = np.abs(np.diff(r.torques, axis=0)).max() / (r.model.mass * r.dt)
    assert rate < 200  # N m/kg/s; the forward simulation that was here before had 5000


def test_pressure_lies_in_the_soles() -> None:
    r = walked()
    cop = r.cop
    for g, name in enumerate(r.ground_forces.names):
        mine = r.place[:, [k == name for k in r.point_groups]]
        bears = np.isfinite(cop[:, g, 0])
        assert bears.any()
        assert (cop[bears, g, :2] >= mine[bears].min(axis=1)[:, :2] - 1e-9).all()
        assert (cop[bears, g, :2] <= mine[bears].max(axis=1)[:, :2] + 1e-9).all()


def test_every_frame_comes_back() -> None:
    clip = walk(2.0)
    motion = walked().motion
    assert motion.skeleton.names == clip.skeleton.names
    assert len(motion) == len(clip)
    assert motion.fps == clip.fps
    assert motion.layout.channels == clip.layout.channels


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
    weight = level.model.mass * 9.81
    assert treadmill.ground_forces.force == pytest.approx(level.ground_forces.force, abs=1e-4 * weight)
    assert treadmill.q[:, :3] == pytest.approx(level.q[:, :3] + level.time[:, None] * belt, abs=1e-6)
    assert treadmill.motion.root == pytest.approx(level.motion.root + clip.time[:, None] * belt, abs=1e-6)


def test_a_level_walk_goes_down_a_slope() -> None:
    a = np.deg2rad(-4)
    result = uk.filter_motion(walk(1.6), terrain=uk.Ground(normal=(-np.sin(a), 0, np.cos(a))))
    assert result.verdict == "feasible"
    assert result.quality.peak_bw < 1.4
    assert result.quality.penetration_mm < 2.0
    assert result.q[-1, 2] < result.q[0, 2] - 0.05


def test_a_walk_made_on_a_slope_stays_there() -> None:
    a = np.deg2rad(5)
    slope = uk.Ground(normal=(-np.sin(a), 0, np.cos(a)))
    made = uk.filter_motion(walk(1.2), terrain=slope)
    again = uk.filter_motion(made.motion, terrain=slope)
    assert again.verdict == "feasible"
    assert again.quality.joint_rms_deg < 1.0
    assert again.quality.com_rms_cm < 1.0


def test_two_walks_joined_at_an_angle() -> None:
    result = uk.filter_motion(join(walk(1.7), walk(1.7), overlap=0.4, turn=np.deg2rad(30)))
    assert result.verdict == "feasible"
    assert result.quality.residual_bw < RESIDUAL
    assert result.quality.peak_bw < 1.5


# --- what each term is for: without it a bound above fails ----------------------------------------------------------
def test_without_holding_contacts_feet_skate() -> None:
    loose = uk.filter_motion(walk(2.0), settings=replace(STANDARD, gap=1.0, slip=1.0)).quality
    assert loose.skate_cm_s > 3.0
    assert loose.float_mm > 3.0


def test_without_the_price_of_doubtful_contacts_the_body_moves_farther() -> None:
    free = uk.filter_motion(walk(2.0), settings=replace(STANDARD, consistency=(1e-12, 1e-12))).quality
    assert free.joint_rms_deg > 1.5 * walked().quality.joint_rms_deg


def test_without_the_leg_line_feet_do_not_push_against_each_other() -> None:
    """In double support the front foot brakes and the rear foot drives: 0.2 to 0.3 BW between them on plates."""
    without = uk.filter_motion(walk(2.0), settings=replace(STANDARD, line=0.0))
    assert feet_against_each_other(walked()) > max(0.1, 1.5 * feet_against_each_other(without))


def test_without_a_price_on_accelerations_the_body_is_shaken() -> None:
    shaken = uk.filter_motion(walk(2.0), settings=replace(STANDARD, inertia=10.0)).quality
    assert shaken.peak_bw > 1.5
    assert shaken.hand_acceleration_ratio > 1.2


def test_without_a_hold_between_knots_feet_zigzag(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Window._contact_rows

    def at_knots_alone(self: Window, *args: Array) -> tuple[Array, Array, Array, Array]:
        gap, above, slip, rate = rows(self, *args)
        return gap, above, slip, np.zeros_like(rate)

    held = walked().quality.skate_cm_s
    monkeypatch.setattr(Window, "_contact_rows", at_knots_alone)
    assert uk.filter_motion(walk(2.0)).quality.skate_cm_s > 3 * held


# --- control --------------------------------------------------------------------------------------------------------
def test_feet_alone_stand_without_physics() -> None:
    result = uk.filter_motion(walk(1.2), strength=0.0)
    assert result.quality.skate_cm_s < 0.3
    assert result.quality.float_mm < 1.0
    assert result.quality.residual_bw > 0.02
    half = uk.filter_motion(walk(1.2), strength=0.5).quality
    assert half.residual_bw < 0.1 * result.quality.residual_bw


def test_a_part_is_kept_closer() -> None:
    plain, kept = (uk.filter_motion(walk(1.2), keep=k).quality for k in (None, {"legs": 5.0}))
    assert kept.joint_rms_deg < 0.8 * plain.joint_rms_deg


def test_contacts_that_are_given_are_the_only_ones() -> None:
    result = uk.filter_motion(walk(1.2), contacts={"left_foot": [(0.0, 0.4)]})
    left = result.ground_forces.force[:, result.ground_forces.names.index("left_foot"), 2]
    assert left[result.time > 0.42] == pytest.approx(0.0, abs=1e-9)
    assert left[result.time < 0.35].max() > 0


def test_ctrl_c_gives_all_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    steps, calls = Window.step, 0

    def interrupted(self: Window, stage: str) -> object:
        nonlocal calls
        calls += 1
        if calls > 15:
            raise KeyboardInterrupt
        return steps(self, stage)

    monkeypatch.setattr(Window, "step", interrupted)
    clip = walk(1.0)
    result = uk.filter_motion(clip)
    assert result.interrupted
    assert len(result.motion) == len(clip)
    assert not result.quality.converged


def test_windows_give_what_the_whole_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = walked()
    monkeypatch.setattr(solving, "LENGTH", 4.5)  # 1.4 s, so that the walk takes two
    parts = uk.filter_motion(walk(2.0))
    assert parts.verdict == "feasible"
    assert parts.quality.residual_bw < RESIDUAL
    assert parts.quality.peak_bw == pytest.approx(whole.quality.peak_bw, rel=0.1)
    d = uk.difference(whole.model, whole.frames, parts.frames)
    assert np.rad2deg(np.sqrt((d[:, 6:] ** 2).mean())) < 0.3


def test_windows_cover_a_clip_with_an_overlap() -> None:
    found = solving.windows(1000, 300, 50)
    assert found[0][0] == 0
    assert found[-1][1] == 1000
    for (_, end), (start, _) in pairwise(found):
        assert end - start == 50
    assert solving.windows(400, 300, 50) == [(0, 400)]


# --- other sizes, other bodies, bad input ---------------------------------------------------------------------------
@pytest.mark.parametrize("size", ["0.3", "0.63", "1.5"])
def test_children_and_giants_use_the_same_setting(size: str) -> None:
    """A clip scaled in length, and by the square root in time, is the same problem in other units."""
    plain = walked().quality
    mass = walked().model.mass * float(size) ** 3
    scaled = uk.filter_motion(CHANGES[size](walk(2.0)), mass=mass).quality
    assert scaled.verdict == "feasible"
    assert scaled.joint_rms_deg == pytest.approx(plain.joint_rms_deg, rel=0.01)
    assert scaled.peak_bw == pytest.approx(plain.peak_bw, rel=0.01)
    assert scaled.com_rms_cm == pytest.approx(float(size) * plain.com_rms_cm, rel=0.02)


@pytest.mark.parametrize("change", ["noise", "25 fps", "gaps", "mirrored", "cut", "faster", "slower"])
def test_disturbed_clips_keep_their_verdict(change: str) -> None:
    quality = uk.filter_motion(CHANGES[change](walk(2.0))).quality
    assert quality.verdict == "feasible"
    assert quality.joint_rms_deg < 3.0
    assert quality.peak_bw < 2.0


def test_another_body_walks() -> None:
    result = uk.filter_motion(walk(1.5), uk.human(28))
    assert result.verdict == "feasible"
    assert result.quality.joint_rms_deg < 1.5
    with pytest.raises(AttributeError, match="on another model"):
        _ = result.motion


@pytest.mark.parametrize("frames", [1, 2, 3, 7])
def test_a_few_frames_are_a_clip(frames: int) -> None:
    result = uk.filter_motion(walk(0.8)[10 : 10 + frames])
    assert result.verdict == "feasible"
    assert len(result.motion) == frames
    assert result.quality.joint_max_deg < 5


def test_bad_arguments_are_named() -> None:
    clip = walk(0.3)
    with pytest.raises(uk.InvalidInputError, match="solver: expected 'trajectory', 'online' or 'paper', got 'lp'"):
        uk.filter_motion(clip, solver="lp")
    with pytest.raises(uk.InvalidInputError, match="terrain: expected Ground"):
        uk.filter_motion(clip, terrain="hill")  # type: ignore[arg-type]
    with pytest.raises(uk.InvalidInputError, match="contacts: no part 'tail' touches the ground; there are left_foot"):
        uk.filter_motion(clip, contacts={"tail": [(0, 1)]})


def test_online_and_paper_are_measured_on_the_same_sheet() -> None:
    for solver in ("online", "paper"):
        result = uk.filter_motion(walk(0.8), solver=solver)
        assert len(result.motion) == len(walk(0.8))
        assert result.quality.residual_bw < 1e-3
        assert result.quality.joint_rms_deg < 10


# --- captures -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["02_01", "16_19", "02_03", "16_35", "13_39", "08_01"])
def test_captures_are_feasible_near_their_input(shared: Path, name: str) -> None:
    clip = uk.read_motion(shared / "motions" / "cmu_bvh" / f"{name}.bvh")
    q = uk.filter_motion(clip[: round(3.0 * clip.fps)]).quality
    assert q.verdict == "feasible", q.reason
    assert q.residual_bw < RESIDUAL
    assert q.written_residual_rms < 0.03
    assert q.joint_rms_deg < 2.5
    assert q.com_rms_cm < 2.5
    assert q.hand_acceleration_ratio < 1.2
    assert q.skate_cm_s < 0.5


def test_a_cartwheel_bears_on_its_hands(shared: Path) -> None:
    result = uk.filter_motion(shared / "motions" / "cmu_bvh" / "49_06.bvh")
    assert result.verdict == "feasible"
    assert "left_hand" in result.ground_forces.names


def test_joint_limits_are_kept() -> None:
    """A knee that may bend by 40 degrees only, where the walk asks for 60."""
    b = uk.Builder("stiff knee")
    stiff = {"left_knee": np.deg2rad(40.0)}
    for link in uk.human(28).description.links:
        limit = stiff.get(link.joint_name)
        b.description.links.append(
            link if limit is None else replace(link, joint=replace(link.joint, limits=(-limit, limit)))
        )
    model = b.build()
    knee = model.joint("left_knee")
    result = uk.filter_motion(walk(1.5), model)
    assert result.verdict == "feasible"
    assert np.rad2deg(np.abs(result.q[:, knee.q]).max()) < 40.3  # 40.8 without limits in the problem


def with_knees(**limits: Any) -> uk.Model:
    """The largest effort or speed of both knees."""
    b = uk.Builder("weak knees")
    for link in uk.human(28).description.links:
        weak = "knee" in link.joint_name
        b.description.links.append(replace(link, joint=replace(link.joint, **limits)) if weak else link)
    return b.build()


def test_torque_limits_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Knees that have 85 % of what the walk would take; without the term they take it."""
    free = uk.filter_motion(walk(1.5), with_knees(effort=1e4))
    knees = [free.model.joint(f"{side}_knee").v.start for side in ("left", "right")]
    limit = 0.85 * float(np.abs(free.tau[:, knees]).max())
    kept = uk.filter_motion(walk(1.5), with_knees(effort=limit))
    assert kept.verdict == "feasible", kept.quality.reason
    assert kept.quality.residual_bw < RESIDUAL
    assert kept.quality.torque_use < 1.01
    monkeypatch.setattr(costing, "EFFORT", 1e9)
    assert uk.filter_motion(walk(1.5), with_knees(effort=limit)).quality.torque_use > 1.1


def test_speed_limits_are_kept() -> None:
    """Knees that have 85 % of the speed that the walk would take."""
    free = uk.filter_motion(walk(1.5), with_knees(speed=1e4))
    knees = [free.model.joint(f"{side}_knee").v.start for side in ("left", "right")]
    limit = 0.85 * float(np.abs(free.v[:, knees]).max())
    kept = uk.filter_motion(walk(1.5), with_knees(speed=limit))
    assert kept.verdict == "feasible", kept.quality.reason
    assert kept.quality.speed_use < 1.01
    assert np.abs(kept.v[:, knees]).max() < 1.01 * limit  # between the frames too


def test_a_torque_beyond_its_limit_is_not_feasible() -> None:
    result = uk.filter_motion(walk(1.5), with_knees(effort=5.0))
    assert result.verdict == "infeasible"
    assert len(result.frames) == len(walk(1.5))


def test_results_can_be_pickled() -> None:
    again = pickle.loads(pickle.dumps(walked()))
    assert again.quality.joint_rms_deg == walked().quality.joint_rms_deg  # some fields are NaN
    assert again.motion.root == pytest.approx(walked().motion.root)


def test_reach_is_of_the_body_and_not_of_its_pose() -> None:
    model = walked().model
    X = uk.link_poses(model, model.neutral())
    reach = body_reach(model)
    assert 0.9 < reach < 1.6
    assert reach >= np.linalg.norm(X[:, :3, 3] - X[0, :3, 3], axis=1).max()
