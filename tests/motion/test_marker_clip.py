"""People under markers: a walk with markers put on it, and laboratories' captures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ukemi as uk
from ukemi.motion.marker_body import HIP_BACK, HIP_DOWN, HIP_OUT, JointCentres, joint_centres
from ukemi.motion.marker_clip import _Body, clip_from_markers
from ukemi.motion.markers import Markers, read_markers
from ukemi.motion.rotations import rotated
from ukemi.motion.synthesis import walk

DEPTH = 0.15  # of the pelvis, ASIS to PSIS [m]
#: Hips stand so far beside the middle; the pelvis is as wide as the regression wants for it.
HIP = 0.046 * 1.75
WIDTH = (HIP - HIP_OUT[1]) / HIP_OUT[0]


def placed(clip: uk.Clip, joint: str, p: tuple[float, float, float]) -> np.ndarray:
    j = clip.skeleton.index(joint)
    return np.asarray(clip.positions[:, j] + rotated(clip.world_rotations[:, j], np.tile(p, (len(clip), 1))))


def dressed(clip: uk.Clip, knees: bool = True) -> Markers:
    """Markers of Plug-in Gait and clusters, where they would be on the walk's body."""
    back, down = HIP_BACK[0] * DEPTH + HIP_BACK[1], HIP_DOWN[0] * WIDTH + HIP_DOWN[1]
    spots: dict[str, tuple[str, tuple[float, float, float]]] = {
        "C7": ("Neck", (-0.05, 0, 0)),
        "CLAV": ("Neck", (0.05, 0, 0)),
    }
    for letter, side, sign in (("L", "Left", 1.0), ("R", "Right", -1.0)):
        spots[f"{letter}ASI"] = ("Hips", (back, sign * 0.5 * WIDTH, down))
        spots[f"{letter}PSI"] = ("Hips", (back - DEPTH, sign * 0.04, down))
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
        spots |= {f"{letter}MT5": (f"{side}Foot", (0.10, sign * 0.05, -0.05))}
        spots |= {f"{letter}SHO": (f"{side}Arm", (0, 0, 0.05)), f"{letter}ELB": (f"{side}ForeArm", (0, sign * 0.04, 0))}
        spots |= {f"{letter}WRA": (f"{side}Hand", (0.02, 0, 0)), f"{letter}WRB": (f"{side}Hand", (-0.02, 0, 0))}
    positions = np.stack([placed(clip, joint, spot) for joint, spot in spots.values()], axis=1)
    return Markers(tuple(f"Walker:{name}" for name in spots), clip.fps, positions, name="walk")


def without(markers: Markers, *names: str) -> Markers:
    kept = [k for k, name in enumerate(markers.names) if name.rpartition(":")[2] not in names]
    return replace(markers, names=tuple(markers.names[k] for k in kept), positions=markers.positions[:, kept])


def shaken(markers: Markers, size: float) -> Markers:
    """Noise of so many metres, the same every time."""
    noise = np.random.default_rng(7).standard_normal(markers.positions.shape)
    return replace(markers, positions=markers.positions + size * noise)


def apart(a: uk.Clip, b: uk.Clip, joint: str) -> np.ndarray:
    """How far a joint of one clip is from that of another [m]."""
    places = [c.positions[:, c.skeleton.index(joint)] for c in (a, b)]
    return np.asarray(np.linalg.norm(places[0] - places[1], axis=1))


LEG_JOINTS = [f"{side}{joint}" for side in ("Left", "Right") for joint in ("UpLeg", "Leg", "Foot")]


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
    still = dressed(clip[:1])
    static = replace(still, positions=np.repeat(still.positions, 5, axis=0))
    a, b = clip_from_markers(bare, static), clip_from_markers(dressed(clip))
    assert np.abs(a.positions - b.positions).max() < 1e-9


def test_noise_on_a_cluster_hardly_moves_the_joints_it_carries(clip: uk.Clip) -> None:
    still = dressed(clip[:1])
    static = replace(still, positions=np.repeat(still.positions, 5, axis=0))
    bare = dressed(clip, knees=False)
    exact, noisy = clip_from_markers(bare, static), clip_from_markers(shaken(bare, 0.001), static)
    for joint in LEG_JOINTS:
        # three markers within 0.2 m, the joint 0.1 to 0.3 m away: a millimetre becomes a few
        assert np.sqrt((apart(exact, noisy, joint) ** 2).mean()) < 0.006, joint


def test_where_nothing_marks_knees_and_ankles_their_segments_tell(clip: uk.Clip) -> None:
    """A walk: its knees bend by 60 degrees, its ankles turn by 30."""
    found = clip_from_markers(shaken(dressed(clip, knees=False), 0.0005))
    for joint, near in (("LeftLeg", 0.02), ("RightLeg", 0.02), ("LeftFoot", 0.02), ("RightFoot", 0.02)):
        assert np.median(apart(found, clip, joint)) < near, joint


def test_a_lateral_marker_alone_tells_the_knee(clip: uk.Clip) -> None:
    found = clip_from_markers(without(dressed(clip), "LMFC", "RMFC", "LMMAL", "RMMAL"))
    for joint in ("LeftLeg", "RightLeg", "LeftFoot", "RightFoot"):
        # the marker stands 5 (4) cm from the middle, adults' 6 (4.5)
        assert np.median(apart(found, clip, joint)) < 0.013, joint


def test_short_gaps_are_filled_by_a_spline_and_longer_ones_by_the_neighbours(clip: uk.Clip) -> None:
    markers = dressed(clip)
    p = np.array(markers.positions)
    heel, psis = (markers.names.index(f"Walker:{name}") for name in ("LHEE", "LPSI"))
    p[50:62, heel] = np.nan  # 0.1 s
    p[100:140, psis] = np.nan  # a third of a second
    with pytest.warns(uk.UkemiWarning) as said:
        centres = joint_centres(replace(markers, positions=p))
    for gap in ("LPSI 0.33 s at 0.83 s", "LHEE 0.10 s at 0.42 s"):
        assert gap in str(said[0].message)
    assert (centres.first, len(centres.pelvis)) == (0, len(clip))
    whole = joint_centres(markers)
    assert np.abs(centres.pelvis - whole.pelvis).max() < 1e-6
    assert np.abs(centres.places["left_heel"] - whole.places["left_heel"]).max() < 0.004


def test_the_longest_time_in_which_legs_were_seen_is_taken_on_the_files_clock(clip: uk.Clip) -> None:
    markers = dressed(clip)
    p = np.array(markers.positions)
    thigh = [k for k, name in enumerate(markers.names) if name[7:10] in ("LTH", "LLF", "LMF")]
    p[:129, thigh] = np.nan  # all of a segment, for more than a second
    cut = replace(markers, positions=p, start=2.0)
    with pytest.warns(uk.UkemiWarning, match=r"seen from 3\.08 to 3\.50 s: the rest is left out"):
        found = clip_from_markers(cut)
    assert len(found) == len(clip) - 129
    assert found.start == pytest.approx(2 + 129 / 120)
    p[:, thigh] = np.nan
    with pytest.raises(uk.InvalidInputError, match="left knee: give a standing trial"):
        clip_from_markers(replace(markers, positions=p))


def test_a_marker_that_jumps_or_is_taken_for_another_counts_as_not_seen(clip: uk.Clip) -> None:
    markers = dressed(clip)
    p = np.array(markers.positions)
    left, right, psis = (markers.names.index(f"Walker:{name}") for name in ("LLFC", "RLFC", "RPSI"))
    p[40:70, [left, right]] = p[40:70, [right, left]]  # a quarter of a second
    p[90:95, psis] += (0.1, -0.2, 0.3)
    with pytest.warns(uk.UkemiWarning) as said:
        found = clip_from_markers(replace(markers, positions=p))
    for jump in ("out of place", "RPSI for 0.04 s", "LLFC for 0.2", "RLFC for 0.2"):
        assert jump in str(said[0].message)
    assert np.abs(found.positions - clip_from_markers(markers).positions).max() < 0.005


def test_left_and_right_exchanged_over_the_whole_trial_are_put_right(clip: uk.Clip) -> None:
    markers = dressed(clip)
    other = {"L": "R", "R": "L"}
    wrong = tuple(f"Walker:{other.get(n[7], n[7])}{n[8:]}" if n[7:] not in ("C7", "CLAV") else n for n in markers.names)
    with pytest.warns(uk.UkemiWarning, match="left and right are exchanged"):
        found = clip_from_markers(replace(markers, names=wrong))
    assert np.abs(found.positions - clip_from_markers(markers).positions).max() < 1e-12
    two = {"Walker:LHEE": "Walker:RHEE", "Walker:RHEE": "Walker:LHEE"}
    heels = tuple(two.get(name, name) for name in markers.names)
    with pytest.warns(uk.UkemiWarning, match="exchanged over the whole trial: .*HEE"):
        found = clip_from_markers(replace(markers, names=heels))
    assert np.abs(found.positions - clip_from_markers(markers).positions).max() < 1e-12


def test_labels_nobody_knows_are_mapped(clip: uk.Clip, tmp_path: Path) -> None:
    markers = dressed(clip)
    strange = {"Walker:LASI": "front-1", "Walker:RHEE": "x7"}
    renamed = replace(markers, names=tuple(strange.get(name, name) for name in markers.names))
    with pytest.raises(uk.InvalidInputError, match=r"no marker for left asis .*--markers"):
        clip_from_markers(renamed)
    mapping = {"front-1": "left_asis", "x7": "right_heel"}
    wanted = clip_from_markers(markers).positions
    assert np.abs(clip_from_markers(renamed, mapping=mapping).positions - wanted).max() < 1e-12
    (tmp_path / "map.csv").write_text("label,landmark\n# of our laboratory\nfront-1, left_asis\nx7,right_heel\n\n")
    from ukemi.motion.markers import write_trc

    file = write_trc(renamed, tmp_path / "a.trc")
    for given in (tmp_path / "map.csv", mapping):
        read = uk.read_motion(file, up="y", markers=given)
        assert np.abs(read.positions - wanted).max() < 1e-9
    with pytest.raises(uk.UnknownNameError, match="left_hoof"):
        uk.read_motion(file, markers={"x7": "left_hoof"})
    with pytest.raises(uk.UnknownNameError, match="marker named 'x8'"):
        uk.read_motion(file, markers={"x8": "right_heel"})
    (tmp_path / "bad.csv").write_text("x7\n")
    with pytest.raises(uk.FileFormatError, match=r"bad\.csv:1: expected 'label,landmark'"):
        uk.read_motion(file, markers=tmp_path / "bad.csv")


def test_a_pelvis_that_tilts_does_not_swing_the_trunk() -> None:
    """Hips roll under a waist that stays, as they do in walking: the chest does not move at all."""
    tilt = np.deg2rad(10) * np.sin(np.linspace(0, 6, 60))
    c, s, o, e = np.cos(tilt), np.sin(tilt), np.zeros(60), np.ones(60)
    pelvis = np.stack([np.stack([e, o, o], -1), np.stack([o, c, -s], -1), np.stack([o, s, c], -1)], axis=1)
    legs = {"hip": 0.0, "knee": -0.42, "ankle": -0.85}
    waist = np.array((0.0, 0.0, 1.1))
    places = {}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for name, z in legs.items():
            places[f"{side}_{name}"] = waist + pelvis @ (0.0, sign * 0.09, 0.0) + (0, 0, z)
        places[f"{side}_heel"] = places[f"{side}_ankle"] + (-0.05, 0, -0.05)
        places[f"{side}_toe"] = places[f"{side}_ankle"] + (0.15, 0, -0.05)
        places[f"{side}_shoulder"] = np.tile(waist + np.array((0, sign * 0.18, 0.4)), (60, 1))
    body = _Body(JointCentres(places, pelvis, 0))
    shift = body.waist - body.hips  # the hips lie under the waist along the pelvis
    for name in [n for n in places if "shoulder" not in n]:
        places[name] = places[name] - shift
    chest = _Body(JointCentres(places, pelvis, 0)).turns()["Spine"]
    assert np.abs(chest - np.eye(3)).max() < 1e-9


def test_a_foot_rolls_as_its_metatarsals_do(clip: uk.Clip) -> None:
    """Markers on first and fifth metatarsal at different heights: level on the ground, and rolled when the foot is."""
    markers = dressed(clip)
    roll = np.deg2rad(15) * (np.arange(len(clip)) > 0.3 * len(clip))  # about the foot's long axis, in the air or not
    j = clip.skeleton.index("LeftFoot")
    turn = np.zeros((len(clip), 4))
    turn[:, 0], turn[:, 1] = np.cos(0.5 * roll), np.sin(0.5 * roll)
    p = np.array(markers.positions)
    k = markers.names.index("Walker:LMT5")
    toe = markers.names.index("Walker:LTOE")
    local = np.tile((-0.05, 0.05, -0.01), (len(clip), 1))  # beside and below the toe's marker
    p[:, k] = p[:, toe] + rotated(clip.world_rotations[:, j], rotated(turn, local))
    centres = joint_centres(replace(markers, positions=p))
    across = _Body(centres).turns()["LeftFoot"][:, :, 1]
    straight = _Body(joint_centres(markers)).turns()["LeftFoot"][:, :, 1]
    # lying on the ground before it rolls decides what is level
    angle = np.degrees(np.arccos(np.clip((across * straight).sum(axis=1), -1, 1)))
    assert np.ptp(angle) == pytest.approx(15, abs=2)


def test_markers_across_a_foot_at_different_heights_leave_it_level(clip: uk.Clip) -> None:
    """A toe's marker on the shoe, the fifth metatarsal's 3 cm lower at its side: the foot does not roll for it."""
    markers = dressed(clip)
    j, k = clip.skeleton.index("LeftFoot"), markers.names.index("Walker:LMT5")
    p = np.array(markers.positions)
    p[:, k] = clip.positions[:, j] + rotated(clip.world_rotations[:, j], np.tile((0.1, 0.05, -0.07), (len(clip), 1)))
    foot = _Body(joint_centres(replace(markers, positions=p))).turns()["LeftFoot"]
    low = foot[np.argsort(p[:, k, 2])[:20]]
    assert np.abs(np.degrees(np.arcsin(low[:, 2, 1]))).max() < 2


def test_missing_markers_are_named(clip: uk.Clip) -> None:
    with pytest.raises(uk.InvalidInputError, match="no marker for left toe"):
        clip_from_markers(without(dressed(clip), "LTOE", "LMT5"))


def test_a_foot_without_a_heel_marker_has_one_behind_its_ankle(clip: uk.Clip) -> None:
    whole, bare = (joint_centres(m) for m in (dressed(clip), without(dressed(clip), "LHEE")))
    ways = [c.places["left_toe"] - c.places["left_heel"] for c in (whole, bare)]
    ways = [w / np.linalg.norm(w, axis=1, keepdims=True) for w in ways]
    assert np.degrees(np.arccos((ways[0] * ways[1]).sum(axis=1).min())) < 8


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
