"""BVH files in every dialect, and files that are none."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import ukemi as uk
from ukemi.motion.clip import Layout, Skeleton
from ukemi.motion.rotations import angle_between, matrices

from .bvh_texts import ARM


def read(folder: Path, text: str, **options: object) -> uk.Clip:
    path = folder / "a.bvh"
    path.write_bytes(text.encode())
    return uk.read_motion(path, **options)  # type: ignore[arg-type]


def test_every_joint_keeps_its_own_rotation_order(tmp_path: Path) -> None:
    clip = read(tmp_path, ARM, unit="cm", up="z")
    assert clip.skeleton.names == ("Hips", "Spine", "Hand")
    assert clip.fps == 120
    R = matrices(clip.rotations[0])
    assert np.abs(R[0] - Rotation.from_euler("ZXY", [10, 20, 30], degrees=True).as_matrix()).max() < 1e-15
    assert np.abs(R[1] - Rotation.from_euler("XYZ", [40, 50, 60], degrees=True).as_matrix()).max() < 1e-15
    assert np.abs(R[2] - Rotation.from_euler("Y", [70], degrees=True).as_matrix()).max() < 1e-15
    # forward kinematics by hand
    tip = np.array((0, 0.9, 0)) + R[0] @ ((0, 0.5, 0) + R[1] @ ((0.3, 0.2, 0) + R[2] @ (0.35, 0, 0)))
    assert np.abs(clip.end_positions[0, 0] - tip).max() < 1e-15


def test_y_up_is_turned_so_that_z_is_up_and_who_looked_along_z_looks_along_x(tmp_path: Path) -> None:
    turned = read(tmp_path, ARM, unit="cm", up="y")
    plain = read(tmp_path, ARM, unit="cm", up="z")
    # the same body in other axes: x, y, z of the file are y, z, x
    assert np.abs(turned.positions - plain.positions[..., [2, 0, 1]]).max() < 1e-15
    assert np.abs(turned.end_positions - plain.end_positions[..., [2, 0, 1]]).max() < 1e-15
    assert turned.positions[0, 0].tolist() == [0, 0, 0.9]


def test_six_channel_joints_move_and_missing_channels_keep_the_offset(tmp_path: Path) -> None:
    text = ARM.replace("CHANNELS 3 Xrotation Yrotation Zrotation", "CHANNELS 2 Yposition Zrotation").replace(
        "40 50 60", "44 60"
    )
    text = text.replace("41 51 61", "45 61").replace("42 52 62", "46 62")
    clip = read(tmp_path, text, unit="cm", up="z")
    assert np.allclose(clip.translations[1], [[0, 0.44, 0], [0, 0.45, 0], [0, 0.46, 0]], atol=1e-15)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.replace("\n", "\r\n"),
        lambda t: t.replace("\n", "\r"),
        lambda t: "\ufeff" + t,
        lambda t: t.replace("  ", "\t"),
        lambda t: t.replace("ROOT Hips\n{", "ROOT Hips {").replace("OFFSET 0 50 0", "OFFSET   0\t50    0  "),
        lambda t: t.replace("Frames: 3", "Frames:3").replace("Frame Time: ", "Frame Time:\t"),
        lambda t: t.replace("Frames: 3", "FRAMES: 3").replace("Frame Time", "frame time"),
        lambda t: t.replace("Xrotation Yrotation Zrotation", "XROTATION yrotation Zrotation"),
        lambda t: t.replace("End Site", "End site"),
        lambda t: t.replace("1 91 2 11", "1 91\n\n2   11"),
        lambda t: t.rstrip("\n") + "  \n\n\n",
        lambda t: t.replace("0 90 0 10", "0.0 9.0e1 -0 10.000"),
    ],
)
def test_spacing_and_spelling_do_not_matter(tmp_path: Path, change: object) -> None:
    wanted = read(tmp_path, ARM, unit="cm", up="y")
    got = read(tmp_path, change(ARM), unit="cm", up="y")  # type: ignore[operator]
    assert np.array_equal(got.rotations, wanted.rotations)
    assert np.array_equal(got.positions, wanted.positions)


def test_joints_of_one_name_are_told_apart(tmp_path: Path) -> None:
    assert read(tmp_path, ARM.replace("JOINT Spine", "JOINT Hand")).skeleton.names == ("Hips", "Hand", "Hand_2")


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", 1, "HIERARCHY"),
        ("hello\n", 1, "expected HIERARCHY, got 'hello'"),
        (ARM.replace("ROOT", "RUTE"), 2, "'RUTE' does not belong here"),
        (ARM.replace("OFFSET 0 50 0", "OFFSET 0 fifty 0"), 8, "expected a number, got 'fifty'"),
        (ARM.replace("OFFSET 0 50 0", "OFFSET 0 nan 0"), 8, "finite"),
        (ARM.replace("CHANNELS 1 Yrotation", "CHANNELS 1 Wrotation"), 13, "'Wrotation'"),
        (ARM.replace("CHANNELS 1 ", "CHANNELS 99999999999 "), 13, "expected 0 to 12"),
        (ARM.replace("Frames: 3", "Frames: three"), 22, "whole number"),
        (ARM.replace("Frames: 3", "Frames: 999999999999"), 26, "expected 999999999999 frames of 10 numbers, got 3"),
        (ARM.replace("Frames: 3", "Frames: 0"), 23, "at least one"),
        (ARM.replace("0.0083333", "0"), 23, "positive"),
        (ARM.replace("42 52 62 72", "42 52"), 26, "got 2 frames and 8 numbers of the next"),
        (ARM.replace("11 21", "11"), 25, "frame 2: expected 10 numbers, got 9"),
        (ARM.replace("11 21", "11 x21"), 25, "frame 2, number 5 of 10: expected a finite number, got 'x21'"),
        (ARM.replace("11 21", "11 inf"), 25, "'inf'"),
        (ARM[: ARM.index("MOTION")], 20, "the file ends here"),
        (ARM.replace("}\nMOTION", "MOTION"), 20, "does not belong"),
        (ARM.replace("MOTION", "ROOT Other\n{\nOFFSET 0 0 0\n}\nMOTION"), 21, "second ROOT"),
    ],
)
def test_a_file_that_cannot_be_read_says_where_and_why(tmp_path: Path, text: str, line: int, says: str) -> None:
    with pytest.raises(uk.FileFormatError, match=r"a\.bvh:") as caught:
        read(tmp_path, text)
    assert caught.value.line == line, str(caught.value)
    assert says in str(caught.value)


def test_no_file_a_folder_and_a_strange_extension(tmp_path: Path) -> None:
    with pytest.raises(uk.FileFormatError, match="no such file"):
        uk.read_motion(tmp_path / "none.bvh")
    (tmp_path / "folder.bvh").mkdir()
    with pytest.raises(uk.FileFormatError, match="folder"):
        uk.read_motion(tmp_path / "folder.bvh")
    with pytest.raises(uk.InvalidInputError, match="bvh"):
        uk.read_motion(tmp_path / "walk.fbx")
    for bad in ({"unit": "ell"}, {"unit": -1.0}, {"up": "x"}, {"rest_pose": "maybe"}, {"fps": 0.0}):
        with pytest.raises(uk.InvalidInputError):
            read(tmp_path, ARM, **bad)


def test_thousands_of_nested_joints_are_no_danger(tmp_path: Path) -> None:
    deep = 2000
    head = "".join(f"{'JOINT' if k else 'ROOT'} j{k}\n{{\nOFFSET 0 1 0\nCHANNELS 0\n" for k in range(deep))
    head = head.replace("CHANNELS 0", "CHANNELS 1 Xrotation", 1)
    clip = read(tmp_path, f"HIERARCHY\n{head}{'}' * deep}\nMOTION\nFrames: 1\nFrame Time: 0.1\n5\n")
    assert len(clip.skeleton) == deep
    again = uk.read_motion(uk.write_motion(clip, tmp_path / "b.bvh"))
    assert again.skeleton.names == clip.skeleton.names


@pytest.mark.parametrize("damage", range(60))
def test_cut_and_garbled_files_end_in_an_error_or_a_clip(tmp_path: Path, damage: int) -> None:
    rng = np.random.default_rng(damage)
    data = bytearray(ARM.encode())
    if damage % 2:
        data = data[: rng.integers(len(data))]
    else:
        for place in rng.integers(len(data), size=4):
            data[place] = rng.integers(256)
    (tmp_path / "a.bvh").write_bytes(bytes(data))
    with contextlib.suppress(uk.FileFormatError):  # nothing else may come out
        uk.read_motion(tmp_path / "a.bvh")


def test_an_added_rest_pose_is_found_and_dropped(tmp_path: Path) -> None:
    assert len(read(tmp_path, ARM)) == 3
    posed = ARM.replace("Frames: 3", "Frames: 4").replace("0 90 0 10", "0 90 0 0 0 0 0 -21 0 45\n0 90 0 10")
    posed = posed.replace("10 20 30 40", "10.1 20.2 30.3 40.4").replace("50 60 70", "50.5 60.6 70.7")
    found = read(tmp_path, posed)
    assert len(found) == 3
    assert len(read(tmp_path, posed, rest_pose="keep")) == 4
    assert len(read(tmp_path, ARM, rest_pose="drop")) == 2


@pytest.mark.parametrize("factor", [1.0, 0.01, 0.001, 0.0254, 0.0254 / 0.45])
def test_the_unit_is_found_by_the_size_of_the_body(tmp_path: Path, factor: float) -> None:
    offsets = {"0 50 0": (0, 0.5, 0), "30 20 0": (0.3, 0.2, 0), "35 0 0": (0.35, 0, 0)}
    text = ARM
    for old, p in offsets.items():
        text = text.replace(f"OFFSET {old}", "OFFSET " + " ".join(f"{x / factor:.9g}" for x in p))
    assert read(tmp_path, text).layout.unit == factor


def test_numbers_come_back_to_the_last_digit(tmp_path: Path) -> None:
    clip = read(tmp_path, ARM.replace("2.5 92.25", "2.4999999999999996 92.123456789012345"))
    again = uk.read_motion(uk.write_motion(clip, tmp_path / "b.bvh"))
    assert clip.raw is not None
    assert again.raw is not None
    assert np.array_equal(clip.raw, again.raw)
    assert again.layout == clip.layout


numbers = st.floats(-500, 500, allow_nan=False, width=32)


@st.composite
def clips(draw: st.DrawFn) -> uk.Clip:
    joints, frames = draw(st.integers(1, 8)), draw(st.integers(1, 4))
    parents = (-1, *(draw(st.integers(0, j)) for j in range(joints - 1)))
    order = ["".join(p) for p in ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "ZXZ")]
    place = ("Xposition", "Yposition", "Zposition")
    channels, moving = [], set()
    for j in range(joints):
        turn = tuple(f"{axis}rotation" for axis in draw(st.sampled_from(order)))
        free = j == 0 or draw(st.booleans())
        moving |= {j} if free else set()
        channels.append((*draw(st.permutations(place)), *turn) if free else turn)
    layout = Layout(tuple(channels), draw(st.sampled_from([1.0, 0.01, 0.0254])), draw(st.sampled_from("yz")), 1 / 60)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    q = rng.standard_normal((frames, joints, 4))
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    ends = tuple((j, rng.standard_normal(3)) for j in range(joints) if j not in parents)
    skeleton = Skeleton(tuple(f"joint{j}" for j in range(joints)), parents, rng.standard_normal((joints, 3)), ends)
    return uk.Clip(skeleton, 60.0, q, {j: rng.standard_normal((frames, 3)) for j in moving}, layout)


@settings(max_examples=40, deadline=None)
@given(clips())
def test_any_clip_survives_writing_and_reading(tmp_path_factory: pytest.TempPathFactory, clip: uk.Clip) -> None:
    path = tmp_path_factory.mktemp("bvh") / "clip.bvh"
    uk.write_motion(clip, path)
    again = uk.read_motion(path, unit=clip.layout.unit, up=clip.layout.up, rest_pose="keep")
    assert again.fps == 60
    order = list(clip.skeleton.depth_first)
    assert again.skeleton.names == tuple(clip.skeleton.names[j] for j in order)
    assert [order[p] if p >= 0 else -1 for p in again.skeleton.parents] == [clip.skeleton.parents[j] for j in order]
    assert np.abs(again.skeleton.offsets - clip.skeleton.offsets[order]).max() < 1e-12
    # six decimals of a degree, three angles
    assert angle_between(again.rotations, clip.rotations[:, order]).max() < 3 * np.deg2rad(0.5e-6) + 1e-9
    for j, p in clip.translations.items():
        assert np.abs(again.translations[order.index(j)] - p).max() <= 0.5e-6 * clip.layout.unit + 1e-12
    # what was read is written back exactly
    third = uk.read_motion(uk.write_motion(again, path), unit=clip.layout.unit, up=clip.layout.up, rest_pose="keep")
    assert again.raw is not None
    assert third.raw is not None
    assert np.array_equal(again.raw, third.raw)


def test_a_joint_that_moves_without_channels_is_refused(tmp_path: Path) -> None:
    clip = read(tmp_path, ARM, unit="cm", up="z")
    moving = clip.with_motion(clip.rotations, {**clip.translations, 1: np.ones((3, 3))})
    with pytest.raises(uk.InvalidInputError, match="Spine"):
        uk.write_motion(moving, tmp_path / "b.bvh")


def test_every_real_file_reads_and_comes_back(shared: Path, tmp_path: Path) -> None:
    files = sorted((shared / "motions").rglob("*.bvh"))
    assert files
    for file in files:
        clip = uk.read_motion(file)
        bandai, cmu = "bandai" in str(file), "cmu" in str(file)
        hips = clip.positions[:, 1 if bandai else 0, 2]
        assert 0.7 < np.median(hips) < 1.06, file
        assert clip.layout.up == "y"
        expected = 0.0254 / 0.45 if cmu else 0.0254 if "AV_8" in file.name else 0.01
        assert clip.layout.unit == expected, file
        declared = next(int(line.split()[1]) for line in file.read_text().splitlines() if line.startswith("Frames"))
        assert declared - len(clip) == (1 if cmu else 0), file
        again = uk.read_motion(uk.write_motion(clip, tmp_path / "a.bvh"))
        assert clip.raw is not None
        assert again.raw is not None
        assert np.array_equal(clip.raw, again.raw)
        assert np.array_equal(clip.positions, again.positions)
