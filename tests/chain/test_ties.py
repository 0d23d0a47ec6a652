"""Ties between joint coordinates: gears and held joints with known answers, both formulations, switching on and off."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.other_engines import of_pinocchio
from tests.trees import random_model, random_pose

import ukemi as uk
from ukemi.errors import UkemiError

#: two algorithms on well-posed structures
AGREE = 1e-9
#: closed forms with entries of order one: rounding
EXACT = 1e-12
GRAVITY = 9.81


def two_pendula() -> uk.Builder:
    """Beside each other about y; 2 kg at 0.5 m and 1 kg at 0.8 m."""
    b = uk.Builder("pendula")
    axis = uk.Revolute((0, 1, 0))
    b.link("a", joint=axis, mass=2.0, com=(0, 0, -0.5), inertia=(0, 0, 0))
    b.link("b", joint=axis, at=uk.Pose((0, 1, 0)), mass=1.0, com=(0, 0, -0.8), inertia=(0, 0, 0))
    return b


def geared(q: float, v: float) -> uk.World:
    world = uk.World()
    world.add(two_pendula().couple("b", "a", 2.0, 0.1).build(), name="p", q=[q, 2 * q + 0.1], v=[v, 2 * v])
    return world


def test_two_pendula_geared_one_to_two() -> None:
    """(I_a + 4 I_b) qdd = -m_a g l_a sin q - 2 m_b g l_b sin(2 q + 0.1); the gear's torque drives the second."""
    q = 0.7
    world = geared(q, 1.3)
    inertia_a, inertia_b = 2.0 * 0.25, 1.0 * 0.64
    pull_a, pull_b = -2.0 * GRAVITY * 0.5 * np.sin(q), -1.0 * GRAVITY * 0.8 * np.sin(2 * q + 0.1)
    qdd = (pull_a + 2 * pull_b) / (inertia_a + 4 * inertia_b)
    assert np.abs(world.forward_dynamics() - (qdd, 2 * qdd)).max() < 1e-11
    assert np.abs(world.forward_dynamics(formulation="minimal") - (qdd, 2 * qdd)).max() < 1e-11
    (tie,) = world.ties
    assert tie.force == pytest.approx(inertia_b * 2 * qdd - pull_b, rel=1e-12)  # on b, whose factor is 1
    mobility = world.mobility()
    assert mobility.dof == 1
    assert "2 joint freedoms, 1 equations of loops and ties" in mobility.summary()


def test_a_gear_keeps_energy_and_its_ratio() -> None:
    world = geared(1.0, 0.0)
    recording = uk.Simulation(world, 1e-3, "rk4").run(3.0)
    assert np.abs(recording.q[:, 1] - 2 * recording.q[:, 0] - 0.1).max() < EXACT
    assert np.ptp(recording.energy) < 1e-9 * np.abs(recording.energy).max() + 1e-9


def test_a_model_is_moved_until_its_couplings_fit() -> None:
    world = uk.World()
    world.add(two_pendula().couple("b", "a", 2.0, 0.1).build(), name="p", q=[0.7, 0.0], v=[1.0, 0.0])
    assert world.q[1] == pytest.approx(2 * world.q[0] + 0.1, abs=EXACT)
    assert world.v[1] == pytest.approx(2 * world.v[0], abs=EXACT)
    # the least change in the metric of the inertia: I_a da + 2 I_b db = 0
    assert 0.5 * (world.q[0] - 0.7) + 2 * 0.64 * world.q[1] == pytest.approx(0, abs=EXACT)


def test_a_held_joint_is_a_joint_that_is_not_there() -> None:
    """The human figure with its left elbow held, against the figure built with the elbow welded at that angle."""
    model = uk.human(28)
    rng = np.random.default_rng(5)
    q, v = model.random(rng)
    elbow = model.joint("left_elbow")
    v[elbow.v] = 0
    world = uk.World()
    man = world.add(model, name="man", q=q, v=v)
    tie = world.hold(man.joint("left_elbow"))
    b = uk.Builder("welded")
    for link in model.links:
        joint, at = link.joint, link.at
        if link.name == elbow.name:
            turn, axis = float(q[elbow.q][0]) / 2, np.asarray(link.joint.axis)  # type: ignore[attr-defined]
            joint, at = uk.Fixed(), at @ uk.Pose(quaternion=[np.cos(turn), *(np.sin(turn) * axis)])
        m = link.mass_properties
        parent = link.parent.name if link.parent else "world"
        b.link(link.name, parent, joint, at, mass=m.mass, com=m.com, inertia=m.inertia)
    welded = b.build()
    tau = rng.standard_normal(model.nv)
    keep_q = np.delete(np.arange(model.nq), elbow.q)
    keep_v = np.delete(np.arange(model.nv), elbow.v)
    expected = uk.forward_dynamics(welded, q[keep_q], v[keep_v], tau[keep_v])
    a = world.forward_dynamics(tau)
    assert np.abs(a[keep_v] - expected).max() < AGREE * np.abs(expected).max()
    assert np.abs(a[elbow.v]).max() < AGREE
    # the reaction torque is what inverse dynamics asks of the elbow beyond its own torque
    world.tau = tau
    assert tie.force == pytest.approx((uk.inverse_dynamics(model, q, v, a) - tau)[elbow.v][0], rel=1e-9)


def test_switching_on_stops_the_joint_and_off_lets_it_go() -> None:
    world = uk.World()
    figure = world.add(two_pendula().build(), name="p", v=[3.0, 1.0])
    stop = world.hold(figure.joint("a"))
    assert np.abs(world.v - (0, 1)).max() < EXACT
    assert stop.impulse == pytest.approx(-3.0 * 0.5)
    assert stop.energy_lost == pytest.approx(0.5 * 0.5 * 9)
    stop.off()
    assert world.mobility().dof == 2
    assert stop.force == 0
    with pytest.raises(uk.InvalidInputError, match=r"0\.5 m \(or rad\) apart"):
        stop.on(0.5)
    assert not stop.active
    assert stop.value == 0
    stop.on(0.5, snap=True)
    assert world.q[0] == pytest.approx(0.5, abs=EXACT)
    with pytest.raises(uk.InvalidInputError, match="acts already"):
        stop.on()


def test_a_limit_with_restitution_throws_back_and_ends() -> None:
    world = uk.World()
    figure = world.add(two_pendula().build(), name="p", v=[3.0, 1.0])
    stop = world.hold(figure.joint("a"), restitution=0.5)
    assert np.abs(world.v - (-1.5, 1)).max() < EXACT
    assert not stop.active


def test_the_angle_of_a_spherical_joint_is_a_coordinate() -> None:
    """A ball joint held at its angle still turns about axes across; the hold does no work."""
    b = uk.Builder("ball")
    b.link("arm", joint=uk.Spherical(), mass=2, com=(0, 0, -0.5), inertia=(0.2, 0.1, 0.15))
    world = uk.World()
    turn = uk.Pose.from_rpy((0, 0, 0), (0.4, 0.3, -0.2)).quaternion
    arm = world.add(b.build(), q=turn, v=[0.3, 2.0, -1.0])
    cone = world.hold(arm.joint("arm"))
    angle = 2 * np.arccos(turn[0])
    assert cone.value == pytest.approx(angle, rel=1e-12)
    assert world.mobility().dof == 2
    a = world.forward_dynamics()
    assert np.abs(world.forward_dynamics(formulation="minimal") - a).max() < AGREE * np.abs(a).max()
    recording = uk.Simulation(world, 1e-3, "rk4").run(1.0)
    assert np.abs(2 * np.arccos(recording.q[:, 0]) - angle).max() < 1e-10
    assert np.ptp(recording.energy) < 1e-8


def random_tied_world(seed: int, ties: int, loops: int) -> uk.World:
    """A random tree with random polynomial ties and welds to the ground's reach, moving as they allow."""
    rng = np.random.default_rng(seed)
    world = uk.World(rng.standard_normal(3), allow_rigid=True)
    model = random_model(
        seed, 7, kinds=("revolute", "prismatic", "universal", "spherical", "planar"), elastic=seed % 2 == 0
    )
    figure = world.add(model, name="f", q=model.random(rng)[0])
    coordinates = [
        figure.joint(link.joint_name)[k]
        for link in model.links
        for k in range(1 if isinstance(link.joint, uk.Spherical) else link.joint.nv)
    ]
    for _ in range(ties):
        chosen = rng.choice(len(coordinates), min(len(coordinates), int(rng.integers(1, 4))), replace=False)
        world.tie({coordinates[i]: rng.standard_normal(rng.integers(1, 5)) for i in chosen})
    for _ in range(loops):
        name = model.link_names[rng.integers(model.nlinks)]
        world.connect(world.ground, figure[name].at(random_pose(rng)), uk.Spherical())
    world.q, world.v, _ = world.closed.project(world.q, rng.standard_normal(model.nv))
    return world


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(0, 1))
def test_both_formulations_agree_with_ties(seed: int, ties: int, loops: int) -> None:
    world = random_tied_world(seed, ties, loops)
    if world.mobility().dof == 0:
        return
    tau = np.random.default_rng(seed).standard_normal(world.model.nv)
    a = world.forward_dynamics(tau)
    H, rate = world.closed.jacobian(world.q, world.v)
    sizes = np.linalg.svd(H, compute_uv=False)
    sizes = sizes[sizes > 1e-9 * sizes.max(initial=1.0)]
    if sizes.size and sizes.min() < 1e-3:
        return  # near a singular pose neither formulation means much
    scale = 1 + np.abs(a).max()
    assert np.abs(H @ a + rate).max() < AGREE * scale
    assert np.abs(world.forward_dynamics(tau, formulation="minimal") - a).max() < AGREE * scale


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_rates_and_their_rates_are_those_of_finite_differences(seed: int) -> None:
    world = random_tied_world(seed, 3, 0)
    h = 1e-6

    def at(s: float) -> tuple[np.ndarray, np.ndarray]:
        return world.closed.state(uk.integrate(world.model, world.q, world.v, s * h), world.v)

    (error_0, rate_0), (error_1, rate_1) = at(-1), at(1)
    H, rate_v = world.closed.jacobian(world.q, world.v)
    scale = 1 + np.abs(rate_v).max()
    assert np.abs((error_1 - error_0) / (2 * h) - H @ world.v).max() < 1e-6 * scale
    assert np.abs((rate_1 - rate_0) / (2 * h) - rate_v).max() < 1e-5 * scale


def test_a_tie_ends_with_its_joint() -> None:
    world = geared(0.3, 0.0)
    (tie,) = world.ties
    world.cut(world.figures["p"].joint("b"))
    assert not tie.active
    assert world.ties == []


def test_bad_ties_are_named_and_change_nothing() -> None:
    world = uk.World()
    man = world.add(uk.human(28), name="man")
    version, q = world.version, world.q.copy()
    root = man.model.joint_names[0]
    for bad, match in (
        (lambda: world.hold(man.joint(root)), "a tie cannot hold it"),
        (lambda: world.hold(man.joint("left_elbow")[1]), "coordinates 0 to 0"),
        (lambda: world.tie({}), "expected {joint: factor}"),
        (lambda: world.tie({man["left_hand"]: 1.0}), "expected joints"),  # type: ignore[dict-item]
        (lambda: world.tie({man.joint("left_elbow"): 0.0}), "other than zero"),
        (lambda: world.tie({man.joint("left_elbow"): np.ones(5)}), r"coefficients of x, x\^2"),
        (lambda: world.tie({man.joint("left_elbow"): 1, man.joint("left_elbow")[0]: 2}), "twice"),
        (lambda: world.hold(man.joint("left_elbow"), np.nan), "finite"),
        (lambda: world.hold(man.joint("left_elbow"), restitution=2), "from 0 to 1"),
        (lambda: world.hold(man.joint("left_elbow"), 1.0), "apart"),
    ):
        with pytest.raises(UkemiError, match=match):
            bad()  # type: ignore[no-untyped-call]
    assert world.ties == []
    assert (world.q == q).all()
    assert world.version >= version
    with pytest.raises(uk.ModelError, match="not one coordinate"):
        two_pendula().link("c", "a", uk.Spherical(), mass=1, inertia=(1, 1, 1)).couple("c", "a").build()


POLYNOMIAL = """
<mujoco><compiler angle="radian"/><option gravity="0.3 0 -9.81"/>
  <worldbody>
    <body name="a"><joint name="ja" axis="0 1 0" ref="0.2"/><geom size="0.1" pos="0.1 0 -0.5"/>
      <body name="b" pos="0 0 -1"><joint name="jb" axis="1 1 0" ref="0.5"/><geom size="0.1" pos="0 0.2 -0.4"/></body>
    </body>
    <body name="c" pos="1 0 0"><joint name="jc" axis="0 0 1" type="slide"/><geom size="0.2"/></body>
    <body name="d" pos="2 0 0"><joint name="jd" axis="0 1 0" ref="0.1"/><geom size="0.2" pos="0.3 0 0"/></body>
  </worldbody>
  <equality>
    <joint joint1="ja" joint2="jb" polycoef="0.3 2 -1 0.5 0.25"/>
    <joint joint1="jc" joint2="ja" polycoef="0.1 -0.5 0 0 0"/>
    <joint joint1="jd" polycoef="0.4 0 0 0 0"/>
  </equality>
</mujoco>
"""


@pytest.mark.oracle
def test_joint_equalities_of_mjcf_equal_mujoco(tmp_path: Path) -> None:
    """MuJoCo's constraint Jacobian, inertia matrix and bias give the exact accelerations at rest."""
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "polynomial.xml"
    path.write_text(POLYNOMIAL)
    with pytest.warns(uk.UkemiWarning, match="gravity"):
        model = uk.load(path)
    world = uk.World((0.3, 0, -9.81))
    world.add(model, name="m", q=[0.3, 0.2, 0.1, 0.4])
    assert world.mobility().dof == 1
    m = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(m)
    data.qpos[:] = world.q
    mujoco.mj_forward(m, data)
    assert np.abs(data.efc_pos).max() < 1e-12  # the world has closed them
    M = np.zeros((4, 4))
    mujoco.mj_fullM(m, data, M)
    J = data.efc_J.reshape(-1, 4)
    H, _ = world.closed.jacobian(world.q, world.v)
    assert np.abs(H - J).max() < 1e-12
    kkt = np.block([[M, -J.T], [J, np.zeros((3, 3))]])
    expected = np.linalg.solve(kkt, np.concatenate([-data.qfrc_bias, np.zeros(3)]))
    a = world.forward_dynamics()
    assert np.abs(a - expected[:4]).max() < AGREE * (1 + np.abs(a).max())
    assert np.abs([tie.force for tie in world.ties] - expected[4:]).max() < AGREE * (1 + np.abs(expected).max())


@pytest.mark.oracle
def test_mimic_joints_of_talos_equal_pinocchio(shared: Path) -> None:
    """With v = G w in the leading coordinates w: G^T M G w' = G^T (tau - bias), M and bias by Pinocchio."""
    pin = pytest.importorskip("pinocchio")
    path = shared / "models" / "talos" / "talos_full_v2.urdf"
    with pytest.warns(uk.UkemiWarning):
        model = uk.load(path)
    assert len(model.couplings) > 5
    rng = np.random.default_rng(11)
    world = uk.World()
    world.add(model, name="talos", q=model.random(rng)[0])
    assert len(world.ties) == len(model.couplings)
    world.set_state(v=rng.standard_normal(model.nv))
    tau = rng.standard_normal(model.nv)
    theirs = of_pinocchio(model, pin.buildModelFromUrdf(str(path)), world.q, world.v, tau)
    G = np.eye(model.nv)
    for coupling in model.couplings:
        assert coupling.master is not None
        G[model.joint(coupling.joint).v] = coupling.multiplier * np.eye(model.nv)[model.joint(coupling.master).v]
    followers = [model.joint(coupling.joint).v.start for coupling in model.couplings]
    G = np.delete(G, followers, axis=1)
    expected = G @ np.linalg.solve(G.T @ theirs.M @ G, G.T @ (tau - theirs.bias))
    assert np.abs(world.forward_dynamics(tau) - expected).max() < AGREE * np.abs(expected).max()
    assert world.mobility().dof == model.nv - len(followers)
