"""What is assumed of a clip: belts, frame rates, clocks, frames that jump or were lost, which way is up."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import ukemi as uk
from tests.dynamics_filter.changes import CHANGES
from ukemi.dynamics_filter.result import FilterResult
from ukemi.model.arrays import Array
from ukemi.motion.clip import Clip
from ukemi.motion.rotations import exponential, product
from ukemi.motion.synthesis import walk
from ukemi.motion.tables import read_table
from ukemi.report.filter_files import write_all

RESIDUAL = 1e-6  # body weights, at the samples


@cache
def walked() -> FilterResult:
    return uk.filter_motion(walk(2.0))


def on_a_belt(clip: Clip, speed: float) -> Clip:
    return clip.with_motion(clip.rotations, {0: clip.root + clip.time[:, None] * np.array([speed, 0.0, 0.0])})


def test_a_treadmill_is_found_from_the_feet() -> None:
    clip = walk(2.0)
    speed = -float(clip.root[-1, 0] - clip.root[0, 0]) / clip.duration
    with pytest.warns(uk.UkemiWarning, match="a treadmill's belt at"):
        found = uk.filter_motion(on_a_belt(clip, speed))
    assert found.verdict == "feasible"
    assert isinstance(found.terrain, uk.Ground)
    belt = np.asarray(found.terrain.velocity)
    assert belt[0] == pytest.approx(speed, rel=0.1)  # the feet of this walk skate by 6 cm/s of 110
    assert abs(belt[1]) < 0.05
    ignored = uk.filter_motion(on_a_belt(clip, speed), belt=False)
    assert ignored.terrain is None
    assert ignored.quality.com_rms_cm > 2 * found.quality.com_rms_cm
    assert ignored.quality.joint_rms_deg > 2 * found.quality.joint_rms_deg


def test_a_frame_rate_that_gravity_refutes_is_doubted() -> None:
    clip = walk(2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", uk.UkemiWarning)
        assert uk.filter_motion(clip).quality.plausible_fps == clip.fps
    hasty = clip.with_motion(clip.rotations, clip.translations, 2 * clip.fps)
    with pytest.warns(uk.UkemiWarning, match=f"if the file is wrong, say fps={clip.fps:g}"):
        result = uk.filter_motion(hasty)
    assert result.quality.plausible_fps == clip.fps
    assert result.motion.fps == hasty.fps  # it is said, not changed


def test_a_lower_cutoff_smooths_the_input_more() -> None:
    calm = uk.filter_motion(walk(1.2), cutoff=3.0).quality
    assert calm.joint_rms_deg > 2 * uk.filter_motion(walk(1.2)).quality.joint_rms_deg
    with pytest.raises(uk.InvalidInputError, match="cutoff: expected a positive number"):
        uk.filter_motion(walk(0.3), cutoff=-1.0)


def test_the_file_keeps_its_clock(tmp_path: Path) -> None:
    """Of a capture that begins at 2.5 s: files, supports, given contacts and what the sheet says."""
    plain, late = walk(1.2), replace(walk(1.2), start=2.5)
    assert late[24:].start == pytest.approx(2.5 + 24 / late.fps)
    contacts = {"left_foot": [(2.5, 2.903)]}
    result = uk.filter_motion(late, contacts=contacts)
    same = uk.filter_motion(plain, contacts={"left_foot": [(0.0, 0.403)]})
    assert result.q.tobytes() == same.q.tobytes()
    assert result.quality.joint_max_time == pytest.approx(same.quality.joint_max_time + 2.5)
    files = write_all(result, tmp_path, animation=False)
    with np.load(files["states"]) as states:
        assert states["time"][0] == states["frame_time"][0] == 2.5
    for name in ("torques", "ground_forces_opensim"):
        assert read_table(files[name]).time[0] == 2.5


def test_a_joint_that_jumps_has_no_say_and_is_named() -> None:
    clip = walk(1.2)
    turns: Array = np.array(clip.rotations)
    joint = clip.skeleton.index("LeftArm") if "LeftArm" in clip.skeleton.names else 8
    turns[60, joint] = product(turns[60, joint], exponential(np.array([0.0, np.deg2rad(100), 0.0])))
    with pytest.warns(uk.UkemiWarning, match="joints jump and were smoothed over: frame 60"):
        result = uk.filter_motion(clip.with_motion(turns, clip.translations))
    assert result.verdict == "feasible"
    assert result.quality.glitches > 0
    d = uk.difference(result.model, uk.filter_motion(clip).frames, result.frames)
    assert np.rad2deg(np.abs(d[:, 6:]).max()) < 5


def test_frames_that_were_lost_have_no_say_and_are_named() -> None:
    clip = walk(2.0)
    with pytest.warns(uk.UkemiWarning, match="frames 1 to 11, 121 to 131 repeat the one before, then the motion jumps"):
        result = uk.filter_motion(CHANGES["gaps"](clip))
    d = uk.difference(walked().model, walked().frames, result.frames)
    assert np.rad2deg(np.sqrt((d[:, 6:] ** 2).mean())) < 0.5
    still = clip.with_motion(np.repeat(clip.rotations[30:31], 60, axis=0), {0: np.repeat(clip.root[30:31], 60, axis=0)})
    with warnings.catch_warnings():
        warnings.simplefilter("error", uk.UkemiWarning)
        assert uk.filter_motion(still).verdict == "feasible"  # who stands still loses nothing


def test_a_body_that_stands_elsewhere_first_has_no_say() -> None:
    clip = walk(1.2)
    root: Array = np.array(clip.root)
    root[:30] = root[30] - [0.0, 0.0, 0.95]
    with pytest.warns(uk.UkemiWarning, match="frames 0 to 29 are held still"):
        result = uk.filter_motion(clip.with_motion(clip.rotations, {0: root}))
    assert result.verdict == "feasible"
    assert len(result.motion) == len(clip)
    assert result.quality.joint_rms_deg < 2.0


def test_dwarfs_and_giants_are_doubted() -> None:
    for size, change in ((0.05, "0.3"), (5.0, "1.5")):
        clip = CHANGES[change](walk(0.3))
        factor = size / (float(change) * 1.75)
        bones = replace(
            clip.skeleton,
            offsets=factor * np.asarray(clip.skeleton.offsets),
            ends=tuple((j, factor * np.asarray(p)) for j, p in clip.skeleton.ends),
        )
        moved = clip.with_motion(clip.rotations, {j: factor * p for j, p in clip.translations.items()})
        with pytest.warns(uk.UkemiWarning, match="m high: is the unit of length right"):
            uk.filter_motion(replace(moved, skeleton=bones), strength=0.0)


def test_a_body_on_its_side_is_doubted() -> None:
    clip = walk(0.6)
    side = exponential(np.array([[np.pi / 2, 0.0, 0.0]]))
    turns: Array = np.array(clip.rotations)
    turns[:, 0] = product(np.tile(side, (len(clip), 1)), turns[:, 0])
    root: Array = np.stack([clip.root[:, 0], -clip.root[:, 2], clip.root[:, 1]], axis=1)
    with pytest.warns(uk.UkemiWarning, match="say which axis is up"):
        uk.filter_motion(clip.with_motion(turns, {0: root}), strength=0.0)
