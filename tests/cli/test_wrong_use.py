"""What the commands say when they are used wrongly: one line that names what came and what was wanted."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import ukemi as uk
from ukemi.cli import app, main
from ukemi.motion.synthesis import walk
from ukemi.motion.tables import write_table

#: command with {bvh}, {file} (one that is no folder), {table} -> what the error says
SAID = {
    "info human99": "human99: expected a model (.urdf, .xml, .mjcf, .osim) or a figure (human16, human28, human40)",
    "info {folder}": "it is a folder",
    "simulate {bvh}": "it is a motion",
    "info nothere.json": "nothere.json: no such file",
    "info nothere.txt": "nothere.txt: no such file",
    "info {bvh} --skeleton x.asf": "walk.bvh: skeleton: not for .bvh files, whose options are unit, up, rest_pose, fps",
    "convert {bvh} x.npz --static x.trc": "walk.bvh: static: not for .bvh files",
    "convert {bvh} x.npz --start nan": "start: expected finite numbers, got nan",
    "convert {bvh} x.npz --end inf": "end: expected finite numbers, got inf",
    "convert {bvh} x.mot": "walk.bvh: a clip becomes .bvh, .npz, .csv or .trc; x.mot is none of these",
    "convert {table} x.bvh": "forces.csv: a table becomes .mot, .sto or .csv; x.bvh is none of these",
    "filter {bvh} --out {file}": "--out: expected a folder, but {file} is a file",
    "filter {bvh} --out {file}/deep": "--out: expected a folder, but {file} is a file",
    "simulate --out {file}": "--out: expected a folder, but {file} is a file",
    "simulate --dt 5": "--dt: expected at most the --time of 1.2 s, got 5",
    "simulate --dt nan": "dt: expected finite numbers, got nan",
    "view {bvh} --model human28": "--model says whose a recording (.npz) is: none of the files is one",
    "view {bvh} --skeleton x.osim": "--skeleton says how to read .amc, .mot, .sto: none of the files is one",
    "view {bvh} --static x.trc": "--static says how to read .c3d, .trc: none of the files is one",
    "view {bvh} --apart nan": "--apart: expected finite numbers, got nan",
}


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    file = folder / "file"
    file.touch()
    table = write_table(folder / "forces.csv", [0.0, 1.0], {"a": [1.0, 2.0]})
    return {"bvh": uk.write_motion(walk(0.3), folder / "walk.bvh"), "file": file, "folder": folder, "table": table}


@pytest.mark.parametrize("command", SAID)
def test_wrong_use_is_said(command: str, names: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(names["folder"])
    done = CliRunner().invoke(app, [word.format(**names) for word in command.split()])
    assert isinstance(done.exception, uk.UkemiError), done.output
    assert SAID[command].format(**names) in str(done.exception)
    assert {path.name for path in names["folder"].iterdir()} == {"walk.bvh", "file", "forces.csv"}


def test_what_the_file_system_objects_to_begins_with_the_file(
    names: dict[str, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = names["folder"] / "none" / "x.npz"
    monkeypatch.setattr("sys.argv", ["ukemi", "convert", str(names["bvh"]), str(target)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 1
    assert capsys.readouterr().err == f"error: {target}: No such file or directory\n"


def test_the_version_is_the_packages() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout == f"ukemi {uk.__version__}\n"


def test_the_person_under_markers_can_be_cut_and_sampled_anew(shared: Path, tmp_path: Path) -> None:
    trial = shared / "motions" / "forceplate" / "opensim_c3d_walk" / "walking2.c3d"
    whole = uk.read_motion(trial)
    done = CliRunner().invoke(
        app, ["convert", str(trial), str(tmp_path / "a.npz"), "--rate", "30", "--start", "0.2", "--end", "1.2"]
    )
    assert done.exit_code == 0, done.output
    clip = uk.read_motion(tmp_path / "a.npz")
    assert (clip.fps, len(clip), clip.skeleton.names) == (30, 31, whole.skeleton.names)


def test_a_standing_trial_can_be_given_where_markers_are_read(shared: Path, tmp_path: Path) -> None:
    folder = shared / "motions" / "forceplate" / "opensim_subject01_walk"
    trial, standing = str(folder / "subject01_walk1.trc"), str(folder / "subject01_static.trc")
    pages = []
    for option in ([], ["--static", standing]):  # without: knees where thigh and shank turn
        out = tmp_path / "v.html"
        done = CliRunner().invoke(app, ["view", trial, *option, "--json", "--out", str(out)])
        assert done.exit_code == 0, done.output
        pages.append(out.read_bytes())
    assert pages[0] != pages[1]
