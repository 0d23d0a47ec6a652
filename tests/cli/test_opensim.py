"""The commands on files of OpenSim."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.model.readers.osim_texts import ALL, osim
from typer.testing import CliRunner

from ukemi.cli import app, main
from ukemi.motion.ground_forces import GroundForces, write_ground_forces
from ukemi.motion.tables import write_table


def test_info_shows_models_and_tables(tmp_path: Path) -> None:
    (tmp_path / "m.osim").write_text(osim(ALL[:2]))
    done = CliRunner().invoke(app, ["info", str(tmp_path / "m.osim"), "--json"])
    assert json.loads(done.stdout)["mass"] == 3.0
    table = write_table(tmp_path / "m.mot", 0.1 * np.arange(3), {"hinge": [1.0, 2, 3]}, in_degrees=True)
    done = CliRunner().invoke(app, ["info", str(table), "--json"])
    content = json.loads(done.stdout)
    assert (content["rows"], content["columns"], content["in_degrees"]) == (3, ["hinge"], True)
    assert "angles in degrees: hinge" in CliRunner().invoke(app, ["info", str(table)]).stdout


def test_info_tells_ground_forces_from_other_tables(tmp_path: Path) -> None:
    feet = GroundForces(
        np.arange(3) / 100,
        ("left", "right"),
        np.array([[(0.0, 0, 100), (0, 0, 300)]] * 3),
        np.zeros((3, 2, 3)),
        np.zeros((3, 2, 3)),
    )
    for name in ("feet.mot", "feet.csv"):
        file = write_ground_forces(feet, tmp_path / name)
        found = json.loads(CliRunner().invoke(app, ["info", str(file), "--json"]).stdout)
        assert (found["kind"], found["plates"]) == ("ground forces", ["left", "right"])
        assert (found["largest_vertical_force"], found["mean_vertical_force"]) == (300, 400)
        shown = CliRunner().invoke(app, ["info", str(file)]).stdout
        assert "feet: ground forces, 3 rows at 100 a second" in shown
        assert "plates left, right; up to 300 N on one, 400 N on all in the mean" in shown
        assert "angles" not in shown


def test_info_shows_couplings_and_defaults_of_a_model(tmp_path: Path) -> None:
    knee = replace(ALL[-1], parent="ground", options={"default_value": "0.3"})
    (tmp_path / "m.osim").write_text(osim([knee]))
    shown = CliRunner().invoke(app, ["info", str(tmp_path / "m.osim")]).stdout
    assert "coupling: shank_joint/rotation3 = 0.3 knee\n" in shown
    assert "coupling: shank_joint/translation2 = 0.005 knee - 0.02 knee^2 + 0.01 knee^3" in shown
    assert "+ -" not in shown
    assert "defaults other than zero: knee 0.3" in shown
    table = write_table(tmp_path / "m.mot", [0.0, 0.1], {"knee": [0.0, 0.1]})
    shown = CliRunner().invoke(app, ["info", str(table), "--skeleton", str(tmp_path / "m.osim")]).stdout
    assert "\n1 joints\n" in shown  # in metres, not in what a .bvh would have


def test_convert_takes_its_target_either_way(tmp_path: Path) -> None:
    table = write_table(tmp_path / "m.mot", 0.1 * np.arange(3), {"hinge": [1.0, 2, 3]})
    target = tmp_path / "m.csv"
    assert CliRunner().invoke(app, ["convert", str(table), "--out", str(target)]).exit_code == 0
    assert target.read_text().startswith("time,hinge")
    for wrong in ([], [str(target), "--out", str(target)]):
        assert "expected one target" in str(CliRunner().invoke(app, ["convert", str(table), *wrong]).exception)


def test_warnings_are_one_line_without_the_place_in_the_package(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.osim").write_text(osim(ALL[1:2]).replace("trunk", "ground"))
    table = write_table(tmp_path / "m.mot", 0.1 * np.arange(3), {"hinge": [0.1, 0.2, 0.3], "belt": [0.0, 0, 0]})
    monkeypatch.setattr("sys.argv", ["ukemi", "convert", str(table), str(tmp_path / "m.bvh")])
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    warnings.simplefilter("always")  # pytest puts its own back
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0
    assert capsys.readouterr().err == (
        f"warning: {table}: columns that are no coordinates of m.osim are left out: belt\n"
    )
