"""Connecting and cutting: the papers' examples, both formulations, momentum, and what must be refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.trees import random_joint, random_model, random_pose

import ukemi as uk
from ukemi.model.arrays import Array

#: [SV00]'s example has entries of order one: rounding
EXACT = 1e-12
AGREE = 1e-9


def sv00_example() -> uk.World:
    """[SV00] Fig. 14, 18: a free base with one link, whose end is joined to the ground."""
    b = uk.Builder("chain")
    b.link("base", joint=uk.Free(), mass=1, inertia=(1, 1, 1))
    b.link("link1", "base", uk.Revolute((0, 0, 1)), uk.Pose((0, 1, 0)), mass=1, inertia=(1, 1, 1))
    world = uk.World()
    chain = world.add(b.build(), name="chain")
    world.connect(world.ground, chain["link1"], uk.Revolute((0, 0, 1)), at=uk.Pose((0, 2, 0)), name="theta8")
    return world


def test_worked_example_of_sv00() -> None:
    """Eq. 45-48, as corrected in docs/errata.md."""
    mobility = sv00_example().mobility(independent=[0, 6], actuated=[6, 7])
    J_C = np.array(
        [
            [1, 0, 0, 0, 0, -2, -1, 0],
            [0, 1, 0, 0, 0, 0, 0, 0],
            [0, 0, 1, 2, 0, 0, 0, 0],
            [0, 0, 0, 1, 0, 0, 0, 0],
            [0, 0, 0, 0, 1, 0, 0, 0],
            [0, 0, 0, 0, 0, 1, 1, -1],
        ]
    )
    assert np.abs(mobility.J_C - J_C).max() < EXACT
    assert np.abs(mobility.H - [[0, 0], [0, 0], [0, 0], [0, 0], [0.5, -0.5], [0.5, 0.5]]).max() < EXACT
    assert np.abs(mobility.W - [[1, 0], [0, 0], [0, 0], [0, 0], [0, 0], [0.5, -0.5], [0, 1]]).max() < EXACT
    assert np.abs(mobility.S - [[0, 1], [0.5, 0.5]]).max() < EXACT
    assert mobility.dof == 2


def test_mobility_in_words() -> None:
    text = sv00_example().mobility().summary()
    assert "8 - 6 = 2 freedoms" in text
    assert "The motion is described by: " in text


def closed_world(seed: int, links: int, loops: int) -> uk.World:
    """A random tree of one or two figures with random joints across it, moving as its loops allow."""
    rng = np.random.default_rng(seed)
    world = uk.World(rng.standard_normal(3))
    kinds = ("revolute", "prismatic", "universal", "spherical", "free")
    for k in range(2):
        model = random_model(seed + k, links, kinds=kinds, elastic=False)
        q, _ = model.random(rng)
        world.add(model, name=f"f{k}", q=q)
    handles = [world.ground, *(f[name] for f in world.figures.values() for name in f.model.link_names)]
    for _ in range(loops):
        a, b = rng.choice(len(handles), 2, replace=False)
        kind = ("revolute", "prismatic", "universal", "spherical", "planar", "fixed")[rng.integers(6)]
        world.connect(handles[a].at(random_pose(rng)), handles[b], random_joint(kind, rng, False))
    v = rng.standard_normal(world.model.nv)
    world.q, world.v, _ = world.closed.project(world.q, v)
    return world


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 3))
def test_both_formulations_agree(seed: int, links: int, loops: int) -> None:
    world = closed_world(seed, links, loops)
    if world.mobility().dof == 0:
        return
    tau = np.random.default_rng(seed).standard_normal(world.model.nv)
    a = world.forward_dynamics(tau)
    H, rate = world.closed.jacobian(world.q, world.v)
    # Well-posed structures only: a random one may stand so near a singular pose that neither formulation means much.
    sizes = np.linalg.svd(H, compute_uv=False)
    sizes = sizes[sizes > 1e-9 * sizes.max(initial=1.0)]
    if sizes.size and sizes.min() < 1e-3:
        return
    scale = 1 + np.abs(a).max()
    assert np.abs(H @ a + rate).max(initial=0) < AGREE * scale
    assert np.abs(world.forward_dynamics(tau, formulation="minimal") - a).max() < AGREE * scale


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_constraint_rates_are_those_of_the_errors(seed: int) -> None:
    world = closed_world(seed, 4, 2)
    h = 1e-6
    ends = [world.closed.state(uk.integrate(world.model, world.q, world.v, s * h), world.v)[0] for s in (-1, 1)]
    v = np.random.default_rng(seed).standard_normal(world.model.nv)
    _, rate = world.closed.state(world.q, v)
    H, _ = world.closed.jacobian(world.q, world.v)
    assert np.abs(H @ v - rate).max() < 1e-10 * (1 + np.abs(rate).max())
    assert np.abs((ends[1] - ends[0]) / (2 * h)).max() < 1e-6  # the loops stay closed along v


def total(world: uk.World) -> Array:
    return uk.momentum(world.model, world.q, world.v, about=(0, 0, 0))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_a_figure_caught_and_released_keeps_momentum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    world = uk.World((0, 0, 0))
    figures = []
    for name, dof in (("a", 16), ("b", 28)):
        model = uk.human(dof)
        q, v = model.random(rng)
        figures.append(world.add(model, name=name, q=q, v=v))
    before = total(world)
    size = 1 + np.abs(before).max()
    joint = random_joint(("revolute", "spherical", "fixed", "prismatic", "universal", "planar")[seed % 6], rng, False)
    grip = world.connect(figures[0]["left_hand"], figures[1]["right_hand"], joint)
    assert np.abs(total(world) - before).max() < EXACT * size
    assert grip.energy_lost >= 0
    uk.Simulation(world, 1e-3, "adaptive", rtol=1e-11, atol=1e-13).run(0.01)
    assert np.abs(total(world) - before).max() < 1e-9 * size  # integrators keep momentum to their truncation
    after = total(world)
    world.cut(grip)
    assert (total(world) == after).all()


def test_connect_then_cut_gives_back_the_state_when_nothing_jumps() -> None:
    world = uk.World()
    man = world.add(uk.human(28))
    q, v = world.q.copy(), world.v.copy()
    grip = world.connect(world.ground, man["left_hand"], uk.Spherical())
    assert grip.energy_lost == 0
    world.cut(grip)
    assert (world.q == q).all()
    assert (world.v == v).all()


def test_a_loop_cut_at_another_joint_moves_the_same() -> None:
    """A triangle of bars closed by a pin at any of its corners."""
    ends: list[tuple[Array]] = []
    for closed_at in range(2):
        world = uk.World((0, -9.81, 0))
        b = uk.Builder("bars")
        bar = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.01, 0.1, 0.1)}
        pin = uk.Revolute((0, 0, 1))
        b.link("crank", joint=pin, **bar)  # type: ignore[arg-type]
        if closed_at == 0:
            b.link("coupler", "crank", pin, uk.Pose((1, 0, 0)), **bar)  # type: ignore[arg-type]
            b.link("rocker", joint=pin, at=uk.Pose((1, 0, 0)), **bar)  # type: ignore[arg-type]
            q = np.array((np.pi / 3, -2 * np.pi / 3 + np.pi / 6, np.pi / 3 + 0.2))
        else:
            b.link("rocker", joint=pin, at=uk.Pose((1, 0, 0)), **bar)  # type: ignore[arg-type]
            b.link("coupler", "rocker", pin, uk.Pose((1, 0, 0)), mass=1.0, com=(-0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
            q = np.zeros(3)
        model = b.build()
        if closed_at == 1:
            crank, coupler, rocker = ends[0][0]
            q = np.array((crank, rocker, crank + coupler - rocker))
        figure = world.add(model, name="f", q=q)
        if closed_at == 0:
            world.connect(
                figure["coupler"].at(uk.Pose((1, 0, 0))),
                figure["rocker"].at(uk.Pose((1, 0, 0))),
                pin,
                at="frames",
                snap=True,
            )
            ends.append((world.q.copy(),))
        else:
            world.connect(
                figure["coupler"].at(uk.Pose((-1, 0, 0))),
                figure["crank"].at(uk.Pose((1, 0, 0))),
                pin,
                at="frames",
                snap=True,
            )
        uk.Simulation(world, 1e-3, "rk4").run(0.3)
        ends.append((world.q.copy(),))
    crank, coupler, rocker = ends[1][0]
    assert np.abs(ends[2][0] - [crank, rocker, crank + coupler - rocker]).max() < 1e-8


def test_a_cut_joint_goes_on_freely_and_can_be_closed_again() -> None:
    model = uk.human(28)
    rng = np.random.default_rng(3)
    q, v = model.random(rng)
    world = uk.World((0, 0, 0))
    man = world.add(model, name="man", q=q, v=v)
    before, poses = total(world), uk.link_poses(world.model, world.q)
    names = world.model.link_names
    world.cut(man.joint("left_elbow"))
    assert world.model.nv == model.nv + 5
    order = [world.model.link_index(n) for n in names]
    assert np.abs(uk.link_poses(world.model, world.q)[order] - poses).max() < EXACT
    assert np.abs(total(world) - before).max() < 1e-11 * (1 + np.abs(before).max())
    arm = man["left_upper_arm"].at(model.link("left_forearm").at)
    again = world.connect(arm, man["left_forearm"], uk.Revolute((0, -1, 0)), at="frames")
    assert again.energy_lost == pytest.approx(0, abs=1e-9)
    assert world.mobility().dof == model.nv


def test_high_bar_of_sv00() -> None:
    """24 joint freedoms with both hands on the bar, 23 with one; each pin on the bar takes five freedoms."""
    model = uk.human(16)
    world = uk.World()
    man = world.add(model, name="man")
    grips = []
    for side in ("left", "right"):
        grips.append(
            world.connect(
                world.ground, man[f"{side}_hand"], uk.Revolute((0, 1, 0)), at=uk.Pose(man[f"{side}_hand"].X_W[:3, 3])
            )
        )
    both = world.mobility()
    assert len(both.coordinates) == 24
    assert both.dof == 24 - 12 + 0 + len(both.redundant)
    world.cut(grips[1])
    one = world.mobility()
    assert len(one.coordinates) == 23
    assert one.dof == 17
    world.cut(grips[0])
    assert world.mobility().dof == 22


def test_several_connections_at_once_share_one_jump() -> None:
    def hanging() -> tuple[uk.World, uk.Figure]:
        world = uk.World()
        man = world.add(uk.human(28), v=np.r_[1.0, 0.5, -1, 0.2, 0.3, 0.1, np.zeros(28)])
        return world, man

    world, man = hanging()
    with world.at_once():
        left = world.connect(world.ground, man["left_hand"], uk.Spherical())
        right = world.connect(world.ground, man["right_hand"], uk.Spherical())
    assert left.energy_lost == right.energy_lost > 0
    assert np.abs(world.closed.state(world.q, world.v)[1]).max() < EXACT
    other, figure = hanging()
    hands = [other.connect(other.ground, figure[f"{side}_hand"], uk.Spherical()) for side in ("left", "right")]
    # without restitution the jumps are projections: one after the other ends where both at once do
    assert np.abs(other.v - world.v).max() < EXACT
    assert sum(hand.energy_lost for hand in hands) == pytest.approx(left.energy_lost)


def test_restitution_returns_the_relative_velocity() -> None:
    world = uk.World((0, 0, 0))
    b = uk.Builder("ball")
    b.link("ball", joint=uk.Free(), mass=2, inertia=(1, 1, 1))
    ball = world.add(b.build(), v=[1, 2, 3, 0, 0, 0])
    world.connect(
        world.ground, ball["ball"], uk.Directions(y="free", z="free", rx="free", ry="free", rz="free"), restitution=0.5
    )
    assert np.allclose(world.v[:3], (-0.5, 2, 3))


def test_a_compliant_joint_oscillates_as_its_spring_says() -> None:
    """A mass on one spring direction: z = z0 cos(w t)."""
    b = uk.Builder("mass")
    b.link("mass", joint=uk.Free(), mass=2, inertia=(1, 1, 1))
    world = uk.World((0, 0, 0))
    mass = world.add(b.build())
    world.connect(world.ground, mass["mass"], uk.Directions(z=uk.Spring(50.0)))
    q = world.q.copy()
    q[2] = 0.1
    world.set_state(q=q)
    start = world.energy()
    assert start == pytest.approx(0.5 * 50 * 0.01)
    recording = uk.Simulation(world, 1e-3, "rk4").run(1.0)
    assert np.abs(recording.q[:, 2] - 0.1 * np.cos(5 * recording.time)).max() < 1e-9
    assert np.ptp(recording.energy) < 1e-9


def test_wrench_of_a_hanging_figure_is_its_weight() -> None:
    world = uk.World()
    man = world.add(uk.human(28), name="man")
    hook = world.connect(man["pelvis"], world.ground, uk.Fixed())
    for joint in man.model.joint_names[1:]:
        assert joint  # limp: only the pelvis is held, so its wrench is less than the weight while limbs start to fall
    tau = world.inverse_dynamics(np.zeros(world.model.nv))
    world.tau = tau
    assert np.abs(hook.wrench[:3] - (0, 0, 69 * 9.81)).max() < 1e-9
    assert np.abs(world.forward_dynamics(tau)).max() < 1e-9


def test_redundant_actuation_weighs_torques_and_forces() -> None:
    """Both feet fixed and all joints driven: standing has many torques; less force inside costs more torque."""
    world = uk.World()
    man = world.add(uk.human(28), name="man")
    with world.at_once():
        for side in ("left", "right"):
            world.connect(man[f"{side}_foot"], world.ground, uk.Fixed())
    still = np.zeros(world.model.nv)
    light = world.inverse_dynamics(still)
    assert np.abs(light[:6]).max() == 0
    assert np.abs(world.forward_dynamics(light)).max() < 1e-7
    relaxed = world.inverse_dynamics(still, force_weight=10.0)
    assert np.abs(world.forward_dynamics(relaxed)).max() < 1e-7
    assert np.linalg.norm(light) <= np.linalg.norm(relaxed) + 1e-9
    knees = world.inverse_dynamics(still, torque_weights=np.where(np.arange(28) % 3 == 0, 100.0, 1.0))
    assert np.linalg.norm(knees) >= np.linalg.norm(light) - 1e-9


def test_mixtures_of_accelerations_tasks_and_torques() -> None:
    world = uk.World()
    man = world.add(uk.human(28), name="man")
    world.connect(man["left_foot"], world.ground, uk.Fixed())
    elbow = "man/right_elbow"
    task = uk.Task("man/right_forearm", (0.5, 0, 0.2))
    solution = world.solve(accelerations={"man/left_elbow": 2.0}, tasks=[task], torques={elbow: 1.5})
    assert solution.a[world.model.joint("man/left_elbow").v] == pytest.approx(2.0)
    assert solution.tau[world.model.joint(elbow).v] == pytest.approx(1.5)
    assert np.abs(solution.tau[:6]).max() == 0
    assert np.abs(world.forward_dynamics(solution.tau) - solution.a).max() < 1e-8
    reached = uk.jacobian(world.model, world.q, "man/right_forearm")[:3] @ solution.a
    assert np.abs(reached - (0.5, 0, 0.2)).max() < 1e-9
    with pytest.raises(uk.SingularError, match="task on man/left_foot"):
        world.solve(tasks=[uk.Task("man/left_foot", (1.0, 0, 0))])


def test_bad_connections_leave_the_world_as_it_was() -> None:
    world = uk.World()
    man = world.add(uk.human(16), name="man")
    before = (world.q.copy(), world.v.copy(), world.version)
    for bad, match in (
        (lambda: world.connect(man["left_hand"], man["left_forearm"], uk.Fixed()), "itself|same body"),
        (lambda: world.connect(world.ground, world.ground, uk.Fixed()), "itself"),
        (lambda: world.connect(man["left_hand"], world.ground, uk.Spherical(), at="frames"), r"are .* apart"),
        (lambda: world.connect(man["left_hand"], world.ground, "hinge"), "expected a joint"),  # type: ignore[arg-type]
        (lambda: world.connect(man["left_hand"], "bar", uk.Fixed()), "expected links"),  # type: ignore[arg-type]
        (lambda: world.connect(man["left_hand"], world.ground, uk.Fixed(), at=3), "at: expected"),  # type: ignore[arg-type]
        (lambda: world.connect(man["left_hand"], world.ground, uk.Fixed(), restitution=2.0), "restitution"),
        (lambda: world.cut("grip"), "expected a connection"),  # type: ignore[arg-type]
    ):
        with pytest.raises(uk.InvalidInputError, match=match):
            bad()
    assert (world.q == before[0]).all()
    assert (world.v == before[1]).all()
    assert world.connections == []
    with pytest.raises(uk.UnknownNameError, match="no link or landmark named 'tail'"):
        man["tail"]


def test_a_cut_connection_cannot_be_cut_again() -> None:
    world = uk.World()
    man = world.add(uk.human(16))
    grip = world.connect(world.ground, man["left_hand"], uk.Spherical())
    world.cut(grip)
    with pytest.raises(uk.InvalidInputError, match="not connected"):
        world.cut(grip)
    assert (grip.wrench == 0).all()


def test_a_loop_that_cannot_close_is_refused() -> None:
    b = uk.Builder("arm")
    b.link("arm", joint=uk.Revolute((0, 1, 0)), mass=1, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    world = uk.World()
    arm = world.add(b.build(), name="arm")
    with pytest.raises(uk.SingularError, match="cannot close"):
        world.connect(
            world.ground.at(uk.Pose((0, 0, -3))),
            arm["arm"].at(uk.Pose((0, 0, -1))),
            uk.Spherical(),
            at="frames",
            snap=True,
        )
    assert world.connections == []


def test_a_structure_without_freedom_stands_still_and_says_so() -> None:
    b = uk.Builder("arm")
    b.link("arm", joint=uk.Revolute((0, 1, 0)), mass=1, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    world = uk.World()
    arm = world.add(b.build(), name="arm", q=[1.0])
    world.connect(world.ground, arm["arm"].at(uk.Pose((0, 0, -1))), uk.Fixed(), at=uk.Pose((0, 0, 0.2)))
    assert world.mobility().dof == 0
    assert "Nothing can move" in world.mobility().summary()
    uk.Simulation(world, 1e-3).run(0.1)
    assert abs(world.q[0] - 1.0) < 1e-12


def test_an_impulse_holds_no_part_of_the_springs() -> None:
    """A stretched spring pulls with a force, not with an impulse: connecting elsewhere at rest gives none."""
    b = uk.Builder("mass")
    b.link("mass", joint=uk.Free(), mass=2, inertia=(1, 1, 1))
    world = uk.World()
    mass = world.add(b.build(), q=[0, 0, 1, 1, 0, 0, 0])
    spring = world.spring(world.ground, mass["mass"], 100.0, length=0.5)
    assert np.allclose(spring.wrench, (0, 0, 50, 0, 0, 0))  # on the ground: pulled up
    grip = world.connect(mass["mass"], world.ground, uk.Fixed())
    assert np.abs(grip.impulse).max() == 0
    assert np.allclose(grip.wrench[:3], (0, 0, 50 + 2 * 9.81))


def test_a_second_hinge_on_the_same_axis_changes_nothing() -> None:
    """Every row of the second hinge is redundant: the door swings on, and its forces stay finite."""
    b = uk.Builder("door")
    at = uk.Pose.from_rpy((1, 2, 0), (0, 0.2, 0.1))
    b.link("leaf", joint=uk.Revolute((0, 0, 1)), at=at, mass=20.0, com=(0.4, 0, 1), inertia=(6, 7, 1.2))
    world = uk.World()
    door = world.add(b.build(), q=[0.3], v=[0.5])
    free = world.forward_dynamics()
    hinge = world.connect(door["leaf"].at(uk.Pose((0, 0, 2))), world.ground, uk.Revolute((0, 0, 1)))
    assert np.abs(world.v - 0.5).max() < EXACT
    assert np.abs(world.forward_dynamics() - free).max() < 1e-9
    assert np.abs(hinge.wrench).max() < 1e4


def test_heavy_and_light_bodies_are_both_held() -> None:
    world = uk.World()
    for name, mass, moment in (("heavy", 2000.0, 500.0), ("light", 1e-6, 4e-13)):
        b = uk.Builder(name)
        b.link(name, joint=uk.Free(), mass=mass, inertia=(moment,) * 3)
        body = world.add(b.build())
        world.connect(world.ground, body[name], uk.Fixed())
    assert np.abs(world.forward_dynamics()).max() < 1e-9


@pytest.mark.parametrize("joint", [uk.Fixed(), uk.Revolute((0, 0, 1))])
def test_half_a_turn_is_not_closed(joint: uk.Fixed | uk.Revolute) -> None:
    b = uk.Builder("box")
    b.link("box", joint=uk.Free(), mass=1, inertia=(1, 1, 1))
    world = uk.World()
    box = world.add(b.build(), q=[0, 0, 0, 0, 1, 0, 0])
    with pytest.raises(uk.InvalidInputError, match=r"3\.14 m \(or rad\) apart"):
        world.connect(world.ground, box["box"], joint, at="frames")


def springy_world(joint: object) -> uk.World:
    b = uk.Builder("box")
    b.link("box", joint=uk.Free(), mass=2, com=(0.01, 0.02, 0), inertia=(0.1, 0.2, 0.15))
    world = uk.World((0.3, -0.2, -9.0))
    box = world.add(b.build(), name="box")
    world.connect(world.ground, box["box"], joint)  # type: ignore[arg-type]
    q = np.r_[0.0, 0, 0, uk.Pose.from_rpy((0, 0, 0), (0.5, 0.7, 0.0)).quaternion]
    world.q, world.v, _ = world.closed.project(q, np.random.default_rng(0).standard_normal(6))
    return world


@pytest.mark.parametrize(
    "joint",
    [
        uk.Spherical(stiffness=3.0, damping=0.2),
        uk.Directions(rx="free", ry="free"),
        uk.Directions(rx=uk.Spring(2), ry=uk.Spring(9), rz=uk.Spring(4)),
        uk.Directions(x=uk.Spring(20, 1), rx=uk.Spring(2), ry="free"),
        uk.Universal((1, 0, 0), (0, 1, 0)),
    ],
)
def test_springs_act_in_every_formulation(joint: object) -> None:
    world = springy_world(joint)
    tau = np.arange(6.0)
    a = world.forward_dynamics(tau)
    assert np.abs(world.forward_dynamics(tau, formulation="minimal") - a).max() < AGREE * (1 + np.abs(a).max())
    given = {i: float(tau[i]) for i in range(6)}
    assert np.abs(world.solve(torques=given, actuated=range(6)).a - a).max() < 1e-7 * (1 + np.abs(a).max())


def test_uneven_springs_keep_energy() -> None:
    world = springy_world(uk.Directions(rx=uk.Spring(2), ry=uk.Spring(9), rz=uk.Spring(4)))
    recording = uk.Simulation(world, 1e-3, "rk4").run(1.0)
    assert np.ptp(recording.energy) < 1e-8


def test_a_world_stays_as_it_was_when_a_model_cannot_close_its_loops() -> None:
    b = uk.Builder("far")
    b.link("arm", joint=uk.Revolute((0, 1, 0)), mass=1, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    b.loop("far", "arm", "world", uk.Spherical(), uk.Pose((0, 0, -1)), uk.Pose((0, 0, -5)))
    world = uk.World()
    with pytest.raises(uk.SingularError):
        world.add(b.build())
    assert world.figures == {}
    assert world.model.nv == 0


def test_torques_of_a_question_do_not_break_anything() -> None:
    b = uk.Builder("box")
    b.link("box", joint=uk.Free(), mass=1, inertia=(1, 1, 1))
    world = uk.World()
    box = world.add(b.build())
    grip = world.connect(world.ground, box["box"], uk.Fixed(), break_force=100.0)
    world.forward_dynamics([150.0, 0, 0, 0, 0, 0])
    assert uk.Simulation(world).run(0.01).events == []
    assert grip.active
    with pytest.raises(uk.InvalidInputError, match="is free already"):
        world.cut(box.joint("box"))


def test_setting_a_state_closes_the_loops() -> None:
    world = uk.World()
    man = world.add(uk.human(16))
    grip = world.connect(world.ground, man["left_hand"], uk.Spherical())
    q = man.q.copy()
    q[0] += 0.05
    man.q = q
    assert grip.gap < 1e-12
    man.v = np.ones(len(man.v))
    assert np.abs(world.closed.state(world.q, world.v)[1]).max() < EXACT


def test_gravity_may_change() -> None:
    world = uk.World()
    world.add(uk.human(16))
    sim = uk.Simulation(world)
    world.gravity = (0, 0, 0)
    sim.step()
    assert np.abs(world.v).max() < 1e-12
