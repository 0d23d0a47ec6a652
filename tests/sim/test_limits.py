"""Joint limits as events: closed forms, several at once, loops, energy, implicit steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.trees import random_model

import ukemi as uk
from ukemi.chain.limits import limit_chain
from ukemi.model.arrays import Array
from ukemi.model.figures.hand import thesis_pose
from ukemi.sim.simulation import IntegratorName

#: what the time of an event may be off, beyond the integrator's own error [s]
LOCATED = 1e-9
G = 9.81


def sled(e: float = 0.0, lower: float = 0.0, upper: float = np.inf, mass: float = 2.0) -> uk.Model:
    """A mass on a vertical slide with a stop."""
    b = uk.Builder("sled")
    joint = uk.Prismatic((0, 0, 1), limits=(lower, upper), restitution=e)
    b.link("mass", joint=joint, mass=mass, inertia=(0.1, 0.1, 0.1), joint_name="slide")
    return b.build()


def times(recording: uk.Recording, what: str) -> list[float]:
    return [event["time"] for event in recording.events if what in event["what"]]


@pytest.mark.parametrize("integrator", ["rk4", "adaptive"])
def test_a_fall_on_a_stop_is_located_and_held(integrator: IntegratorName) -> None:
    world = uk.World()
    world.add(sled(), q=[0.3])
    recording = uk.Simulation(world, 1e-2, integrator).run(0.5)
    (time,) = times(recording, "limit reached")
    assert time == pytest.approx(np.sqrt(2 * 0.3 / G), abs=LOCATED)
    after = recording.time > time
    assert np.abs(recording.q[after]).max() < 1e-12
    assert np.abs(recording.v[after]).max() < 1e-12
    (stop,) = world.stops
    assert stop.limit.label == "sled/slide lower"
    assert recording.q.min() > -1e-9


def test_bounces_follow_each_other_as_the_closed_form_says() -> None:
    """Heights e^2k h; the bounces accumulate after a finite time, and the mass lies still."""
    e, h = 0.5, 0.2
    world = uk.World()
    world.add(sled(e), q=[h])
    recording = uk.Simulation(world, 1e-2, "rk4").run(1.0)
    found = times(recording, "limit reached")
    first, speed = np.sqrt(2 * h / G), np.sqrt(2 * G * h)
    expected = first + 2 * speed / G * np.cumsum(e ** np.arange(1, 12))
    assert found[0] == pytest.approx(first, abs=LOCATED)
    assert found[1:12] == pytest.approx(expected, abs=LOCATED)
    assert first + 2 * speed / G < 0.7  # all bounces are over
    assert abs(recording.v[-1, 0]) < 1e-12
    assert len(world.stops) == 1


def test_a_joint_leaves_its_stop_when_the_torque_turns() -> None:
    """Held by its weight until a force that grows with time lifts it: z = (F' (t - t0)^3) / 6 m from then on."""
    world = uk.World()
    world.add(sled(mass=2.0))
    growth = 30.0  # N/s
    leaves = 2.0 * G / growth
    recording = uk.Simulation(world, 1e-2, "rk4").run(1.0, lambda t, q, v: [growth * t])
    (time,) = times(recording, "limit left")
    assert time == pytest.approx(leaves, abs=LOCATED)
    flying = recording.time > leaves
    exact = growth * (recording.time[flying] - leaves) ** 3 / 6 / 2.0
    assert recording.q[flying, 0] == pytest.approx(exact, abs=1e-9)
    assert np.abs(recording.q[~flying]).max() < 1e-12


def test_the_reaction_holds_against_the_weight() -> None:
    world = uk.World()
    world.add(sled(mass=2.0))
    sim = uk.Simulation(world, 1e-3, "rk4")
    sim.run(0.05)
    assert sim.reactions() == {"sled/slide lower": pytest.approx(2.0 * G, rel=1e-12)}


def test_the_located_time_converges_with_the_integrators_order() -> None:
    b = uk.Builder("pendulum")
    b.link("rod", joint=uk.Revolute((0, 1, 0), limits=(-np.inf, 1.2), restitution=1.0), mass=1, com=(0, 0, -0.5))
    model = b.build()

    def located(dt: float, integrator: IntegratorName) -> float:
        world = uk.World()
        world.add(model, q=[-1.5], v=[0.5])
        return times(uk.Simulation(world, dt, integrator).run(1.2), "limit reached")[0]

    exact = located(5e-4, "rk4")
    for integrator, order, dt in (("semi-implicit", 1, 4e-3), ("rk4", 4, 8e-2)):
        errors = [abs(located(dt / 2**k, integrator) - exact) for k in range(3)]  # type: ignore[arg-type]
        assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.5)
        assert np.log2(errors[1] / errors[2]) == pytest.approx(order, abs=0.5)


def test_locating_a_limit_takes_few_trials() -> None:
    """False position instead of halving, which would take 34 steps more than the fall itself."""
    world = uk.World()
    world.add(sled(), q=[0.3])
    sim = uk.Simulation(world, 1e-2, "rk4")
    sim.step(steps=30)
    assert len(world.stops) == 1
    assert sim.evaluations <= 4 * (30 + 12)


def test_the_first_of_several_limits_in_a_step_comes_first() -> None:
    """Three sleds that reach their stops at different times within one long step, in any order of their rows."""
    world = uk.World()
    heights = {"a": 0.02, "b": 0.005, "c": 0.01}
    for name, height in heights.items():
        world.add(sled(), name=name, q=[height])
    recording = uk.Simulation(world, 0.1, "rk4").run(0.1)
    reached = [(event["what"].split("/")[0], event["time"]) for event in recording.events]
    expected = [(name, np.sqrt(2 * h / G)) for name, h in sorted(heights.items(), key=lambda item: item[1])]
    assert [name for name, _ in reached] == [name for name, _ in expected]
    assert [t for _, t in reached] == pytest.approx([t for _, t in expected], abs=LOCATED)


def test_mirror_images_stop_together() -> None:
    """Two arms of one trunk that fall against their stops at the same instant: one event, equal impulses."""
    b = uk.Builder("tree")
    b.link("trunk", joint=uk.Prismatic((0, 0, 1)), mass=1.0, inertia=(0.1, 0.1, 0.1))
    for name, side in (("left", 1.0), ("right", -1.0)):
        joint = uk.Revolute((0, side, 0), limits=(-np.inf, 0.8), restitution=0.3)
        b.link(name, "trunk", joint, mass=0.5, com=(0.3 * side, 0, 0), inertia=(0.01, 0.01, 0.01))
    world = uk.World()
    world.add(b.build(), v=[0, 3.0, 3.0])
    recording = uk.Simulation(world, 1e-3, "rk4").run(1.0)
    reached = [event for event in recording.events if "reached" in event["what"]]
    assert reached[0]["time"] == reached[1]["time"]
    assert reached[0]["impulse"] == pytest.approx(reached[1]["impulse"], rel=1e-9)
    assert np.abs(recording.q[:, 1] - recording.q[:, 2]).max() < 1e-9
    assert recording.q[:, 1:].max() < 0.8 + 1e-9


def test_a_stop_that_another_impact_frees_lets_go() -> None:
    """The forearm lies on its stop; the upper arm hits its own and throws the forearm off."""
    b = uk.Builder("arm")
    rod = {"mass": 1.0, "com": (0, 0, -0.5), "inertia": (0.1, 0.1, 0.01)}
    b.link("upper", joint=uk.Revolute((0, 1, 0), limits=(-np.inf, 0.5)), **rod)  # type: ignore[arg-type]
    b.link("lower", "upper", uk.Revolute((0, 1, 0), limits=(0.0, np.inf)), uk.Pose((0, 0, -1)), **rod)  # type: ignore[arg-type]
    world = uk.World((0, 0, 0))
    world.add(b.build(), v=[1.0, -1e-3])
    recording = uk.Simulation(world, 1e-3, "rk4").run(1.0)
    assert [event["what"] for event in recording.events[:2]] == [
        "arm/lower lower: limit reached",
        "arm/upper upper: limit reached",
    ]
    second = recording.events[1]["time"]
    thrown = recording.v[np.searchsorted(recording.time, second)]
    assert abs(thrown[0]) < 1e-2
    assert thrown[1] > 0.5


@pytest.mark.parametrize("e", [0.0, 0.6])
def test_a_limit_inside_a_loop(e: float) -> None:
    """A four-bar whose rocker hits a stop: the loop stays closed, energy never rises."""
    b = uk.Builder("four-bar")
    rod = {"mass": 1.0, "inertia": np.eye(3) / 12}
    turn = uk.Revolute((0, 0, -1))
    b.link("crank", joint=turn, com=(0, 0.25, 0), **rod)  # type: ignore[arg-type]
    b.link("coupler", "crank", turn, uk.Pose((0, 0.5, 0)), com=(0.5, 0, 0), **rod)  # type: ignore[arg-type]
    stopped = uk.Revolute((0, 0, -1), limits=(-0.6, 0.4), restitution=e)
    b.link("rocker", "world", stopped, uk.Pose((1, 0, 0)), com=(0, 0.25, 0), **rod)  # type: ignore[arg-type]
    world = uk.World((0, -G, 0))
    figure = world.add(b.build(), v=[1.0, -1.0, 1.0])
    ends = figure["coupler"].at(uk.Pose((1, 0, 0))), figure["rocker"].at(uk.Pose((0, 0.5, 0)))
    world.connect(*ends, uk.Revolute((0, 0, 1)), at="frames")
    recording = uk.Simulation(world, 1e-3, "rk4").run(2.0, every=5)
    assert times(recording, "rocker upper: limit reached")
    assert recording.q[:, 2].max() < 0.4 + 1e-9
    gaps = [
        np.abs(world.chain_without_stops().state(q, v)[0]).max() for q, v in zip(recording.q, recording.v, strict=True)
    ]
    assert max(gaps) < 1e-9
    assert np.diff(recording.energy).max() < 1e-8


def test_a_limit_inside_a_floating_loop_with_a_row_that_nothing_moves() -> None:
    """A planar four-bar in space, closed at a point: across its plane there is nothing to hold. Momentum stays."""
    b = uk.Builder("four-bar")
    rod = {"mass": 1.0, "inertia": np.eye(3) / 12}
    turn = uk.Revolute((0, 0, -1))
    b.link("base", joint=uk.Free(), com=(0.5, 0, 0), **rod)  # type: ignore[arg-type]
    b.link("crank", "base", turn, com=(0, 0.25, 0), **rod)  # type: ignore[arg-type]
    b.link("coupler", "crank", turn, uk.Pose((0, 0.5, 0)), com=(0.5, 0, 0), **rod)  # type: ignore[arg-type]
    stopped = uk.Revolute((0, 0, -1), limits=(-0.6, 0.4))
    b.link("rocker", "base", stopped, uk.Pose((1, 0, 0)), com=(0, 0.25, 0), **rod)  # type: ignore[arg-type]
    world = uk.World((0, 0, 0))
    figure = world.add(b.build())
    ends = figure["coupler"].at(uk.Pose((1, 0, 0))), figure["rocker"].at(uk.Pose((0, 0.5, 0)))
    world.connect(*ends, uk.Spherical(), at="frames")
    world.set_state(v=[0.3, 0.1, 0.2, 0.5, -0.4, 0.6, 1.0, -1.0, 1.0])
    before = uk.momentum(world.model, world.q, world.v)
    recording = uk.Simulation(world, 1e-3, "adaptive").run(1.0, every=10)
    assert times(recording, "rocker upper: limit reached")
    assert uk.momentum(world.model, world.q, world.v)[:3] == pytest.approx(before[:3], abs=1e-9)
    assert np.diff(recording.energy).max() < 1e-8


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), e=st.sampled_from([0.0, 0.5, 1.0]))
@example(seed=338, e=0.0)
def test_energy_never_rises_and_no_limit_is_passed(seed: int, e: float) -> None:
    """Integrated to 1e-10, so that what is left is what the stops do; of seeds 0 to 399 the worst rose by 2.2e-11."""
    world = thrown_within_narrow_ranges(seed, e)
    sim = uk.Simulation(world, 5e-3, "adaptive", rtol=1e-10, atol=1e-12)
    _, limits = limit_chain(world.model)
    start = world.energy()
    for _ in range(60):
        before = world.energy()
        sim.step()
        assert world.energy() <= before + 1e-9 * start
        assert limits.state(world.q, world.v)[0].max() < 1e-9
    if e == 1:
        assert world.energy() == pytest.approx(start, rel=1e-9)


@pytest.mark.parametrize(("integrator", "dt"), [("rk4", 5e-3), ("semi-implicit", 2e-3), ("adaptive", 1e-2)])
def test_limits_are_kept_under_gravity(integrator: IntegratorName, dt: float) -> None:
    """Trees that come to rest on their stops. Some of these joints pass a limit and are back before the step ends;
    others are let go and pushed out again when the rows that hold are closed."""
    for seed, e in ((1004, 0.7), (1019, 0.0), (1033, 0.0), (1033, 0.7), (1047, 0.0), (1057, 0.0)):
        world = thrown_within_narrow_ranges(seed, e)
        world.gravity = (0, 0, -G)
        _, limits = limit_chain(world.model)
        recording = uk.Simulation(world, dt, integrator).run(0.6)
        passed = [limits.state(q, v)[0].max() for q, v in zip(recording.q, recording.v, strict=True)]
        assert max(passed) < 1e-9


def test_what_energy_rises_by_between_stops_is_the_integrators() -> None:
    """A tree whose energy rises by 5e-7 at dt = 1 ms with RK4: by a sixteenth of it at half the step."""
    rises = []
    for dt in (1e-3, 5e-4, 2.5e-4):
        world = thrown_within_narrow_ranges(338, 0.0)
        sim = uk.Simulation(world, dt, "rk4")
        energy = [world.energy()]
        for _ in range(20):
            sim.step(steps=round(15e-3 / dt))
            energy.append(world.energy())
        rises.append(np.diff(energy).max())
    assert np.log2(np.divide(rises[:-1], rises[1:])) == pytest.approx([4, 4], abs=0.3)


def thrown_within_narrow_ranges(seed: int, e: float) -> uk.World:
    """A random tree with narrow ranges on every joint, thrown without gravity."""
    plain = random_model(seed, 5, kinds=("revolute", "prismatic", "universal", "spherical"))
    b = uk.Builder()
    for link in plain.links:
        joint = link.joint
        ranges = {"limits": (0, 0.4)} if isinstance(joint, uk.Spherical) else {"limits": [(-0.3, 0.4)] * joint.nv}
        axes = {name: getattr(joint, name) for name in ("axis", "first", "second") if hasattr(joint, name)}
        kind = type(joint)(**axes, **ranges, restitution=e)
        m = link.mass_properties
        parent = link.parent.name if link.parent else "world"
        b.link(link.name, parent, kind, link.at, mass=m.mass, com=m.com, inertia=m.inertia)
    model = b.build()
    world = uk.World((0, 0, 0))
    world.add(model, v=np.random.default_rng(seed).standard_normal(model.nv))
    return world


def test_limits_may_be_ignored_and_joints_outside_are_free_until_within() -> None:
    world = uk.World()
    world.add(sled(), q=[0.3])
    recording = uk.Simulation(world, 1e-3, "rk4", limits=False).run(0.4)
    assert recording.q[-1, 0] == pytest.approx(0.3 - G * 0.4**2 / 2)
    # from there it is thrown up: it passes its stop from the wrong side, and stops when it comes back
    world.set_state(v=[4.0])
    recording = uk.Simulation(world, 1e-3, "rk4").run(1.5)
    assert recording.q[0, 0] < -0.4
    assert times(recording, "limit reached")
    assert abs(world.q[0]) < 1e-12


def test_a_stop_ends_when_the_state_is_set(tmp_path: Path) -> None:
    world = uk.World()
    figure = world.add(sled())
    sim = uk.Simulation(world, 1e-3, "rk4")
    recording = sim.run(0.01)
    assert len(world.stops) == 1
    figure.q = [0.2]
    assert not world.stops
    recording = sim.run(0.1)
    assert recording.q[-1, 0] == pytest.approx(0.2 - G * 0.1**2 / 2)
    sim.run(0.3)
    again = uk.Recording.load(sim.run(0.1).save(tmp_path / "stop.npz"))
    assert len(again.events) == len(world.events) - 1 or again.events == []


def test_bad_limits_are_refused() -> None:
    for make, message in (
        (lambda: uk.Revolute(restitution=2.0), "restitution"),
        (lambda: uk.Spherical(twist=(1, -1)), "twist"),
        (lambda: uk.Spherical(swing=((0.1, 0.2), (-1, 1))), "swing"),
        (lambda: uk.Spherical(axis=(0, 0, 1), across=(0, 0, 2)), "across"),
        (lambda: uk.Builder().limit({}, 1.0), "different coordinates"),
        (lambda: uk.Builder().limit({"a": 0.0}, 1.0), "factor"),
        (lambda: uk.Builder().limit({"a": 1.0}, 1.0, restitution=-1), "restitution"),
    ):
        with pytest.raises(uk.InvalidInputError, match=message):
            make()


def test_random_states_of_figures_stay_within_all_limits() -> None:
    rng = np.random.default_rng(3)
    for model in (uk.human(40, ranges=True), uk.human(40, hands=True, ranges=True), uk.hand(limits="anatomical")):
        rows, limits = limit_chain(model)
        own = [k for k, limit in enumerate(rows) if "(limit" not in limit.label]
        for _ in range(50):
            q, v = model.random(rng)
            assert limits.state(q, v)[0][own].max() < 1e-12


@pytest.mark.parametrize("mass", [None, 8.0])
def test_the_thesis_hand_settles_in_implicit_steps(mass: float | None) -> None:
    """[HAND07] 5.4.2, hand upright. The thesis gives no masses: with published ones (0.45 kg) the wrist's springs carry
    the hand; a heavier one comes to rest with both freedoms of the wrist at their stops, as the thesis reports."""
    model = uk.hand(mass=mass)
    world = uk.World((0, 0, 9.81))  # the hand's zero pose hangs: gravity is turned instead
    world.add(model, q=thesis_pose(model))
    recording = uk.Simulation(world, 5e-3, "implicit").run(10.0)
    lower, upper = model.limits().T
    assert (recording.q - upper).max() < 1e-9
    assert (lower - recording.q).max() < 1e-9
    assert np.abs(recording.v[-1]).max() < 0.02
    wrist = recording.q[-1, model.joint("wrist").q]
    stopped = wrist == pytest.approx([np.pi / 4, np.pi / 2], abs=1e-9)
    assert stopped == (mass is not None)


def test_implicit_steps_keep_limits_and_converge_to_the_events() -> None:
    """A plastic stop: first-order time stepping against the located event, errors halve; never passed."""
    b = uk.Builder("pendulum")
    b.link("rod", joint=uk.Revolute((0, 1, 0), limits=(-0.5, 1.2)), mass=1, com=(0, 0, -0.5))
    b.link("tip", "rod", uk.Revolute((0, 1, 0), limits=(-0.2, 0.4), damping=0.01), mass=0.3, com=(0, 0, -0.2))
    model = b.build()

    def end(dt: float, integrator: IntegratorName) -> tuple[Array, uk.Recording]:
        world = uk.World()
        world.add(model, q=[-0.4, 0.0], v=[6.0, 1.0])
        recording = uk.Simulation(world, dt, integrator).run(0.4)
        return world.q.copy(), recording

    exact, events = end(1e-3, "rk4")
    errors = []
    for dt in (2e-3, 1e-3, 5e-4):
        q, recording = end(dt, "implicit")
        errors.append(np.abs(q - exact).max())
        bounds = model.limits()
        assert (recording.q - bounds[:, 1]).max() < 1e-9
        assert (bounds[:, 0] - recording.q).max() < 1e-9
    assert errors[2] < 0.35 * errors[0]
    found = times(recording, "rod upper: limit reached")
    assert found[0] == pytest.approx(times(events, "rod upper: limit reached")[0], abs=2e-3)


def test_implicit_bounces_keep_the_restitution() -> None:
    world = uk.World()
    world.add(sled(0.5), q=[0.3])
    recording = uk.Simulation(world, 1e-4, "implicit").run(0.5)
    hit = int(np.argmax(recording.v[:, 0] > 0))
    assert recording.v[hit, 0] == pytest.approx(0.5 * np.sqrt(2 * G * 0.3), rel=2e-3)
    assert recording.q.min() > -1e-9
