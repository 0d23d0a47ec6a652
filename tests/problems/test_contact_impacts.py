"""Impacts: restitution, friction, several at once, and no energy out of nothing."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from tests.problems.bodies import PLANE, POINT, feet, loose
from tests.problems.conftest import Problem
from tests.problems.test_pendulums import CCW

import ukemi as uk
from ukemi.contact.reports import ContactReport
from ukemi.model.arrays import Array

Load = Callable[[str], Problem]
NO_GRAVITY = (0, 0, 0)
GRIP = np.inf


def hit(world: uk.World, dt: float = 1e-5) -> ContactReport:
    """One short step from a touching state."""
    before = world.energy()
    sim = uk.Simulation(world, dt)
    sim.step()
    assert sim.report.certificate.valid
    assert world.energy() <= before + 1e-12
    return sim.report


def test_bouncing_ball(problem: Load) -> None:
    p = problem("bouncing_ball")
    g = p.given
    ground = uk.Ground(friction=0, restitution=g["e"])
    world = loose([uk.Sphere(g["R"])], ground, mass=g["m"], q=(0, 0, g["h"] + g["R"], 1, 0, 0, 0))
    sim = uk.Simulation(world, 1e-3, events=True)
    recording = sim.run(p.data["duration_s"])
    times = [event["time"] for event in recording.events]
    assert np.abs(np.array(times[:5]) - p.answer("impact times")).max() < 1e-9
    height = recording.q[:, 2] - g["R"]
    apexes = [height[(recording.time > a) & (recording.time < b)].max() for a, b in pairwise(times[:5])]
    assert np.abs(apexes - p.answer("apex heights")).max() < 9.81 * 1e-6 / 8  # sampled each ms
    # the bounces of a millisecond end in contact
    zeno = float(p.answer("accumulation"))
    assert zeno - 0.02 < times[-1] < zeno + 1e-3
    at_rest = recording.time > zeno + 2e-3
    assert np.abs(recording.v[at_rest]).max() < 1e-9
    assert np.abs(height[at_rest]).max() < 1e-6
    # where the last bounces end in contact the ball may be lifted by what it went in, less than a micrometre
    assert np.diff(recording.energy).max() < g["m"] * 9.81 * 1e-6
    (contact,) = sim.contacts
    assert abs(contact.normal_force - p.answers("contact force at rest")[0][1]) < 1e-9


def test_sphere_hits_a_rough_plane(problem: Load) -> None:
    p = problem("oblique_sphere_impact")
    g = p.given
    for case in g["cases"]:
        (vx, vz), w = case["v"], case["w"]
        answer = p.answer(f"v=({vx},{vz}), w={w}")
        ground = uk.Ground(friction=g["mu"], restitution=g["e"])
        q, v = (0, 0, g["R"], 1, 0, 0, 0), (vx, 0, vz, 0, w, 0)
        world = loose([uk.Sphere(g["R"])], ground, mass=g["m"], gravity=NO_GRAVITY, q=q, v=v)
        hit(world)
        turned = uk.Pose((0, 0, 0), world.q[3:]).R
        assert np.abs(turned @ world.v[:3] - (answer[0], 0, answer[1])).max() < 1e-8
        assert np.abs(world.v[3:] - (0, answer[2], 0)).max() < 1e-9
        slip = answer[0] - g["R"] * answer[2]
        assert (abs(slip) < 1e-12) == bool(answer[3])


def rod_on_end(p: Problem, friction: float) -> uk.World:
    g = p.given
    half, angle = g["L"] / 2, g["theta_rad"]
    return loose(
        feet([(-half, 0, 0)]),
        uk.Ground(friction=friction, restitution=g["e"]),
        joint=PLANE,
        gravity=NO_GRAVITY,
        mass=g["m"],
        com=(0, 0, 0),
        inertia=g["m"] * g["L"] ** 2 / 12 * np.array((0, 1, 1)),
        q=(0, half * np.sin(angle) + POINT, angle),
        v=(*g["v"], g["omega"]),
    )


def test_rod_hits_with_one_end(problem: Load) -> None:
    p = problem("rod_end_impact")
    before, smooth, grip = p.answer("kinetic energy per mass before")
    world = rod_on_end(p, 0.0)
    assert abs(world.energy() - before) < 1e-12
    hit(world)
    assert np.abs(world.v - p.answer("frictionless")[:3]).max() < 1e-8
    assert abs(world.energy() - smooth) < 1e-8
    needed = float(p.answer("friction coefficient needed"))
    for friction in (needed * (1 + 1e-6), GRIP):  # both sides of the threshold
        world = rod_on_end(p, friction)
        hit(world)
        assert np.abs(world.v - p.answer("gripping")).max() < 1e-7  # friction of 1e9 is a grip
        assert abs(world.energy() - grip) < 1e-8
    world = rod_on_end(p, p.given["mu"])
    hit(world)
    vx, vz, omega, slip, _ = p.answer("with Coulomb mu=0.5: v+x")
    assert np.abs(world.v - (vx, vz, omega)).max() < 1e-8
    assert abs(world.energy() - p.answer("with Coulomb mu=0.5: kinetic")) < 1e-8
    world = rod_on_end(p, needed * (1 - 1e-3))
    hit(world)
    end = world.v[0] + 0.5 * p.given["L"] * np.sin(p.given["theta_rad"]) * world.v[2]
    assert end < -1e-4  # it slips
    assert abs(slip) > abs(end)


def test_rod_falls_on_two_supports(problem: Load) -> None:
    p = problem("rod_two_support_impact")
    g = p.given
    for ends, answer in ((1.0, -1.0), p.answer("both supports")), ((1.0,), p.answer("only the support at +a: v+")):
        world = loose(
            feet([(s * g["a"], 0, 0) for s in ends]),
            uk.Ground(friction=0, restitution=g["e"]),
            joint=PLANE,
            gravity=NO_GRAVITY,
            mass=g["m"],
            com=(0, 0, 0),
            inertia=g["m"] * g["L"] ** 2 / 12 * np.array((0, 1, 1)),
            q=(0, POINT, 0),
            v=(0, -g["v_down"], 0),
        )
        before = world.energy()
        hit(world)
        assert np.abs(world.v[1:] - answer).max() < 1e-8
        kept = p.answer("energy after / before")[0 if len(ends) == 2 else 1]
        assert abs(world.energy() / before - kept) < 1e-8


def cradle(p: Problem, gap: float) -> uk.World:
    g = p.given
    radius = 0.05
    world = uk.World(NO_GRAVITY)
    world.collisions = True
    world.surface = uk.Surface(0, restitution=g["e"])
    for k, speed in enumerate(g["velocities"]):
        b = uk.Builder("ball")
        at = uk.Pose((k * (2 * radius + gap), 0, 0))
        b.link("ball", joint=uk.Prismatic((1, 0, 0)), at=at, mass=g["m"], shapes=[uk.Sphere(radius)])
        world.add(b.build(), name=f"ball{k}", v=[speed])
    return world


def test_newtons_cradle(problem: Load) -> None:
    """One simultaneous impact by Newton's law, (M); with gaps the balls hit one after the other, (S)."""
    p = problem("newton_cradle")
    world = cradle(p, 0.0)
    hit(world)
    assert np.abs(world.v - p.answer("velocities after, simultaneous")).max() < 1e-9
    world = cradle(p, 1e-3)
    recording = uk.Simulation(world, 1e-3).run(0.05)
    assert np.abs(world.v - p.answer("velocities after, sequential")).max() < 1e-9
    assert np.abs(recording.energy - recording.energy[0]).max() < 1e-12


def stopped_pendulum(p: Problem) -> uk.World:
    """Absolute angles of the problem, relative ones of the model: q = (th1, th2 - th1)."""
    g = p.given
    b = uk.Builder("double")
    for k, (parent, at, limits) in enumerate((("world", 0.0, None), ("link1", g["l1"], (-np.inf, g["limit_rad"])))):
        joint = uk.Revolute(CCW, limits=limits, restitution=g["e"])
        I = g[f"I{k + 1}"]
        place = uk.Pose((0, 0, -at))
        b.link(
            f"link{k + 1}", parent, joint, place, mass=g[f"m{k + 1}"], com=(0, 0, -g[f"c{k + 1}"]), inertia=(I, I, 0)
        )
    world = uk.World((0, 0, -g["g"]))
    world.collisions = True
    start = np.array((g["theta1"], g["theta2"])), np.array((g["theta1_dot"], g["theta2_dot"]))
    world.add(b.build(), name="p", q=relative(start[0]), v=relative(start[1]))
    return world


def relative(absolute: Array) -> Array:
    return np.array((absolute[0], absolute[1] - absolute[0]), dtype=float)


def test_joint_stop(problem: Load) -> None:
    p = problem("joint_limit_impact")
    times = [float(t) for _, t in p.answers("impact at the stop")]
    after = [answer for _, answer in p.answers("   rates after")]
    world = stopped_pendulum(p)
    sim = uk.Simulation(world, 2e-4, events=True)
    recording = sim.run(times[1] + 1e-3)
    assert np.abs([e["time"] for e in recording.events] - np.array(times)).max() < 1e-6
    for t, rates in zip(times, after, strict=True):
        k = np.searchsorted(recording.time, t)
        # within the step after the impact rates change by acceleration x dt
        assert np.abs(np.cumsum(recording.v[k]) - rates).max() < 50 * 2e-4
    assert recording.q[:, 1].max() < 5e-12  # not passed (DART 5e-9 rad, MuJoCo 0.048)
    assert np.diff(recording.energy).max() < 1e-6  # the rule's own error between impacts


def test_stop_holds(problem: Load) -> None:
    """Without restitution the knee stays at its stop as one rod, until it would be pulled off."""
    p = problem("joint_limit_impact")
    p.data["parameters"]["e"] = 0.0
    world = stopped_pendulum(p)
    recording = uk.Simulation(world, 1e-3).run(2.0)
    assert recording.q[:, 1].max() < 1e-11
    held = np.abs(recording.q[:, 1]) < 1e-9
    assert held.sum() > 100


def tip(p: Problem, e: float, friction: float) -> uk.World:
    """The double pendulum of the hand thesis: clockwise angles from upright; its elbow and tip may touch."""
    g = p.given
    b = uk.Builder("double")
    rod = {"mass": g["m"], "com": (0, 0, g["l"] / 2), "inertia": g["m"] * g["l"] ** 2 / 12 * np.array((1, 1, 0))}
    up = uk.Pose((0, 0, g["l"]))
    b.link("one", joint=uk.Revolute((0, 1, 0)), **rod)
    b.link("two", "one", uk.Revolute((0, 1, 0)), up, shapes=feet([(0, 0, g["l"])]), **rod)
    world = uk.World((0, 0, -g["g"]))
    world.terrain = uk.Ground(friction=friction, restitution=e)
    q = np.array((g["phi1"], g["phi2"]))
    world.add(b.build(), name="p", q=relative(q))
    return world


def test_tip_of_a_double_pendulum_touches_down(problem: Load) -> None:
    p = problem("thesis_inverted_double_pendulum")
    impact = float(p.answer("time of first"))
    errors = []
    for steps in (100, 400):
        world = tip(p, 0.0, 0.0)
        uk.Simulation(world, impact / steps, events=True).run(1.1 * impact)
        errors.append(abs(world.events[0]["time"] - impact))
    assert errors[1] < 1e-6
    assert errors[1] < errors[0] / 8  # second order


@pytest.mark.parametrize("e", [1.0, 0.5, 0.0])
def test_tip_of_a_double_pendulum_hits(problem: Load, e: float) -> None:
    p = problem("thesis_inverted_double_pendulum")
    for friction, which in ((0.0, "frictionless: rates after"), (GRIP, "gripping tip (no slip), Newton")):
        world = tip(p, e, friction)
        world.set_state(relative(p.answer("angles at impact")), relative(p.answer("rates before")))
        before = world.energy()
        report = hit(world, 1e-6)  # gravity changes rates by 1e-4 in this time
        if e == 1.0 and friction == GRIP:  # Newton's law would gain 1.5 percent (Kane and Levinson)
            assert 0.9 < report.restitution_kept < 1
            assert "reduced" in report.law
            assert abs(report.energy_lost) < 1e-9
            assert abs(world.energy() - before) < 1e-6
        else:
            assert np.abs(np.cumsum(world.v) - p.answer(f"e={e}, {which}")[:2]).max() < 2e-4
            assert report.restitution_kept == 1
            assert report.law == "Newton"


def test_balls_that_bounce_for_ever_keep_their_energy(problem: Load) -> None:
    p = problem("simbenchmark_other")
    g = p.given["bouncing"]
    b = uk.Builder("ball")
    b.link("ball", joint=uk.Free(), mass=g["m"], shapes=[uk.Sphere(g["R"])])
    world, model = uk.World(), b.build()
    world.terrain = uk.Ground(friction=0, restitution=1)
    for k in range(g["n"]):
        i, j = divmod(k, 7)
        world.add(model, name=f"ball{k}", q=(0.5 * i, 0.5 * j, g["H"], 1, 0, 0, 0))
    sim = uk.Simulation(world, 1e-3, events=True)
    recording = sim.run(g["T"], every=50)
    energy = float(p.answer("bouncing: total"))
    assert np.abs(recording.energy - energy).max() < 1e-6 * energy
    times = np.unique(np.round([e["time"] for e in recording.events], 6))
    assert len(times) == p.answer("bouncing: number")
    assert np.abs(np.diff(times) - p.answer("bouncing: time")).max() < 1e-5


def test_a_ball_hits_a_figure_in_free_space(problem: Load) -> None:
    """The momentum test of simbenchmark_other, with the human figure for the robot."""
    p = problem("simbenchmark_other")
    g = p.given["momentum"]
    b = uk.Builder("ball")
    b.link("ball", joint=uk.Free(), mass=g["m"], shapes=[uk.Sphere(0.1)])
    world = uk.World(NO_GRAVITY)
    world.collisions = True
    world.surface = uk.Surface(0.8, restitution=0.3)
    world.add(uk.human(), name="h")
    world.add(b.build(), name="ball", q=(-1, 0.03, 0.3, 1, 0, 0, 0), v=(g["v0"], 0, 0, 0, 0, 0))
    start = uk.momentum(world.model, world.q, world.v)
    shift = np.cross(uk.center_of_mass(world.model, world.q), start[:3])
    about_origin = start[3:] + shift
    sim = uk.Simulation(world, 1e-3)
    before = world.energy()
    recording = sim.run(0.6)
    end = uk.momentum(world.model, world.q, world.v)
    turned = end[3:] + np.cross(uk.center_of_mass(world.model, world.q), end[:3])
    assert np.abs(world.figure("h").v).max() > 0.1  # it was hit
    assert np.abs(end[:3] - (float(p.answer("momentum test")), 0, 0)).max() < 2e-3 * p.answer("momentum test")
    assert np.abs(turned - about_origin).max() < 0.05
    assert np.diff(recording.energy).max() < 1e-3 * before


def block_of_balls(restitution: float, n: int) -> uk.World:
    """n x n x n balls with gaps of a centimetre, the layers a little beside each other; no friction."""
    b = uk.Builder("ball")
    b.link("ball", joint=uk.Free(), mass=10.0, shapes=[uk.Sphere(0.1)])
    world, model = uk.World(), b.build()
    world.terrain = uk.Ground(friction=0, restitution=restitution)
    world.surface = uk.Surface(0, restitution=restitution)
    for k in range(n**3):
        i, j, l = k % n, k // n % n, k // n**2
        world.add(model, name=f"ball{k}", q=(0.21 * i + 0.02 * l, 0.21 * j + 0.013 * l, 0.11 + 0.21 * l, 1, 0, 0, 0))
    return world


@pytest.mark.parametrize("n", [3, pytest.param(6, marks=pytest.mark.slow)])
def test_blocks_of_balls_come_to_rest_without_penetration(problem: Load, n: int) -> None:
    """666 of simbenchmark_other: e = 0; without friction the balls spread over the plane, and at last all lie on it."""
    problem("simbenchmark_other")
    world = block_of_balls(0.0, n)
    sim = uk.Simulation(world, 1e-3)
    lowest, deepest = world.energy(), 0.0
    for _ in range(1500):
        sim.step()
        deepest = max(deepest, sim.report.penetration)
        assert sim.report.certificate.valid
        assert world.energy() < lowest + 0.1  # asked; of 13 kJ, while balls slide over round balls
        lowest = min(lowest, world.energy())
    assert deepest < 1e-4
    assert np.abs(world.q[2::7] - 0.1).max() < 1e-4
    held = sum(c.normal_force for c in sim.contacts if c.links[1] == "ground")
    assert abs(held - 10 * 9.81 * n**3) < 1e-3 * held


def test_an_elastic_block_of_balls_keeps_its_energy(problem: Load) -> None:
    """Elastic 666 of simbenchmark_other: e = 1; chaotic, so energy alone is known."""
    problem("simbenchmark_other")
    world = block_of_balls(1.0, 6)
    sim = uk.Simulation(world, 1e-3)
    energy, hits = world.energy(), 0
    for _ in range(600):
        sim.step()
        hits += sim.report.impacts
        assert abs(world.energy() - energy) < 1e-12 * energy  # rounding of each of the 10^4 impacts
        assert sim.report.certificate.valid
    assert hits > 1000
