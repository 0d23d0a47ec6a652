"""TRC, C3D, MOT, STO, CSV and npz files, written by the tests or measured in a laboratory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ukemi as uk
from ukemi.motion.archive import read_npz
from ukemi.motion.convert import convert
from ukemi.motion.ground_forces import GroundForces, from_opensim, read_ground_forces, to_opensim, write_ground_forces
from ukemi.motion.markers import Markers, read_markers, write_trc
from ukemi.motion.synthesis import walk
from ukemi.motion.tables import read_table, write_table

TRC = (
    "PathFileType\t4\t(X/Y/Z)\ta.trc\n"
    "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames\n"
    "100\t100\t2\t2\tmm\t100\t1\t2\n"
    "Frame#\tTime\tHead\t\t\tR.Heel\t\t\n"
    "\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n"
    "\n"
    "1\t0.5\t10\t1700\t20\t30\t40\t50\n"
    "2\t0.51\t11\t1701\t21\t0\t0\t0\n"
)


def forces(n: int = 5) -> GroundForces:
    rng = np.random.default_rng(2)
    f, p, m = rng.standard_normal((3, n, 2, 3))
    return GroundForces(np.arange(n) / 100, ("left", "right"), f, p, m)


def test_trc_by_hand(tmp_path: Path) -> None:
    (tmp_path / "a.trc").write_text(TRC)
    markers = read_markers(tmp_path / "a.trc")
    assert markers.names == ("Head", "R.Heel")
    assert markers.fps == 100
    assert markers.time.tolist() == [0.5, 0.51]
    # x forward, y up, z right: z up, x forward, y left
    assert np.abs(markers["Head"][0] - (0.01, -0.02, 1.7)).max() < 1e-15
    assert np.isnan(markers["R.Heel"][1]).all()  # zeros: not seen
    assert markers.missing == 0.25
    with pytest.raises(uk.UnknownNameError, match=r"Heel"):
        markers["Heel"]
    again = read_markers(write_trc(markers, tmp_path / "b.trc"), up="y")
    assert np.array_equal(again.positions, markers.positions, equal_nan=True)
    for ending in ("\r\n",):
        (tmp_path / "c.trc").write_bytes(TRC.replace("\n", ending).encode())
        assert np.array_equal(read_markers(tmp_path / "c.trc").positions, markers.positions, equal_nan=True)


@pytest.mark.parametrize(
    ("change", "line", "says"),
    [
        (("mm", "ell"), 3, "Units"),
        (("1700", "tall"), 7, "'tall'"),
        (("\t20\t30", "\t20\t30\t5\t6\t7\t8"), 7, "expected 2 markers"),
        (("0.51", "inf"), 8, "finite"),
        (("PathFileType", "Nothing"), 1, "PathFileType"),
    ],
)
def test_damaged_trc_is_located(tmp_path: Path, change: tuple[str, str], line: int, says: str) -> None:
    (tmp_path / "a.trc").write_text(TRC.replace(*change))
    with pytest.raises(uk.FileFormatError, match=says) as caught:
        read_markers(tmp_path / "a.trc")
    assert caught.value.line == line


def test_ground_forces_come_back_and_keep_their_meaning(tmp_path: Path) -> None:
    wanted = forces()
    for name in ("a.mot", "a.sto"):
        got = read_ground_forces(write_ground_forces(wanted, tmp_path / name))
        assert got.names == ("left", "right")
        for field in ("time", "force", "point", "torque"):
            assert np.array_equal(getattr(got, field), getattr(wanted, field)), field
    # the moment about the origin is the same in both axes: cross products turn with them
    about = np.cross(wanted.point, wanted.force) + wanted.torque
    turned = np.cross(to_opensim(wanted.point), to_opensim(wanted.force)) + to_opensim(wanted.torque)
    assert np.abs(from_opensim(turned) - about).max() < 1e-14
    text = (tmp_path / "a.mot").read_text().splitlines()
    assert text[2:6] == ["nRows=5", "nColumns=19", "inDegrees=no", "endheader"]
    assert text[6].split("\t")[:4] == ["time", *(f"ground_force_left_v{axis}" for axis in "xyz")]


def test_tables_of_any_numbers_come_back(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("tables")

    @settings(max_examples=25, deadline=None)
    @given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=6))
    def comes_back(values: list[float]) -> None:
        time = np.arange(len(values)) * 0.1
        for extension in ("csv", "mot", "sto"):
            path = write_table(folder / f"t.{extension}", time, {"a": values, "b.c": time}, in_degrees=True)
            table = read_table(path)
            assert table.names == ("a", "b.c")
            assert np.array_equal(table["a"], values)
            assert table.in_degrees == (extension != "csv")

    comes_back()


def test_coordinates_in_radians(tmp_path: Path) -> None:
    path = write_table(tmp_path / "ik.mot", [0, 1], {"knee_angle_r": [90, 45], "pelvis_tx": [1, 2]}, in_degrees=True)
    table = read_table(path).in_radians()
    assert table["knee_angle_r"] == pytest.approx([np.pi / 2, np.pi / 4])
    assert table["pelvis_tx"].tolist() == [1, 2]
    assert table.in_radians() is table


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nothing\n", "endheader"),
        ("x\nendheader\n", "names of the columns"),
        ("x\nendheader\na\tb\n1\t2\n", "begin with time"),
        ("x\nendheader\ntime\ta\ta\n1\t2\t3\n", "twice"),
        ("x\nendheader\ntime\ta\n1\t2\t3\n", "expected 2 numbers, got 3"),
        ("x\nendheader\ntime\ta\n1\tnan\n", "finite"),
        ("x\nendheader\ntime\ta\n", "no rows"),
        ("x\nendheader\ntime\ta\n1\t2\n1\t3\n", "growing"),
    ],
)
def test_damaged_tables_are_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "a.mot").write_text(text)
    with pytest.raises(uk.FileFormatError, match=says):
        read_table(tmp_path / "a.mot")
    with pytest.raises(uk.FileFormatError):
        read_ground_forces(tmp_path / "a.mot")


def test_clips_as_npz_are_exact_and_damage_is_refused(tmp_path: Path) -> None:
    clip = uk.read_motion(uk.write_motion(walk(0.5), tmp_path / "a.bvh"))
    again = uk.read_motion(uk.write_motion(clip, tmp_path / "a.npz"))
    assert again.layout == clip.layout
    assert again.fps == clip.fps
    assert again.name == clip.name
    assert again.skeleton.names == clip.skeleton.names
    assert np.array_equal(again.positions, clip.positions)
    assert np.array_equal(again.end_positions, clip.end_positions)
    assert clip.raw is not None
    assert again.raw is not None
    assert np.array_equal(again.raw, clip.raw)
    data = (tmp_path / "a.npz").read_bytes()
    rng = np.random.default_rng(0)
    for k in range(20):
        broken = bytearray(data[: rng.integers(len(data))] if k % 2 else data)
        broken[rng.integers(max(1, len(broken)))] ^= 0xFF if broken else 0
        (tmp_path / "b.npz").write_bytes(bytes(broken))
        try:
            read_npz(tmp_path / "b.npz")
        except uk.FileFormatError:
            continue
    np.savez(tmp_path / "c.npz", about=np.array('{"format": "other"}'))
    with pytest.raises(uk.FileFormatError, match="other"):
        read_npz(tmp_path / "c.npz")


def test_csv_and_trc_of_a_clip_hold_its_numbers(tmp_path: Path) -> None:
    clip = walk(0.2)
    table = read_table(uk.write_motion(clip, tmp_path / "a.csv"))
    assert np.array_equal(table["Hips.x"], clip.root[:, 0])
    assert np.array_equal(table["LeftLeg.qw"], clip.rotations[:, clip.skeleton.index("LeftLeg"), 0])
    markers = read_markers(uk.write_motion(clip, tmp_path / "a.trc"))
    assert np.array_equal(markers["LeftFoot"], clip.positions[:, clip.skeleton.index("LeftFoot")])
    with pytest.raises(uk.InvalidInputError, match=r"\.npz"):
        uk.write_motion(clip, tmp_path / "a.fbx")


def test_converting_cuts_and_samples(tmp_path: Path) -> None:
    uk.write_motion(walk(2.0), tmp_path / "a.bvh")
    done = convert(tmp_path / "a.bvh", tmp_path / "b.npz", rate=60, start=0.5, end=1.5)
    assert done == {"kind": "clip", "frames": 61, "fps": 60, "joints": 19}
    cut = uk.read_motion(tmp_path / "b.npz")
    whole = uk.read_motion(tmp_path / "a.bvh")
    assert np.abs(cut.positions[10] - whole.positions[80]).max() < 1e-12
    with pytest.raises(uk.InvalidInputError, match="nothing between"):
        convert(tmp_path / "a.bvh", tmp_path / "b.npz", start=5)
    convert(tmp_path / "a.bvh", tmp_path / "m.trc")
    assert convert(tmp_path / "m.trc", tmp_path / "n.trc")["markers"] == 19
    with pytest.raises(uk.InvalidInputError, match="force plates"):
        convert(tmp_path / "m.trc", tmp_path / "n.mot")
    write_table(tmp_path / "t.csv", [0, 1], {"a": [1, 2]})
    assert convert(tmp_path / "t.csv", tmp_path / "t.sto")["columns"] == 1
    with pytest.raises(uk.InvalidInputError, match="only clips"):
        convert(tmp_path / "t.csv", tmp_path / "t.sto", rate=50)
    with pytest.raises(uk.InvalidInputError, match="expected a file"):
        convert(tmp_path / "t.xyz", tmp_path / "t.sto")


def test_measured_ground_forces(shared: Path) -> None:
    """Peaks and mean weights that were computed from the files independently."""
    plates = shared / "motions" / "forceplate"
    for name, kg, peaks in (
        ("opensim_subject01_walk/subject01_walk1_grf.mot", 72.9, (805, 811)),
        ("hamner_subject01_run/grf_run.mot", 73.5, (1977, 1961)),
        ("hamner_subject01_run/run300_grf.mot", 73.0, (1822, 1838)),
    ):
        got = read_ground_forces(plates / name)
        assert got.total[:, 2].mean() / 9.81 == pytest.approx(kg, abs=0.06), name
        assert got.force[..., 2].max(axis=0) == pytest.approx(peaks, abs=0.6), name
        bearing = got.force[..., 2] > 200
        assert np.abs(got.point[bearing][:, 2]).max() < 0.01  # on the floor


def test_measured_markers(shared: Path) -> None:
    plates = shared / "motions" / "forceplate"
    for name, frames, count in (
        ("opensim_subject01_walk/subject01_walk1.trc", 151, 41),
        ("opensim_subject01_walk/subject01_static.trc", 300, 49),
        ("hamner_subject01_run/motion_capture_run.trc", 510, 42),
        ("hamner_subject01_run/run300.trc", 216, 42),
        ("hamner_subject01_run/static_run.trc", 397, 64),
    ):
        markers = read_markers(plates / name)
        assert (len(markers), len(markers.names)) == (frames, count), name
        assert 1.4 < np.nanmax(markers.positions[..., 2]) < 1.9, name


def test_measured_c3d(shared: Path) -> None:
    walking = read_markers(shared / "motions" / "forceplate" / "opensim_c3d_walk" / "walking2.c3d")
    assert (len(walking), len(walking.names), walking.fps) == (1249, 44, 250)
    assert walking.missing == pytest.approx(0.5, abs=0.01)
    assert walking.forces is not None
    # 951 and 747 N with the offset of the unloaded plates, about -14 and -20 N
    assert walking.forces.force[..., 2].max(axis=0) == pytest.approx((965, 767), abs=2)
    # while a plate bears, its centre of pressure is under a foot marker at that time
    f = walking.forces
    for plate in range(2):
        k = int(f.force[:, plate, 2].argmax())
        frame = round(float((f.time[k] - walking.start) * walking.fps))
        near = np.linalg.norm(walking.positions[frame, :, :2] - f.point[k, plate, :2], axis=1)
        assert np.nanmin(near) < 0.1
    punch = read_markers(shared / "motions" / "cmu_c3d" / "cmu_02_05.c3d")
    assert (len(punch), len(punch.names), punch.fps, punch.forces) == (1854, 41, 120, None)


def test_no_c3d(tmp_path: Path) -> None:
    with pytest.raises(uk.FileFormatError, match="no such file"):
        read_markers(tmp_path / "a.c3d")
    (tmp_path / "a.c3d").write_bytes(b"not a capture" * 100)
    with pytest.raises(uk.FileFormatError, match="C3D"):
        read_markers(tmp_path / "a.c3d")


def test_markers_are_checked() -> None:
    with pytest.raises(uk.InvalidInputError, match="positions"):
        Markers(("a",), 100.0, np.zeros((3, 2, 3)))
    with pytest.raises(uk.InvalidInputError, match="force"):
        GroundForces(np.zeros(2), ("a",), np.full((2, 1, 3), np.nan), np.zeros((2, 1, 3)), np.zeros((2, 1, 3)))


def test_a_unit_that_makes_giants_is_corrected_with_a_warning(tmp_path: Path) -> None:
    """Metres in a file that says mm, as some exports do."""
    clip = walk(0.3)
    names = {"LASI": "LeftUpLeg", "RASI": "RightUpLeg", "LHEE": "LeftFoot", "RHEE": "RightFoot"}
    places = np.stack([clip.positions[:, clip.skeleton.index(joint)] for joint in names.values()], axis=1)
    wanted = Markers(tuple(names), clip.fps, places)
    path = write_trc(wanted, tmp_path / "a.trc")
    path.write_text(path.read_text().replace("\tm\t", "\tmm\t"))
    with pytest.warns(uk.UkemiWarning, match="taken 1000 times as large"):
        got = read_markers(path)
    assert np.abs(got.positions - wanted.positions).max() < 1e-12


def test_up_is_from_the_feet_to_the_pelvis_even_of_who_lies(tmp_path: Path) -> None:
    """Arms that spread wider than the legs are long do not tell what is up."""
    places = np.zeros((5, 6, 3))
    spots = {"LASI": (0, 0.1, 0.5), "RASI": (0, -0.1, 0.5), "LHEE": (0, 0.1, 0), "RHEE": (0, -0.1, 0)}
    spots |= {"LWRA": (0, 0.9, 1.0), "RWRA": (0, -0.9, 1.0)}
    places[:] = list(spots.values())
    wanted = Markers(tuple(spots), 100.0, places)
    got = read_markers(write_trc(wanted, tmp_path / "a.trc"))
    assert np.abs(got.positions - places).max() < 1e-12


def test_markers_without_names_and_commas_are_read(tmp_path: Path) -> None:
    """Exports that list unlabelled markers after the labelled ones, and spreadsheets' commas."""
    (tmp_path / "a.trc").write_text(TRC.replace("\t20\t30\t40\t50\n", "\t20\t30\t40\t50\t1\t2\t3\n"))
    markers = read_markers(tmp_path / "a.trc", up="z")
    assert markers.names == ("Head", "R.Heel", "*2")
    assert markers["*2"][0].tolist() == [0.001, 0.002, 0.003]
    assert np.isnan(markers["*2"][1]).all()
    (tmp_path / "b.trc").write_text(TRC.replace("\t", ","))
    got = read_markers(tmp_path / "b.trc", up="z")
    assert np.array_equal(got.positions, markers.positions[:, :2], equal_nan=True)
