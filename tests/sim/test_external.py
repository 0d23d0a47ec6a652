"""Wrenches on links, with every integrator and in contact steps."""

from __future__ import annotations

import numpy as np
import pytest

import ukemi as uk

MASS, INERTIA = 2.0, (0.3, 0.3, 0.3)


def brick() -> uk.Model:
    return uk.Builder("brick").link("body", joint=uk.Free(), mass=MASS, inertia=INERTIA).build()


def arm() -> uk.Model:
    b = uk.Builder("arm").link(
        "upper", joint=uk.Revolute((0, 1, 0)), mass=1.0, com=(0, 0, -0.3), inertia=(0.1, 0.1, 0.1)
    )
    joint = uk.Revolute((0, 1, 0), stiffness=5.0, damping=0.1)
    b.link("fore", "upper", joint, uk.Pose((0, 0, -0.6)), mass=1.0, com=(0, 0, -0.2), inertia=(0.1, 0.1, 0.1))
    return b.build()


@pytest.mark.parametrize("integrator", ["semi-implicit", "implicit", "rk4", "adaptive"])
def test_a_force_pushes_and_a_moment_turns(integrator: str) -> None:
    world = uk.World(gravity=(0, 0, 0))
    body = world.add(brick())
    sim = uk.Simulation(world, dt=1e-3, integrator=integrator)  # type: ignore[arg-type]
    sim.external = {"brick/body": (0, 0, 3.0, 0, 0, 0.6)}  # along and about z: the direction stays
    recording = sim.run(1.0)
    first_order = integrator in ("semi-implicit", "implicit")
    assert body.q[2] == pytest.approx(0.5 * 3.0 / MASS, rel=2e-3 if first_order else 1e-9)
    assert body.v[5] == pytest.approx(0.6 / INERTIA[2], rel=1e-9)
    assert not recording.tau.any()  # no torque of a joint


def test_a_moment_at_the_hinge_is_its_torque() -> None:
    """About the first joint's axis, on its own link: the same as the joint's torque."""
    ends = []
    for pushed in (True, False):
        world = uk.World()
        world.add(arm())
        sim = uk.Simulation(world, dt=1e-3, integrator="rk4")
        if pushed:
            sim.external = {"arm/upper": (0, 0, 0, 0, 1.5, 0)}
            sim.run(0.5, control=[0.0, 0.2])
        else:
            sim.run(0.5, control=lambda t, q, v: [1.5, 0.2])
        ends.append(np.concatenate([world.q, world.v]))
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-12)


def test_contact_steps_and_others_agree() -> None:
    places = []
    for touching in (True, False):
        world = uk.World()
        world.add(arm())
        world.collisions = touching
        sim = uk.Simulation(world, dt=2e-4, integrator="rk4")
        sim.external = {"arm/fore": (2.0, 0, -1.0, 0, 0.3, 0)}
        sim.run(0.3)
        places.append(world.q)
    np.testing.assert_allclose(places[0], places[1], atol=1e-6)  # midpoint steps are of order 2


def test_work_of_a_push_becomes_energy() -> None:
    world = uk.World()
    world.add(arm())
    sim = uk.Simulation(world, dt=1e-3, integrator="rk4")
    wrench = np.array((2.0, 0, -1.0, 0, 0.3, 0))
    sim.external = {"arm/fore": wrench}
    recording = sim.run(0.4)
    # the damper takes 0.1 v^2; the push gives wrench . link velocity (link coordinates)
    power = []
    for q, v in zip(recording.q, recording.v, strict=True):
        X = uk.link_poses(world.model, q)[1]
        moving = uk.jacobian(world.model, q, "arm/fore") @ v
        local = np.concatenate([X[:3, :3].T @ moving[:3], X[:3, :3].T @ moving[3:]])
        power.append(wrench @ local - 0.1 * v[1] ** 2)
    gained = np.trapezoid(power, recording.time)
    assert recording.energy[-1] - recording.energy[0] == pytest.approx(gained, rel=1e-5)


def test_wrenches_of_the_wrong_shape_or_link_are_refused() -> None:
    world = uk.World()
    world.add(arm())
    sim = uk.Simulation(world)
    for bad in ({"arm/none": np.zeros(6)}, {"arm/fore": np.zeros(5)}, np.zeros((3, 6)), {"arm/fore": [np.nan] * 6}):
        sim.external = bad
        with pytest.raises(uk.UkemiError, match=r"arm/none|expected|external"):
            sim.run(0.01)


@pytest.mark.parametrize("integrator", ["semi-implicit", "rk4", "adaptive", "implicit"])
def test_a_joint_stop_bears_what_pushes_against_it(integrator: str) -> None:
    """3 N m on an arm: it comes to its stop and stays, and the stop answers with 3 N m; pushed back, it leaves."""
    limits = uk.Revolute((0, 1, 0), limits=(-1, 0.2))
    arm = uk.Builder("p").link("a", joint=limits, mass=1, com=(0, 0, -0.5), inertia=np.eye(3) * 0.1).build()
    world = uk.World(gravity=(0, 0, 0))
    world.add(arm, "p", q=[0.1])
    sim = uk.Simulation(world, integrator=integrator)  # type: ignore[arg-type]
    sim.external = {"p/a": [0, 0, 0, 0, 3.0, 0]}
    sim.step(steps=1000)
    assert world.q == pytest.approx([0.2], abs=1e-6)
    assert list(sim.reactions().values()) == pytest.approx([3.0], rel=1e-6)
    sim.external = {"p/a": [0, 0, 0, 0, -3.0, 0]}
    sim.step(np.array([2.0]), steps=100)
    assert world.q[0] < 0.195
    assert sim.reactions() == {}


@pytest.mark.parametrize("integrator", ["semi-implicit", "rk4", "adaptive", "implicit"])
def test_connections_bear_and_break_under_what_pushes(integrator: str) -> None:
    block = uk.Builder("b").link("b", joint=uk.Free(), mass=2, shapes=[uk.Box((0.2, 0.2, 0.2))]).build()
    world = uk.World(gravity=(0, 0, 0))
    figure = world.add(block, "b", q=[0, 0, 3, 1, 0, 0, 0])
    held = world.connect(figure["b"], world.ground, uk.Spherical(), break_force=60.0)
    sim = uk.Simulation(world, integrator=integrator)  # type: ignore[arg-type]
    sim.external = {"b/b": [0, 0, -50, 0, 0, 0]}
    sim.step(steps=10)
    assert np.linalg.norm(held.wrench[:3]) == pytest.approx(50, rel=1e-9)
    sim.external = {"b/b": [0, 0, -70, 0, 0, 0]}
    sim.step(steps=10)
    assert not held.active


def test_wrong_wrenches_and_steps_are_refused_by_name() -> None:
    block = uk.Builder("b").link("b", joint=uk.Free(), mass=2, shapes=[uk.Box((0.2, 0.2, 0.2))]).build()
    world = uk.World()
    world.add(block, "b")
    sim = uk.Simulation(world)
    sim.external = {"b/b": [[0.0] * 6] * 2}
    with pytest.raises(uk.InvalidInputError, match=r"external: expected \(1, 6\), got shape \(2, 1, 6\)"):
        sim.step()
    for wrong in (-1e-3, 0.0, np.nan, "a", None):
        with pytest.raises(uk.InvalidInputError, match="dt"):
            sim.dt = wrong  # type: ignore[assignment]
    assert sim.dt == 1e-3
