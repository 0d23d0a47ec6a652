"""MJCF files: what is read, and that it moves as in MuJoCo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.model.readers.urdf_texts import written
from tests.oracles.other_engines import largest_difference, of_mujoco, of_ukemi

import ukemi as uk
from ukemi.model.readers.diagnostics import Diagnostics
from ukemi.model.readers.load import load
from ukemi.model.readers.mjcf import compile_mjcf
from ukemi.model.readers.mjcf_names import joint_names
from ukemi.model.readers.xmltree import read_xml

mujoco = pytest.importorskip("mujoco")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore::ukemi.UkemiWarning")]

#: Both engines compute in doubles; inertia matrices of these figures have condition numbers up to 1e6.
ENGINES_AGREE = 1e-9
#: bodies, nv, mass, whether MuJoCo itself can read the file without its meshes
PUBLISHED = {
    "mujoco_humanoid/humanoid.xml": (16, 27, 40.84, True),
    "dm_control_humanoid_CMU/humanoid_CMU.xml": (31, 62, 51.85, True),
    "unitree_g1/g1.xml": (30, 35, 33.34, False),
    "agility_cassie/cassie.xml": (25, 32, 33.31, False),
    "shadow_hand/right_hand.xml": (25, 24, 3.79, False),
}

#: every joint kind, several on one body, anchors off the origin, ref, springs, dampers, armature, unnamed things
EVERYTHING = """
<mujoco model="everything">
  <compiler angle="radian" autolimits="true"/>
  <default><geom type="capsule" size="0.05 0.1" density="700"/></default>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="root" pos="0 0 1" quat="0.8 0.6 0 0">
      <joint name="float" type="free" damping="0.3"/>
      <geom pos="0.1 0 0"/>
      <site name="tip" pos="0.1 0.2 0.3" quat="0.6 0 0.8 0"/>
      <body name="arm" pos="0.1 0.2 0" euler="0.3 0.2 0.1">
        <joint name="arm_a" axis="1 0 0.5" pos="0.1 0 0.05" ref="0.4" range="-1 2" stiffness="5" springref="0.2"
          damping="0.5" armature="0.1" actuatorfrcrange="-20 30"/>
        <joint name="arm_b" type="slide" axis="0 1 1" ref="-0.2" stiffness="8" springref="0.1" pos="1 2 3"/>
        <joint name="arm_c" axis="0 1 0" pos="0 0.2 0" damping="0.1"/>
        <geom/>
        <body pos="0 0 0.2">
          <joint type="ball" stiffness="3" damping="0.2" range="0 1.5" pos="0.02 0 0"/>
          <geom type="box" size="0.1 0.05 0.02"/>
          <body name="ball_here">
            <joint type="ball" armature="0.05"/>
            <geom type="ellipsoid" size="0.1 0.05 0.08"/>
          </body>
        </body>
        <body name="welded" pos="0.3 0 0" euler="0 0.5 0">
          <inertial mass="0.7" pos="0.01 0.02 0.03" quat="0.9 0.1 0.3 0.2" diaginertia="0.002 0.003 0.004"/>
          <geom type="cylinder" size="0.03 0.06"/>
        </body>
      </body>
    </body>
    <body name="target" mocap="true" pos="1 2 3"/>
    <body name="rail" pos="0 1 0">
      <joint type="slide" axis="1 0 0"/>
      <joint axis="0 0 1"/>
      <geom type="sphere" size="0.1"/>
    </body>
  </worldbody>
  <actuator>
    <motor joint="arm_c" gear="40" ctrlrange="-0.5 1" ctrllimited="true"/>
    <position joint="arm_b" kp="10" forcerange="-6 4"/>
  </actuator>
</mujoco>
"""


def compiled(path: Path) -> Any:
    return compile_mjcf(read_xml(path), Diagnostics(path))


def check_against_mujoco(model: uk.Model, mj_model: Any) -> None:
    assert (model.nq, model.nv) == (mj_model.nq, mj_model.nv)
    rng = np.random.default_rng(3)
    for _ in range(5):
        q, v = model.random(rng)
        tau = 10 * rng.standard_normal(model.nv)
        ours, theirs = of_ukemi(model, q, v, tau), of_mujoco(model, mj_model, q, v, tau)
        theirs.poses.pop("", None)
        assert largest_difference(ours, theirs) < ENGINES_AGREE


@pytest.mark.parametrize("file", PUBLISHED)
def test_published_figures_move_as_in_mujoco(shared: Path, file: str) -> None:
    path = shared / "models" / file
    alone = PUBLISHED[file][3]
    check_against_mujoco(load(path), mujoco.MjModel.from_xml_path(str(path)) if alone else compiled(path))


@pytest.mark.parametrize("file", PUBLISHED)
def test_published_figures_have_their_published_size(shared: Path, file: str) -> None:
    bodies, nv, mass, _ = PUBLISHED[file]
    model = load(shared / "models" / file)
    on_bodies = [link for link in model.links if "/" not in link.name]
    assert (len(on_bodies), model.nv) == (bodies, nv)
    assert model.mass == pytest.approx(mass, abs=0.005)  # published with two digits


def test_every_kind_of_joint_moves_as_in_mujoco(tmp_path: Path) -> None:
    path = written(tmp_path, EVERYTHING, "everything.xml")
    check_against_mujoco(load(path), mujoco.MjModel.from_xml_path(str(path)))


def test_q_stands_in_the_order_of_qpos(tmp_path: Path) -> None:
    path = written(tmp_path, EVERYTHING, "everything.xml")
    model, mj_model = load(path), mujoco.MjModel.from_xml_path(str(path))
    starts = [model.joint(name).q.start for name in joint_names(mj_model)]
    assert starts == mj_model.jnt_qposadr.tolist()


def test_unnamed_and_intermediate_things_get_stable_names(tmp_path: Path) -> None:
    model = load(written(tmp_path, EVERYTHING, "everything.xml"))
    assert model.link_names == (
        "root", "arm/arm_a", "arm/arm_b", "arm/arm_c", "arm", "body3/body3_joint", "body3", "ball_here", "welded",
        "target", "rail/rail_joint", "rail",
    )  # fmt: skip
    assert model.link("rail").joint_name == "rail_joint2"
    assert model.link("target").joint.nv == 0


def test_joints_carry_ranges_springs_and_efforts(tmp_path: Path) -> None:
    model = load(written(tmp_path, EVERYTHING, "everything.xml"))
    a, b, c = (model.joint(f"arm_{x}").joint for x in "abc")
    assert np.array_equal(a.limits, [[-1, 2]])  # type: ignore[arg-type]
    assert np.array_equal(a.stiffness, [[5]])  # type: ignore[arg-type]
    assert np.array_equal(a.rest, [0.2])  # type: ignore[arg-type]
    assert np.array_equal(a.armature, [0.1])
    assert [joint.effort for joint in (a, b, c)] == [30, 6, 40]  # the joint's bound, the actuator's, gear times control


def test_geoms_become_shapes(tmp_path: Path) -> None:
    model = load(written(tmp_path, EVERYTHING, "everything.xml"))
    (capsule,), (box,), (ellipsoid,) = (model.link(name).shapes for name in ("root", "body3", "ball_here"))
    assert isinstance(capsule, uk.Capsule)
    assert (capsule.radius, capsule.length) == (0.05, 0.2)
    assert np.array_equal(capsule.at.position, (0.1, 0, 0))
    assert isinstance(box, uk.Box)
    assert np.array_equal(box.size, (0.2, 0.1, 0.04))
    volume = 4 / 3 * np.pi * 0.1 * 0.05 * 0.08
    assert 0.95 * volume < ellipsoid.volume < volume  # a hull of points lies inside
    assert [type(s) for s in model.link("rail").shapes + model.link("welded").shapes] == [uk.Sphere, uk.Cylinder]


def test_shapes_that_touch_nothing_are_left_out(tmp_path: Path) -> None:
    geoms = '<geom name="a" size="0.1"/><geom name="b" size="0.2" contype="0" conaffinity="0"/>'
    pair = '<contact><pair geom1="b" geom2="other"/></contact>'
    world = '<geom name="other" type="plane" size="1 1 1"/>'
    body = f'<worldbody>{world}<body name="ball"><freejoint/>{geoms}</body></worldbody>'
    for text, count in ((body, 1), (body + pair, 2)):
        assert len(load(written(tmp_path, f"<mujoco>{text}</mujoco>", "a.xml")).link("ball").shapes) == count


def test_sites_become_landmarks(tmp_path: Path) -> None:
    landmark = load(written(tmp_path, EVERYTHING, "everything.xml")).landmarks["tip"]
    assert landmark.link == "root"
    assert np.allclose(landmark.at.position, (0.1, 0.2, 0.3), atol=1e-15)
    assert np.allclose(landmark.at.quaternion, (0.6, 0, 0.8, 0), atol=1e-15)


LOOPS = """
<mujoco><compiler angle="radian"/>
  <worldbody>
    <body name="a" pos="0.1 0.2 0.3" euler="0.1 0.2 0.3"><joint name="ja" ref="0.5"/><geom size="0.1"/>
      <site name="sa" pos="0.1 0 0"/></body>
    <body name="b" pos="-0.3 0.1 0" euler="0.5 0 0"><joint name="jb" ref="0.2"/><geom size="0.1"/>
      <site name="sb" pos="0 0.1 0" euler="0.2 0 0.1"/></body>
    <body name="c"><joint name="jc"/><geom size="0.1"/></body>
  </worldbody>
  <equality>
    <connect name="pin" body1="a" body2="b" anchor="0.1 0.2 0.3"/>
    <connect body1="a" anchor="0 0 0.1"/>
    <weld name="glue" body1="a" body2="b" anchor="0.3 0 0"/>
    <weld name="sites" site1="sa" site2="sb"/>
    <joint joint1="ja" joint2="jb" polycoef="0.3 2 0 0 0"/>
    <joint name="bent" joint1="jc" joint2="jb" polycoef="0 1 3 0 0"/>
    <joint name="held" joint1="ja" polycoef="0.4 1 0 0 0"/>
    <connect name="later" body1="a" body2="c" anchor="0 0 0" active="false"/>
  </equality>
</mujoco>
"""


def test_equalities_become_loops_that_are_closed_in_the_pose_of_the_file(tmp_path: Path) -> None:
    with pytest.warns(uk.UkemiWarning) as caught:
        model = load(written(tmp_path, LOOPS, "loops.xml"))
    left_out = [str(w.message).split(": ")[-1] for w in caught]
    assert left_out == ["later"]
    assert [(loop.name, loop.a, loop.b, type(loop.joint)) for loop in model.loops] == [
        ("pin", "a", "b", uk.Spherical),
        ("equality1", "a", "world", uk.Spherical),
        ("glue", "a", "b", uk.Fixed),
        ("sites", "a", "b", uk.Fixed),
    ]
    X = dict(zip(model.link_names, uk.link_poses(model, [0.5, 0.2, 0]), strict=True)) | {"world": np.eye(4)}
    for loop in model.loops[:3]:
        end_a, end_b = X[loop.a] @ loop.at_a.matrix, X[loop.b] @ loop.at_b.matrix
        assert np.allclose(end_a[:3, 3], end_b[:3, 3], atol=1e-12)
        if isinstance(loop.joint, uk.Fixed):
            assert np.allclose(end_a, end_b, atol=1e-12)
    assert np.allclose(model.loops[3].at_b.position, (0, 0.1, 0))
    assert np.allclose(model.loops[2].at_b.position, (0.3, 0, 0))


def test_joint_equalities_become_couplings(tmp_path: Path) -> None:
    linear, bent, held = load(written(tmp_path, LOOPS, "loops.xml")).couplings
    assert (linear.joint, linear.master, linear.multiplier, linear.higher) == ("ja", "jb", 2.0, ())
    assert linear.offset == pytest.approx(0.5 + 0.3 - 2 * 0.2, abs=1e-15)
    # q_c = 1 x + 3 x^2 with x = q_b - 0.2
    assert (bent.joint, bent.master) == ("jc", "jb")
    assert (bent.offset, bent.multiplier, *bent.higher) == pytest.approx((-0.2 + 0.12, 1 - 1.2, 3), abs=1e-15)
    assert (held.joint, held.master, held.offset) == ("ja", None, 0.5 + 0.4)


def test_cassie_has_its_four_loops(shared: Path) -> None:
    loops = load(shared / "models/agility_cassie/cassie.xml").loops
    assert [(loop.a, loop.b) for loop in loops][:2] == [
        ("left-plantar-rod", "left-foot"),
        ("left-achilles-rod", "left-heel-spring"),
    ]
    assert len(loops) == 4


BALL = '<worldbody><body name="ball"><freejoint/><geom size="0.1"/></body></worldbody>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BALL.replace("<freejoint/>", '<joint name="j" frictionloss="1"/>'), r"frictionloss.*: j$"),
        (BALL.replace("<freejoint/>", '<joint name="j" type="free" stiffness="1"/>'), r"springs of free joints.*: j$"),
        (BALL.replace("<freejoint/>", '<joint name="j" type="free" armature="1"/>'), r"armature of a free joint.*: j$"),
        (BALL.replace("<body ", '<geom name="wall" type="box" size="1 1 1"/><body '), r"shapes of the ground.*: wall$"),
        (BALL.replace('name="ball"', 'name="ball" gravcomp="1"'), "gravity compensation"),
        (BALL + '<option viscosity="0.1"/>', "surrounding fluid"),
        (BALL + '<option gravity="0 0 -1.6"/>', r"gravity \[0.0, 0.0, -1.6\]"),
        (
            BALL.replace("<freejoint/>", '<joint name="j"/>')
            + '<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>',
            "tendons are not modelled",
        ),
    ],
)
def test_what_acts_in_mujoco_only_is_said(tmp_path: Path, text: str, message: str) -> None:
    with pytest.warns(uk.UkemiWarning, match=message):
        load(written(tmp_path, f"<mujoco>{text}</mujoco>", "small.xml"))


def test_mujocos_warnings_are_ours_and_leave_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    singular = BALL.replace("<freejoint/>", "<joint/><joint/>")  # twice the same axis
    with pytest.warns(uk.UkemiWarning, match="MuJoCo: Inertia matrix"):
        load(written(tmp_path, f"<mujoco>{singular}</mujoco>", "small.xml"))
    assert [path.name for path in tmp_path.iterdir()] == ["small.xml"]
