"""Connections that break and rules that fire: at the located time, without a jump of energy."""

from __future__ import annotations

import numpy as np
import pytest

import ukemi as uk


def pendulum(world: uk.World) -> tuple[uk.Figure, uk.Connection]:
    """A bob that hangs on a ball connection, released from the horizontal."""
    b = uk.Builder("bob")
    b.link("bob", joint=uk.Free(), mass=1, inertia=(1e-3, 1e-3, 1e-3))
    bob = world.add(b.build(), q=[1, 0, 0, 1, 0, 0, 0])
    return bob, world.connect(world.ground, bob["bob"], uk.Spherical(), at=uk.Pose())


def test_a_string_breaks_where_its_tension_says() -> None:
    """Tension of a pendulum from the horizontal: 3 m g cos(theta) (to the small inertia of the bob)."""
    world = uk.World()
    _, string = pendulum(world)
    limit = 2.0 * 9.81
    string.break_force = limit
    sim = uk.Simulation(world, 1e-3, "rk4")
    start = world.energy()
    recording = sim.run(0.8)
    assert not string.active
    (event,) = recording.events
    assert event["what"].endswith("breaks")
    assert np.abs(recording.energy - start).max() < 1e-8
    # where it broke: cos(theta) from the closed form of a compound pendulum with I = m l^2 + 1e-3
    k = 1 + 2 / (1 + 1e-3)
    index = int(np.searchsorted(recording.time, event["time"]))
    x, z = recording.q[index - 1, 0], recording.q[index - 1, 2]
    nearly = -z / np.hypot(x, z)
    assert abs(nearly - 2 / k) < 0.01  # the sample before the event
    # after the break: free flight
    after = recording.time > event["time"] + 1e-3
    acceleration = np.diff(recording.q[after, 2], 2) / 1e-6
    assert np.allclose(acceleration, -9.81, atol=1e-3)


def test_the_located_time_does_not_depend_on_the_step() -> None:
    times = []
    for dt in (2e-3, 1e-3, 5e-4):
        world = uk.World()
        _, string = pendulum(world)
        string.break_force = 2.0 * 9.81
        times.append(uk.Simulation(world, dt, "adaptive").run(0.8).events[0]["time"])
    assert np.ptp(times) < 1e-9


def test_limits_of_force_and_moment_and_functions() -> None:
    world = uk.World()
    _, string = pendulum(world)
    string.break_force = (1e9, 1e9)
    assert string.overload() < 0
    string.break_force = lambda c: float(np.linalg.norm(c.wrench[:3])) - 5.0
    assert string.overload() < 0
    bob = world.figures["bob"]
    for bad in (-3.0, (1.0, -1.0), (1, 2, 3), "x"):
        with pytest.raises(uk.InvalidInputError, match="break_force of"):
            world.connect(world.ground, bob["bob"], uk.Spherical(), break_force=bad)  # type: ignore[arg-type]


def test_rules_cut_and_connect_when_conditions_come_true() -> None:
    world = uk.World(allow_rigid=True)
    bob, string = pendulum(world)
    world.cut(string, when=lambda w: w.q[0] < 0.5)
    floor = world.connect(world.ground, bob["bob"], uk.Fixed(), when=lambda w: -3.0 - w.q[2])
    recording = uk.Simulation(world, 1e-3, "rk4").run(2.0)
    cut, caught = recording.events
    assert cut["time"] < caught["time"]
    assert not string.active
    assert floor.active
    assert abs(world.q[2] + 3.0) < 1e-8
    assert np.abs(world.v).max() < 1e-12
    assert floor.energy_lost > 0


def test_torques_that_stay_follow_their_joints_through_a_cut() -> None:
    """The elbow breaks in the middle of a step of a run with constant torques; the other joints keep theirs."""
    model = uk.human(28)
    torques = np.zeros(model.nv)
    torques[model.joint("left_elbow").v] = 3.0
    torques[model.joint("right_knee").v] = -2.0

    def end(control: object) -> np.ndarray:
        world = uk.World((0, 0, 0))
        man = world.add(model, name="man")
        world.cut(man.joint("left_elbow"), when=lambda w: w.time - 0.0105)
        uk.Simulation(world, 1e-3, "rk4").run(0.02, control=control)  # type: ignore[arg-type]
        assert world.tau[world.model.joint("man/right_knee").v] == -2.0
        assert np.abs(world.tau).sum() == 2.0
        return world.q

    def asked(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if len(v) == model.nv:
            return torques
        after = np.zeros(len(v))
        after[freed.joint("man/right_knee").v] = -2.0
        return after

    other = uk.World()
    other.cut(other.add(model, name="man").joint("left_elbow"))
    freed = other.model
    assert (end(torques) == end(asked)).all()
