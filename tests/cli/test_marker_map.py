"""`--markers`: labels that nobody knows, told by a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import ukemi as uk
from ukemi.cli import app
from ukemi.motion.markers import Markers, write_trc
from ukemi.motion.synthesis import walk

#: Joints of a clip that stand for markers.
LABELS = {
    "Hips": "", "LeftLeg": "left_knee", "RightLeg": "right_knee", "LeftFoot": "left_ankle", "RightFoot": "right_ankle",
}  # fmt: skip


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """A walk whose labels are numbers, and their map beside it."""
    clip = walk(0.5)
    hips = clip.positions[:, 0]
    spots = {"left_asis": (0.08, 0.12, 0.08), "right_asis": (0.08, -0.12, 0.08), "sacrum": (-0.08, 0.0, 0.08)}
    places = {name: hips + offset for name, offset in spots.items()}
    for side in ("Left", "Right"):
        foot = clip.positions[:, clip.skeleton.index(f"{side}Foot")]
        for name, offset in (("heel", (-0.05, 0, -0.05)), ("toe", (0.15, 0, -0.05))):
            places[f"{side.lower()}_{name}"] = foot + np.array(offset)
    places |= {name: clip.positions[:, clip.skeleton.index(joint)] for joint, name in LABELS.items() if name}
    labels = tuple(f"x{k}" for k in range(len(places)))
    write_trc(Markers(labels, clip.fps, np.stack(list(places.values()), axis=1)), tmp_path / "walk.trc")
    rows = [f"{label},{name}" for label, name in zip(labels, places, strict=True)]
    (tmp_path / "map.csv").write_text("\n".join(["label,landmark", *rows]) + "\n")
    return tmp_path / "walk.trc"


def test_a_map_makes_a_clip_of_any_labels(capture: Path) -> None:
    target = capture.with_suffix(".npz")
    done = CliRunner().invoke(app, ["convert", str(capture), str(target), "--up", "y"])
    assert isinstance(done.exception, uk.InvalidInputError)
    assert "--markers" in str(done.exception)
    table = str(capture.with_name("map.csv"))
    done = CliRunner().invoke(app, ["convert", str(capture), str(target), "--markers", table])
    assert done.exit_code == 0, done.output
    assert len(uk.read_motion(target)) == 61
    page = str(capture.with_name("view.html"))
    done = CliRunner().invoke(app, ["view", str(capture), "--markers", table, "--json", "--out", page])
    assert done.exit_code == 0, done.output


def test_a_map_says_nothing_of_other_files(capture: Path) -> None:
    bvh = capture.with_suffix(".bvh")
    uk.write_motion(walk(0.2), bvh)
    table = str(capture.with_name("map.csv"))
    done = CliRunner().invoke(app, ["convert", str(bvh), "x.npz", "--markers", table])
    assert "markers: not for .bvh files" in str(done.exception)
