"""ASF/AMC: a tiny skeleton by hand, and CMU's walk against its BVH."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import ukemi as uk
from ukemi.motion.body import body_parts
from ukemi.motion.rotations import matrices

ASF = """# comment
:version 1.10
:name TINY
:units
  mass 1.0
  length 0.45
  angle deg
:root
   order TX TY TZ RX RY RZ
   axis XYZ
   position 0 0 0
   orientation 0 0 0
:bonedata
  begin
     id 1
     name back
     direction 0 1 0
     length 10
     axis 10 20 30 XYZ
    dof rx rz
    limits (-160.0 20.0)
           (-70.0 70.0)
  end
  begin
     id 2
     name head
     direction 0 0 1
     length 4
     axis 0 0 0 XYZ
  end
:hierarchy
  begin
    root back
    back head
  end
"""
AMC = """#!OML:ASF
:FULLY-SPECIFIED
:DEGREES
1
root 1 16 2 5 10 15
back 20 30
2
root 1 16 2 5 10 15
back 21 31
"""


def write(folder: Path, asf: str = ASF, amc: str = AMC) -> Path:
    (folder / "07.asf").write_text(asf)
    (folder / "07_01.amc").write_text(amc)
    return folder / "07_01.amc"


def test_bones_turn_in_their_own_axes(tmp_path: Path) -> None:
    clip = uk.read_motion(write(tmp_path), up="z")
    unit = 0.0254 / 0.45
    assert clip.fps == 120
    root = Rotation.from_euler("xyz", [5, 10, 15], degrees=True)  # small letters: about fixed axes
    C = Rotation.from_euler("xyz", [10, 20, 30], degrees=True)
    M = Rotation.from_euler("xz", [20, 30], degrees=True)
    back = C * M * C.inv()
    assert np.abs(matrices(clip.rotations[0, 0]) - root.as_matrix()).max() < 1e-14
    assert np.abs(matrices(clip.rotations[0, 1]) - back.as_matrix()).max() < 1e-14
    # the joint "head" stands at the end of the bone "back"
    head = unit * (np.array((1, 16, 2)) + (root * back).apply((0, 10, 0)))
    assert np.abs(clip.positions[0, 2] - head).max() < 1e-14
    assert np.abs(clip.end_positions[0, 0] - head - unit * (root * back).apply((0, 0, 4))).max() < 1e-14


def test_radians_and_a_named_skeleton(tmp_path: Path) -> None:
    path = write(tmp_path)
    (tmp_path / "07.asf").rename(tmp_path / "other.asf")
    (tmp_path / "unused.asf").write_text(ASF)
    with pytest.raises(uk.FileFormatError, match="skeleton"):
        uk.read_motion(path)
    degrees = uk.read_motion(path, skeleton=tmp_path / "other.asf")
    turned = ASF.replace("angle deg", "angle rad").replace("axis 10 20 30", "axis .17453293 .34906585 .52359878")
    (tmp_path / "other.asf").write_text(turned)
    angles = [f"{np.deg2rad(x):.17g}" for x in (5, 10, 15, 20, 30)]
    path.write_text(f":RADIANS\n1\nroot 1 16 2 {' '.join(angles[:3])}\nback {' '.join(angles[3:])}\n")
    radians = uk.read_motion(path, skeleton=tmp_path / "other.asf", up=degrees.layout.up)
    assert np.abs(radians.positions[0] - degrees.positions[0]).max() < 1e-7


@pytest.mark.parametrize(
    ("asf", "amc", "where", "says"),
    [
        (ASF, AMC.replace("back 21 31", "back 21"), "07_01.amc:9", "expected 2 numbers, got 1"),
        (ASF, AMC.replace("back 21 31", "tail 21"), "07_01.amc:9", "no bone"),
        (ASF, AMC.replace("back 21 31", "back 21 x"), "07_01.amc:9", "expected numbers"),
        (ASF, AMC.replace("back 21 31\n", ""), "07_01.amc:7", "frame 2 ends without 'back'"),
        (ASF, AMC.replace("1\nroot", "root", 1), "07_01.amc:4", "frame number"),
        (ASF, ":DEGREES\n", "07_01.amc", "no frames"),
        (ASF.replace("dof rx rz", "dof rx rq"), AMC, "07.asf:20", "'rq'"),
        (ASF.replace("length 10", "length ten"), AMC, "07.asf:18", "expected numbers"),
        (ASF.replace("back head", "back tail"), AMC, "07.asf:34", "'tail'"),
        (ASF[: ASF.index(":hierarchy")], AMC, "07.asf", "hierarchy"),
        (ASF.replace("length 0.45", "length 0"), AMC, "07.asf:6", "positive"),
    ],
)
def test_damage_is_located(tmp_path: Path, asf: str, amc: str, where: str, says: str) -> None:
    with pytest.raises(uk.FileFormatError) as caught:
        uk.read_motion(write(tmp_path, asf, amc))
    assert f"{where}: " in str(caught.value)
    assert says in str(caught.value)


@pytest.mark.parametrize("name", ["02_01", "02_03", "02_04"])
def test_cmu_amc_and_bvh_are_one_motion(shared: Path, name: str) -> None:
    amc = uk.read_motion(shared / "motions" / "cmu_amc" / f"{name}.amc")
    bvh = uk.read_motion(shared / "motions" / "cmu_bvh" / f"{name}.bvh")
    a, b = body_parts(amc.skeleton), body_parts(bvh.skeleton)
    for part in ("pelvis", "abdomen", "chest", "left_thigh", "left_foot", "right_shank", "right_toes"):
        # the BVH's angles are rounded to 1e-4 degrees
        assert np.abs(amc.positions[:, a[part]] - bvh.positions[:, b[part]]).max() < 1e-5, part
    # the conversion to BVH lost the thorax bone: everything above it stands lower by its length
    gap = np.linalg.norm(amc.positions[:, a["head"]] - bvh.positions[:, b["head"]], axis=1)
    assert np.abs(gap - 2.06807 * 0.0254 / 0.45).max() < 1e-4
