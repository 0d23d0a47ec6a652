"""Published data of the human hand, and the tables of [HAND07].

Bone lengths: Buryanov, A. & Kotiuk, V. (2010), Proportions of hand segments, Int. J. Morphol. 28, 755-758: x-rays of 66
adults. Hand mass: de Leva (see anthropometry.py). Normal ranges: American Academy of Orthopaedic Surgeons (1965).

[HAND07] gives no bone lengths, masses or axes. What no publication above gives is an estimate of ours, and says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

Finger = Literal["index", "middle", "ring", "little"]
FINGERS: tuple[Finger, ...] = ("index", "middle", "ring", "little")

#: Bone lengths [m], Buryanov & Kotiuk 2010; pulp: soft tissue beyond the last bone.
BONES: dict[str, dict[str, float]] = {
    "thumb": {"metacarpal": 46.22e-3, "proximal": 31.57e-3, "distal": 21.67e-3, "pulp": 5.67e-3},
    "index": {"metacarpal": 68.12e-3, "proximal": 39.78e-3, "middle": 22.38e-3, "distal": 15.82e-3, "pulp": 3.84e-3},
    "middle": {"metacarpal": 64.60e-3, "proximal": 44.63e-3, "middle": 26.33e-3, "distal": 17.40e-3, "pulp": 3.95e-3},
    "ring": {"metacarpal": 58.00e-3, "proximal": 41.37e-3, "middle": 25.65e-3, "distal": 17.30e-3, "pulp": 3.95e-3},
    "little": {"metacarpal": 53.69e-3, "proximal": 32.74e-3, "middle": 18.11e-3, "distal": 15.96e-3, "pulp": 3.73e-3},
}

#: Estimates. Where each metacarpal begins, from the wrist's centre [m]: (distal, radial), and how far it is turned to
#: the radial side [rad]. With a carpus of 30 mm the hand measures 186.9 mm from the wrist to the middle finger's tip.
METACARPAL_BASES: dict[Finger, tuple[float, float, float]] = {
    "index": (30e-3, 12e-3, np.deg2rad(8.0)),
    "middle": (30e-3, 0.0, 0.0),
    "ring": (28e-3, -10.5e-3, np.deg2rad(-8.5)),
    "little": (26e-3, -19.5e-3, np.deg2rad(-19.0)),
}
#: Estimates: first axis of the thumb's CMC joint (on the line of the second metacarpal) and its second axis, where the
#: thumb's metacarpal is inserted, from there [m]: (distal, radial, palmar).
THUMB_BASE = (18e-3, 12e-3, 2e-3)
THUMB_INSERTION = (4e-3, 10e-3, 6e-3)
#: Estimates: radii of the flesh around the bones, proximal to distal [m].
RADII: dict[str, tuple[float, ...]] = {
    "thumb": (13e-3, 11e-3, 10e-3),
    "index": (9.8e-3, 8.8e-3, 7.8e-3),
    "middle": (10.0e-3, 9.0e-3, 8.0e-3),
    "ring": (9.4e-3, 8.4e-3, 7.5e-3),
    "little": (8.4e-3, 7.4e-3, 6.7e-3),
}
#: Estimates: the palm as a box, from the wrist's centre [m]: distal, radial (both as (from, to)), thickness.
PALM = ((4e-3, 94e-3), (-45e-3, 31e-3), 29e-3)
#: Length of the hand that these numbers describe [m].
REFERENCE_LENGTH = METACARPAL_BASES["middle"][0] + sum(BONES["middle"].values())
#: Hand length over stature: Winter, Biomechanics and Motor Control of Human Movement, Fig. 4.1.
LENGTH_OF_STATURE = 0.108
#: Mass of a hand of the reference length [kg]: de Leva's men, 0.61 % of 73 kg.
REFERENCE_MASS = 0.0061 * 73.0


@dataclass(frozen=True)
class JointRow:
    """One row of [HAND07] Tables 5-III and 5-IV; one number per freedom."""

    number: int
    name: str
    #: initial position [rad], Table 5-III
    initial: tuple[float, ...]
    #: spring constant [N m/rad], Table 5-IV
    stiffness: tuple[tuple[float, ...], ...]
    #: spring initial position [rad]
    rest: tuple[float, ...]
    #: (lower, upper) [rad]
    limits: tuple[tuple[float, float], ...]


_HALF = ((0.0, np.pi / 2),)
_KNUCKLE = ((-np.pi / 10, np.pi / 10), (0.0, np.pi / 2))


def _knuckle(number: int, finger: str, flexion: float) -> JointRow:
    return JointRow(number, f"{finger}_mcp", (0.0, 0.0), ((2.0, 0.0), (0.0, flexion)), (0.0, 0.0), _KNUCKLE)


def _hinge(number: int, name: str, initial: float = 0.0, stiffness: float = 1.0) -> JointRow:
    """Hinges start where their spring is slack."""
    return JointRow(number, name, (initial,), ((stiffness,),), (initial,), _HALF)


#: The 17 joints. Wrist: first adduction (towards the ulna), then flexion; knuckles the same. Joint 12 (thumb MCP): the
#: printed lower limit pi/4 excludes its initial and spring position pi/6; it is read as 0 (docs/errata.md).
TABLE_5_IV: tuple[JointRow, ...] = (
    JointRow(
        1,
        "wrist",
        (np.pi / 32, np.pi / 10),
        ((2.0, -4.0), (0.0, 2.0)),
        (np.pi / 32, 0.0),
        ((-np.pi / 10, np.pi / 4), (0.0, np.pi / 2)),
    ),
    _knuckle(2, "index", 5.0),
    _knuckle(3, "middle", 1.0),
    _knuckle(4, "ring", 1.0),
    _knuckle(5, "little", 1.0),
    _hinge(6, "thumb_cmc1", np.pi / 4),
    *(_hinge(7 + k, f"{finger}_pip") for k, finger in enumerate(FINGERS)),
    _hinge(11, "thumb_cmc2", np.pi / 3, 2.0),
    _hinge(12, "thumb_mcp", np.pi / 6),
    *(_hinge(13 + k, f"{finger}_dip") for k, finger in enumerate(FINGERS)),
    _hinge(17, "thumb_ip"),
)
#: "constant dampening coefficient of 3" in every joint [N m s/rad], section 5.4.1.
DAMPING = 3.0

#: Estimate: what is left of a knuckle's abduction [deg] at 90 degrees of flexion, narrowing evenly until there.
#: [HAND07] 2.1.1.2 and 6.1 say that it narrows.
ABDUCTION_WHEN_BENT = 3.0
#: Normal ranges [deg] (AAOS 1965), as our coordinates have them: wrist adduction (radial 20, ulnar 30) and flexion
#: (extension 70, flexion 80); knuckles: extension 45, flexion 90, with abduction as [HAND07] has it; thumb: the two CMC
#: freedoms are opposition (abduction 0-70) and extension away from the index (AAOS: 15 flexion to 20 extension about a
#: position of rest, here taken at the spring position of Table 5-IV, 60).
AAOS: dict[str, tuple[tuple[float, float], ...]] = {
    "wrist": ((-20.0, 30.0), (-70.0, 80.0)),
    "mcp": ((-18.0, 18.0), (-45.0, 90.0)),
    "pip": ((0.0, 100.0),),
    "dip": ((0.0, 90.0),),
    "thumb_cmc1": ((0.0, 70.0),),
    "thumb_cmc2": ((45.0, 80.0),),
    "thumb_mcp": ((0.0, 50.0),),
    "thumb_ip": ((0.0, 80.0),),
}
