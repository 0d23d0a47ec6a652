"""`ukemi convert` and `ukemi info` on motions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ukemi as uk
from ukemi.cli import app
from ukemi.motion.synthesis import walk


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return uk.write_motion(walk(1.0), tmp_path / "walk.bvh")


def test_convert_writes_and_says_what(clip: Path) -> None:
    target = clip.with_suffix(".npz")
    done = CliRunner().invoke(app, ["convert", str(clip), str(target), "--rate", "60", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["frames"] == 61
    assert uk.read_motion(target).fps == 60


def test_info_shows_a_motion(clip: Path) -> None:
    done = CliRunner().invoke(app, ["info", str(clip)])
    assert done.exit_code == 0, done.output
    for wanted in ("121 frames at 120 fps", "LeftToeBase", "1.75 m", "57 degrees of freedom", "skate"):
        assert wanted in done.output
    summary = json.loads(CliRunner().invoke(app, ["info", str(clip), "--json"]).output)
    assert summary["figure"]["parts"]["left_shank"] == "LeftLeg"
    assert summary["feet"]["stances"]["left"] >= 1


def test_info_of_markers_and_of_what_is_no_person(clip: Path, tmp_path: Path) -> None:
    markers = uk.write_motion(uk.read_motion(clip), tmp_path / "walk.trc")
    done = CliRunner().invoke(app, ["info", str(markers)])
    assert "19 markers, 0.0 % not seen" in done.output
    arm = tmp_path / "arm.bvh"
    arm.write_text(
        "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\nEnd Site\n{\nOFFSET 0 1 0\n}\n}\n"
        "MOTION\nFrames: 1\nFrame Time: 0.1\n1\n"
    )
    done = CliRunner().invoke(app, ["info", str(arm)])
    assert done.exit_code == 0, done.output
    assert "no figure" in done.output
