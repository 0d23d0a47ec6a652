"""Heaps in which something slides: what rests creeps by less than 0.1 mm/s meanwhile; heaps of joints of every kind."""

from __future__ import annotations

import numpy as np
import pytest

import ukemi as uk
from ukemi.model.joints import Joint

G = 9.81
#: Slip that counts as rest in a heap in which something slides [m/s].
CREEP = 1e-4


def test_what_rests_beside_something_that_slides() -> None:
    """A plate that sticks to a slope, twenty bricks at rest on it, and one that slides down on it: this one goes as its
    own friction lets it, the others creep by less than the bound, and are at rest when it has left the plate."""
    slope, low, dt = 0.3, 0.1, 2e-3
    normal, down = np.array((np.sin(slope), 0, np.cos(slope))), np.array((np.cos(slope), 0, -np.sin(slope)))
    world = uk.World()
    world.terrain = uk.Ground(normal=tuple(normal), friction=0.6)

    def add(name: str, size: tuple[float, float, float], along: float, across: float, height: float) -> uk.Figure:
        b = uk.Builder("box").link("box", joint=uk.Free(), mass=1000 * float(np.prod(size)), shapes=[uk.Box(size)])
        at = along * down + height * normal + np.array((0, across, 0))
        return world.add(b.build(), name, q=(*at, np.cos(slope / 2), 0, np.sin(slope / 2), 0))

    plate = add("plate", (1.6, 1.0, 0.05), 0, 0, 0.025)
    for i in range(20):
        add(f"b{i}", (0.1, 0.1, 0.1), -0.6 + 0.3 * (i % 5), -0.4 + 0.2 * (i // 5), 0.1)
    slider = add("slider", (0.1, 0.1, 0.1), -0.7, 0.42, 0.1)
    slider.v = (0.5, 0, 0, 0, 0, 0)
    world.set_surface(slider["box"], plate["box"], uk.Surface(low))
    world.set_surface(slider["box"], world.ground, None)
    sim = uk.Simulation(world, dt)
    start, others = world.q.copy(), 21
    acceleration = G * (np.sin(slope) - low * np.cos(slope))
    for step in range(1, 151):
        sim.step()
        assert sim.report.certificate.valid
        assert sim.report.swept > 0  # a heap, solved point by point
        assert np.abs(world.v[: 6 * others]).max() < CREEP
        assert slider.v[0] == pytest.approx(0.5 + acceleration * dt * step, abs=2 * CREEP)  # its plate may creep
    sim.step(steps=450)  # it is over the edge
    assert np.abs(world.v[: 6 * others]).max() < 1e-6
    assert np.abs(world.q - start)[: 7 * others].max() < 600 * dt * CREEP


@pytest.mark.parametrize(
    ("joint", "seed"),
    [
        (uk.Revolute((0, 1, 0)), 3),
        (uk.Universal((1, 0, 0), (0, 1, 0)), 3),
        (uk.Spherical(), 3),
        (None, 3),
        # redundant points on the ground: these had steps in which one of them approached
        (uk.Revolute((0, 1, 0)), 2),
        (uk.Revolute((0, 1, 0)), 5),
        (uk.Universal((1, 0, 0), (0, 1, 0)), 0),
    ],
)
def test_a_heap_of_chains(joint: Joint | None, seed: int) -> None:
    """Chains of three links with joints of one kind fall on each other: forces hold in every step, and energy falls."""
    rod = uk.Capsule(0.04, 0.2, at=uk.Pose((0, 0, 0.1)))
    b = uk.Builder("chain").link("l0", joint=uk.Free(), mass=1.0, shapes=[rod])
    for k in (1, 2) if joint else ():
        b.link(f"l{k}", parent=f"l{k - 1}", joint=joint, at=uk.Pose((0, 0, 0.3)), mass=1.0, shapes=[rod])
    model = b.build()
    world = uk.World()
    world.terrain = uk.Ground(friction=0.5)
    rng = np.random.default_rng(seed)
    for i in range(8 if joint else 14):
        q = model.neutral()
        q[:3] = (*rng.uniform(-0.1, 0.1, 2), 0.2 + 0.12 * i)
        q[3:7] = np.array((1, 1, 0, 0) if i % 2 else (1, 0, 1, 0)) / np.sqrt(2)
        world.add(model, f"c{i}", q=q)
    world.separate()
    sim = uk.Simulation(world, 2e-3)
    lowest, swept = world.energy(), 0
    for _ in range(400):
        sim.step()
        assert sim.report.certificate.valid
        assert world.energy() < lowest + 0.1  # links spin fast: the rule's own error is below 0.01 a step
        lowest = min(lowest, world.energy())
        swept += sim.report.swept
    assert swept > 50  # there was a heap
