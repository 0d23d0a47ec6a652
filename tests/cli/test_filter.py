"""`ukemi filter` and `ukemi bench filter`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ukemi as uk
from ukemi.cli import app
from ukemi.motion.synthesis import walk

KEYS = {
    "fell",
    "fell_at",
    "residual_bw",
    "joint_rms_deg",
    "com_rms_cm",
    "skate_mm",
    "penetration_mm",
    "realtime_factor",
}


@pytest.fixture
def short_walk(tmp_path: Path) -> Path:
    return Path(uk.write_motion(walk(0.6), tmp_path / "walk.bvh"))


def test_filter_writes_everything_and_prints_one_object(short_walk: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["filter", str(short_walk), "--out", str(tmp_path / "out"), "--json"])
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    assert set(summary) >= KEYS
    for name in ("motion.bvh", "states.npz", "torques.csv", "ground_forces.csv", "ground_forces.mot", "motion.gif"):
        assert (tmp_path / "out" / name).stat().st_size > 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "http" not in page  # everything is in the page
    assert page.count("data:image/png") == 7
    assert len(uk.read_motion(tmp_path / "out" / "motion.bvh").time) > 60


def test_bench_filter_prints_a_table(short_walk: Path) -> None:
    done = CliRunner().invoke(app, ["bench", "filter", str(short_walk.parent)])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].startswith("| clip | s | end |")
    assert [line.split(" | ")[0] for line in lines[2:5]] == [
        "| our walk",
        "| our walk, 5 degrees down",
        "| our walk, 30 degrees turn",
    ]
    assert all(" | up | standard | " in line for line in lines[2:])
    assert lines[5].startswith("| walk | 0.6 | up |")
