"""Conditions of a contact and the transitions among them: the tables of [DF03] and [CC00], as data.

The solver in the core works with these conditions. It differs from the papers in two places: a contact whose centre of
pressure leaves its hull bears on the nearest corner or side, as [CC00] 4.4 (2) says, where [DF03] goes to C2; and
points that would approach are a check of their own, which brings conditions back that were given up.
"""

from __future__ import annotations

from enum import IntEnum


class Condition(IntEnum):
    """[DF03] Table I."""

    C0 = 0
    C1 = 1
    C2 = 2
    C3 = 3
    C4 = 4
    C5 = 5
    C6 = 6
    C7 = 7

    @property
    def constrained(self) -> tuple[str, ...]:
        """Directions that do not move."""
        return TABLE_I[self][0]

    @property
    def words(self) -> str:
        return WORDS[self]


C0, C1, C2, C3, C4, C5, C6, C7 = Condition

FACE, LINE, POINT = "face", "line", "point"
#: [DF03] Table I: constrained directions; contact states in which the condition is feasible.
TABLE_I: dict[Condition, tuple[tuple[str, ...], tuple[str, ...]]] = {
    C0: (("vx", "vy", "vz", "wx", "wy", "wz"), (FACE,)),
    C1: (("vx", "vy", "vz", "wy", "wz"), (LINE,)),
    C2: (("vx", "vy", "vz", "wz"), (FACE, LINE)),
    C3: (("vx", "vy", "vz"), (POINT,)),
    C4: (("vz", "wx", "wy"), (FACE,)),
    C5: (("vz", "wy"), (LINE,)),
    C6: (("vz",), (FACE, LINE, POINT)),
    C7: ((), (FACE, LINE, POINT)),
}

#: [DF03] Table II: the conditions to try, in order, when a check fails (1 normal force, 2 centre of pressure,
#: 3 friction, 4 twist). For a line C1 stands for C0 and C5 for C4. No entry: the check does not apply.
TABLE_II: dict[Condition, dict[int, tuple[Condition, ...]]] = {
    C0: {1: (C2, C4, C6, C7), 2: (C2, C4, C6, C7), 3: (C4, C2, C6, C7), 4: (C4, C2, C6, C7)},
    C2: {1: (C4, C6, C7), 3: (C4, C6, C7), 4: (C4, C6, C7)},
    C3: {1: (C6, C7), 3: (C6, C7)},
    C4: {1: (C2, C6, C7), 2: (C2, C6, C7)},
    C6: {1: (C7,)},
}

#: [CC00] Table 1: what is constrained by the number of contact points; "stick" without slip, "still" with neither slip
#: nor turning about the normal.
CC00_TABLE_1: dict[str, dict[str, str]] = {
    POINT: {"vx, vy": "stick", "vz": "always"},
    LINE: {"vx, vy": "stick", "vz": "always", "wy": "always", "wz": "still"},
    FACE: {"vx, vy": "stick", "vz": "always", "wx": "always", "wy": "always", "wz": "still"},
}
#: [CC00] Table 2: (slips, turns about the normal) -> are slip and turning constrained?
CC00_TABLE_2: dict[tuple[bool, bool], tuple[bool, bool]] = {
    (False, False): (True, True),
    (False, True): (True, False),
    (True, True): (False, False),
}

WORDS = {
    C0: "a face that sticks",
    C1: "a line that sticks",
    C2: "a corner of a face or line that sticks, about which it may tip",
    C3: "a point that sticks",
    C4: "a face that slips",
    C5: "a line that slips",
    C6: "a point that slips",
    C7: "no contact",
}


class Check(IntEnum):
    """What a hypothesis may fail ([DF03] V-E 1-4); the last two are ours."""

    NONE = 0
    NORMAL_FORCE = 1
    PRESSURE = 2
    FRICTION = 3
    TWIST = 4
    APPROACH = 5
    DIRECTION = 6

    @property
    def words(self) -> str:
        return CHECK_WORDS[self]


CHECK_WORDS = {
    Check.NONE: "holds",
    Check.NORMAL_FORCE: "the normal force would pull",
    Check.PRESSURE: "the centre of pressure would leave the hull",
    Check.FRICTION: "it would need more friction than there is",
    Check.TWIST: "it would need more twisting friction than there is",
    Check.APPROACH: "a point that was let go would sink in",
    Check.DIRECTION: "the slip would turn round: it comes to rest",
}
