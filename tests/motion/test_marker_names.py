"""Labels of laboratories' marker sets, as they write them, and the places on the body they stand for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ukemi as uk
from ukemi.motion.marker_names import LANDMARKS, SIDED, TRACKERS, marker_names, read_mapping

#: Set -> labels of the left side and the middle -> landmark (sides are the same on the right). From the manuals and
#: papers of the sets, and published files.
SETS = {
    "Plug-in Gait": {
        "LASI": "left_asis", "LPSI": "left_psis", "LKNE": "left_knee_lateral", "LANK": "left_ankle_lateral",
        "LHEE": "left_heel", "LTOE": "left_toe", "LSHO": "left_acromion", "LELB": "left_elbow_lateral",
        "LWRA": "left_wrist_lateral", "LWRB": "left_wrist_medial", "C7": "c7", "T10": "t10", "CLAV": "clavicle",
        "STRN": "sternum",
    },
    "Helen Hayes, Cortex": {
        "L.ASIS": "left_asis", "V.Sacral": "sacrum", "L.Knee": "left_knee_lateral", "L.Knee.Medial": "left_knee_medial",
        "L.Ankle": "left_ankle_lateral", "L.Ankle.Medial": "left_ankle_medial", "L.Heel": "left_heel",
        "L.Toe": "left_toe", "L.Shoulder": "left_acromion", "L.Wrist": "left_wrist_lateral",
    },
    "gait2392": {
        "L.ASIS": "left_asis", "V.Sacral": "sacrum", "L.Knee.Lat": "left_knee_lateral", "L.Toe.Tip": "left_toe",
        "L.Ankle.Med": "left_ankle_medial", "L.Toe.Lat": "left_toe_fifth", "L.Toe.Med": "left_toe_first",
        "L.Acromium": "left_acromion", "L.Wrist.Med": "left_wrist_medial", "Sternum": "sternum",
    },
    "Hamner, Arnold": {
        "LASI": "left_asis", "LLFC": "left_knee_lateral", "LMFC": "left_knee_medial", "LLMAL": "left_ankle_lateral",
        "LMMAL": "left_ankle_medial", "LCAL": "left_heel", "LMT5": "left_toe_fifth", "LACR": "left_acromion",
        "LLEL": "left_elbow_lateral", "LMEL": "left_elbow_medial", "LFAradius": "left_wrist_lateral",
        "LHJC": "left_hip",
    },
    "OpenCap, Lai-Arnold": {
        "L.PSIS": "left_psis", "L_knee": "left_knee_lateral", "L_mknee": "left_knee_medial",
        "L_ankle": "left_ankle_lateral", "L_mankle": "left_ankle_medial", "L_calc": "left_heel", "L_toe": "left_toe",
        "L_5meta": "left_toe_fifth", "L_Shoulder": "left_acromion", "L_elbow_med": "left_elbow_medial",
        "L_wrist_ulna": "left_wrist_medial", "L_Sternum": "left_clavicle_end",
    },
    "IOR (Leardini 2007)": {
        "LIAS": "left_asis", "LIPS": "left_psis", "LLE": "left_knee_lateral", "LME": "left_knee_medial",
        "LLM": "left_ankle_lateral", "LMM": "left_ankle_medial", "LCA": "left_heel", "LFM": "left_toe_first",
        "LSM": "left_toe", "LVM": "left_toe_fifth",
    },
    "CAST, Qualisys": {
        "LIAS": "left_asis", "LIPS": "left_psis", "LFLE": "left_knee_lateral", "LFME": "left_knee_medial",
        "LFAL": "left_ankle_lateral", "LTAM": "left_ankle_medial", "LFCC": "left_heel", "LFM1": "left_toe_first",
        "LFM2": "left_toe", "LFM5": "left_toe_fifth", "CV7": "c7", "TV10": "t10", "SJN": "clavicle", "SXS": "sternum",
        "LHLE": "left_elbow_lateral", "LRSP": "left_wrist_lateral",
    },
    "CMU": {
        "LFWT": "left_asis", "LBWT": "left_psis", "LKNE": "left_knee_lateral", "LMT5": "left_toe_fifth",
    },
}  # fmt: skip


def other(label: str) -> str:
    """The same marker on the right: the first L that stands for the side."""
    return "R" + label[1:] if label[0] == "L" else label


@pytest.mark.parametrize("name", SETS)
def test_a_laboratorys_labels_are_known_on_both_sides(name: str) -> None:
    left = SETS[name]
    right = {other(label): place.replace("left", "right") for label, place in left.items()}
    labels = [*left, *(label for label in right if label not in left)]
    found = marker_names(labels).landmarks
    assert found == {place: label for label, place in (left | right).items()}


def test_sides_stand_first_or_last_and_subjects_and_dots_do_not_matter() -> None:
    labels = ["Anna:ASISl", "Anna:ASISr", "Anna:LeftHipCenter", "Anna:Right_Heel", "Anna:Knee Medial L"]
    found = marker_names(labels).landmarks
    assert found == {
        "left_asis": "Anna:ASISl",
        "right_asis": "Anna:ASISr",
        "left_hip": "Anna:LeftHipCenter",
        "right_heel": "Anna:Right_Heel",
        "left_knee_medial": "Anna:Knee Medial L",
    }


def test_the_best_of_equal_names_is_taken_and_none_twice() -> None:
    found = marker_names(["LLK", "LLE", "LME", "LMK"]).landmarks
    # where the knee has markers of its own, LLE and LME are the elbow's
    assert (found["left_knee_lateral"], found["left_knee_medial"]) == ("LLK", "LMK")
    assert (found["left_elbow_lateral"], found["left_elbow_medial"]) == ("LLE", "LME")


def test_axes_that_plug_in_gait_writes_are_no_markers() -> None:
    axes = [f"L{segment}{end}" for segment in ("FE", "TI", "TO") for end in "OALP"]
    found = marker_names([*axes, "LKNE", "LTOE", "LTIB"])
    assert found.landmarks == {"left_knee_lateral": "LKNE", "left_toe": "LTOE"}
    assert found.trackers == {"left_shank": ("LTIB",)}


def test_clusters_belong_to_segments() -> None:
    labels = ["LTH1", "LTH2", "RTHI", "L_thigh3", "LTB1", "LSHN", "r_sh2", "L.Shank.Upper", "LSK4", "LTIAP"]
    labels += ["LUPA", "P1", "LFHD", "Top.Head"]
    trackers = {name: set(found) for name, found in marker_names(labels).trackers.items()}
    assert trackers == {
        "left_thigh": {"LTH1", "LTH2", "L_thigh3"},
        "right_thigh": {"RTHI"},
        "left_shank": {"LTB1", "LSHN", "L.Shank.Upper", "LSK4", "LTIAP"},
        "right_shank": {"r_sh2"},
        "left_upper_arm": {"LUPA"},
        "pelvis": {"P1"},
        "head": {"LFHD", "Top.Head"},
    }


def test_of_several_subjects_the_one_with_more_markers_is_read_with_a_warning() -> None:
    one, two = ([f"{who}:{label}" for label in SETS["Plug-in Gait"]] for who in ("Anna", "Bea"))
    with pytest.warns(uk.UkemiWarning, match="markers of Anna, Bea: read are those of Bea"):
        found = marker_names([*one, *two, "Bea:RASI", "stick:1"])
    assert {label.partition(":")[0] for label in found.landmarks.values()} == {"Bea"}


def test_a_mapping_is_asked_first(tmp_path: Path) -> None:
    labels = ["LKNE", "a", "b", "c"]
    found = marker_names(labels, {"a": "left_knee_lateral", "b": "left_thigh", "c": "left_thigh", "LKNE": ""})
    assert found.landmarks == {"left_knee_lateral": "a"}
    assert found.trackers == {"left_thigh": ("b", "c")}
    with pytest.warns(uk.UkemiWarning, match="mapped but not there: z"):
        marker_names(labels, {"a": "left_heel", "z": "right_heel"})
    (tmp_path / "a.csv").write_text("a,left_hoof\n")
    with pytest.raises(uk.FileFormatError, match=r"a\.csv:1: no landmark named 'left_hoof'"):
        read_mapping(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text("label,landmark\n")
    with pytest.raises(uk.InvalidInputError, match="no lines"):
        read_mapping(tmp_path / "a.csv")


def test_no_label_is_two_landmarks_of_one_kind() -> None:
    """A label that stands for two places is the first one's; only lateral and medial knees and elbows share any."""
    of: dict[str, list[str]] = {}
    for name, aliases in SIDED.items():
        for alias in aliases.split():
            of.setdefault(alias, []).append(name)
    shared = {alias: names for alias, names in of.items() if len(names) > 1}
    assert shared == {
        "LE": ["knee_lateral", "elbow_lateral"],
        "ME": ["knee_medial", "elbow_medial"],
    }
    assert len(set(LANDMARKS)) == len(LANDMARKS)
    assert {"left_thigh", "pelvis", "c7", "right_toe_fifth"} <= set(LANDMARKS)
    assert "left_" + next(iter(TRACKERS)) in LANDMARKS


@pytest.mark.filterwarnings("ignore::ukemi.errors.UkemiWarning")
def test_every_marker_file_becomes_a_person(shared: Path) -> None:
    """Standing, walking, running, squatting, jumping; those whose legs carry clusters alone too."""
    files = sorted(f for ending in ("trc", "c3d") for f in (shared / "motions").rglob(f"*.{ending}"))
    assert len(files) > 30
    for file in files:
        clip = uk.read_motion(file)
        thigh, shank = (
            abs(float(clip.skeleton.offsets[clip.skeleton.index(joint), 2])) for joint in ("LeftLeg", "LeftFoot")
        )
        assert 0.3 < thigh < 0.55, file.name
        assert 0.3 < shank < 0.55, file.name


@pytest.mark.filterwarnings("ignore::ukemi.errors.UkemiWarning")
def test_joints_lie_near_those_of_the_laboratorys_model(shared: Path) -> None:
    """Models scaled and moved by AddBiomechanics. Their ankles lie 25 to 30 mm under the middle of the malleoli, their
    hips and knees some 15 mm from where a static trial has them (subject01 of Hamner)."""
    folder = shared / "motions" / "forceplate" / "addbiomechanics"
    pairs = {"UpLeg": ("femur", 0.036), "Leg": ("tibia", 0.040), "Foot": ("talus", 0.045), "Arm": ("humerus", 0.036)}
    for trial in (
        "arnold_subject01/walk2",
        "opencap_subject2/walking1",
        "opencap_subject3/squats1",
        "hamner_subject01/run200",
    ):
        ours = uk.read_motion(folder / f"{trial}_markers.trc")
        model = uk.read_motion(folder / f"{trial}_ik.mot", skeleton=(folder / trial).parent / "final.osim")
        at = (ours.start + ours.time - model.start) * model.fps
        inside = (at >= 0) & (at <= len(model) - 1)
        frames = np.rint(at[inside]).astype(int)
        for joint, (body, near) in pairs.items():
            for side in ("Left", "Right"):
                theirs = model.positions[frames, model.skeleton.index(f"{body}_{side[0].lower()}")]
                mine = ours.positions[inside, ours.skeleton.index(f"{side}{joint}")]
                assert np.median(np.linalg.norm(mine - theirs, axis=1)) < near, (trial, side, joint)
