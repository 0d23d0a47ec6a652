"""DeepMimic's JSON motions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import ukemi as uk
from ukemi.motion.deepmimic import NUMBERS

REST = [0.033332, 1.0, 0.9, -0.2, 1, 0, 0, 0] + [1, 0, 0, 0] * 3 + [0.0] + [1, 0, 0, 0] * 2 + [0.0]
REST += [1, 0, 0, 0] + [0.0] + [1, 0, 0, 0] * 2 + [0.0]
RIGHT_KNEE, LEFT_ELBOW = 20, 43


def read(folder: Path, frames: object) -> uk.Clip:
    path = folder / "walk.json"
    path.write_text(json.dumps({"Loop": "wrap", "Frames": frames}))
    return uk.read_motion(path)


def test_rest_stands_upright_and_hinges_bend_the_right_way(tmp_path: Path) -> None:
    assert len(REST) == NUMBERS
    bent = list(REST)
    bent[RIGHT_KNEE], bent[LEFT_ELBOW] = -0.5, 0.4
    clip = read(tmp_path, [REST, bent])
    assert clip.fps == 30
    at = {name: clip.positions[:, j] for j, name in enumerate(clip.skeleton.names)}
    assert np.abs(at["root"][0] - (1.0, 0.2, 0.9)).max() < 1e-15
    assert at["left_ankle"][0, 1] > at["right_ankle"][0, 1]  # left is left
    knee = at["right_ankle"] - at["right_knee"]
    assert np.abs(knee[1] - 0.40987 * np.array((-np.sin(0.5), 0, -np.cos(0.5)))).max() < 1e-12  # heel to the back
    elbow = at["left_wrist"] - at["left_elbow"]
    assert np.abs(elbow[1] - 0.258947 * np.array((np.sin(0.4), 0, -np.cos(0.4)))).max() < 1e-12  # hand to the front


@pytest.mark.parametrize(
    ("frames", "says"),
    [([], "no frames"), ([[1, 2]], "expected 44"), (5, "Frames"), ([[0.0] * 44], "positive duration")],
)
def test_other_json_is_refused(tmp_path: Path, frames: object, says: str) -> None:
    with pytest.raises(uk.FileFormatError, match=says):
        read(tmp_path, frames)
    (tmp_path / "a.json").write_text("{\n nothing")
    with pytest.raises(uk.FileFormatError, match=r"a\.json:2: expected JSON"):
        uk.read_motion(tmp_path / "a.json")


def test_blended_quaternions_are_made_unit_and_broken_ones_named(tmp_path: Path) -> None:
    frames = np.array([REST, REST], dtype=np.float64)
    frames[1, 4:8] = (0.48, 0.0, 0.36, 0.0)
    turn = read(tmp_path, frames.tolist()).rotations[1, 0]
    assert sorted(np.abs(turn)) == pytest.approx([0, 0, 0.6, 0.8], abs=1e-15)
    frames[1, 4:8] *= 0.5
    with pytest.raises(uk.FileFormatError, match="frame 1: root: expected unit quaternions"):
        read(tmp_path, frames.tolist())


@pytest.mark.parametrize(("name", "frames", "fps"), [("walk", 39, 30), ("jump", 107, 60), ("spinkick", 78, 60)])
def test_published_motions_stand_on_the_floor(shared: Path, name: str, frames: int, fps: float) -> None:
    clip = uk.read_motion(shared / "motions" / "retarget_deepmimic" / f"humanoid3d_{name}.txt")
    assert (len(clip), clip.fps) == (frames, fps)
    figure = uk.figure_from_clip(clip)
    assert figure.model.mass > 40
    assert abs(figure.floor) < 0.06
    assert np.median(clip.root[:, 2]) == pytest.approx(0.85, abs=0.03)
