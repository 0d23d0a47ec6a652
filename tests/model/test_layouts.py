"""States in the layouts of MuJoCo and Pinocchio: the same motion, there and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.model.readers.urdf_texts import every_joint, joint, link, robot, written

import ukemi as uk
from ukemi.model.layouts import from_mujoco, from_pinocchio, to_mujoco, to_pinocchio
from ukemi.model.readers.load import load

pytestmark = pytest.mark.oracle

#: A few roundings of numbers of size one.
ROUNDING = 1e-13
#: Central differences over 2e-6 s: 1e-10 of rounding, 1e-11 of curvature.
DIFFERENCES = 1e-8
STEP = 1e-6

MJCF = """
<mujoco><worldbody>
  <body name="root"><freejoint name="float"/><geom size="0.1"/>
    <body name="a"><joint name="turn" axis="0 1 0"/><joint name="slide" type="slide"/><geom size="0.1"/>
      <body name="b"><joint type="ball"/><geom size="0.1"/></body></body></body>
</worldbody></mujoco>
"""


@pytest.fixture
def in_mujoco(tmp_path: Path) -> tuple[uk.Model, Any]:
    mujoco = pytest.importorskip("mujoco")
    return load(written(tmp_path, MJCF, "small.xml")), mujoco.MjModel.from_xml_string(MJCF)


@pytest.fixture
def in_pinocchio(tmp_path: Path) -> tuple[uk.Model, Any]:
    pin = pytest.importorskip("pinocchio")
    path = written(tmp_path, every_joint())
    return load(path, base=uk.Free()), pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())


def test_mujoco_there_and_back_changes_nothing(in_mujoco: tuple[uk.Model, Any]) -> None:
    model, mj_model = in_mujoco
    q, v = model.random(np.random.default_rng(1))
    q_back, v_back = from_mujoco(model, mj_model, *to_mujoco(model, mj_model, q, v))
    assert np.abs(q_back - q).max() < ROUNDING
    assert np.abs(v_back - v).max() < ROUNDING


def test_mujoco_integrates_the_velocity_to_the_same_pose(in_mujoco: tuple[uk.Model, Any]) -> None:
    import mujoco

    model, mj_model = in_mujoco
    q, v = model.random(np.random.default_rng(2))
    _, qvel = to_mujoco(model, mj_model, q, v)
    before, after = (to_mujoco(model, mj_model, uk.integrate(model, q, v, sign * STEP), v)[0] for sign in (-1, 1))
    found = np.zeros(mj_model.nv)
    mujoco.mj_differentiatePos(mj_model, found, 2 * STEP, before, after)
    # across the step the root turns; its rate is that of the middle to second order
    assert np.abs(found - qvel).max() < DIFFERENCES


def test_a_free_joint_moves_along_world_axes_in_mujoco(in_mujoco: tuple[uk.Model, Any]) -> None:
    model, mj_model = in_mujoco
    q, v = model.neutral(), np.zeros(model.nv)
    q[3:7] = np.sqrt(0.5), 0, 0, np.sqrt(0.5)  # a quarter turn about z: the link's x is the world's y
    v[:6] = 1, 0, 0, 0, 2, 0
    _, qvel = to_mujoco(model, mj_model, q, v)
    assert np.abs(qvel[:6] - (0, 1, 0, 0, 2, 0)).max() < ROUNDING


def test_pinocchio_there_and_back_changes_nothing(in_pinocchio: tuple[uk.Model, Any]) -> None:
    model, pin_model = in_pinocchio
    q, v = model.random(np.random.default_rng(3))
    q_back, v_back = from_pinocchio(model, pin_model, *to_pinocchio(model, pin_model, q, v))
    assert np.abs(q_back - q).max() < ROUNDING
    assert np.abs(v_back - v).max() < ROUNDING


def test_pinocchio_integrates_the_velocity_to_the_same_pose(in_pinocchio: tuple[uk.Model, Any]) -> None:
    import pinocchio as pin

    model, pin_model = in_pinocchio
    q, v = model.random(np.random.default_rng(4))
    _, pin_v = to_pinocchio(model, pin_model, q, v)
    before, after = (to_pinocchio(model, pin_model, uk.integrate(model, q, v, sign * STEP), v)[0] for sign in (-1, 1))
    found = pin.difference(pin_model, before, after) / (2 * STEP)
    assert np.abs(found - pin_v).max() < DIFFERENCES


def test_pinocchio_has_two_numbers_for_angles_without_limit(in_pinocchio: tuple[uk.Model, Any]) -> None:
    model, pin_model = in_pinocchio
    q = model.neutral()
    q[model.joint("continuous_joint").q] = 0.3
    q[model.joint("planar_joint").q] = 1, 2, 0.5
    pin_q, _ = to_pinocchio(model, pin_model, q, np.zeros(model.nv))
    continuous, planar = (
        pin_model.joints[pin_model.getJointId(name)].idx_q for name in ("continuous_joint", "planar_joint")
    )
    assert pin_q[continuous : continuous + 2] == pytest.approx([np.cos(0.3), np.sin(0.3)], abs=ROUNDING)
    assert pin_q[planar : planar + 4] == pytest.approx([1, 2, np.cos(0.5), np.sin(0.5)], abs=ROUNDING)


def test_models_with_other_joints_are_refused(in_mujoco: tuple[uk.Model, Any], tmp_path: Path) -> None:
    _, mj_model = in_mujoco
    ball = load(written(tmp_path, robot(link("a"), link("b"), joint("turn", "spherical", "a", "b"))))
    with pytest.raises(uk.InvalidInputError, match="nv 3, MuJoCo's 11"):
        to_mujoco(ball, mj_model, ball.neutral(), np.zeros(3))


@pytest.mark.parametrize(
    ("name", "kind", "error", "message"),
    [
        ("other", uk.Spherical(), uk.UnknownNameError, "no joint named 'turn'"),
        ("turn", uk.Planar(), uk.InvalidInputError, "joint 'turn' is Planar here and ball there"),
    ],
)
def test_joints_are_matched_by_name_and_kind(
    name: str, kind: uk.Spherical | uk.Planar, error: type[Exception], message: str
) -> None:
    mujoco = pytest.importorskip("mujoco")
    text = '<mujoco><worldbody><body><joint name="turn" type="ball"/><geom size="1"/></body></worldbody></mujoco>'
    model = uk.Builder().link("a", joint=kind, joint_name=name).build()
    with pytest.raises(error, match=message):
        to_mujoco(model, mujoco.MjModel.from_xml_string(text), model.neutral(), np.zeros(3))


def test_states_of_the_wrong_size_are_refused(in_mujoco: tuple[uk.Model, Any]) -> None:
    model, mj_model = in_mujoco
    with pytest.raises(uk.InvalidInputError, match="qpos"):
        from_mujoco(model, mj_model, np.zeros(3), np.zeros(model.nv))
    with pytest.raises(uk.InvalidInputError, match="v: expected"):
        to_mujoco(model, mj_model, model.neutral(), np.zeros(3))
