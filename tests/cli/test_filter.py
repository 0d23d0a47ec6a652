"""`ukemi filter` and `ukemi bench filter`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.model.readers.urdf_texts import link, written
from typer.testing import CliRunner

import ukemi as uk
from ukemi.cli import app
from ukemi.cli.figures import open_model
from ukemi.cli.filter import read_contacts
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
    for name in (
        "motion.bvh",
        "states.npz",
        "torques.csv",
        "ground_forces.csv",
        "ground_forces.mot",
        "motion.gif",
        "view.html",
    ):
        assert (tmp_path / "out" / name).stat().st_size > 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "http" not in re.sub(r"data:image/[^']*", "", page)  # everything is in the page
    assert page.count("data:image/png") == 8
    assert len(uk.read_motion(tmp_path / "out" / "motion.bvh")) == len(uk.read_motion(short_walk))
    assert summary["verdict"] == "feasible"
    assert not summary["fell"]


def test_ctrl_c_before_the_solve_says_what_is_left(
    short_walk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ukemi.dynamics_filter.placed.figure_from_clip", stop)
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["filter", str(short_walk), "--out", str(out)])
    assert done.exit_code == 130
    assert "nothing was filtered" in done.stderr
    assert not list(out.glob("*"))


def test_a_motion_that_is_not_feasible_exits_with_3_and_is_complete(tmp_path: Path) -> None:
    """[DF03] as printed has no friction bound: a walk uses 15, until it falls."""
    clip = walk(1.8)
    file = Path(uk.write_motion(clip, tmp_path / "walk.bvh"))
    options = ["--solver", "paper", "--out", str(tmp_path / "out"), "--json", "--no-animation"]
    done = CliRunner().invoke(app, ["filter", str(file), *options])
    assert done.exit_code == 3, done.output
    summary = json.loads(done.stdout)
    assert summary["verdict"] == "infeasible"
    assert "leaves its friction cone" in summary["reason"]
    assert len(uk.read_motion(tmp_path / "out" / "motion.bvh")) == len(clip)


def test_states_say_what_they_are(short_walk: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["filter", str(short_walk), "--out", str(tmp_path), "--no-animation"])
    assert done.exit_code == 0
    with np.load(tmp_path / "states.npz") as states:
        assert states["q"].shape[1] == len(states["q_names"])
        assert states["tau"].shape[1] == len(states["v_names"])
        assert states["force"].shape[1] == len(states["points"])
        assert float(states["rate"]) == pytest.approx(1 / np.diff(states["time"]).mean())


def test_contacts_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "contacts.txt"
    file.write_text("# by hand\nleft_foot: 1.20-1.85, 2.4-3\nright_foot:\n")
    assert read_contacts(file) == {"left_foot": [(1.2, 1.85), (2.4, 3.0)], "right_foot": []}
    file.write_text("left_foot 1.2\n")
    with pytest.raises(uk.FileFormatError, match=r"contacts.txt:1: expected a line such as"):
        read_contacts(file)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--only", "hands"], "--only: expected feet"),
        (["--keep", "arms"], "--keep: expected NAME=VALUE"),
        (["--keep", "arms=x"], "--keep arms: expected a number"),
        (["--keep", "tail=3"], "keep: no part 'tail'"),
        (["--start", "9"], "no frame of 'walk'"),
        (["--sex", "x"], "sex: expected"),
        (["--strength", "2"], "strength: expected 0 to 1"),
    ],
)
def test_wrong_options_are_named(short_walk: Path, tmp_path: Path, options: list[str], message: str) -> None:
    said = CliRunner().invoke(app, ["filter", str(short_walk), "--out", str(tmp_path / "o"), *options]).exception
    assert message in str(said)


def test_python_m_ukemi_is_ukemi() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ukemi", "filter", "--help"], capture_output=True, text=True, check=True
    )
    assert "--strength" in done.stdout


def test_bench_filter_prints_a_table(short_walk: Path) -> None:
    done = CliRunner().invoke(app, ["bench", "filter", str(short_walk.parent)])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].startswith("| clip | s | verdict |")
    assert [line.split(" | ")[0] for line in lines[2:5]] == [
        "| our walk",
        "| our walk, 5 degrees down",
        "| our walk, 30 degrees turn",
    ]
    assert all(" | feasible | " in line for line in lines[2:])
    assert lines[5].startswith("| walk | 0.6 | feasible |")
    assert len({line.count("|") for line in lines}) == 1  # a table


def test_another_body_from_a_file_gets_a_free_base(tmp_path: Path, short_walk: Path) -> None:
    """It was fixed to the world, and refused; what cannot stand says why."""
    robot = written(tmp_path, f'<robot name="r">{link("base")}</robot>', "robot.urdf")
    assert isinstance(open_model(str(robot), free=True).links[0].joint, uk.Free)
    assert isinstance(open_model(str(robot)).links[0].joint, uk.Fixed)
    said = CliRunner().invoke(app, ["filter", str(short_walk), "--model", str(robot)]).exception
    assert "no link looks like a left knee; there are base" in str(said)


def test_a_body_whose_feet_have_no_shapes_is_refused() -> None:
    bare = uk.Builder("bare")
    bare.description.links += [replace(x, shapes=()) for x in uk.human(28).description.links]
    with pytest.raises(uk.InvalidInputError, match="foot 'left_foot' of 'bare' has no shapes: where it touches"):
        uk.filter_motion(walk(0.6), bare.build())


def test_couplings_that_the_filter_leaves_open_are_said() -> None:
    tied = uk.Builder("tied")
    tied.description.links += uk.human(28).description.links
    tied.couple("left_elbow", "right_elbow")
    with pytest.warns(uk.UkemiWarning, match="'tied': the filter leaves loops open and gives joints that follow"):
        uk.filter_motion(walk(0.4), tied.build())
