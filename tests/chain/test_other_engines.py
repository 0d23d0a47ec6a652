"""Closed chains against Pinocchio's constraint dynamics, and Cassie's loops from its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ukemi as uk

pytestmark = pytest.mark.oracle
#: Pinocchio's proximal solver stops at 1e-12 of its residual
SOLVER = 1e-9


def pinocchio_of(model: uk.Model, pin: Any) -> Any:
    """The same tree of free, spherical and revolute joints."""
    built = pin.Model()
    built.gravity.linear = np.array((0, 0, -9.81))
    for link in model.links:
        parent = 0 if link.parent is None else link.parent.index + 1
        if isinstance(link.joint, uk.Revolute):
            joint = pin.JointModelRevoluteUnaligned(np.array(link.joint.axis))
        else:
            joint = pin.JointModelSpherical() if isinstance(link.joint, uk.Spherical) else pin.JointModelFreeFlyer()
        i = built.addJoint(parent, joint, pin.SE3(link.at.R, np.array(link.at.position)), link.name)
        m = link.mass_properties
        built.appendBodyToJoint(i, pin.Inertia(m.mass, np.array(m.com), np.array(m.inertia)), pin.SE3.Identity())
    return built


def in_pinocchio(model: uk.Model, q: np.ndarray) -> np.ndarray:
    out = q.copy()
    for link in model.links:
        if link.joint.nq >= 4:
            k = link.q.stop - 4
            out[k : k + 4] = np.roll(q[k : k + 4], -1)
    return out


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 10), st.booleans(), st.booleans())
def test_random_loops_equal_pinocchio(seed: int, links: int, weld: bool, to_ground: bool) -> None:
    pin = pytest.importorskip("pinocchio")
    from tests.trees import random_model

    model = random_model(seed, links, kinds=("free", "spherical", "revolute"))
    rng = np.random.default_rng(seed)
    q, v = model.random(rng)
    world = uk.World(allow_rigid=True)
    figure = world.add(model, name="f", q=q, v=v)
    a = "world" if to_ground else model.link_names[0]
    b = model.link_names[-1]
    handle = world.ground if to_ground else figure[a]
    world.connect(handle, figure[b], uk.Fixed() if weld else uk.Spherical(), at=uk.Pose(figure[b].X_W[:3, 3]))
    if world.mobility().redundant or world.mobility().dof == 0:
        return  # Pinocchio answers redundant constraints with regularised ones
    tau = rng.standard_normal(model.nv)
    ours = world.forward_dynamics(tau)

    theirs = pinocchio_of(model, pin)
    data = theirs.createData()
    at = in_pinocchio(model, world.q)
    pin.forwardKinematics(theirs, data, at)
    ja, jb = 0 if to_ground else theirs.getJointId(a), theirs.getJointId(b)
    X_b = pin.SE3(np.eye(3), figure[b].X_W[:3, 3])
    on_a, on_b = data.oMi[ja].actInv(X_b), data.oMi[jb].actInv(X_b)
    kind = pin.ContactType.CONTACT_6D if weld else pin.ContactType.CONTACT_3D
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(pin.RigidConstraintModel(kind, theirs, jb, on_b, ja, on_a, pin.LOCAL))
    datas.append(models[0].createData())
    pin.initConstraintDynamics(theirs, data, models, datas)
    settings_ = pin.ProximalSettings(1e-13, 1e-10, 200)
    found = pin.constraintDynamics(theirs, data, at, world.v, tau, models, datas, settings_)
    H, _ = world.closed.jacobian(world.q, world.v)
    if np.linalg.svd(H, compute_uv=False).min() < 1e-2:
        return  # too near a singular pose for a proximal solver
    assert np.abs(found - ours).max() < SOLVER * (1 + np.abs(ours).max())


def test_cassie_runs(shared: Path) -> None:
    pytest.importorskip("mujoco")
    with pytest.warns(uk.UkemiWarning):
        model = uk.load(shared / "models" / "agility_cassie" / "cassie.xml")
    assert len(model.loops) == 4
    world = uk.World()
    world.add(model, name="cassie")
    assert len(world.connections) == 4
    # 32 freedoms of the tree, 12 equations of the four points; the plantar rods move in a plane, across which nothing
    # needs to be held
    mobility = world.mobility()
    assert len(mobility.redundant) == 2
    assert mobility.dof == model.nv - 10
    recording = uk.Simulation(world, 1e-3, "adaptive").run(0.3, every=10)
    gaps = [np.abs(world.closed.state(q, v)[0]).max() for q, v in zip(recording.q, recording.v, strict=True)]
    assert max(gaps) < 1e-9
    com = uk.center_of_mass(world.model, recording.q)
    assert np.allclose(com[:, 2], com[0, 2] - 0.5 * 9.81 * recording.time**2, atol=1e-9)
