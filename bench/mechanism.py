"""The mechanisms that are timed, and their bodies as plain numbers that every peer can be built from."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import ukemi as uk
from ukemi.model.arrays import Array
from ukemi.model.description import WORLD
from ukemi.model.figures.human import human

KINDS = {uk.Revolute: "revolute", uk.Spherical: "spherical", uk.Free: "free"}


@dataclass(frozen=True, eq=False)
class Body:
    """A link, the joint above it (no springs, no armature) and its mass properties about the centre of mass."""

    name: str
    parent: int
    kind: str
    axis: Array
    at: uk.Pose
    mass: float
    com: Array
    inertia: Array


def figure() -> uk.Model:
    """The human figure of 34 freedoms, its hinges turned to positive axes: Pinocchio has a faster joint for those."""
    description = uk.Builder("human28")
    for link in human(28).links:
        joint = link.joint
        if isinstance(joint, uk.Revolute):
            joint = replace(joint, axis=np.abs(np.asarray(joint.axis)))
        m = link.mass_properties
        parent = link.parent.name if link.parent else WORLD
        description.link(link.name, parent, joint, link.at, mass=m.mass, com=m.com, inertia=m.inertia)
    return description.build()


def random_tree(links: int) -> uk.Model:
    """Branches of a few links: each hangs on one of the five before it; every second joint is spherical."""
    rng = np.random.default_rng(links)
    b = uk.Builder(f"tree{links}")
    for i in range(links):
        parent = WORLD if i == 0 else f"link{max(0, i - rng.integers(1, 6))}"
        joint = uk.Spherical() if i % 2 else uk.Revolute(np.eye(3)[rng.integers(3)])
        place, com = rng.uniform(-0.2, 0.2, (2, 3))
        b.link(f"link{i}", parent, joint, uk.Pose(place), mass=1.0, com=com, inertia=rng.uniform(0.01, 0.015, 3))
    return b.build()


def bodies(model: uk.Model) -> list[Body]:
    """All bodies in the order of the model.

    Raises:
        ValueError: something that the peers are not given here: another joint, a spring, a root that is turned.
    """
    rows = []
    for link in model.links:
        joint = link.joint
        springy = joint.stiffness is not None or joint.damping is not None or np.any(joint.armature)
        if type(joint) not in KINDS or springy:
            raise ValueError(f"{link!r}: expected a bare Revolute, Spherical or Free joint")
        if isinstance(joint, uk.Free) and (link.parent is not None or np.any(link.at.matrix != np.eye(4))):
            raise ValueError(f"{link!r}: expected the free joint at the world's origin")
        m = link.mass_properties
        parent = -1 if link.parent is None else link.parent.index
        rows.append(Body(link.name, parent, KINDS[type(joint)], joint.axes()[:3], link.at, m.mass, m.com, m.inertia))
    return rows


def text(rows: list[Body]) -> str:
    """One line per body, as inside/figure.cpp reads them."""
    lines = []
    for b in rows:
        upper = b.inertia[np.triu_indices(3)]
        numbers = np.concatenate([b.axis, b.at.R.ravel(), b.at.position, [b.mass], b.com, upper])
        lines.append(f"{b.parent} {b.kind} " + " ".join(f"{x:.17g}" for x in numbers))
    return "\n".join(lines) + "\n"
