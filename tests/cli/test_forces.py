"""`ukemi forces` and `ukemi bench forces`, as somebody types them."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

import ukemi as uk
from ukemi.cli import app
from ukemi.motion.ground_forces import GroundForces, read_ground_forces, write_ground_forces
from ukemi.motion.synthesis import walk
from ukemi.motion.tables import read_table

RUN = CliRunner()


def test_without_a_file_it_shows_a_walk_of_our_own(tmp_path: Path) -> None:
    done = RUN.invoke(app, ["forces", "--out", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["mass_from"] == "height"
    assert said["mass_kg"] == pytest.approx(73.8, abs=0.1)
    for file in said["files"].values():
        assert Path(file).stat().st_size > 0
    forces = read_ground_forces(said["files"]["ground_forces_opensim"])
    assert forces.names[:2] == ("right_foot", "left_foot")
    assert forces.total[:, 2].mean() == pytest.approx(9.81 * said["mass_kg"], rel=0.05)
    whole = [p for p in said["peaks"] if p["foot"] == "right_foot"]
    assert all(90 < p["vertical"] < 150 for p in whole)
    bands = read_table(said["files"]["bands"])
    assert (bands["ground_force_right_foot_vy"] >= 0).all()
    # a mass known from the height alone is off by 12 %, which is most of it
    assert 20 < np.median(bands["ground_force_right_foot_vy"]) < 0.5 * 9.81 * said["mass_kg"]
    assert "knee_flexion_r_moment" in bands.names
    page = (tmp_path / "report.html").read_text()
    assert "no plates to compare with" in page
    assert page.count("<img") >= 7


def test_beside_plates_it_says_how_far_both_are_apart(tmp_path: Path) -> None:
    """Plates that measured what was estimated agree with it; the mass is then theirs."""
    clip = walk(3.0, skate=0.0, floating=0.0)
    uk.write_motion(clip, tmp_path / "walk.npz")
    first = RUN.invoke(
        app, ["forces", str(tmp_path / "walk.npz"), "--mass", "60", "--out", str(tmp_path / "a"), "--json"]
    )
    assert first.exit_code == 0, first.output
    forces = read_ground_forces(json.loads(first.stdout)["files"]["ground_forces_opensim"])
    feet = GroundForces(forces.time, ("1", "2"), forces.force[:, :2], forces.point[:, :2], forces.torque[:, :2])
    write_ground_forces(feet, tmp_path / "grf.mot")
    again = RUN.invoke(
        app,
        [
            "forces",
            str(tmp_path / "walk.npz"),
            "--plates",
            str(tmp_path / "grf.mot"),
            "--out",
            str(tmp_path / "b"),
            "--json",
        ],
    )
    assert again.exit_code == 0, again.output
    said = json.loads(again.stdout)
    assert said["mass_from"] == "plates"
    assert said["mass_kg"] == pytest.approx(60, rel=0.02)
    assert said["agreement"]["foot"]["vertical"]["rrmse"] < 2
    assert said["agreement"]["cop"]["median"] < 2
    assert said["plates_seen_share"] > 0.95
    assert "Agreement with the plates" in (tmp_path / "b" / "report.html").read_text()


def test_a_consistent_motion_leaves_little_and_is_written(tmp_path: Path) -> None:
    done = RUN.invoke(app, ["forces", "--consistent", "--bands", "0", "--out", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert "bands" not in said["files"]
    assert said["consistent"]["after"]["force"] < 0.2 * said["consistent"]["before"]["force"]
    assert said["consistent"]["moved"]["joints"] < 2
    assert len(uk.read_motion(said["files"]["motion"])) == len(walk())


def test_for_coordinates_of_a_model_there_is_all_that_opensim_needs(shared: Path, tmp_path: Path) -> None:
    folder = shared / "motions" / "forceplate" / "addbiomechanics" / "opencap_subject2"
    if not folder.exists():
        pytest.skip("needs trials with force plates in ../shared/motions/forceplate")
    done = RUN.invoke(
        app,
        [
            "forces",
            str(folder / "walking1_ik.mot"),
            "--plates",
            str(folder / "walking1_grf.mot"),
            "--out",
            str(tmp_path),
        ],
    )
    assert done.exit_code == 0, done.output
    loads = ElementTree.parse(tmp_path / "external_loads.xml").getroot()
    assert [x.text for x in loads.iter("applied_to_body")] == ["calcn_r", "calcn_l"]
    data = loads.find(".//datafile")
    assert data is not None
    columns = read_table(tmp_path / str(data.text)).names
    for tag in ("force_identifier", "point_identifier", "torque_identifier"):
        for name in loads.iter(tag):
            assert f"{name.text}x" in columns
    setup = ElementTree.parse(tmp_path / "id_setup.xml").getroot()
    for tag in ("external_loads_file", "coordinates_file"):
        named = setup.find(f".//{tag}")
        assert named is not None
        assert (tmp_path / str(named.text)).exists()
    mine = read_table(tmp_path / "id.sto")
    assert "knee_angle_r_moment" in mine.names
    assert np.abs(mine["ankle_angle_r_moment"]).max() == pytest.approx(1.5 * 78.2, rel=0.25)  # N m per kg of a walk


def test_wrong_use_is_said(tmp_path: Path) -> None:
    walking = tmp_path / "walk.npz"
    uk.write_motion(walk(1.5), walking)
    (tmp_path / "q.mot").write_text("q\nversion=1\nnRows=1\nnColumns=2\ninDegrees=no\nendheader\ntime\tknee\n0\t1\n")
    with pytest.raises(uk.FileFormatError, match="no ground forces"):
        RUN.invoke(
            app,
            ["forces", str(walking), "--plates", str(tmp_path / "q.mot"), "--out", str(tmp_path)],
            catch_exceptions=False,
        )
    with pytest.raises(uk.InvalidInputError, match="no motion with force plates beside it"):
        RUN.invoke(app, ["bench", "forces", str(tmp_path)], catch_exceptions=False)


def test_a_folder_of_trials_becomes_a_table(tmp_path: Path) -> None:
    clip = walk(3.0, skate=0.0, floating=0.0)
    uk.write_motion(clip, tmp_path / "walk1.trc")
    from ukemi.forces.folder import find_trials
    from ukemi.forces.trial import estimate_forces

    forces = estimate_forces(clip).forces
    write_ground_forces(forces, tmp_path / "walk1_grf.mot")
    (tmp_path / "subject.json").write_text('{"sex": "female", "massKg": 70, "heightM": 1.7}')
    (trial,) = find_trials(tmp_path)
    assert (trial.activity, trial.source, trial.mass, trial.sex) == ("walk", "markers", 70, "female")
    (tmp_path / "subject.json").write_text("{}")
    with pytest.raises(uk.FileFormatError, match="massKg and heightM"):
        find_trials(tmp_path)
