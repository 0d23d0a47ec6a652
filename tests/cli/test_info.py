"""`ukemi info`: a readable summary, JSON, and errors in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.model.readers.urdf_texts import JOINTS, every_joint, joint, link, robot, written
from typer.testing import CliRunner

from ukemi.cli import app, main


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["info", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def run_main(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr("sys.argv", ["ukemi", *map(str, arguments)])
    with pytest.raises(SystemExit) as caught:
        main()
    return int(caught.value.code or 0)


def test_the_tree_shows_joints_limits_and_masses(tmp_path: Path) -> None:
    lines = run(written(tmp_path, every_joint())).splitlines()
    assert lines[0] == "small"
    assert lines[1] == "└── base  Fixed  2 kg"
    assert lines[2].endswith("revolute_link  Revolute  1 DOF  -57.3..114.6 deg  2 kg")
    assert any(line.endswith("prismatic_link  Prismatic  1 DOF  -0.2..0.3 m  2 kg") for line in lines)
    assert "8 links, nq 14, nv 13, 16 kg" in lines


def test_couplings_and_warnings_are_shown(tmp_path: Path) -> None:
    mimic = '<mimic joint="one" multiplier="-2" offset="-0.5"/>'
    text = robot(
        link("a"), link("b"), link("c", "<strange/>"),
        joint("one", "revolute", "a", "b", JOINTS["revolute"]), joint("two", "continuous", "a", "c", mimic),
    )  # fmt: skip
    output = run(written(tmp_path, text))
    assert "coupling: two = -2 one - 0.5" in output
    assert f"warning: {tmp_path / 'small.urdf'}:" in output
    assert "unknown element <strange>" in output


@pytest.mark.oracle
def test_loops_and_landmarks_are_shown(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    text = """<mujoco><worldbody>
      <body name="a"><joint name="j"/><geom size="0.1"/><site name="[tip]"/></body></worldbody>
      <equality><connect name="ring" body1="a" anchor="0 0 0"/></equality></mujoco>"""
    output = run(written(tmp_path, text, "a.xml"))
    assert "loop ring: a and world, Spherical" in output
    assert "landmarks: [tip]" in output


def test_json_holds_the_same_numbers(tmp_path: Path) -> None:
    path = written(tmp_path, every_joint())
    found = json.loads(run(path, "--json"))
    assert (found["name"], found["nq"], found["nv"], found["nlinks"]) == ("small", 14, 13, 8)
    revolute = found["links"][1]
    assert revolute == {
        "name": "revolute_link", "parent": "base", "joint": "revolute_joint", "kind": "Revolute", "dof": 1,
        "limits": [[-1.0, 2.0]], "effort": [30.0], "speed": [5.0], "mass": 2.0, "shapes": [],
    }  # fmt: skip


def test_infinite_limits_are_null_in_json(tmp_path: Path) -> None:
    limit = '<limit lower="-inf" upper="1" effort="inf"/>'
    text = robot(link("a"), link("b"), joint("j", "revolute", "a", "b", limit))
    found = json.loads(run(written(tmp_path, text), "--json"))
    assert found["links"][1]["limits"] == [[None, 1.0]]
    assert found["links"][1]["effort"] == [None]


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_out_writes_a_file_instead(tmp_path: Path, options: tuple[str, ...]) -> None:
    path, out = written(tmp_path, every_joint()), tmp_path / "out.txt"
    assert run(path, "--out", out, *options) == ""
    assert out.read_text(encoding="utf-8") == run(path, *options)


def test_a_pipe_gets_plain_text_without_broken_lines(tmp_path: Path) -> None:
    text = robot(link("a" * 300))
    output = run(written(tmp_path, text))
    assert "\x1b" not in output
    assert f"└── {'a' * 300}  Fixed  2 kg" in output.splitlines()


def test_names_of_figures_are_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert json.loads(run("human28", "--json"))["nv"] == 34


def test_an_error_is_one_line_on_stderr(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "<robot>\n<link/></robot>", "[odd].urdf")
    assert run_main(monkeypatch, "info", path) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"error: {path}:2: <link>: expected an attribute 'name'\n"


def test_a_file_that_cannot_be_written_is_an_error_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, every_joint())
    assert run_main(monkeypatch, "info", path, "--out", tmp_path / "no" / "out.txt") == 1
    assert capsys.readouterr().err.startswith("error: ")


def test_help_teaches_with_an_example() -> None:
    assert "ukemi info robot.urdf" in run("--help")
