"""`ukemi simulate`: through the air and onto the ground."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ukemi as uk
from ukemi.cli import app

BALL = """<mujoco model="ball"><option gravity="0 0 -1.62"/><worldbody><body name="b" pos="0 0 {z}"><freejoint/>
<geom type="sphere" size="0.1" mass="1"/></body></worldbody></mujoco>"""


def simulate(*arguments: str) -> dict[str, object]:
    done = CliRunner().invoke(app, ["simulate", *arguments, "--json"])
    assert done.exit_code == 0, done.output
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.filterwarnings("ignore::ukemi.UkemiWarning")
def test_the_gravity_of_the_file_acts(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    (tmp_path / "ball.xml").write_text(BALL.format(z=5))
    assert uk.load(tmp_path / "ball.xml").gravity == (0, 0, -1.62)
    assert uk.human().gravity is None
    simulate(str(tmp_path / "ball.xml"), "--time", "1", "--out", str(tmp_path / "moon"))
    assert uk.Recording.load(tmp_path / "moon" / "recording.npz").v[-1, 2] == pytest.approx(-1.62)


@pytest.mark.filterwarnings("ignore::ukemi.UkemiWarning")
def test_what_begins_in_the_floor_is_lifted_and_lies_on_it(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    (tmp_path / "ball.xml").write_text(BALL.format(z=0))
    summary = simulate(str(tmp_path / "ball.xml"), "--ground", "--time", "0.5", "--out", str(tmp_path / "lies"))
    assert summary["touches_at_the_end"] == [["ball/b", "ground"]]
    assert uk.Recording.load(tmp_path / "lies" / "recording.npz").q[-1, 2] == pytest.approx(0.1, abs=1e-4)


def test_a_limp_figure_ends_on_the_ground(tmp_path: Path) -> None:
    summary = simulate("human16", "--ground", "--limp", "--time", "1.6", "--dt", "0.002", "--out", str(tmp_path))
    assert isinstance(summary["touches_at_the_end"], list)
    assert len(summary["touches_at_the_end"]) >= 3
    energies = summary["energy_start_J"], summary["energy_end_J"]
    assert float(str(energies[1])) < float(str(energies[0]))


@pytest.mark.parametrize("arguments", [["--slope", "10"], ["--ground", "--slope", "91"]])
def test_slopes_that_cannot_be_are_refused(tmp_path: Path, arguments: list[str]) -> None:
    done = CliRunner().invoke(app, ["simulate", "human16", *arguments, "--out", str(tmp_path)])
    assert isinstance(done.exception, uk.InvalidInputError)
    assert "--slope" in str(done.exception)
