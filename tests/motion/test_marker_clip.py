"""People under markers: a walk with markers put on it, and laboratories' captures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ukemi as uk
from ukemi.motion.marker_body import HIP, _moved, joint_centres
from ukemi.motion.marker_clip import clip_from_markers
from ukemi.motion.markers import Markers, read_markers
from ukemi.motion.rotations import rotated
from ukemi.motion.synthesis import walk

ASIS = 0.24  # apart [m]


def placed(clip: uk.Clip, joint: str, p: tuple[float, float, float]) -> np.ndarray:
    j = clip.skeleton.index(joint)
    return np.asarray(clip.positions[:, j] + rotated(clip.world_rotations[:, j], np.tile(p, (len(clip), 1))))


def dressed(clip: uk.Clip, knees: bool = True) -> Markers:
    """Markers of Plug-in Gait and clusters, where they would be on the walk's body."""
    back, out, down = (ASIS * share for share in HIP)
    hip = 0.046 * 1.75
    spots: dict[str, tuple[str, tuple[float, float, float]]] = {
        "C7": ("Neck", (-0.05, 0, 0)),
        "CLAV": ("Neck", (0.05, 0, 0)),
    }
    for letter, side, sign in (("L", "Left", 1.0), ("R", "Right", -1.0)):
        # the regression has to find the joint: hips stand `out` beside the middle
        spots[f"{letter}ASI"] = ("Hips", (back, sign * hip / out * 0.5 * ASIS, down))
        spots[f"{letter}PSI"] = ("Hips", (back - 0.15, sign * 0.04, down))
        if knees:
            spots |= {
                f"{letter}LFC": (f"{side}Leg", (0, sign * 0.05, 0)),
                f"{letter}MFC": (f"{side}Leg", (0, -sign * 0.05, 0)),
            }
            spots |= {f"{letter}LMAL": (f"{side}Foot", (0, sign * 0.04, 0))}
            spots |= {f"{letter}MMAL": (f"{side}Foot", (0, -sign * 0.04, 0))}
        for k, p in enumerate([(0.08, 0.0, -0.1), (0.02, 0.09, -0.2), (0.0, 0.08, -0.3)], 1):
            spots |= {f"{letter}TH{k}": (f"{side}UpLeg", (p[0], sign * p[1], p[2]))}
            spots |= {f"{letter}TB{k}": (f"{side}Leg", (p[0], sign * p[1], p[2]))}
        spots |= {f"{letter}HEE": (f"{side}Foot", (-0.06, 0, -0.04)), f"{letter}TOE": (f"{side}Foot", (0.15, 0, -0.04))}
        spots |= {f"{letter}SHO": (f"{side}Arm", (0, 0, 0.05)), f"{letter}ELB": (f"{side}ForeArm", (0, sign * 0.04, 0))}
        spots |= {f"{letter}WRA": (f"{side}Hand", (0.02, 0, 0)), f"{letter}WRB": (f"{side}Hand", (-0.02, 0, 0))}
    positions = np.stack([placed(clip, joint, spot) for joint, spot in spots.values()], axis=1)
    return Markers(tuple(f"Walker:{name}" for name in spots), clip.fps, positions, name="walk")


@pytest.fixture(scope="module")
def clip() -> uk.Clip:
    return walk(1.5)


def test_the_walk_is_found_under_its_markers(clip: uk.Clip) -> None:
    found = clip_from_markers(dressed(clip))
    for joint in ("LeftLeg", "RightLeg", "LeftFoot", "RightFoot"):
        a, b = (c.positions[:, c.skeleton.index(joint)] for c in (found, clip))
        assert np.linalg.norm(a - b, axis=1).max() < 0.015, joint
    for joint in ("LeftForeArm", "RightHand"):  # shoulders are straight under the acromion, not along the arm
        a, b = (c.positions[:, c.skeleton.index(joint)] for c in (found, clip))
        assert np.linalg.norm(a - b, axis=1).max() < 0.05, joint
    assert uk.figure_from_clip(found).height == pytest.approx(1.75, rel=0.01)


def test_a_static_trial_tells_knees_and_ankles(clip: uk.Clip) -> None:
    bare = dressed(clip, knees=False)
    with pytest.raises(uk.InvalidInputError, match="static"):
        clip_from_markers(bare)
    still = dressed(clip[:1])
    static = replace(still, positions=np.repeat(still.positions, 5, axis=0))
    a, b = clip_from_markers(bare, static), clip_from_markers(dressed(clip))
    assert np.abs(a.positions - b.positions).max() < 1e-9


def test_gaps_are_filled_and_the_longest_time_is_taken(clip: uk.Clip) -> None:
    markers = dressed(clip)
    p = np.array(markers.positions)
    p[50:55, 3] = np.nan  # 42 ms
    p[100:140, 4] = np.nan  # a third of a second
    centres = joint_centres(replace(markers, positions=p))
    assert centres.first == 0
    assert len(centres.pelvis) == 100
    p[:, 4] = np.nan
    with pytest.raises(uk.InvalidInputError):
        joint_centres(replace(markers, positions=p))


def test_missing_markers_are_named(clip: uk.Clip) -> None:
    markers = dressed(clip)
    k = markers.names.index("Walker:LHEE")
    fewer = Markers(markers.names[:k] + markers.names[k + 1 :], markers.fps, np.delete(markers.positions, k, axis=1))
    with pytest.raises(uk.InvalidInputError, match="left heel"):
        clip_from_markers(fewer)


def test_rigid_motions_are_found_exactly() -> None:
    rng = np.random.default_rng(0)
    then = rng.standard_normal((4, 3))
    q = rng.standard_normal((6, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    shift = rng.standard_normal((6, 3))
    now = np.stack([rotated(q, np.tile(p, (6, 1))) + shift for p in then], axis=1)
    place = rng.standard_normal(3)
    assert np.abs(_moved(then, now, place) - rotated(q, np.tile(place, (6, 1))) - shift).max() < 1e-12


@pytest.mark.parametrize(
    ("motion", "static", "height"),
    [
        ("opensim_subject01_walk/subject01_walk1.trc", "opensim_subject01_walk/subject01_static.trc", 1.803),
        ("hamner_subject01_run/motion_capture_run.trc", "hamner_subject01_run/static_run.trc", 1.80),
        ("hamner_subject01_run/run300.trc", "hamner_subject01_run/static_run.trc", 1.80),
    ],
)
def test_measured_people_have_their_height(shared: Path, motion: str, static: str, height: float) -> None:
    plates = shared / "motions" / "forceplate"
    clip = uk.read_motion(plates / motion, static=plates / static)
    figure = uk.figure_from_clip(clip)
    # stature from legs alone: people differ by some percent
    assert figure.height == pytest.approx(height, rel=0.03)
    assert abs(figure.floor) < 0.015


def test_cmu_markers_and_bvh_are_one_person(shared: Path) -> None:
    markers = uk.read_motion(shared / "motions" / "cmu_c3d" / "cmu_02_05.c3d")
    bvh = uk.read_motion(shared / "motions" / "cmu_bvh" / "02_05.bvh")
    assert len(markers) == len(bvh)
    for joint, near in (("UpLeg", 0.035), ("Leg", 0.035), ("Foot", 0.025)):
        for side in ("Left", "Right"):
            a, b = (c.positions[:, c.skeleton.index(f"{side}{joint}")] for c in (markers, bvh))
            assert np.sqrt(((a - b) ** 2).sum(axis=1).mean()) < near, (side, joint)


def test_a_capture_of_legs_and_trunk_is_enough(shared: Path) -> None:
    path = shared / "motions" / "forceplate" / "opensim_c3d_walk" / "walking2.c3d"
    clip = uk.read_motion(path)
    assert read_markers(path).missing > 0.4
    assert clip.duration > 1.5
    figure = uk.figure_from_clip(clip)
    assert 1.6 < figure.height < 1.9
    assert clip.root[-1, 0] - clip.root[0, 0] != 0
