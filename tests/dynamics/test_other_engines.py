"""Random trees with every joint kind against Pinocchio and MuJoCo: inertia matrix, bias, accelerations, poses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.trees import random_model, random_state

import ukemi as uk
from ukemi.model.arrays import Array
from ukemi.model.model import Link

pytestmark = pytest.mark.oracle
#: what the issue of agreement asks for, relative to the size of the result
AGREE = 1e-9
seeds = st.integers(0, 10**6)


def close(a: Array, b: Array) -> bool:
    return bool(np.abs(a - b).max(initial=0) <= AGREE * (1 + np.abs(b).max(initial=0)))


def single_axes(joint: object) -> list[tuple[str, Array]]:
    """Universal and planar joints as hinges and slides in a row, with the same coordinates and rates."""
    if isinstance(joint, uk.Universal):
        return [("hinge", np.asarray(joint.first)), ("hinge", np.asarray(joint.second))]
    assert isinstance(joint, uk.Planar)
    n, x = np.asarray(joint.normal), np.asarray(joint.x)
    return [("slide", x), ("slide", np.cross(n, x)), ("hinge", n)]


def in_pinocchio(model: uk.Model, pin: Any) -> Any:
    """Joints stand in our order, so that velocities and torques are laid out alike."""
    built = pin.Model()
    carriers: list[tuple[int, Any]] = []  # per link: pin's joint, and where the link stands in it
    for link in model.links:
        parent, here = (0, pin.SE3.Identity()) if link.parent is None else carriers[link.parent.index]
        at = here * pin.SE3(link.at.R, np.array(link.at.position))
        joint = link.joint
        if isinstance(joint, uk.Fixed):
            carriers.append((parent, at))
        else:
            if isinstance(joint, uk.Universal | uk.Planar):
                kinds = {"hinge": pin.JointModelRevoluteUnaligned, "slide": pin.JointModelPrismaticUnaligned}
                row = [kinds[kind](axis.copy()) for kind, axis in single_axes(joint)]
            elif isinstance(joint, uk.Revolute):
                row = [pin.JointModelRevoluteUnaligned(np.array(joint.axis))]
            elif isinstance(joint, uk.Prismatic):
                row = [pin.JointModelPrismaticUnaligned(np.array(joint.axis))]
            else:
                row = [pin.JointModelSpherical() if isinstance(joint, uk.Spherical) else pin.JointModelFreeFlyer()]
            for k, kind in enumerate(row):
                parent = built.addJoint(parent, kind, at if k == 0 else pin.SE3.Identity(), f"{link.name}.{k}")
            carriers.append((parent, pin.SE3.Identity()))
        m, (carrier, place) = link.mass_properties, carriers[-1]
        built.appendBodyToJoint(carrier, pin.Inertia(m.mass, np.array(m.com), np.array(m.inertia)), place)
    return built


@settings(max_examples=300, deadline=None)
@given(seeds, st.integers(1, 12))
def test_random_trees_equal_pinocchio(seed: int, links: int) -> None:
    pin = pytest.importorskip("pinocchio")
    model = random_model(seed, links)
    q, v, tau = random_state(model, seed)
    theirs = in_pinocchio(model, pin)
    data = theirs.createData()
    at = q.copy()
    for link in model.links:
        if link.joint.nq >= 4:
            at[link.q.stop - 4 : link.q.stop] = np.roll(q[link.q.stop - 4 : link.q.stop], -1)
    M = pin.crba(theirs, data, at)
    assert close(uk.mass_matrix(model, q), np.triu(M) + np.triu(M, 1).T)
    assert close(uk.inverse_dynamics(model, q, v, tau), pin.rnea(theirs, data, at, v, tau))
    assert close(uk.forward_dynamics(model, q, v, tau), pin.aba(theirs, data, at, v, tau))


def in_mujoco(model: uk.Model, mujoco: Any) -> Any:
    def text(x: Array) -> str:
        return " ".join(repr(float(value)) for value in x)

    children: dict[int, list[Link]] = {}
    for link in model.links:
        children.setdefault(-1 if link.parent is None else link.parent.index, []).append(link)

    def body(link: Link) -> str:
        joint, m = link.joint, link.mass_properties
        if isinstance(joint, uk.Spherical):
            joints = '<joint type="ball"/>'
        elif isinstance(joint, uk.Fixed):
            joints = ""
        else:
            if isinstance(joint, uk.Revolute | uk.Prismatic):
                rows = [("hinge" if isinstance(joint, uk.Revolute) else "slide", np.asarray(joint.axis))]
            else:
                rows = single_axes(joint)
            joints = "".join(f'<joint type="{kind}" axis="{text(axis)}"/>' for kind, axis in rows)
        I = m.inertia
        six = text(np.array([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]))
        inner = "".join(body(child) for child in children.get(link.index, []))
        return (
            f'<body name="{link.name}" pos="{text(link.at.position)}" quat="{text(link.at.quaternion)}">{joints}'
            f'<inertial pos="{text(m.com)}" mass="{m.mass!r}" fullinertia="{six}"/>{inner}</body>'
        )

    bodies = "".join(body(link) for link in children.get(-1, []))
    xml = f'<mujoco><compiler angle="radian"/><worldbody>{bodies}</worldbody></mujoco>'
    return mujoco.MjModel.from_xml_string(xml)


@settings(max_examples=150, deadline=None)
@given(seeds, st.integers(1, 10))
def test_random_trees_equal_mujoco(seed: int, links: int) -> None:
    mujoco = pytest.importorskip("mujoco")
    model = random_model(seed, links, kinds=("revolute", "prismatic", "universal", "spherical", "planar", "fixed"))
    q, v, tau = random_state(model, seed)
    theirs = in_mujoco(model, mujoco)
    data = mujoco.MjData(theirs)
    data.qpos, data.qvel, data.qfrc_applied = q, v, tau
    mujoco.mj_forward(theirs, data)
    M = np.zeros((model.nv, model.nv))
    for i, column in enumerate(np.eye(model.nv)):
        mujoco.mj_mulM(theirs, data, M[i], column)
    assert close(uk.mass_matrix(model, q), M)
    assert close(uk.bias(model, q, v), np.array(data.qfrc_bias))
    assert close(uk.forward_dynamics(model, q, v, tau), np.array(data.qacc))
    for i, X in enumerate(uk.link_poses(model, q)):
        body = data.body(model.link_names[i])
        assert close(X[:3, 3], body.xpos)
        assert close(X[:3, :3], body.xmat.reshape(3, 3))
