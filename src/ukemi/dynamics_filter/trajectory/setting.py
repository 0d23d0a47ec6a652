"""The setting of the whole-clip filter: one for all motions and bodies, in units of the body itself.

Lengths are in leg lengths l, times in tau = sqrt(l / g), speeds in c = sqrt(g l), accelerations in g, forces in body
weights, moments in body weights times l / 3. docs/filter.md states the problem that they enter and how they were found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ukemi.errors import InvalidInputError


@dataclass(frozen=True)
class TrajectorySettings:
    """Weights are standard deviations: what costs as much as one body weight of leftover force is divided by them.

    step, coarse: how far knots of the motion's spline are apart, at least and at most [tau]. cutoff: of the reference
    [1/tau].
    place, turn: of the root [l, rad]; trunk, legs, toes, twist: of joints [rad], toes across the foot and about other
    axes.
    velocity_time, acceleration_time: by which a rate or an acceleration costs as much as a distance [tau].
    inertia: accelerations off the reference, measured by the inertia matrix, e' M e / (m g^2 inertia^2).
    height, speed: by which a point's force costs e times as much [l, c]. force, line: price of a force, and of what is
    off the line to the limb's base [1/BW^2]. spread: time over which a force prefers to change [tau].
    gap, slip: of points in contact [l, c]; penetration: of all points [l], flesh: how much softer all but soles are.
    consistency: (from, to) of the price that a force pays for the gap and slip of its point while contacts are sought.
    bears: share of body weight above which a point is in contact. fill, shortest: gaps in a contact that are closed,
    contacts that are dropped [tau].
    support, far: mean leftover wrench above which something else than the ground must hold the body where the ground
    alone would move the centre of mass farther than ``far`` [BW, l]; support_price: leftover that costs as much as a
    standard deviation [BW].
    """

    step: float = 1 / 18
    coarse: float = 1 / 7
    cutoff: float = 2.4
    place: float = 0.022
    turn: float = 0.04
    trunk: float = 0.05
    legs: float = 0.05
    toes: float = 0.08
    twist: float = 0.05
    velocity_time: float = 0.26
    acceleration_time: float = 0.105
    inertia: float = 0.1
    height: float = 0.033
    speed: float = 0.30
    force: float = 0.03
    line: float = 0.15
    spread: float = 0.17
    gap: float = 0.0008
    slip: float = 0.0015
    penetration: float = 0.0005
    flesh: float = 5.0
    consistency: tuple[float, float] = (1e-4, 1e-2)
    bears: float = 0.02
    fill: float = 0.13
    shortest: float = 0.17
    support: float = 0.12
    support_price: float = 0.18
    far: float = 0.04

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not np.all(np.isfinite(value)) or np.any(np.asarray(value) < 0):
                raise InvalidInputError(f"TrajectorySettings.{name}: expected a positive number, got {value!r}")


STANDARD = TrajectorySettings()
