"""Mechanisms with closed loops: accuracy against published answers, and against what the best peer reached."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.problems import mechanisms
from tests.problems.conftest import Problem

import ukemi as uk
from ukemi.model.arrays import Array
from ukemi.sim.simulation import Control, IntegratorName

Load = Callable[[str], Problem]
#: A step of 1 ms (0.1 ms for the squeezer), with as many adaptive steps inside as these tolerances ask.
TIGHT: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-13}
#: Loops stay closed to this at every sample [m].
CLOSED = 1e-9


def follow(
    world: uk.World,
    times: list[float],
    dt: float = 1e-3,
    integrator: IntegratorName = "adaptive",
    control: Control | Array | None = None,
) -> list[tuple[Array, Array]]:
    """States at given times; the loops are checked on the way."""
    states = []
    for t in times:
        steps = max(1, round((t - world.time) / dt))
        sim = uk.Simulation(world, (t - world.time) / steps, integrator, **TIGHT)
        for _ in range(10):
            part = max(1, steps // 10)
            if steps - part < 0:
                break
            sim.step(control, part)
            steps -= part
            if world.closed.rows:
                assert np.abs(world.closed.state(world.q, world.v)[0]).max() < CLOSED
        if steps:
            sim.step(control, steps)
        world.time = t
        states.append((world.q.copy(), world.v.copy()))
    return states


@pytest.mark.parametrize("k", range(0, 40, 3))
def test_singular_poses_are_passed_wherever_the_steps_fall(problem: Load, k: int) -> None:
    """Adaptive steps that fall on the singular pose of A02 neither shrink to nothing nor take garbage forces."""
    world, _ = mechanisms.n_fourbar(problem("A02_n_fourbar_N2").given, 2)
    start = world.energy()
    dt = 1e-3 * (1 + 0.013 * k)
    for _ in range(3):  # uprights pass the horizontal twice
        uk.Simulation(world, dt, "adaptive", rtol=1e-12, atol=1e-13).step(None, int(0.5 / dt))
        assert abs(world.energy() - start) < 1e-7
        assert np.ptp(np.abs(world.q)) < 1e-7


@pytest.mark.parametrize(("integrator", "best"), [("adaptive", 2e-11), ("rk4", 5e-11)])
def test_a02_passes_its_singular_poses(problem: Load, integrator: IntegratorName, best: float) -> None:
    """Straight through, no branch switched: all uprights stay parallel. Best peer: 2e-11 m."""
    p = problem("A02_n_fourbar_N2")
    world, _ = mechanisms.n_fourbar(p.given, 2)
    start = world.energy()
    answers = p.answers("B0 x")
    for (q, _), (_, x) in zip(follow(world, [t for t, _ in answers], integrator=integrator), answers, strict=True):
        assert abs(np.sin(q[0]) * p.given["L"] - x) < best
        assert np.abs(np.abs(q) - q[0]).max() < 1e-9
    assert abs(world.energy() - start) < 1e-8


def test_a03_andrews_squeezer(problem: Load) -> None:
    """Published 16-digit answer. Best peer: 2e-7 m at 0.1 ms; the longest arm is 0.07 m, so angles to 1e-7 rad."""
    p = problem("A03_andrews_squeezer")
    world = mechanisms.andrews(p.given)
    torque = np.zeros(world.model.nv)
    torque[0] = p.given["mom"]
    follow(world, [0.03], 1e-4, control=torque)
    names = {"beta": "k1", "Theta": "k2", "gamma": "k3", "Phi": "k4", "delta": "k5", "Omega": "k6", "epsilon": "k7"}
    for quantity, link in names.items():
        answer = p.answers(quantity)[0][1]  # at 0.03 s, the first listed
        assert abs(world.q[world.model.link(f"s/{link}").q][0] - answer) < 1e-8
    E = world.link_pose("s/k3") @ uk.Pose((0, -p.given["ss"], 0)).matrix
    assert np.abs(E[:2, 3] - p.answer("point E")[:2]).max() < 1e-10


def test_a04_bricard(problem: Load) -> None:
    """One redundant constraint: neither locks nor drifts. Best peer: 5e-10 m."""
    p = problem("A04_bricard")
    world, figure = mechanisms.bricard(p.given)
    mobility = world.mobility()
    assert (mobility.dof, len(mobility.redundant)) == (1, 1)
    start = world.energy()
    answers = p.answers("P3 position")
    for (q, _), (_, place) in zip(follow(world, [t for t, _ in answers]), answers, strict=True):
        P3 = uk.link_poses(world.model, q)[world.model.link_index("b/rod3"), :3, 3]
        assert np.abs(P3 - place).max() < 5e-10
        assert figure.q.shape == (5,)
    assert abs(world.energy() - start) < 1e-9


def test_a05_flyball_governor(problem: Load) -> None:
    """Stiff couplers. Best peer: 3e-5 m."""
    p = problem("A05_flyball_governor")
    world = mechanisms.governor(p.given)
    spin = uk.momentum(world.model, world.q, world.v, about=(0, 0, 0))[5]
    assert abs(spin - p.data["invariants"][0]["value"]) < 1e-9
    answers = p.answers("s (slider height)")
    slider = world.model.link("g/slider").q
    for (q, _), (_, height) in zip(follow(world, [t for t, _ in answers]), answers, strict=True):
        assert abs(q[slider][0] - height) < 1e-8  # the reference's own uncertainty


def test_slider_crank_planar(problem: Load) -> None:
    p = problem("slider_crank_planar")
    world, _ = mechanisms.slider_crank_planar(p.given)
    assert world.mobility().dof == 1
    start = world.energy()
    answers = p.answers("slider x")
    for (q, _), (_, x) in zip(follow(world, [t for t, _ in answers]), answers, strict=True):
        assert abs(q[2] - x) < 1e-9
    assert abs(world.energy() - start) < 1e-9


def test_slider_crank_spatial(problem: Load) -> None:
    """Revolute, prismatic, universal and spherical joints in one loop. Best peer: 6e-7 m."""
    p = problem("slider_crank_spatial")
    world, _ = mechanisms.slider_crank_spatial(p.given)
    assert abs(world.v[1] - p.answer("initial slider velocity")) < 1e-12
    R = world.link_pose("c/rod")[:3, :3]
    spin = uk.jacobian(world.model, world.q, "c/rod")[3:] @ world.v
    assert np.abs(spin - p.answer("initial rod angular velocity")).max() < 1e-12
    assert abs(np.linalg.det(R) - 1) < 1e-12
    answers = p.answers("slider x")
    for (q, _), (_, x) in zip(follow(world, [t for t, _ in answers]), answers, strict=True):
        assert abs(q[1] - x) < 1e-9


@pytest.mark.parametrize("cut_at", ["B", "C"])
def test_fourbar_with_redundant_constraints(problem: Load, cut_at: str) -> None:
    """Wherever the loop is cut: the same motion, and the in-plane forces in the joint there. Best peer: 2e-8 m."""
    p = problem("fourbar_3d_redundant")
    world, _ = mechanisms.fourbar(p.given, cut_at)
    mobility = world.mobility()
    assert (mobility.dof, len(mobility.redundant)) == (1, 3)
    start = world.energy()
    forces = dict(p.answers(f"in-plane force on the coupler at {cut_at}"))
    for t, angles in p.answers("angles crank"):
        follow(world, [t])
        at = {name: float(world.q[world.model.link(name).q][0]) for name in world.model.link_names}
        carrier = "f/crank" if cut_at == "C" else "f/rocker"
        coupler = at["f/coupler"] + at[carrier]
        assert np.abs(np.array([at["f/crank"], coupler, at["f/rocker"]]) - angles).max() < 1e-9
        on_coupler = world.link_pose("f/coupler")[:3, :3] @ world.connections[0].wrench[:3]
        assert np.abs(on_coupler[:2] - forces[t]).max() < 1e-7
    assert abs(world.energy() - start) < 1e-9


@pytest.mark.parametrize("joint", ["ball", "weld"])
def test_connect_and_cut_in_flight(problem: Load, joint: str) -> None:
    """Two free bodies joined in flight, later cut. Best peer: 6e-9 m, or 64 steps with a gap of 12 mm."""
    p = problem("connect_cut")
    g = p.given
    world = uk.World((0, 0, 0))
    bodies = []
    for k, name in enumerate("AB"):
        b = uk.Builder(name)
        b.link(name, joint=uk.Free(), mass=g["masses"][k], inertia=g["inertia_principal"][k])
        R = uk.Pose((0, 0, 0), g[f"q_{name}"]).R
        q = np.concatenate([g[f"r_{name}"], g[f"q_{name}"]])
        v = np.concatenate([R.T @ g[f"v_{name}"], R.T @ g[f"omega_{name}_world"]])
        bodies.append(world.add(b.build(), q=q, v=v))
    before = uk.momentum(world.model, world.q, world.v, about=(0, 0, 0))
    energy = world.energy()
    A, B = (body[name].at(uk.Pose(g[f"s_{name}"])) for body, name in zip(bodies, "AB", strict=True))
    kind = uk.Spherical() if joint == "ball" else uk.Fixed()
    # welded as they stand, or pinned where the two points meet
    grip = world.connect(A, B, kind, at=None if joint == "weld" else "frames")
    assert grip.energy_lost == pytest.approx(energy - world.energy(), abs=1e-12)
    assert np.abs(uk.momentum(world.model, world.q, world.v, about=(0, 0, 0)) - before).max() < 1e-12
    if joint == "weld":
        assert world.energy() == pytest.approx(float(p.answer("if WELDED: kinetic")), abs=1e-12)
        return

    def velocity(body: uk.Figure, name: str) -> Array:
        return uk.jacobian(world.model, world.q, f"{name}/{name}") @ world.v

    impulse_on_b = -(world.link_pose("A/A")[:3, :3] @ grip.impulse[:3])
    assert np.abs(impulse_on_b - p.answer("ball-joint impulse on B")).max() < 1e-12
    assert np.abs(velocity(bodies[0], "A")[:3] - p.answer("v_A after")).max() < 1e-12
    assert np.abs(velocity(bodies[0], "A")[3:] - p.answer("omega_A after")).max() < 1e-12
    follow(world, [g["T"]])
    world.cut(grip)
    assert np.abs(uk.momentum(world.model, world.q, world.v, about=(0, 0, 0)) - before).max() < 1e-10
    for body, name in zip(bodies, "AB", strict=True):
        place = p.answer(f"after pinned motion: r_{name}")
        assert np.abs(world.link_pose(f"{name}/{name}")[:3, 3] - place).max() < 1e-11
        assert np.abs(velocity(body, name)[3:] - p.answers(f"omega_{name}")[-1][1]).max() < 1e-10
