"""Figures as particles: the same mass properties and motion as the rigid engine; the eight-particle human walks."""

from __future__ import annotations

import numpy as np
import pytest
from tests.trees import random_model

import ukemi as uk
from ukemi.errors import InvalidInputError, UnknownNameError
from ukemi.model.joints import Joint
from ukemi.particles import ParticleSystem, SpringFloor
from ukemi.particles.forces import angle_of
from ukemi.particles.walker import JOINTS, MASS, Plan, eight_particle_human, plan_walk, posture, walk, zmp


@pytest.mark.parametrize("dof", [16, 28, 40])
def test_a_figure_keeps_mass_centre_momentum_and_kinetic_energy(dof: int) -> None:
    model = uk.human(dof)
    q, v = model.random(np.random.default_rng(dof))
    system = ParticleSystem.from_model(model, q, v, landmarks=("left_grip", "right_sole"))
    assert system.mass.sum() == pytest.approx(model.mass, rel=1e-12)
    assert system.center_of_mass() == pytest.approx(uk.center_of_mass(model, q), abs=1e-12)
    kinetic = 0.5 * (system.mass[:, None] * system.v**2).sum()
    assert kinetic == pytest.approx(uk.kinetic_energy(model, q, v), rel=1e-9)  # every inertia is matched
    linear, angular = system.momentum()
    about_com = angular - np.cross(system.center_of_mass(), linear)
    assert np.concatenate([linear, about_com]) == pytest.approx(uk.momentum(model, q, v), rel=1e-9, abs=1e-9)


def test_a_figure_hanging_from_a_bar_moves_as_the_rigid_one_within_the_stretch() -> None:
    model = uk.human(16)
    q = model.neutral()
    for side in ("left", "right"):
        q[model.joint(f"{side}_shoulder").q] = (0, 0, 1, 0)
    q[3:7] = (np.cos(0.25), 0, np.sin(0.25), 0)
    grips = ("left_grip", "right_grip")
    world = uk.World()
    man = world.add(model, name="man", q=q)
    with world.at_once():
        for grip in grips:
            world.connect(world.ground, man[grip], uk.Spherical())
    com = uk.center_of_mass(model, uk.Simulation(world, 1e-3, "rk4", limits=False).run(0.6, every=10).q)
    apart = []
    for stretch in (1e-2, 1e-3):
        system = ParticleSystem.from_model(model, q, landmarks=grips, stretch=stretch)
        system.fix(*grips)
        recording = system.run(0.6)
        apart.append(np.linalg.norm(recording.center_of_mass - com, axis=1).max())
        hanging = np.linalg.norm(com[0] - system.x[system.number("left_grip")])
        assert apart[-1] < stretch * hanging
    assert apart[0] / apart[1] > 8  # and it falls with the stretch


def test_a_hinged_model_becomes_the_same_pendulum() -> None:
    b = uk.Builder("pendulum")
    about = uk.Revolute((0, 1, 0))
    b.link("upper", joint=about, mass=2.0, com=(0.1, 0, -0.4), inertia=(0.12, 0.1, 0.05))
    b.link("lower", "upper", about, uk.Pose((0, 0, -0.8)), mass=1.0, com=(0, 0, -0.3), inertia=(0.05, 0.05, 0.01))
    b.link("cap", "lower", uk.Fixed(), uk.Pose((0, 0.1, -0.6)), mass=0.5, inertia=(0.004, 0.004, 0.004))
    model = b.build()
    q, v = np.array((0.9, -0.4)), np.array((0.5, 1.0))
    world = uk.World()
    world.add(model, q=q, v=v)
    rigid = uk.Simulation(world, 1e-3, "rk4").run(1.0)
    system = ParticleSystem.from_model(model, q, v, stretch=1e-4)
    weight = system.mass * ~system.fixed
    system.run(1.0)
    particles = uk.link_poses(model, rigid.q[-1])[1, :3, 3]
    elbow = system.x[[system.number(f"lower/{s}") for s in "-+"]].mean(axis=0)
    assert elbow == pytest.approx(particles, abs=2e-3)
    assert weight.sum() < model.mass  # what the fixed hinge particles took hangs on the wall


def test_what_has_no_form_in_particles_is_refused() -> None:
    def with_joint(joint: Joint) -> uk.Model:
        b = uk.Builder("one")
        b.link("rod", joint=joint, mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
        return b.build()

    for joint in (uk.Prismatic((0, 0, 1)), uk.Universal((1, 0, 0), (0, 1, 0))):
        with pytest.raises(InvalidInputError, match="no form"):
            ParticleSystem.from_model(with_joint(joint))
    with pytest.raises(InvalidInputError, match="stiffness"):
        ParticleSystem.from_model(with_joint(uk.Revolute((0, 1, 0), stiffness=3.0)))
    with pytest.raises(UnknownNameError, match="left_grip"):
        ParticleSystem.from_model(uk.human(16), landmarks=("left_grp",))
    with pytest.raises(InvalidInputError, match="q"):
        ParticleSystem.from_model(uk.human(16), np.zeros(3))


def test_angles_of_the_core_are_those_of_the_plan() -> None:
    rng = np.random.default_rng(10)
    system = eight_particle_human()
    for _ in range(20):
        hip = np.array((rng.uniform(-0.2, 0.2), 0, rng.uniform(0.5, 0.8)))
        system.x = posture(np.array((-0.1, 0.1, 0)), np.array((0.1, -0.1, 0.02)), hip)
        assert system.angles()[:, 0] == pytest.approx([angle_of(h, system.x) for h in system.hinges], abs=1e-12)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_walk(steps=4)


def test_the_plan_is_possible(plan: Plan) -> None:
    lengths = np.linalg.norm(np.diff(plan.x, axis=1), axis=2)
    assert lengths == pytest.approx(np.broadcast_to((0.1, 0.5, 0.4, 0.2, 0.4, 0.5, 0.1), lengths.shape), abs=1e-12)
    low, high = plan.support(0.04)
    point = zmp(MASS, plan.x, plan.dt)[3:-3]
    assert (point > low[3:-3]).all()
    assert (point < high[3:-3]).all()
    assert plan.share.sum(axis=1) == pytest.approx(1)
    assert (plan.share[~plan.standing] < 1e-12).all()  # a foot in the air carries nothing


def test_planned_torques_are_those_of_statics_at_rest(plan: Plan) -> None:
    tau = dict(zip(JOINTS, plan.torques()[0], strict=True))
    # half the weight under the middle of each foot, less the toe's own weight
    ankle = 0.5 * 9.81 * MASS.sum() * 0.05 - 9.81 * 0.1
    assert tau["left ankle"] == pytest.approx(ankle, rel=1e-3)
    assert tau["right ankle"] == pytest.approx(tau["left ankle"])
    assert tau["hips"] == pytest.approx(0, abs=0.2)  # the middle of the feet is under the hips but for the feet's mass


@pytest.mark.parametrize("height", [0.0, 0.1])
def test_it_walks(plan: Plan, height: float) -> None:
    system = eight_particle_human(height)
    recording = walk(system, plan)
    after = recording.time >= 1.0
    low, high = plan.support(0.01)
    cop = recording.center_of_pressure[after, 0]
    assert (cop > low[after]).all()
    assert (cop < high[after]).all()
    assert np.abs(recording.x - plan.x)[after].max() < 0.03
    assert np.ptp(recording.x[:, :4, 1], axis=0).max() < 1e-9  # held planes: no step to the side


def test_on_ice_it_does_not_get_on(plan: Plan) -> None:
    """What could fail: without friction the feet slide, and the walk is not the plan's."""
    recording = walk(eight_particle_human(0.0, SpringFloor(sink=2e-4)), plan)
    assert np.abs(recording.x[-1, :, 0] - plan.x[-1, :, 0]).max() > 0.1


@pytest.mark.parametrize("seed", range(8))
def test_random_trees_keep_their_inertia(seed: int) -> None:
    model = random_model(seed, 7, kinds=("revolute", "spherical", "free", "fixed"))
    q, v = model.random(np.random.default_rng(seed))
    system = ParticleSystem.from_model(model, q, v)
    kinetic = 0.5 * (system.mass[~system.fixed, None] * system.v[~system.fixed] ** 2).sum()
    assert kinetic == pytest.approx(uk.kinetic_energy(model, q, v), rel=1e-9)


def test_thin_rods_and_point_masses_become_bodies_that_swing_alike() -> None:
    b = uk.Builder("thin")
    b.link("rod", joint=uk.Revolute((0, 1, 0)), mass=1.0, com=(0.5, 0, 0), inertia=(0, 1 / 12, 1 / 12))
    b.link("bob", "rod", uk.Fixed(), uk.Pose((1, 0, 0)), mass=2.0)
    model = b.build()
    world = uk.World()
    world.add(model)
    rigid = uk.Simulation(world, 1e-3, "rk4").run(0.5)
    system = ParticleSystem.from_model(model, stretch=1e-4)
    com = system.run(0.5).center_of_mass[-1]
    # two hundredths of its length were added across it: 4e-4 of its inertia
    assert com == pytest.approx(uk.center_of_mass(model, rigid.q[-1]), abs=1e-3)
