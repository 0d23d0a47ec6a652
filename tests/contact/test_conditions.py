"""The tables of the papers, row by row, and the conditions a step reports."""

from __future__ import annotations

import numpy as np
import pytest
from tests.problems.bodies import feet, loose

import ukemi as uk
from ukemi.contact.conditions import (
    CC00_TABLE_1,
    CC00_TABLE_2,
    CHECK_WORDS,
    FACE,
    LINE,
    POINT,
    TABLE_I,
    TABLE_II,
    WORDS,
    Check,
    Condition,
)

#: [DF03] Table I as printed: condition, constrained directions (vx vy vz wx wy wz), feasible for face, line, point
DF03_TABLE_I = """
C0 111111 face
C1 111011 line
C2 111001 face line
C3 111000 point
C4 001110 face
C5 001010 line
C6 001000 face line point
C7 000000 face line point
"""
DIRECTIONS = ("vx", "vy", "vz", "wx", "wy", "wz")


@pytest.mark.parametrize("row", DF03_TABLE_I.split("\n")[1:-1])
def test_table_i(row: str) -> None:
    name, bits, *shapes = row.split()
    constrained, feasible = TABLE_I[Condition[name]]
    assert constrained == tuple(d for d, bit in zip(DIRECTIONS, bits, strict=True) if bit == "1")
    assert feasible == tuple(shapes)
    assert Condition[name].constrained == constrained


#: [DF03] Table II as printed: present condition, failed check, what to try in order
DF03_TABLE_II = """
C0 1 C2 C4 C6 C7
C0 2 C2 C4 C6 C7
C0 3 C4 C2 C6 C7
C0 4 C4 C2 C6 C7
C2 1 C4 C6 C7
C2 3 C4 C6 C7
C2 4 C4 C6 C7
C3 1 C6 C7
C3 3 C6 C7
C4 1 C2 C6 C7
C4 2 C2 C6 C7
C6 1 C7
"""


def test_table_ii() -> None:
    rows = [row.split() for row in DF03_TABLE_II.split("\n")[1:-1]]
    printed = {(Condition[now], int(check)): tuple(Condition[n] for n in following) for now, check, *following in rows}
    ours = {(now, check): following for now, checks in TABLE_II.items() for check, following in checks.items()}
    assert ours == printed


def test_transitions_end() -> None:
    """Every path through Table II ends in C7, whatever fails."""
    for now, checks in TABLE_II.items():
        for following in checks.values():
            assert following[-1] is Condition.C7
            assert now not in following
            assert len(set(following)) == len(following)


def test_tables_of_cc00() -> None:
    assert set(CC00_TABLE_1) == {POINT, LINE, FACE}
    for shape, rows in CC00_TABLE_1.items():
        assert rows["vz"] == "always"
        assert rows["vx, vy"] == "stick"
        assert ("wz" in rows) == (shape != POINT)
    # what CC00 constrains "always" or while still is what DF03 calls C0, C1 and C3
    for shape, condition in ((FACE, Condition.C0), (LINE, Condition.C1), (POINT, Condition.C3)):
        held = {d for names in CC00_TABLE_1[shape] for d in names.split(", ")}
        assert held == set(TABLE_I[condition][0])
    assert CC00_TABLE_2[(False, False)] == (True, True)
    assert CC00_TABLE_2[(True, True)] == (False, False)
    for (slips, turns), (no_slip, no_turn) in CC00_TABLE_2.items():
        assert no_slip == (not slips)
        assert no_turn == (not turns)


def test_everything_has_words() -> None:
    assert set(WORDS) == set(Condition)
    assert set(CHECK_WORDS) == set(Check)
    assert Condition.C4.words == "a face that slips"
    assert Check.PRESSURE.words.startswith("the centre of pressure")


FACE_FEET = [(0.1, 0.1, 0), (-0.1, 0.1, 0), (-0.1, -0.1, 0), (0.1, -0.1, 0)]
LINE_FEET = [(0.1, 0, 0), (-0.1, 0, 0)]
POINT_FEET = [(0, 0, 0)]


@pytest.mark.parametrize(
    ("places", "push", "expected"),
    [
        (FACE_FEET, 0.0, Condition.C0),
        (LINE_FEET, 0.0, Condition.C1),
        (POINT_FEET, 0.0, Condition.C3),
        (FACE_FEET, 9.0, Condition.C4),
        (LINE_FEET, 9.0, Condition.C5),
        (POINT_FEET, 9.0, Condition.C6),
    ],
)
def test_each_condition_is_found(places: list[tuple[float, float, float]], push: float, expected: Condition) -> None:
    """A body of 1 kg, friction 0.5, pushed along its line or not."""
    world = loose(
        feet(places),
        uk.Ground(friction=0.5),
        mass=1.0,
        com=(0, 0, 0),
        inertia=(0.01, 0.01, 0.01),
        q=(0, 0, 1e-9, 1, 0, 0, 0),
    )
    sim = uk.Simulation(world, 1e-3)
    sim.external = {"b/body": [push, 0, 0, 0, 0, 0]}
    sim.step()
    (contact,) = sim.contacts
    assert contact.condition is expected
    held = min(push, 0.5 * 9.81)
    assert np.abs(contact.force - (-held, 0, 9.81)).max() < 1e-9


def test_a_face_that_is_pushed_high_tips_about_its_edge() -> None:
    """[CC00] 4.4 (2): the pressure moves to the nearest edge of the hull."""
    world = loose([uk.Box((0.2, 0.2, 1.0))], uk.Ground(friction=2.0), mass=1.0, q=(0, 0, 0.5, 1, 0, 0, 0))
    sim = uk.Simulation(world, 1e-3, trace=True)
    sim.external = {"b/body": [9.81 * 0.25, 0, 0, 0, 0, 0]}  # tips beyond 9.81 x 0.1 / 0.5 = 0.2 of its weight
    sim.step()
    (contact,) = sim.contacts
    assert contact.condition is Condition.C1
    assert abs(contact.cop[0] - 0.1) < 1e-6
    assert world.v[4] > 0
    failed = {trial.failed for trial in sim.report.trace}
    assert Check.PRESSURE in failed
    assert Check.NONE in failed
