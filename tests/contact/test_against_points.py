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
