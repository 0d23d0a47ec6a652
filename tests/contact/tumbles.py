"""Random collapses and tumbles of the 28-DOF figure on plane, slope and stairs: what must never happen.

Each run must stay finite, hold a valid certificate in every step, never gain energy, balance its momentum and stay out
of what it touches. A few run with the tests, a thousand with ``python -m bench.tumbles``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import ukemi as uk
from ukemi.contact.terrain import Terrain
from ukemi.model.arrays import Array

GROUNDS = ("plane", "slope", "stairs")
#: what the runs are judged by: energy above its lowest so far [J], depth of contacts [m]
MOST_ENERGY, MOST_DEPTH = 0.1, 1e-3
#: Gravity and contacts explain the change of momentum but for the midpoint rule's own error, of second order: bodies
#: that turn at w, and change it by alpha, go on arcs. It is this share of weight x dt per dt^2 w alpha at most (0.6
#: was the largest of a thousand runs at 1 ms), and at rest the velocity products that a second pass leaves out
#: (`negligible` in core/contact_step.hpp).
ARC, AT_REST = 1.0, 1e-8


@dataclass(frozen=True)
class Outcome:
    """Of one run: worst values over all its steps."""

    seed: int
    ground: str
    finite: bool
    invalid: int  # steps without a valid certificate
    gained: float  # energy above its lowest so far [J]
    momentum: float  # largest change of linear momentum in an undivided step that forces do not explain [weight x dt]
    unexplained: float  # the same in what the rule may leave (ARC); below 1 is right
    depth: float  # [m]
    steps: int
    solves: int
    trials: int
    swept: int
    exact: int

    @property
    def right(self) -> bool:
        small = self.gained < MOST_ENERGY and self.depth < MOST_DEPTH and self.unexplained < 1
        return self.finite and not self.invalid and small


def damped(model: uk.Model, damping: float) -> uk.Model:
    """The model with a damper in every joint but the free base [N m s/rad]."""
    links = [
        link if link.joint.nv in (0, 6) else replace(link, joint=replace(link.joint, damping=damping))
        for link in model.description.links
    ]
    return uk.Model(replace(model.description, links=links))


def scene(seed: int, ground: str, damping: float = 0.0) -> uk.World:
    """A figure above the ground, in a random pose and motion."""
    rng = np.random.default_rng(seed)
    model = uk.human(28) if damping == 0 else damped(uk.human(28), damping)
    q, v = model.neutral(), np.zeros(model.nv)
    for link in model.links:
        if isinstance(link.joint, uk.Spherical):
            turn = rng.normal(0, 0.3, 3)
            angle = float(np.linalg.norm(turn))
            q[link.q] = [np.cos(angle / 2), *(np.sin(angle / 2) * turn / angle)]
        elif isinstance(link.joint, uk.Revolute) and link.joint.limits is not None:
            lower, upper = np.asarray(link.joint.limits)[0]
            q[link.q] = rng.uniform(max(lower, 0.0), min(upper, 1.2))
    attitude = rng.standard_normal(4)
    q[3:7] = attitude / np.linalg.norm(attitude)
    q[2] = 1.6 + (1.6 if ground == "stairs" else 0.0)
    q[0] = 1.2 if ground == "stairs" else 0.0
    v[:6] = rng.normal(0, 1, 6) * (1, 1, 1, 3, 3, 3)
    world = uk.World()
    grounds: dict[str, Terrain] = {
        "plane": uk.Ground(),
        "slope": uk.Ground(normal=(0.3, 0, 1)),
        "stairs": [uk.Ground(), uk.stairs(8, width=8.0)],
    }
    world.terrain = grounds[ground]
    world.add(model, name="h", q=q, v=v)
    world.separate()
    return world


def tumble(seed: int, ground: str, duration: float = 1.5, dt: float = 1e-3) -> Outcome:
    """One run, looked at in every step."""
    world = scene(seed, ground)
    sim = uk.Simulation(world, dt)
    weight = world.model.mass * 9.81
    lowest, gained, depth = world.energy(), 0.0, 0.0
    left, unexplained = 0.0, 0.0
    invalid, counts = 0, np.zeros(4, dtype=int)
    p, v = _momentum(world), world.v
    steps = round(duration / dt)
    for k in range(steps):
        try:
            sim.step()
        except uk.SimulationError:
            return Outcome(seed, ground, False, invalid, gained, left, unexplained, depth, k, *counts)
        report = sim.report
        invalid += not report.certificate.valid
        energy = world.energy()
        gained, lowest = max(gained, energy - lowest), min(lowest, energy)
        depth = max(depth, report.penetration)
        counts += (report.solves, report.trials, report.swept, report.exact)
        after = _momentum(world)
        if report.impacts == 0 and report.splits == 0:  # forces of a divided step are those of its last part
            pushed = sum((c.force for c in sim.contacts if c.links[1] not in world.model.link_names), np.zeros(3))
            expected = p + dt * (pushed - (0, 0, weight))
            share = float(np.abs(after - expected).max()) / (weight * dt)
            change = np.abs(world.v[3:] - v[3:]).max()
            rule = ARC * dt * (np.abs(v[3:]).max() + change) * change
            left, unexplained = max(left, share), max(unexplained, share / (rule + AT_REST))
        p, v = after, world.v
    return Outcome(seed, ground, True, invalid, gained, left, unexplained, depth, steps, *counts)


def _momentum(world: uk.World) -> Array:
    return uk.momentum(world.model, world.q, world.v)[:3]


def table(outcomes: list[Outcome]) -> str:
    rows = [
        "| ground | runs | right | not finite | steps without certificate | most energy gained [J] | deepest [mm] "
        "| momentum left [weight x dt] | of what the rule leaves |"
    ]
    rows.append("| --- " * 9 + "|")
    for ground in GROUNDS:
        found = [o for o in outcomes if o.ground == ground]
        steps = sum(o.steps for o in found)
        rows.append(
            f"| {ground} | {len(found)} | {sum(o.right for o in found)} | {sum(not o.finite for o in found)} "
            f"| {sum(o.invalid for o in found)} of {steps} | {max((o.gained for o in found), default=0):.3g} "
            f"| {1e3 * max((o.depth for o in found), default=0):.3g} "
            f"| {max((o.momentum for o in found), default=0):.2g} "
            f"| {max((o.unexplained for o in found), default=0):.2g} |"
        )
    solves, trials = (sum(getattr(o, name) for o in outcomes) for name in ("solves", "trials"))
    swept, exact = (sum(getattr(o, name) for o in outcomes) for name in ("swept", "exact"))
    rows.append("")
    rows.append(
        f"{solves} contact problems: {100 * (1 - swept / solves):.3f} % by the papers' transitions, "
        f"{trials / solves:.2f} hypotheses each; {swept} with hypotheses from points, "
        f"{exact} point by point alone."
    )
    rows.append(f"energy gains above 1 J: {sum(o.gained > 1 for o in outcomes)}")
    return "\n".join(rows)
