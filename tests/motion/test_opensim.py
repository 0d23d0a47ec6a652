"""Motions of OpenSim: what their files say, on the model that they belong to."""

from __future__ import annotations

import random
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from tests.model.readers.osim_texts import ALL, ZERO, Joint, line, osim, transform

import ukemi as uk
from ukemi.dynamics.kinematics import link_poses
from ukemi.motion.convert import convert
from ukemi.motion.markers import read_markers
from ukemi.motion.opensim import joint_coordinates
from ukemi.motion.rotations import matrices
from ukemi.motion.tables import read_table, write_table

#: x forward, y up, z right to x forward, y left, z up.
TURN = np.array([(1.0, 0, 0), (0, 0, -1), (0, 1, 0)])
NAMES = [name for joint in ALL for name in joint.coordinates]
#: OpenSim 4.6 (2026-06-22) on subject01.osim and subject01_walk1_ik.mot: the right tibia in the ground, first row.
OPENSIM_TIBIA = (0.7064673637031289, 0.5430714508510004, 0.09946742379801013)


def motion(folder: Path, joints: list[Joint] = ALL, frames: int = 9, degrees: bool = False) -> tuple[Path, np.ndarray]:
    """A model and random coordinates on it, in ``folder``."""
    (folder / "model.osim").write_text(osim(joints))
    names = [name for joint in joints for name in joint.coordinates]
    values = np.random.default_rng(5).uniform(-0.8, 0.8, (frames, len(names)))
    lengths = [name in ("tx", "ty", "tz", "slide", "px", "py") for name in names]
    columns = np.where(lengths, values, np.rad2deg(values)) if degrees else values
    table = {name: columns[:, k] for k, name in enumerate(names)}
    return write_table(folder / "move.mot", 0.01 * np.arange(frames), table, in_degrees=degrees), values


@pytest.mark.filterwarnings("ignore::ukemi.UkemiWarning")
@pytest.mark.parametrize("degrees", [False, True])
def test_a_clip_moves_as_the_model_does(degrees: bool, tmp_path: Path) -> None:
    path, _ = motion(tmp_path, degrees=degrees)
    clip = uk.read_motion(path)
    model = uk.load(tmp_path / "model.osim")
    time, q = joint_coordinates(model, path)
    assert len(clip) == 9
    assert clip.fps == pytest.approx(100)
    assert time[-1] == pytest.approx(0.08)
    X = link_poses(model, q)
    for joint in ALL:
        at = X[:, model.link_index(joint.child)]
        place = clip.positions[:, clip.skeleton.index(joint.child)]
        np.testing.assert_allclose(place, at[:, :3, 3], atol=1e-12)
        turns = matrices(clip.world_rotations[:, clip.skeleton.index(joint.child)])
        np.testing.assert_allclose(turns @ TURN, at[:, :3, :3], atol=1e-12)


def test_a_motion_does_not_ask_whether_its_model_has_possible_masses(tmp_path: Path) -> None:
    path, _ = motion(tmp_path, ALL[:2])
    wanted = uk.read_motion(path).positions
    model = tmp_path / "model.osim"
    text = model.read_text()
    model.write_text(text.replace("<mass>1.5", "<mass>-1").replace("0.02 0.015 0.018", "0.1 0.2 9"))
    assert model.read_text() != text
    with pytest.raises(uk.FileFormatError, match="expected a positive mass"):
        uk.load(model)
    np.testing.assert_array_equal(uk.read_motion(path).positions, wanted)


@pytest.mark.parametrize(
    ("header", "degrees"),
    [
        ("name m\ndatacolumns 2\ndatarows 2\nrange 0 1", True),  # SIMM
        ("Coordinates\nversion=1\nnRows=2\nnColumns=2", False),
        ("Coordinates\nversion=1\ninDegrees=yes\nnRows=2", True),
        ("Coordinates\nversion=1\ninDegrees = no\n\nUnits are S.I. units", False),
        ("Coordinates\r\nversion=1\r\ninDegrees: Yes\t\t", True),
        ("inDegrees=yes\nDataType=double\nversion=3\nOpenSimVersion=4.1", True),
    ],
)
@pytest.mark.parametrize("space", ["\t", " ", "\t    "])
def test_headers_say_degrees_in_many_ways(header: str, degrees: bool, space: str, tmp_path: Path) -> None:
    (tmp_path / "m.osim").write_text(osim([Joint("PinJoint", "a", coordinates=("one",))]))
    file = tmp_path / "m.sto"
    file.write_text(f"{header}\nendheader\ntime{space}one\n{space}0.0{space}90\n0.5{space}-45{space}\n")
    table = read_table(file)
    assert (table.names, table.in_degrees, len(table)) == (("one",), degrees, 2)
    clip = uk.read_motion(file)
    angle = np.deg2rad(90.0) if degrees else 90.0
    np.testing.assert_allclose(clip.rotations[0, 0, 0] ** 2, np.cos(angle / 2) ** 2, atol=1e-12)


def test_state_files_of_opensim_4_name_their_columns_by_path(tmp_path: Path) -> None:
    pin = Joint("PinJoint", "a", coordinates=("one",))
    (tmp_path / "m.osim").write_text(osim([pin]))
    rows = {
        "/jointset/a_joint/one/value": [0.1, 0.2, 0.3],
        "/jointset/a_joint/one/speed": [9.0, 9, 9],
        "m/activation": [1.0, 1, 1],
    }
    path = write_table(tmp_path / "s.sto", [0, 0.1, 0.2], rows)
    np.testing.assert_allclose(uk.read_motion(path).rotations[:, 0, 0], np.cos(np.array((0.1, 0.2, 0.3)) / 2))
    np.testing.assert_allclose(joint_coordinates(uk.load(tmp_path / "m.osim"), path)[1][:, 0], (0.1, 0.2, 0.3))


def test_uneven_times_are_sampled_evenly(tmp_path: Path) -> None:
    (tmp_path / "m.osim").write_text(osim([Joint("SliderJoint", "a", coordinates=("one",))]))
    time = np.array([0.0, 0.1, 0.15, 0.3, 0.4])
    clip = uk.read_motion(write_table(tmp_path / "s.sto", time, {"one": 2 * time}))
    np.testing.assert_allclose(clip.root[:, 0], 2 * clip.time)


def test_what_has_no_column_stays_at_its_default_and_is_said(tmp_path: Path) -> None:
    joints = [
        Joint("PinJoint", "a", coordinates=("one",)),
        Joint("PinJoint", "b", "a", ("two",), options={"default_value": "0.4"}),
    ]
    (tmp_path / "m.osim").write_text(osim(joints))
    path = write_table(tmp_path / "s.mot", [0.0, 0.1], {"one": [0.0, 0.1]})
    with pytest.warns(uk.UkemiWarning, match="no columns for two: they stay at the model's defaults"):
        clip = uk.read_motion(path)
    np.testing.assert_allclose(clip.rotations[:, 1, 0], np.cos(0.2))


def test_joints_without_a_column_stand_at_the_defaults_of_the_file(tmp_path: Path) -> None:
    """The same coordinates as the clip's; locked ones are not missed."""
    joints = [
        Joint("PinJoint", "a", coordinates=("one",)),
        Joint("PinJoint", "b", "a", ("two",), options={"default_value": "0.4"}),
        Joint("PinJoint", "c", "b", ("three",), options={"default_value": "-0.3", "locked": "true"}),
    ]
    (tmp_path / "m.osim").write_text(osim(joints))
    path = write_table(tmp_path / "s.mot", [0.0, 0.1], {"one": [0.0, 0.1]})
    model = uk.load(tmp_path / "m.osim")
    assert dict(model.defaults) == {"two": 0.4, "three": -0.3}
    with pytest.warns(uk.UkemiWarning) as said:
        _, q = joint_coordinates(model, path)
    np.testing.assert_array_equal(q, [(0.0, 0.4, -0.3), (0.1, 0.4, -0.3)])
    assert [str(w.message) for w in said] == [f"{path}: no columns for two: they stay at the model's defaults"]
    assert Path(said[0].filename) == Path(__file__)


@pytest.mark.parametrize("read", ["clip", "joints"])
def test_columns_that_are_no_coordinate_are_said_with_near_names(read: str, tmp_path: Path) -> None:
    joints = [
        Joint("PinJoint", "a", coordinates=("hip_flexion",)),
        Joint("PinJoint", "b", "a", ("knee",), options={"locked": "true"}),
    ]
    (tmp_path / "m.osim").write_text(osim(joints))
    still = [0.0, 0.0]
    columns = {"hip_flx": still, "knee": [0.2, 0.3], "belt": still, "knee_u": still, "m/activation": still}
    path = write_table(tmp_path / "s.mot", [0.0, 0.1], columns)
    model = uk.load(tmp_path / "m.osim")
    with pytest.warns(uk.UkemiWarning) as said:
        found = uk.read_motion(path) if read == "clip" else joint_coordinates(model, path)[1]
    if not isinstance(found, uk.Clip):
        np.testing.assert_array_equal(found[:, 1], [0.2, 0.3])  # a column holds for a locked coordinate too
    what = "coordinates of m.osim" if read == "clip" else "joints of 'small'"
    strange = f"columns that are no {what} are left out: hip_flx (did you mean hip_flexion?), belt"
    missing = "no columns for hip_flexion: they stay at the model's defaults"
    assert [str(w.message) for w in said] == [f"{path}: {text}" for text in (missing, strange)]
    assert {Path(w.filename) for w in said} == {Path(__file__)}


def test_a_follower_of_a_follower_goes_along(tmp_path: Path) -> None:
    def coupler(follower: str, leader: str) -> str:
        return (
            f'<CoordinateCouplerConstraint name="{follower}"><coupled_coordinates_function>{line(2.0, 0.1)}'
            f"</coupled_coordinates_function><independent_coordinate_names>{leader}</independent_coordinate_names>"
            f"<dependent_coordinate_name>{follower}</dependent_coordinate_name></CoordinateCouplerConstraint>"
        )

    joints = [Joint("PinJoint", n, p, (c,)) for n, p, c in (("a", "ground", "one"), ("b", "a", "two"), ("c", "b", "3"))]
    couplers = f"<ConstraintSet><objects>{coupler('3', 'two')}{coupler('two', 'one')}</objects></ConstraintSet>"
    (tmp_path / "m.osim").write_text(osim(joints, extra=couplers))
    path = write_table(tmp_path / "s.mot", [0.0, 0.1], {"one": [0.0, 0.1]})
    wanted = np.array([(0.0, 0.1, 0.3), (0.1, 0.3, 0.7)])
    np.testing.assert_allclose(joint_coordinates(uk.load(tmp_path / "m.osim"), path)[1], wanted)
    np.testing.assert_allclose(uk.read_motion(path).rotations[..., 0], np.cos(wanted / 2))


def test_coordinates_that_follow_others_follow_them_in_the_clip(tmp_path: Path) -> None:
    joints = [Joint("PinJoint", "a", coordinates=("one",)), Joint("PinJoint", "b", "a", ("two",))]
    coupler = (
        '<ConstraintSet><objects><CoordinateCouplerConstraint name="gear"><coupled_coordinates_function>'
        f"{line(2.0, 0.1)}</coupled_coordinates_function>"
        "<independent_coordinate_names>one</independent_coordinate_names>"
        "<dependent_coordinate_name>two</dependent_coordinate_name></CoordinateCouplerConstraint></objects></ConstraintSet>"
    )
    (tmp_path / "m.osim").write_text(osim(joints, extra=coupler))
    path = write_table(tmp_path / "s.mot", [0.0, 0.1], {"one": [0.0, 0.3]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clip = uk.read_motion(path)
    np.testing.assert_allclose(clip.rotations[:, 1, 0], np.cos([0.05, 0.35]))


@pytest.mark.filterwarnings("ignore::ukemi.UkemiWarning")
def test_coordinates_become_a_table_or_with_their_model_a_clip(tmp_path: Path) -> None:
    path, _ = motion(tmp_path)
    skeleton, out = tmp_path / "model.osim", tmp_path / "out.csv"
    assert convert(path, out) == {"kind": "table", "rows": 9, "columns": len(NAMES), "in_degrees": False}
    assert read_table(out).names == tuple(NAMES)
    done = convert(path, out, skeleton=skeleton, start=0.03)
    assert done["kind"] == "clip"
    clip, table = uk.read_motion(path), read_table(out)
    assert len(table) == 6
    np.testing.assert_array_equal(table["pin.qw"], clip.rotations[3:, clip.skeleton.index("pin"), 0])
    with pytest.raises(uk.InvalidInputError, match=r"move\.mot: rate: only clips .*coordinates with skeleton="):
        convert(path, out, rate=50, rest_pose="auto")
    with pytest.raises(uk.InvalidInputError, match=r"out\.csv: a table becomes \.mot, \.sto or \.csv; b\.bvh is none"):
        convert(out, tmp_path / "b.bvh")
    with pytest.raises(uk.InvalidInputError, match=r"move\.mot: a clip becomes \.bvh, .* or \.trc; b\.c3d is none"):
        convert(path, tmp_path / "b.c3d")


HEAD = "Coordinates\nversion=1\nnRows=2\nnColumns=2\ninDegrees=yes\nendheader\n"
WRONG = {
    "cut in a row": (HEAD + "time\tone\n0\t1\n0.1\n", r"w\.mot:9: row: expected 2 numbers, got 1"),
    "columns": (
        HEAD.replace("nColumns=2", "nColumns=7") + "time\tone\n0\t1\n0.1\t2\n",
        "ncolumns: the header says 7, the file has 2",
    ),
    "no header": ("time\tone\n0\t1\n", "no line 'endheader'"),
    "no rows": (HEAD + "time\tone\n", "no rows"),
    "nothing": ("", "no line 'endheader'"),
    "ends at the header": (HEAD, "expected the names of the columns"),
    "no time": (HEAD + "one\ttwo\n0\t1\n0.1\t2\n", "expected columns that begin with time"),
    "text": (HEAD + "time\tone\n0\tx\n0.1\t2\n", "row: expected numbers"),
    "nan": (HEAD + "time\tone\n0\tnan\n0.1\t2\n", "row: expected finite numbers"),
    "time goes back": (HEAD + "time\tone\n0\t1\n-0.1\t2\n", "expected growing times"),
    "column twice": (HEAD + "time\tone\tone\n0\t1\t1\n0.1\t2\t2\n", "stands there twice"),
    "other columns": (HEAD + "time\tleft\n0\t1\n0.1\t2\n", "no column is a coordinate of m.osim: columns are left"),
}


@pytest.mark.parametrize("what", WRONG)
def test_files_that_are_wrong_say_so(what: str, tmp_path: Path) -> None:
    (tmp_path / "m.osim").write_text(osim([Joint("PinJoint", "a", coordinates=("one",))]))
    text, message = WRONG[what]
    (tmp_path / "w.mot").write_text(text)
    with pytest.raises(uk.FileFormatError, match=message):
        uk.read_motion(tmp_path / "w.mot")


def test_coordinates_without_their_model_say_what_is_missing(tmp_path: Path) -> None:
    path, _ = motion(tmp_path)
    (tmp_path / "other.osim").write_text(osim(ALL))
    with pytest.raises(uk.InvalidInputError, match=r"expected one \.osim beside it, found 2; say which with skeleton="):
        uk.read_motion(path)
    with pytest.raises(uk.FileFormatError, match="no such file"):
        uk.read_motion(path, skeleton=tmp_path / "none.osim")
    forces = write_table(tmp_path / "f.mot", [0.0], {"ground_force_vx": [1.0]})
    with pytest.raises(uk.FileFormatError, match="ground forces, not a motion"):
        uk.read_motion(forces)
    with pytest.raises(uk.FileFormatError, match="no column is a joint of"):
        joint_coordinates(uk.human(), path)


def test_damaged_tables_give_a_clip_or_an_error(tmp_path: Path) -> None:
    path, _ = motion(tmp_path, ALL[:2])
    text = path.read_text()
    rng = random.Random(3)
    for _ in range(200):
        a = rng.randrange(len(text))
        path.write_text(
            text[:a]
            + rng.choice(["", "\t", "\n", "nan", "1e999", "=", "\0", "endheader"])
            + text[a + rng.randrange(9) :]
        )
        with suppress(uk.UkemiError), warnings.catch_warnings():
            warnings.simplefilter("ignore", uk.UkemiWarning)
            uk.read_motion(path)


def legs_and_trunk() -> list[Joint]:
    """A walker without arms and head, 0.43 m of thigh and shank."""
    hip = transform(
        *(
            ("hip_{s}", axis, line()) if k == 0 else ("", axis, ZERO)
            for k, axis in enumerate(["0 0 1", "0 1 0", "1 0 0"] * 2)
        )
    )
    joints = [Joint("FreeJoint", "pelvis", coordinates=("rx", "ry", "rz", "tx", "ty", "tz"))]
    joints.append(Joint("PinJoint", "torso", "pelvis", ("lumbar",), ("-0.1 0.08 0", "0 0 0")))
    for s, z in (("r", 0.08), ("l", -0.08)):
        joints.append(
            Joint(
                "CustomJoint",
                f"femur_{s}",
                "pelvis",
                (f"hip_{s}",),
                (f"-0.07 -0.07 {z}", "0 0 0"),
                transform=hip.replace("{s}", s),
            )
        )
        joints.append(Joint("PinJoint", f"tibia_{s}", f"femur_{s}", (f"knee_{s}",), ("0 -0.43 0", "0 0 0")))
        joints.append(Joint("PinJoint", f"talus_{s}", f"tibia_{s}", (f"ankle_{s}",), ("0 -0.43 0", "0 0 0")))
        joints.append(
            Joint("PinJoint", f"calcn_{s}", f"talus_{s}", (f"subtalar_{s}",), (f"-0.05 -0.04 {0.1 * z}", "0 0 0"))
        )
        joints.append(Joint("PinJoint", f"toes_{s}", f"calcn_{s}", (f"mtp_{s}",), ("0.18 0 0", "0 0 0")))
    return joints


def test_a_walker_without_arms_becomes_a_person(tmp_path: Path) -> None:
    joints = legs_and_trunk()
    (tmp_path / "m.osim").write_text(osim(joints))
    names = [name for joint in joints for name in joint.coordinates]
    rows = {name: np.full(20, 0.97 if name == "ty" else 0.0) for name in names}
    path = write_table(tmp_path / "stand.mot", 0.05 * np.arange(20), rows)
    with pytest.warns(uk.UkemiWarning, match="has no head, humerus_r, radius_r, hand_r"):
        clip = uk.read_motion(path)
    figure = uk.figure_from_clip(clip, mass=70)
    foot, toes = (clip.skeleton.names[figure.joints[f"left_{part}"]] for part in ("foot", "toes"))
    assert (foot, toes) == ("talus_l", "toes_l")
    assert figure.model.mass == pytest.approx(70)
    assert figure.height == pytest.approx(0.86 / (0.4222 + 0.4340) * 1.741)  # de Leva's thigh and shank
    head = clip.positions[0, clip.skeleton.index("head"), 2]
    assert 0.8 * figure.height < head < 0.9 * figure.height
    # the skeleton survives another format
    convert(path, tmp_path / "stand.bvh", skeleton=tmp_path / "m.osim")
    back = uk.read_motion(tmp_path / "stand.bvh", rest_pose="keep")
    for name in clip.skeleton.names:
        np.testing.assert_allclose(
            back.positions[:, back.skeleton.index(name)], clip.positions[:, clip.skeleton.index(name)], atol=1e-6
        )


#: The median misses are 9.9 and 5.2 mm, what inverse kinematics leaves; a wrong sign or axis makes 20 cm and more.
@pytest.mark.filterwarnings("ignore::ukemi.UkemiWarning")
@pytest.mark.parametrize(
    ("model", "ik", "trc", "largest"),
    [
        (
            "opensim_gait2392/subject01",
            "opensim_subject01_walk/subject01_walk1_ik.mot",
            "opensim_subject01_walk/subject01_walk1.trc",
            0.012,
        ),
        ("hamner_subject01/final", "hamner_subject01_run/run300_ik.mot", "hamner_subject01_run/run300.trc", 0.007),
    ],
)
def test_measured_markers_lie_where_the_models_markers_are(
    shared: Path, model: str, ik: str, trc: str, largest: float
) -> None:
    plates = shared / "motions" / "forceplate"
    body = uk.load(shared / "models" / f"{model}.osim")
    time, q = joint_coordinates(body, plates / ik)
    markers = read_markers(plates / trc)
    frames = np.flatnonzero((time > markers.time[0]) & (time < markers.time[-1]))
    X = link_poses(body, q[frames])
    nearest = np.abs(markers.time[:, None] - time[frames]).argmin(axis=0)
    misses = []
    for name, mark in body.landmarks.items():
        if name in markers.names:
            at = X[:, body.link_index(mark.link)]
            misses.append(
                np.linalg.norm(at[:, :3, :3] @ mark.at.position + at[:, :3, 3] - markers[name][nearest], axis=1)
            )
    assert len(misses) > 25
    assert np.nanmedian(misses) < largest


@pytest.mark.filterwarnings("ignore::ukemi.UkemiWarning")
def test_the_knee_of_a_real_model_slides_as_its_spline_says(shared: Path) -> None:
    ik = shared / "motions" / "forceplate" / "opensim_subject01_walk" / "subject01_walk1_ik.mot"
    clip = uk.read_motion(ik, skeleton=shared / "models" / "opensim_gait2392" / "subject01.osim")
    # OpenSim 4.6: origin of the right tibia in the ground at the first row
    wanted = TURN @ OPENSIM_TIBIA
    np.testing.assert_allclose(clip.positions[0, clip.skeleton.index("tibia_r")], wanted, atol=1e-9)
