"""What stands, rocks, trips and falls: forces that hold, edges that change, pressures within the sole."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.problems.bodies import PLANE, POINT, feet, loose, pushed
from tests.problems.conftest import Problem
from tests.problems.test_free_flight import human_tree

import ukemi as uk
from ukemi.model.arrays import Array

Load = Callable[[str], Problem]


def tilted(b: float, h: float, angle: float) -> tuple[float, float, float]:
    """Planar coordinates of a block's centre that stands on its right lower edge at the origin, tilted clockwise."""
    alpha, R = np.arctan2(b, h), np.hypot(b, h)
    return (-R * np.sin(alpha - angle), R * np.cos(alpha - angle), -angle)


def distinct(times: list[float], apart: float = 1e-3) -> list[float]:
    """The two ends of an edge touch within rounding of each other: one impact."""
    return [t for t, before in zip(times, [-np.inf, *times], strict=False) if t - before > apart]


def test_rocking_block(problem: Load) -> None:
    p = problem("rocking_block_housner")
    g = p.given
    depth = 0.5
    box = uk.Box((2 * g["b"], depth, 2 * g["h"]))
    friction = 1.01 * float(p.answer("friction needed"))
    world = loose([box], uk.Ground(friction=friction), joint=PLANE, mass=g["m"], q=tilted(g["b"], g["h"], g["theta0"]))
    sim = uk.Simulation(world, 1e-3, events=True)
    recording = sim.run(p.data["duration_s"])
    times = distinct([event["time"] for event in recording.events])
    assert abs(times[0] - p.answer("time of first impact")) < 2e-5  # second order: 5e-6 at half the step
    k = int(np.searchsorted(recording.time, times[0]))
    before, after = -recording.v[k - 1, 2], -recording.v[k, 2]
    assert abs(abs(before) - p.answer("angular speed just before")) < 3e-3  # within a step of it
    assert abs(abs(after) - p.answer("angular speed just after")) < 3e-3
    tilt = np.abs(recording.q[:, 2])
    for a, b, most in zip(times[:4], times[1:5], p.answer("maximum tilt"), strict=True):
        between = (recording.time > a) & (recording.time < b)
        assert abs(tilt[between].max() - most) < 5e-5
    assert np.diff(recording.energy).max() < 1e-5


def test_rocking_block_slips_when_friction_is_less(problem: Load) -> None:
    p = problem("rocking_block_housner")
    g = p.given
    box = uk.Box((2 * g["b"], 0.5, 2 * g["h"]))
    swing = float(p.answer("largest friction ratio"))
    moved = []
    for friction in (0.95 * swing, 1.01 * swing):
        ground = uk.Ground(friction=friction)
        world = loose([box], ground, joint=PLANE, mass=g["m"], q=tilted(g["b"], g["h"], g["theta0"]))
        uk.Simulation(world, 1e-3).run(0.98 * float(p.answer("time of first")))
        angle = -world.q[2]
        moved.append(np.abs(world.q[:2] - tilted(g["b"], g["h"], angle)[:2]).max())
    assert moved[0] > 1e-6
    assert moved[1] < 1e-7  # an edge that sticks turns on the spot, to the order of the rule


def test_block_trips_on_a_curb(problem: Load) -> None:
    p = problem("block_trips_on_curb")
    g = p.given
    b, h = g["b"], g["h"]
    critical = float(p.answer("critical speed"))
    low = 1e-3  # the curb's height
    curb = uk.Solids([uk.Box((0.2, 2, low), at=uk.Pose((b + 0.1, 0, low / 2)))], uk.Surface(np.inf))
    terrain: list[uk.Ground | uk.Solids] = [uk.Ground(friction=0), curb]
    for speed, topples in ((1.0, False), (3.2, True), (0.99 * critical, False), (1.01 * critical, True)):
        world = loose([uk.Box((2 * b, 0.4, 2 * h))], terrain, joint=PLANE, mass=g["m"], q=(0, h, 0), v=(speed, 0, 0))
        before = world.energy() - g["m"] * 9.81 * h
        sim = uk.Simulation(world, 1e-3)
        sim.step()
        if speed in (1.0, 3.2):
            spin, kept, _ = p.answer(f"v={speed}: angular speed")
            # caught at the curb's edge, which is as high as the curb
            assert abs(-world.v[2] - spin) < 0.02 * spin
            assert abs((world.energy() - g["m"] * 9.81 * h) / before - kept) < 0.02
        recording = sim.run(1.5)
        tilt = -recording.q[:, 2]
        assert (tilt.max() > np.pi / 4) == topples, speed
        if speed == 1.0:
            assert abs(tilt.max() - p.answer("v=1.0: maximum tilt")) < 0.02 * tilt.max()


def sliding_rod(case: dict[str, float]) -> uk.World:
    """The rod's frame at its middle, C to the left below; slip of 1 m/s."""
    m, half, angle, rate, s = (case[k] for k in ("m", "l", "theta", "thetadot", "s"))
    v = (s - half * rate * np.sin(angle), half * rate * np.cos(angle), rate)
    return loose(
        feet([(-half, 0, 0)]),
        uk.Ground(friction=case["mu"]),
        joint=PLANE,
        mass=m,
        com=(0, 0, 0),
        inertia=m * half**2 / 3 * np.array((0, 1, 1)),
        q=(0, half * np.sin(angle) + POINT, angle),
        v=v,
    )


def test_painleve_rod(problem: Load) -> None:
    p = problem("painleve_rod")
    answers = [answer for _, answer in p.answers("   denominator")]
    for case, (denominator, N, *accelerations) in zip(p.given["cases"], answers, strict=True):
        world = sliding_rod(case)
        sim = uk.Simulation(world, 1e-6)
        before, v = world.energy(), world.v.copy()
        sim.step()
        (contact,) = sim.contacts
        assert sim.report.certificate.valid
        assert contact.normal_force >= 0
        if denominator > 0:
            assert abs(contact.normal_force - N) < 1e-4 * N  # asked: 0.1 percent
            assert np.abs((world.v - v) / 1e-6 - accelerations).max() < 1e-3 * np.abs(accelerations).max()
        else:  # no finite force: an impulse stops the slip at once
            assert abs(contact.slip[0]) < 1e-9
            assert abs(world.v[0] - v[0]) > 0.1
        assert world.energy() < before
        sim = uk.Simulation(world, 1e-3)
        recording = sim.run(0.5)
        assert np.diff(recording.energy).max() < 1e-5 * before
        assert sim.report.certificate.valid


def leaning_rod(p: Problem, *ends: float) -> uk.World:
    """A rod on its lower end, which may touch with the given ends (-1, 1)."""
    g = p.given
    half, angle = g["L"] / 2, g["theta0"]
    return loose(
        feet([(0, 0, end * half) for end in ends]),
        uk.Ground(friction=0),
        joint=PLANE,
        mass=g["m"],
        com=(0, 0, 0),
        inertia=g["m"] * g["L"] ** 2 / 12 * np.array((1, 1, 0)),
        q=(0, half * np.cos(angle) + POINT, -angle),
    )


def test_falling_rod(problem: Load) -> None:
    p = problem("falling_rod_frictionless")
    g = p.given
    errors = []
    for dt in (2e-3, 1e-3):
        world = leaning_rod(p, -1)
        sim, worst, least = uk.Simulation(world, dt), 0.0, np.inf
        for t, (theta, rate) in p.answers("[theta, thetadot]"):
            while world.time < t - dt / 2:
                sim.step()
                least = min(least, sim.contacts[0].normal_force / g["m"])
            worst = max(worst, abs(-world.q[2] - theta), abs(-world.v[2] - rate))
        errors.append(worst)
        assert abs(world.q[0]) < 1e-12
        assert abs(least - p.answer("minimum normal")) < 1e-3
    assert errors[1] < 2e-4
    assert errors[1] < errors[0] / 3
    # as a rod with two ends it lands flat, at the time given
    floor = float(p.answer("time to reach"))
    world = leaning_rod(p, -1, 1)
    sim = uk.Simulation(world, 1e-3, events=True)
    sim.run(floor + 0.1)
    assert abs(world.events[0]["time"] - floor) < 1e-5
    assert np.abs(world.v).max() < 1e-9
    assert np.abs(world.q - (0, 0, -np.pi / 2)).max() < 1e-6


@pytest.mark.parametrize("pushing", [False, True])
def test_table(problem: Load, pushing: bool) -> None:
    p = problem("table_four_legs")
    g = p.given
    corners = [(sx * g["a"], sy * g["b"], 0) for sx, sy in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
    cx, cy = g["com_xy"]
    needed = float(p.answer("friction coefficient needed"))
    F = g["F"] if pushing else 0.0
    for friction in (1.001 * needed, 1.0):
        world = loose(
            feet(corners),
            uk.Ground(friction=friction),
            mass=g["m"],
            com=(cx, cy, g["h"]),
            inertia=(2.0, 3.0, 4.0),
            q=(0, 0, POINT, 1, 0, 0, 0),
        )
        sim = uk.Simulation(world, 1e-3)
        sim.external = {"b/body": [F, 0, 0, *np.cross((cx, cy, g["h"]), (F, 0, 0))]}
        start = world.q.copy()
        sim.step(steps=1000)
        assert np.abs(world.q - start).max() < 1e-12
        assert np.abs(world.v).max() < 1e-12
        force, moment = pushed(sim.contacts)
        assert np.abs(force - (-F, 0, float(p.answer("sum of normal")))).max() < 1e-8
        sum_x, sum_y = p.answer("moment sums")
        assert abs(-moment[1] - (sum_x + F * g["h"])) < 1e-7  # the feet are balls of 1 nm
        assert abs(moment[0] - sum_y) < 1e-7
        assert sim.report.certificate.valid


def test_table_slides_or_tips_beyond(problem: Load) -> None:
    p = problem("table_four_legs")
    g = p.given
    corners = [(sx * g["a"], sy * g["b"], 0) for sx, sy in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
    cx, cy = g["com_xy"]
    needed, tips = float(p.answer("friction coefficient needed")), float(p.answer("tips about"))
    arm = np.array((cx, cy, g["h"]))

    def pushed_by(F: float, friction: float) -> uk.World:
        world = loose(
            feet(corners),
            uk.Ground(friction=friction),
            mass=g["m"],
            com=arm,
            inertia=(2.0, 3.0, 4.0),
            q=(0, 0, POINT, 1, 0, 0, 0),
        )
        sim = uk.Simulation(world, 1e-3)
        sim.external = {"b/body": [F, 0, 0, *np.cross(arm, (F, 0, 0))]}
        sim.step(steps=100)
        return world

    assert np.abs(pushed_by(g["F"], 0.999 * needed).v[0]) > 1e-4
    # the push acts at the height of the centre of mass, g h: it tips about the edge at +a
    assert np.abs(pushed_by(0.999 * tips, 5.0).v).max() < 1e-12
    assert pushed_by(1.001 * tips, 5.0).v[4] > 1e-4


def test_human_double_support_by_welds_and_by_contact(problem: Load) -> None:
    p = problem("human_double_support")
    g = p.given
    q = np.concatenate([g["pelvis_position"], g["pelvis_quaternion_wxyz"], g["joint_angles"]])
    wrench = p.answer("case 1: wrench").reshape(2, 6)
    accelerations = [p.answer(f"case 1: {part}") for part in ("pelvis linear", "pelvis angular", "joint")]
    feet_links = ("foot_l", "foot_r")
    ankles = p.answer("ankle positions")

    model = human_tree(p)
    world = uk.World((0, 0, -g["g"] if "g" in g else -9.81))
    figure = world.add(model, name="h", q=q)
    with world.at_once():
        for foot in feet_links:
            world.connect(figure[foot], world.ground, uk.Fixed(), name=foot)
    a = world.forward_dynamics()
    assert np.abs(a - np.concatenate(accelerations)).max() < 1e-7
    for held, expected in zip(world.connection_wrenches(), wrench, strict=True):
        assert np.abs(held - expected).max() < 1e-7

    # the soles are wide enough and rough enough to hold as the welds do
    world = uk.World()
    sole = ankles[0][2]
    box = uk.Box((0.3, 0.12, 0.02), at=uk.Pose((0.03, 0, -sole + 0.01)))
    world.add(with_soles(p, box, feet_links), name="h", q=q)
    world.terrain = uk.Ground(friction=1.0)
    world.collisions = False
    dt = 1e-6
    sim = uk.Simulation(world, dt)
    sim.step()
    assert np.abs(world.v / dt - np.concatenate(accelerations)).max() < 1e-2  # of up to 70 rad/s^2
    for contact, ankle, expected in zip(sim.contacts, ankles, wrench, strict=True):
        moment = contact.wrench[3:] + np.cross(contact.frame[:3, 3] - ankle, contact.force)
        assert contact.condition is uk.Condition.C0
        assert np.abs(np.concatenate([contact.force, moment]) - expected).max() < 1e-2


def with_soles(p: Problem, box: uk.Box, links: tuple[str, str]) -> uk.Model:
    """The problem's figure with soles."""
    bodies = p.given["bodies"]
    b = uk.Builder("human")
    for link in human_tree(p).links:
        body = next((x for x in bodies if x["name"] == link.name), None)
        properties = {} if body is None else {"mass": body["mass"], "com": body["com"], "inertia": body["inertia"]}
        parent = "world" if link.parent is None else link.parent.name
        shapes = [box] if link.name in links else []
        b.link(link.name, parent, link.joint, link.at, joint_name=link.name + "_j", shapes=shapes, **properties)
    return b.build()


def test_standing_needs_the_torques_of_case_2(problem: Load) -> None:
    p = problem("human_double_support")
    g = p.given
    q = np.concatenate([g["pelvis_position"], g["pelvis_quaternion_wxyz"], g["joint_angles"]])
    sole = float(p.answer("ankle positions")[0][2])
    box = uk.Box((0.3, 0.12, 0.02), at=uk.Pose((0.03, 0, -sole + 0.01)))
    world = uk.World()
    world.add(with_soles(p, box, ("foot_l", "foot_r")), name="h", q=q)
    world.terrain = uk.Ground(friction=1.0)
    world.collisions = False
    sim = uk.Simulation(world, 1e-3)
    tau = np.concatenate([np.zeros(6), p.answer("case 2: joint torques")])
    sim.step(tau)
    # torques are given to 1e-9; nothing moves
    assert np.abs(world.v).max() < 1e-9
    force, moment = pushed(sim.contacts)
    com = p.answer("CoM")
    assert np.abs(force - (0, 0, float(p.answer("weight")))).max() < 1e-6
    assert np.abs(moment[:2] / force[2] - (com[1], -com[0])).max() < 1e-9
    split = p.answer("case 2: wrench").reshape(2, 6)[:, 2]
    assert np.abs([c.normal_force for c in sim.contacts] - split).max() < 1e-3


def test_linear_inverted_pendulum(problem: Load) -> None:
    """A mass driven along a rail on a foot: the centre of pressure stays where the pendulum's is."""
    p = problem("lipm_zmp")
    g = p.given
    b = uk.Builder("cart")
    foot = uk.Box((1.0, 0.2, 0.02), at=uk.Pose((0, 0, -0.01)))
    b.link("foot", joint=uk.Free(), mass=1.0, com=(g["p"], 0, 0), inertia=(0.1, 0.1, 0.1), shapes=[foot])
    b.link("mass", "foot", uk.Prismatic((1, 0, 0)), uk.Pose((0, 0, g["z"] - 0.02)), mass=g["m"])
    world = uk.World()
    world.terrain = uk.Ground(friction=1.0)
    world.add(b.build(), name="c", q=(0, 0, 0.02, 1, 0, 0, 0, g["x"]), v=(0, 0, 0, 0, 0, 0, g["v"]))
    rate = float(p.answer("natural rate")) ** 2

    def control(t: float, q: Array, v: Array) -> Array:
        x = q[7] + 0.5 * dt * v[6]  # in the middle of the step, over which the force stays
        return np.array([0, 0, 0, 0, 0, 0, g["m"] * rate * (x - g["p"])])

    dt = 1e-3
    sim = uk.Simulation(world, dt)
    for t, (x, v) in p.answers("[x, v]"):
        while world.time < t - dt / 2:
            sim.step(control)
            (contact,) = sim.contacts
            assert np.abs(contact.cop[:2] - (g["p"], 0)).max() < 1e-6
        assert np.abs(world.q[:3] - (0, 0, 0.02)).max() < 1e-9
        assert np.abs((world.q[7] - x, world.v[6] - v)).max() < 2e-6
    orbital = 0.5 * (world.v[6] ** 2 - rate * (world.q[7] - g["p"]) ** 2)
    assert abs(orbital - p.answer("orbital")) < 1e-6


def test_zmp_of_moving_bodies(problem: Load) -> None:
    """Bodies that move as given, carried by a plate on the ground: its contact wrench and centre of pressure."""
    p = problem("zmp_multibody")
    b = uk.Builder("plate")
    plate = uk.Box((2, 2, 0.02), at=uk.Pose((0, 0, 0.01)))
    b.link("plate", joint=uk.Free(), mass=1e-6, com=(0, 0, 0), inertia=(1e-6, 1e-6, 1e-6), shapes=[plate])
    bodies, g = p.given["bodies"], p.given["g"]
    tau = [np.zeros(6)]
    for k, body in enumerate(bodies):
        # the third body has moments of inertia that no body can have: what it asks of the plate is given as a wrench
        b.link(f"body{k}", "plate", uk.Free(), uk.Pose(body["com"]), mass=body["m"], inertia=(1, 1, 1))
        I, omega = np.array(body["I_world_diag"]), np.array(body["omega"])
        lift = body["m"] * np.add(body["acc"], (0, 0, g))
        tau.append(np.concatenate([lift, I * body["alpha"] + np.cross(omega, I * omega)]))
    world = uk.World((0, 0, -g))
    world.terrain = uk.Ground(friction=1.0)
    world.add(b.build(), name="p")
    sim = uk.Simulation(world, 1e-7)
    sim.step(np.concatenate(tau))
    force, moment = pushed(sim.contacts)
    assert np.abs(force - p.answer("ground force")).max() < 1e-4
    assert np.abs(moment - p.answer("moment about origin")).max() < 1e-4
    (contact,) = sim.contacts
    zmp = p.answer("ZMP")
    assert np.abs(contact.cop[:2] - zmp).max() < 1e-6
    twist = moment[2] - (contact.cop[0] * force[1] - contact.cop[1] * force[0])
    assert abs(twist - p.answer("vertical torque")) < 1e-4
