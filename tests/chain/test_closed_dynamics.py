"""Dynamics of closed chains: both formulations, finite differences, wrenches, redundant actuation, mixtures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.trees import random_joint, random_model, random_pose

import ukemi as uk
from ukemi.model.arrays import Array

#: entries of order one: rounding
EXACT = 1e-12
#: two algorithms on well-posed structures
AGREE = 1e-9


def nearly_singular(H: Array) -> bool:
    """A random structure may stand so near a singular pose that neither formulation means much."""
    sizes = np.linalg.svd(H, compute_uv=False)
    sizes = sizes[sizes > 1e-9 * sizes.max(initial=1.0)]
    return bool(sizes.size and sizes.min() < 1e-3)


def closed_world(seed: int, links: int, loops: int) -> uk.World:
    """A random tree of one or two figures with random joints across it, moving as its loops allow."""
    rng = np.random.default_rng(seed)
    world = uk.World(rng.standard_normal(3), allow_rigid=True)
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
    if nearly_singular(H):
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
    if not nearly_singular(H):
        assert np.abs((ends[1] - ends[0]) / (2 * h)).max() < 1e-6  # the loops stay closed along v


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
    world = uk.World(allow_rigid=True)
    for name, mass, moment in (("heavy", 2000.0, 500.0), ("light", 1e-6, 4e-13)):
        b = uk.Builder(name)
        b.link(name, joint=uk.Free(), mass=mass, inertia=(moment,) * 3)
        body = world.add(b.build())
        world.connect(world.ground, body[name], uk.Fixed())
    assert np.abs(world.forward_dynamics()).max() < 1e-9
