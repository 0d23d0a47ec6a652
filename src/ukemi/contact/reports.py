"""What a contact step found: contacts, the certificate of their forces, the trace of hypotheses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ukemi.contact.conditions import Check, Condition
from ukemi.model.arrays import Array

Numbers = tuple[float, ...]
Raw = tuple[int, int, int, Numbers, Numbers, Numbers, Numbers, Numbers, float, list[Numbers]]


@dataclass(frozen=True, eq=False)
class Contact:
    """A contact between two links, or of a link with the terrain.

    Attributes:
        links: the link that is pushed, and what pushes it (a link, or "terrain" pieces).
        wrench: (6,) force and moment on the first link at the frame's origin, in world axes [N, N m]: the mean over the
            last (part of a) step.
        cop: (3,) centre of pressure in the world [m].
        condition: `Condition`, C0 to C7.
        slip: (3,) slip velocity of the first link (two tangential components along the frame's x and y) [m/s] and
            turning about the normal [rad/s].
        frame: (4, 4) contact frame in the world, z along the normal towards the first link.
        points: (n, 3) in the world [m].
        gap: least distance of its points, negative inside [m].
    """

    links: tuple[str, str]
    wrench: Array
    cop: Array
    condition: Condition
    slip: Array
    frame: Array
    points: Array
    gap: float

    @property
    def force(self) -> Array:
        """(3,) on the first link, world axes [N]."""
        return self.wrench[:3]

    @property
    def normal(self) -> Array:
        return self.frame[:3, 2]

    @property
    def normal_force(self) -> float:
        """[N]"""
        return float(self.normal @ self.force)


def contact(raw: Raw, link_names: tuple[str, ...], terrain_names: tuple[str, ...]) -> Contact:
    a, b, condition, rotation, origin, wrench, cop, slip, gap, points = raw
    R = np.array(rotation).reshape(3, 3)
    frame = np.eye(4)
    frame[:3, :3], frame[:3, 3] = R, origin
    w = np.array(wrench)
    other = link_names[b] if b >= 0 else terrain_names[-1 - b]
    return Contact(
        (link_names[a], other),
        np.concatenate([R @ w[:3], R @ w[3:]]),
        np.array(cop),
        Condition(condition),
        np.array(slip),
        frame,
        np.array(points).reshape(-1, 3),
        gap,
    )


@dataclass(frozen=True)
class Certificate:
    """Residuals of the unilateral conditions over the last steps, worst of all; zero is exact.

    Attributes:
        normal_force: most negative normal force, as a share of the largest.
        approach: fastest approach left at a touching point [m/s].
        complementarity: speed at which a contact parts that still pushes [m/s].
        cone: friction outside the cone, as a share of the normal force.
        dissipation: how far slipping friction is from opposing the slip (share); below 1 mm/s in proportion to the
            speed, so that power counts; slip below 10 um/s (0.1 mm/s in a
            heap in which something slides) is rest.
        pressure: distance of a centre of pressure outside its hull [m].
        valid: all of them are within rounding (1e-6; dissipation 1e-5).
    """

    normal_force: float
    approach: float
    complementarity: float
    cone: float
    dissipation: float
    pressure: float
    valid: bool


@dataclass(frozen=True)
class Trial:
    """One hypothesis about one contact: what was assumed and which check it failed."""

    solve: int
    trial: int
    links: tuple[str, str]
    condition: Condition
    failed: Check
    amount: float

    def __str__(self) -> str:
        what = (
            f"{self.links[0]} on {self.links[1]}: {self.condition.words} ({self.condition.name}): {self.failed.words}"
        )
        return f"solve {self.solve}, trial {self.trial + 1}: {what}"


@dataclass(frozen=True)
class ContactReport:
    """Of the last call to `Simulation.step`.

    Attributes:
        certificate: how exactly the conditions hold.
        trace: hypotheses tried in the last time step (kept when the simulation was made with trace=True).
        solves, trials: contact problems solved, and hypotheses they took together.
        swept: problems solved point by point: heaps, and those over all friction cones, because the transitions of the
            papers led nowhere; exact: those of them whose solution is no hypothesis about patches.
        impacts, splits: velocity jumps; steps divided at a touch-down.
        restitution_kept: below 1, Newton's law of restitution would have gained energy in an impact (friction that
            grips, Kane and Levinson), and restitution was reduced to this share.
        energy_lost: in impacts [J].
        penetration: deepest [m].
    """

    certificate: Certificate
    trace: tuple[Trial, ...]
    solves: int
    trials: int
    swept: int
    exact: int
    impacts: int
    splits: int
    restitution_kept: float
    energy_lost: float
    penetration: float

    @property
    def law(self) -> str:
        """The impact law that held."""
        if self.restitution_kept >= 1:
            return "Newton"
        return f"Newton, restitution reduced to {self.restitution_kept:.3g} of it so that no energy is gained"
