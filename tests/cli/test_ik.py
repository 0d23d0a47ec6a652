"""`ukemi ik` on a made-up person."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.forces.test_ik import BODIES, marker_set, motion, three_on_each, trial
from tests.model.readers.osim_texts import ALL, osim
from typer.testing import CliRunner

import ukemi as uk
from ukemi.cli import app
from ukemi.errors import InvalidInputError, UkemiWarning
from ukemi.forces.osim_kinematics import OsimKinematics, open_osim
from ukemi.motion.markers import Markers, write_trc
from ukemi.motion.tables import read_table


@pytest.fixture
def model(tmp_path: Path) -> Path:
    file = tmp_path / "generic.osim"
    file.write_text(osim(ALL, extra=marker_set(three_on_each())))
    return file


def run(*arguments: object) -> tuple[int, str, str, BaseException | None]:
    done = CliRunner().invoke(app, ["ik", *map(str, arguments)])
    return done.exit_code, done.stdout, done.stderr, done.exception


def test_angles_and_errors_are_written_for_opensim(model: Path, tmp_path: Path) -> None:
    k = OsimKinematics(open_osim(model))
    x = motion(k, 20)
    moving = write_trc(trial(k, x, noise=1e-3), tmp_path / "moving.trc")
    code, shown, _, _ = run(moving, "--model", model, "--out", tmp_path / "out", "--up", "y")
    assert code == 0
    assert "20 frames, 0 to 0.19 s; 27 markers" in shown
    table = read_table(tmp_path / "out" / "moving_ik.mot")
    assert (table.in_degrees, table.names, len(table)) == (True, k.names, 20)
    assert np.rad2deg(x[:, 0]) == pytest.approx(table["rx"], abs=0.5)
    assert x[:, k.free.index("slide")] == pytest.approx(table["slide"], abs=0.01)  # metres stay
    errors = read_table(tmp_path / "out" / "moving_ik_marker_errors.sto")
    assert errors.names == ("total_squared_error", "marker_error_RMS", "marker_error_max")
    by_marker = read_table(tmp_path / "out" / "moving_ik_marker_errors.csv")
    np.testing.assert_allclose((by_marker.values**2).sum(axis=1), errors["total_squared_error"])
    np.testing.assert_allclose(by_marker.values.max(axis=1), errors["marker_error_max"])


def test_a_static_trial_scales_the_model_first(model: Path, tmp_path: Path) -> None:
    person = OsimKinematics(open_osim(model), factors=dict.fromkeys(BODIES, (1.1, 1.1, 1.1)))
    standing = write_trc(trial(person, motion(person, 3, 0.05)), tmp_path / "standing.trc")
    moving = write_trc(trial(person, motion(person, 10, 0.3)), tmp_path / "moving.trc")
    options = ["--model", model, "--static", standing, "--mass", 60, "--out", tmp_path / "out", "--json", "--up", "y"]
    code, shown, _, _ = run(moving, *options)
    assert code == 0
    said = json.loads(shown)
    for body in BODIES:
        assert said["scale"][body]["factors"] == pytest.approx([1.1] * 3, rel=0.03)
    assert said["rms_mm"] < 5
    assert set(said["files"]) == {"model", "angles", "errors", "errors_by_marker"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UkemiWarning)
        assert uk.load(tmp_path / "out" / "generic_scaled.osim").mass == pytest.approx(60)
    code, _, _, error = run(moving, "--model", model, "--mass", 60)
    assert code != 0
    assert "add --static" in str(error)


def test_markers_of_one_file_alone_are_said_once(model: Path, tmp_path: Path) -> None:
    k = OsimKinematics(open_osim(model))
    all_of_them = trial(k, motion(k, 5))
    names = ("T10", *(name for name in k.markers[1:] if name != "pin1"))
    p = np.stack([all_of_them[{"T10": "trunk0"}.get(name, name)] for name in names], axis=1)
    p[2, 4] = np.nan
    moving = write_trc(Markers(names, 100.0, p, name="moving"), tmp_path / "moving.trc")
    (tmp_path / "w.csv").write_text("pin0, 0\nLASI, 5\n")
    options = ["--model", model, "--out", tmp_path / "out", "--up", "y", "--weights", tmp_path / "w.csv"]
    code, shown, said, _ = run(moving, *options)
    assert code == 0
    for wanted in (
        "warning: markers of moving that the model does not have: T10\n",
        "warning: markers of the model that moving does not have: trunk0, pin1\n",
        "warning: markers that the weights leave out: pin0\n",
        "warning: weights of what neither file has: LASI\n",
    ):
        assert said.count(wanted) == 1
    assert "24 markers" in shown
    table = (tmp_path / "out" / "moving_ik_marker_errors.csv").read_text().splitlines()
    assert "" in table[3].split(",")  # not seen: nothing
    assert "" not in table[2].split(",")


def test_wrong_use_is_told_before_anything_is_written(model: Path, tmp_path: Path) -> None:
    k = OsimKinematics(open_osim(model))
    moving = write_trc(trial(k, motion(k, 5)), tmp_path / "moving.trc")
    out = tmp_path / "out"
    other = write_trc(Markers(("LASI", "RASI"), 100.0, np.ones((2, 2, 3))), tmp_path / "other.trc")
    code, _, _, error = run(other, "--model", model, "--out", out, "--up", "y")
    assert code != 0
    assert isinstance(error, InvalidInputError)
    assert "LASI, RASI" in str(error)
    assert "trunk0, trunk1" in str(error)
    _, _, _, error = run(moving, "--model", model, "--out", out, "--start", 7)
    assert "no frame of 'moving' (0 to 0.04 s)" in str(error)
    assert run(moving, "--out", out)[0] == 2  # a model must be named
    assert not out.exists()
