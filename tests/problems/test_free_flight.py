"""Falling cats and the human figure in flight: prescribed joints, a free base, momentum kept."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.problems.conftest import Problem
from tests.problems.runs import orders, states_at

import ukemi as uk
from ukemi.model.arrays import Array
from ukemi.sim.simulation import Control, IntegratorName

Load = Callable[[str], Problem]


def drive(model: uk.Model, joint_accelerations: Callable[[float], Array]) -> Control:
    """Torques that give the joints these accelerations while nothing pushes the base."""
    base = model.links[0].joint.nv

    def control(t: float, q: Array, v: Array) -> Array:
        M, b = uk.mass_matrix(model, q), uk.bias(model, q, v, gravity=(0, 0, 0))
        a = joint_accelerations(t)
        root = np.linalg.solve(M[:base, :base], -b[:base] - M[:base, base:] @ a)
        return np.concatenate([np.zeros(base), M[base:] @ np.concatenate([root, a]) + b[base:]])

    return control


def start_without_momentum(model: uk.Model, q: Array, joint_velocities: Array) -> Array:
    base = model.links[0].joint.nv
    M = uk.mass_matrix(model, q)
    root = np.linalg.solve(M[:base, :base], -M[:base, base:] @ joint_velocities)
    return np.concatenate([root, joint_velocities])


def planar_cat(problem: Problem) -> uk.Model:
    """In x-y: the problem's plane is ours, counter-clockwise about z."""
    l1, l2, l3 = problem.given["lengths"]
    m1, m2, m3 = problem.given["masses"]

    def rod(mass: float, length: float, com: float) -> dict[str, object]:
        across = mass * length**2 / 12
        return {"mass": mass, "com": (com, 0, 0), "inertia": (0, across, across)}

    b = uk.Builder("cat")
    b.link("middle", joint=uk.Planar(), **rod(m2, l2, 0))  # type: ignore[arg-type]
    b.link("back", "middle", uk.Revolute((0, 0, 1)), uk.Pose((-l2 / 2, 0, 0)), **rod(m1, l1, -l1 / 2))  # type: ignore[arg-type]
    b.link("front", "middle", uk.Revolute((0, 0, 1)), uk.Pose((l2 / 2, 0, 0)), **rod(m3, l3, l3 / 2))  # type: ignore[arg-type]
    return b.build()


def test_falling_cat_planar(problem: Load) -> None:
    p = problem("falling_cat_planar")
    g = p.given
    w = 2 * np.pi / g["T"]
    model = planar_cat(p)

    def rates(t: float) -> Array:
        return np.array([g["A1"] * w * np.cos(w * t), g["A2"] * w * np.cos(w * t - g["psi"])])

    def accelerations(t: float) -> Array:
        return np.array([-g["A1"] * w**2 * np.sin(w * t), -g["A2"] * w**2 * np.sin(w * t - g["psi"])])

    q = model.neutral()
    v = start_without_momentum(model, q, rates(0.0))
    quarter, cycle = float(p.answer("rotation at quarter")), float(p.answer("rotation of middle"))

    def angles(dt: float) -> tuple[float, float]:
        states, _ = states_at(model, q, v, [0.25, 1.0], dt, "rk4", drive(model, accelerations), (0, 0, 0))
        # 1.2e-5 kg m^2/s was measured at dt = 1e-2: momentum is kept as well as the integrator is exact, not better
        assert np.abs(uk.momentum(model, *states[-1])).max() < 5e-5 * (dt / 1e-2) ** 4 + 1e-12
        return float(states[0][0][2]), float(states[1][0][2])

    at_quarter, at_cycle = angles(1e-3)
    assert abs(at_quarter - quarter) < 1e-9
    assert abs(at_cycle - cycle) < 1e-9
    assert np.allclose(orders(lambda dt: abs(angles(dt)[1] - cycle), 2e-2, 2), 4, atol=0.4)


def test_falling_cat_two_cylinders(problem: Load) -> None:
    p = problem("falling_cat_two_cylinders")
    psi = p.given["psi_rad"]
    n1, n2 = np.array((np.sin(psi), 0, np.cos(psi))), np.array((np.sin(psi), 0, -np.cos(psi)))
    inertia = (p.given["I1"], p.given["I1"], p.given["I3"])
    b = uk.Builder("cat")
    b.link("front", joint=uk.Free(), mass=1, inertia=inertia)
    b.link("rear", "front", uk.Spherical(), mass=1, inertia=inertia)
    model = b.build()

    def along(axis: Array) -> Array:
        """A rotation that takes z to the axis."""
        y = np.array((0.0, 1, 0))
        return np.stack([np.cross(y, axis), y, axis], axis=1)

    def spun(axis: Array, angle: float) -> Array:
        half = angle / 2
        return uk.Pose((0, 0, 0), (np.cos(half), *np.sin(half) * axis)).R

    R_front, R_rear = along(n1), along(n2)
    q = np.concatenate(
        [np.zeros(3), uk.Pose.from_matrix(R_front).quaternion, uk.Pose.from_matrix(R_front.T @ R_rear).quaternion]
    )

    def rear(t: float) -> Array:
        return spun(-n2, t) @ R_rear  # in the bend frame

    def accelerations(t: float) -> Array:
        """d/dt of the waist's rate -R_rear^T (n1 + n2)."""
        R = rear(t)
        return np.cross(R.T @ -n2, R.T @ (n1 + n2))

    v = start_without_momentum(model, q, -rear(0).T @ (n1 + n2))
    bend_rate = (R_front @ v[3:6] - n1)[2]
    assert abs(-bend_rate - p.answer("Om")) < 1e-12
    states, _ = states_at(model, q, v, [2 * np.pi], 2e-3, "rk4", drive(model, accelerations), (0, 0, 0))
    R_end = uk.Pose((0, 0, 0), states[0][0][3:7]).R
    turned = R_end @ R_front.T
    angle = float(p.answer("attitude of front half"))
    assert np.abs(turned - spun(np.array((0.0, 0, 1)), angle)).max() < 1e-9


def human_tree(problem: Problem) -> uk.Model:
    """Hinges in sequence at one point: massless links between."""
    b = uk.Builder("human")
    for body in problem.given["bodies"]:
        properties = {"mass": body["mass"], "com": body["com"], "inertia": body["inertia"]}
        if body["axes"] == "free":
            b.link(body["name"], joint=uk.Free(), **properties)
            continue
        parent, at = body["parent"], uk.Pose(body["origin"])
        for axis in body["axes"]:
            last = axis == body["axes"][-1]
            name = body["name"] if last else f"{body['name']}_{axis}"
            joint = uk.Revolute(np.eye(3)["xyz".index(axis)])
            b.link(name, parent, joint, at, joint_name=f"{body['name']}_{axis}_joint", **(properties if last else {}))
            parent, at = name, uk.Pose()
    return b.build()


def human_start(problem: Problem) -> tuple[Array, Array, Array]:
    """q, v, and the pelvis' orientation; the problem's base rates are in world axes, ours in the link's."""
    g = problem.given
    R = uk.Pose((0, 0, 0), g["pelvis_quaternion_wxyz"]).R
    q = np.concatenate([g["pelvis_position"], g["pelvis_quaternion_wxyz"], g["joint_angles"]])
    v = np.concatenate([R.T @ g["pelvis_velocity_world"], R.T @ g["pelvis_angular_velocity_world"], g["joint_rates"]])
    return q, v, R


def test_human_tree(problem: Load) -> None:
    p = problem("human_tree")
    g = p.given
    model = human_tree(p)
    assert [n.removesuffix("_joint") for n in model.joint_names[1:]] == g["joint_order"]
    assert abs(model.mass - g["total_mass"]) < 1e-9
    q, v, R = human_start(p)
    tau = np.concatenate([np.zeros(6), g["joint_torques"]])
    a = uk.forward_dynamics(model, q, v, tau)
    # the answers of the external engines agree among themselves to 1e-8 of accelerations of up to 1e4 rad/s^2
    assert np.abs(a[6:] - p.answer("forward dynamics: joint")).max() < 1e-7
    assert np.abs(R @ (a[:3] + np.cross(v[3:6], v[:3])) - p.answer("forward dynamics: pelvis origin")).max() < 1e-8
    assert np.abs(R @ a[3:6] - p.answer("forward dynamics: pelvis angular")).max() < 1e-8
    assert abs(uk.kinetic_energy(model, q, v) - p.answer("kinetic energy")) < 1e-9
    assert abs(uk.potential_energy(model, q) - p.answer("potential energy")) < 1e-9
    assert np.abs(uk.center_of_mass(model, q) - p.answer("CoM position")).max() < 1e-12
    h = uk.momentum(model, q, v)
    assert np.abs(h[:3] / model.mass - p.answer("CoM velocity")).max() < 1e-11
    assert np.abs(h[3:] - p.answer("angular momentum")).max() < 1e-10

    given = g["inverse_dynamics_accelerations"]
    lin = R.T @ given["pelvis_linear_world"] - np.cross(v[3:6], v[:3])
    a = np.concatenate([lin, R.T @ given["pelvis_angular_world"], given["joints"]])
    torques = uk.inverse_dynamics(model, q, v, a)
    assert np.abs(torques[6:] - p.answer("inverse dynamics with")).max() < 1e-8
    assert np.abs(R @ torques[:3] - p.answer("inverse dynamics: root force")).max() < 1e-8
    assert np.abs(R @ torques[3:6] - p.answer("inverse dynamics: root moment")).max() < 1e-8


def test_human_tree_in_flight(problem: Load) -> None:
    p = problem("human_tree")
    model = human_tree(p)
    q, v, _ = human_start(p)
    tau = np.concatenate([np.zeros(6), p.given["joint_torques"]])
    T = p.data["duration_s"]
    states, _ = states_at(model, q, v, [T], 5e-5, "rk4", lambda t, q, v: tau * np.cos(20 * t))
    q_end, v_end = states[0]
    # wrists turn by 30 rad in 0.2 s: an error of 1e-6 rad is 3e-8 of that
    assert np.abs(q_end[7:] - p.answer("after T with")).max() < 1e-6
    assert np.abs(q_end[:3] - p.answer("after T: pelvis position")).max() < 1e-7
    attitude = p.answer("after T: pelvis quaternion")
    assert min(np.abs(q_end[3:7] - attitude).max(), np.abs(q_end[3:7] + attitude).max()) < 1e-6
    assert np.abs(uk.center_of_mass(model, q_end) - p.answer("after T: CoM")).max() < 1e-9
    assert np.abs(uk.momentum(model, q_end, v_end)[3:] - p.answer("angular momentum")).max() < 1e-7


def quadruped() -> uk.Model:
    """18 freedoms, of about the size of the robot of simbenchmark_other: a trunk and four legs of three hinges."""
    b = uk.Builder("quadruped")
    b.link("trunk", joint=uk.Free(), mass=16.0, inertia=(0.2, 0.6, 0.7))
    for name, x, y in (("lf", 0.28, 0.12), ("rf", 0.28, -0.12), ("lh", -0.28, 0.12), ("rh", -0.28, -0.12)):
        upper, lower = (0, 0, -0.12), (0, 0, -0.15)
        b.link(f"{name}_hip", "trunk", uk.Revolute((1, 0, 0)), uk.Pose((x, y, 0)), mass=1.4, inertia=np.full(3, 2e-3))
        thigh, shank = uk.Pose((0, np.sign(y) * 0.08, 0)), uk.Pose((0, 0, -0.25))
        b.link(f"{name}_thigh", f"{name}_hip", uk.Revolute((0, 1, 0)), thigh, mass=1.6, com=upper, inertia=[0.01] * 3)
        b.link(f"{name}_shank", f"{name}_thigh", uk.Revolute((0, 1, 0)), shank, mass=0.4, com=lower, inertia=[5e-3] * 3)
    return b.build()


def test_a_pushed_robot_falls_with_constant_energy(problem: Load) -> None:
    """ANYmal energy of simbenchmark_other: a push of 1 s, then 2 s of free fall with limp legs.

    Not that robot's numbers: energy is constant for any. Drift by rule and step; contact steps, where nothing touches,
    are the midpoint rule.
    """
    problem("simbenchmark_other")
    model = quadruped()
    push = np.zeros(model.nv)
    push[:3] = 40.0, 30.0, 250.0

    def drift(dt: float, integrator: IntegratorName, collisions: bool) -> float:
        world = uk.World()
        world.add(model)
        world.collisions = collisions
        sim = uk.Simulation(world, dt, integrator)
        sim.run(1.0, push, every=50)
        assert np.abs(world.v[6:]).max() > 0.5  # the legs swing
        energies = sim.run(2.0, every=5).energy
        return float(np.abs(energies - energies[0]).max() / uk.energy(model, world.q, world.v, gravity=(0, 0, 0)))

    assert drift(1e-3, "rk4", False) < 1e-9
    assert drift(1e-3, "adaptive", False) < 1e-8
    for collisions, order, most in ((False, 1, 1e-3), (True, 2, 1e-5)):
        errors = [drift(dt, "semi-implicit", collisions) for dt in (2e-3, 1e-3)]
        assert errors[1] < most
        assert abs(np.log2(errors[0] / errors[1]) - order) < 0.2


@pytest.mark.parametrize("spin", [30.0, 300.0])
def test_what_spins_flies_straight_above_a_ground(spin: float) -> None:
    """A tennis ball at 300 rad/s turns by 0.3 rad in a step; nothing bends its way."""
    model = uk.Builder("ball").link("ball", joint=uk.Free(), mass=0.058, shapes=[uk.Sphere(0.033)]).build()
    world = uk.World((0, 0, 0))
    world.terrain = uk.Ground()
    world.add(model, q=(0, 0, 50, 1, 0, 0, 0), v=(20, 0, 0, 0, spin, 0))
    uk.Simulation(world, 1e-3).run(1.0, every=100)
    assert world.q[:3] == pytest.approx((20, 0, 50), abs=1e-9)


def test_a_figure_that_flies_above_a_ground_converges_with_the_square_of_the_step() -> None:
    """Beside RK4 at a tenth of a millisecond, without a ground."""
    model = uk.human(28)
    rng = np.random.default_rng(2)
    q, v = model.neutral(), rng.normal(0, 2, model.nv)
    q[2] = 50

    def flown(dt: float, integrator: IntegratorName) -> np.ndarray:
        world = uk.World()
        if integrator == "semi-implicit":
            world.terrain = uk.Ground()
        world.add(model, "man", q=q, v=v)
        uk.Simulation(world, dt, integrator).run(0.4, every=10_000)
        return np.array(world.q[:3])

    exact = flown(1e-4, "rk4")
    off = [np.abs(flown(dt, "semi-implicit") - exact).max() for dt in (4e-3, 2e-3, 1e-3)]
    assert off[2] < 2e-5
    assert off[0] / off[1] == pytest.approx(4, rel=0.15)
    assert off[1] / off[2] == pytest.approx(4, rel=0.15)


@pytest.mark.parametrize(("spin", "speed"), [(0.0, 20.0), (300.0, 5.0)])
def test_a_ball_that_slides_ends_rolling_however_fast_it_spins(spin: float, speed: float) -> None:
    """Angular momentum about any point of the floor is kept: it rolls at (5 v + 2 r w) / 7."""
    radius, mass = 0.033, 0.058
    b = uk.Builder("ball")
    inertia = (0.4 * mass * radius**2,) * 3
    model = b.link("ball", joint=uk.Free(), mass=mass, inertia=inertia, shapes=[uk.Sphere(radius)]).build()
    world = uk.World()
    world.terrain = uk.Ground(friction=0.3)
    world.add(model, q=(0, 0, radius, 1, 0, 0, 0), v=(speed, 0, 0, 0, spin, 0))
    uk.Simulation(world, 1e-3).run(3.0, every=1000)
    along = uk.link_poses(model, world.q)[0, :3, :3] @ world.v[:3]
    assert along == pytest.approx(((5 * speed + 2 * radius * spin) / 7, 0, 0), abs=1e-8)
