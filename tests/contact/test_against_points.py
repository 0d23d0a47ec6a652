"""Contact forces against an independent solver on random problems whose answer is unique."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracles.contact_points import solve
from tests.problems.bodies import POINT, feet, loose, pushed

import ukemi as uk
from ukemi.model.arrays import Array

DT = 1e-6  # so short that nothing moves: errors of the step itself are of the order of DT


def random_body(rng: np.random.Generator, count: int, friction: float) -> tuple[uk.World, Array]:
    """A body at rest on points, and the wrench that pushes it."""
    places = np.column_stack([rng.uniform(-0.3, 0.3, (count, 2)), np.zeros(count)])
    cloud = rng.uniform(-0.3, 0.3, (8, 3))
    spread = cloud - cloud.mean(axis=0)
    inertia = sum(p @ p * np.eye(3) - np.outer(p, p) for p in spread) / 8
    com = (*rng.uniform(-0.2, 0.2, 2), rng.uniform(0.05, 0.6))
    world = loose(
        feet(places),
        uk.Ground(friction=friction),
        mass=1.0,
        com=com,
        inertia=inertia,
        q=(0, 0, POINT, 1, 0, 0, 0),
    )
    return world, np.concatenate([rng.normal(0, 4, 3), rng.normal(0, 1, 3)])


def reference(world: uk.World, places: Array, wrench: Array, friction: float) -> tuple[Array, Array]:
    """Velocity after the step and the forces at the points."""
    model = world.model
    J = np.concatenate([uk.jacobian(model, world.q, "b/body", p)[:3] for p in places])
    M = uk.mass_matrix(model, world.q)
    free = DT * np.linalg.solve(M, wrench - uk.bias(model, world.q, world.v))
    f = solve(J @ np.linalg.solve(M, J.T), (J @ free).reshape(-1, 3), friction)
    return free + np.linalg.solve(M, J.T @ f.ravel()), f / DT


@pytest.mark.parametrize("seed", range(30))
def test_random_bodies_on_three_points(seed: int) -> None:
    """Three points carry any load in one way only, and friction below 0.5 keeps Painleve's paradox away."""
    rng = np.random.default_rng(seed)
    friction = float(rng.uniform(0, 0.5))
    world, wrench = random_body(rng, 3, friction)
    places = np.array([s.at.position for s in world.model.links[0].shapes])
    v, f = reference(world, places, wrench, friction)
    sim = uk.Simulation(world, DT)
    sim.external = {"b/body": wrench}
    sim.step()
    assert sim.report.certificate.valid
    scale = float(np.abs(f).max()) + 1
    force, moment = pushed(sim.contacts)
    assert np.abs(world.v - v).max() < 1e-5 * DT * scale
    assert np.abs(force - f.sum(axis=0)).max() < 1e-5 * scale
    assert np.abs(moment - np.cross(places, f).sum(axis=0)).max() < 1e-5 * scale


@pytest.mark.parametrize("seed", range(100, 115))
def test_random_bodies_on_many_points_without_friction(seed: int) -> None:
    """The split is not unique, but the total is: the problem is convex."""
    rng = np.random.default_rng(seed)
    world, wrench = random_body(rng, int(rng.integers(4, 9)), 0.0)
    places = np.array([s.at.position for s in world.model.links[0].shapes])
    v, f = reference(world, places, wrench, 0.0)
    sim = uk.Simulation(world, DT)
    sim.external = {"b/body": wrench}
    sim.step()
    force, moment = pushed(sim.contacts)
    assert sim.report.certificate.valid
    assert np.abs(world.v - v).max() < 1e-5 * DT * (1 + np.abs(f).max())
    assert np.abs(force - f.sum(axis=0)).max() < 1e-5 * (1 + np.abs(f).max())
    assert np.abs(moment - np.cross(places, f).sum(axis=0)).max() < 1e-5 * (1 + np.abs(f).max())


@pytest.mark.parametrize("seed", range(200, 220))
def test_random_impacts(seed: int) -> None:
    """A body that hits with three points at once, without restitution."""
    rng = np.random.default_rng(seed)
    friction = float(rng.uniform(0, 0.5))
    world, _ = random_body(rng, 3, friction)
    v0 = np.concatenate([rng.normal(0, 1, 2), [-rng.uniform(0.5, 2)], rng.normal(0, 1, 3)])
    world.set_state(v=v0)
    world.gravity = (0, 0, 0)
    model = world.model
    places = np.array([s.at.position for s in model.links[0].shapes])
    J = np.concatenate([uk.jacobian(model, world.q, "b/body", p)[:3] for p in places])
    M = uk.mass_matrix(model, world.q)
    f = solve(J @ np.linalg.solve(M, J.T), (J @ v0).reshape(-1, 3), friction)
    v = v0 + np.linalg.solve(M, J.T @ f.ravel())
    sim = uk.Simulation(world, 1e-9)
    sim.step()
    assert sim.report.certificate.valid
    # a point that stays may bounce back into the push-out of rounding: 1e-9 m in 1e-9 s is the limit
    assert np.abs(world.v - v).max() < 1e-6
    assert uk.kinetic_energy(model, world.q, world.v) <= 0.5 * v0 @ M @ v0 + 1e-12


def crawler(rng: np.random.Generator) -> tuple[uk.Model, Array]:
    """A trunk on three legs with random hinges, each with one foot on z = 0; the feet's places on their legs."""
    b = uk.Builder("crawler")
    b.link("trunk", joint=uk.Free(), at=uk.Pose((0, 0, 0)), mass=3.0, com=(0, 0, 0.4), inertia=(0.03, 0.04, 0.05))
    places = []
    for k in range(3):
        angle = 2 * np.pi * k / 3 + rng.uniform(-0.4, 0.4)
        hip = np.array((0.2 * np.cos(angle), 0.2 * np.sin(angle), rng.uniform(0.3, 0.5)))
        foot = np.array((rng.uniform(0.05, 0.3) * np.cos(angle), rng.uniform(0.05, 0.3) * np.sin(angle), -hip[2]))
        axis = rng.standard_normal(3)
        joint = uk.Revolute(axis / np.linalg.norm(axis))
        b.link(f"leg{k}", "trunk", joint, uk.Pose(hip), mass=0.5, com=foot / 2, inertia=[0.01] * 3, shapes=feet([foot]))
        places.append(foot)
    return b.build(), np.array(places)


@pytest.mark.parametrize("seed", range(300, 316))
def test_random_legs_foot_by_foot(seed: int) -> None:
    """Three feet on three links: nine rows on nine freedoms, so that every foot's own force is unique."""
    rng = np.random.default_rng(seed)
    friction = float(rng.uniform(0, 0.4))
    model, places = crawler(rng)
    world = uk.World()
    world.terrain = uk.Ground(friction=friction)
    world.collisions = False
    world.add(model, "c", q=[0, 0, POINT, 1, 0, 0, 0, 0, 0, 0])
    names = [f"c/leg{k}" for k in range(3)]
    tau = np.concatenate([rng.normal(0, 5, 3), rng.normal(0, 1, 6)])
    J = np.concatenate([uk.jacobian(world.model, world.q, n, p)[:3] for n, p in zip(names, places, strict=True)])
    M = uk.mass_matrix(world.model, world.q)
    free = DT * np.linalg.solve(M, tau - uk.bias(world.model, world.q, world.v))
    f = solve(J @ np.linalg.solve(M, J.T), (J @ free).reshape(-1, 3), friction) / DT
    sim = uk.Simulation(world, DT)
    sim.step(tau)
    assert sim.report.certificate.valid
    found = {c.links[0]: c.force for c in sim.contacts}
    scale = float(np.abs(f).max()) + 1
    for name, force in zip(names, f, strict=True):
        assert np.abs(found.get(name, np.zeros(3)) - force).max() < 1e-5 * scale


@pytest.mark.parametrize("seed", range(400, 415))
def test_a_ball_on_three_balls(seed: int) -> None:
    """Links on links: six contacts of four balls under random wrenches, each force unique."""
    rng = np.random.default_rng(seed)
    R, friction = 0.1, float(rng.uniform(0.05, 0.4))
    apart = 2.2 * R / np.sqrt(3)
    centres = [np.array((apart * np.cos(a), apart * np.sin(a), R)) for a in 2 * np.pi * np.arange(3) / 3]
    centres.append(np.array((0, 0, R + np.sqrt(4 - 2.2**2 / 3) * R)))
    b = uk.Builder("ball")
    b.link("ball", joint=uk.Free(), mass=1.0, shapes=[uk.Sphere(R)])
    ball = b.build()
    world = uk.World()
    world.terrain = uk.Ground(friction=friction)
    world.surface = uk.Surface(friction)
    for k, c in enumerate(centres):
        world.add(ball, f"b{k}", q=(*c, 1, 0, 0, 0))
    model = world.model
    tau = rng.normal(0, 1, model.nv)
    pairs: list[tuple[int, int | None, Array, Array]]
    pairs = [(k, None, np.array((0, 0, 1.0)), centres[k] * (1, 1, 0)) for k in range(3)]
    for k in range(3):
        normal = (centres[3] - centres[k]) / (2 * R)
        pairs.append((3, k, normal, centres[k] + R * normal))
    rows = []
    for a, other, n, at in pairs:
        t = np.cross(n, (0, 1, 0)) / np.linalg.norm(np.cross(n, (0, 1, 0)))
        J = uk.jacobian(model, world.q, f"b{a}/ball", at - centres[a])[:3]
        if other is not None:
            J = J - uk.jacobian(model, world.q, f"b{other}/ball", at - centres[other])[:3]
        rows.append(np.stack([t, np.cross(n, t), n]) @ J)
    J, M = np.concatenate(rows), uk.mass_matrix(model, world.q)
    free = DT * np.linalg.solve(M, tau - uk.bias(model, world.q, world.v))
    f = solve(J @ np.linalg.solve(M, J.T), (J @ free).reshape(-1, 3), friction) / DT
    sim = uk.Simulation(world, DT)
    sim.step(tau)
    assert sim.report.certificate.valid
    found = {frozenset(c.links): c.normal_force for c in sim.contacts}
    scale = float(np.abs(f).max()) + 1
    for (a, other, _, _), force in zip(pairs, f, strict=True):
        names = frozenset((f"b{a}/ball", "ground" if other is None else f"b{other}/ball"))
        assert abs(found.get(names, 0.0) - force[2]) < 1e-5 * scale
    assert np.abs(world.v - free - DT * np.linalg.solve(M, J.T @ f.ravel())).max() < 1e-5 * DT * scale
