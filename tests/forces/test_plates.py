"""Plates on feet: whose stance it was, what they weigh, what they did not see."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.forces.made import two_feet

import ukemi as uk
from ukemi.forces.plates import during, mass_ratio, of_wrenches, on_feet, seen_whole, smoothed, stances, wrenches
from ukemi.motion.ground_forces import GroundForces

TIME = np.arange(0, 2, 0.005)
HILL = 600 * np.clip(np.sin(2 * np.pi * TIME), 0, None)  # two steps, of 0.5 s each
FEET = {
    "right_foot": (TIME, np.tile((0.02, -0.1, 0.05), (len(TIME), 1))),
    "left_foot": (TIME, np.tile((0.0, 0.1, 0.05), (len(TIME), 1))),
}


def test_a_wrench_has_one_centre_of_pressure() -> None:
    rng = np.random.default_rng(0)
    force = rng.normal((0, 0, 700), 50, (20, 2, 3))
    point = rng.normal((0, 0, 0.01), (0.3, 0.3, 0), (20, 2, 3))
    torque = rng.normal(0, (0, 0, 5), (20, 2, 3))
    forces = GroundForces(np.arange(20.0), ("r", "l"), force, point, torque)
    back = of_wrenches(forces.time, forces.names, wrenches(forces), point[..., 2])
    for a, b in ((back.force, force), (back.point, point), (back.torque, torque)):
        assert np.abs(a - b).max() < 1e-9


def test_plates_go_to_the_feet_that_stand_on_them_whatever_they_are_called() -> None:
    plates = two_feet(TIME, HILL, np.roll(HILL, 100))
    swapped = GroundForces(TIME, ("A", "B"), plates.force[:, ::-1], plates.point[:, ::-1], plates.torque[:, ::-1])
    found = on_feet(swapped, FEET)
    assert found.names == ("right_foot", "left_foot")
    on = plates.force[..., 2] > 20
    assert np.abs(found.force - plates.force)[on].max() < 1e-9
    assert np.abs(found.point - plates.point)[on].max() < 1e-9


def test_a_foot_across_two_plates_has_both_their_forces() -> None:
    one = two_feet(TIME, 0.25 * HILL, 0.75 * HILL, (np.array((-0.05, -0.1, 0)), np.array((0.05, -0.1, 0))))
    found = on_feet(one, FEET)
    on = HILL > 80
    assert found.force[on, 0, 2] == pytest.approx(HILL[on])
    assert found.point[on, 0, 0] == pytest.approx(0.025)
    assert not found.force[:, 1].any()


def test_what_stands_on_a_plate_far_from_the_feet_is_left_out_with_a_warning() -> None:
    far = two_feet(TIME, HILL, HILL, (np.array((0, -0.1, 0)), np.array((2.0, 0, 0))))
    with pytest.warns(uk.UkemiWarning, match="no foot is nearer than 198 cm"):
        found = on_feet(far, FEET)
    assert not found.force[:, 1].any()
    nowhere = two_feet(TIME, HILL, HILL, (np.array((9, 0, 0)), np.array((9, 0, 0))))
    with pytest.warns(uk.UkemiWarning), pytest.raises(uk.InvalidInputError, match="one clock and in one place"):
        on_feet(nowhere, FEET)


def test_who_is_on_plates_is_weighed_where_they_see_the_feet() -> None:
    needed, measured = np.full(400, 700.0), np.full(400, 686.0)
    measured[100:200] = 300.0  # the other foot is beside the plates
    seen = np.ones(400, dtype=bool)
    seen[100:200] = False
    assert mass_ratio(needed, measured, seen) == pytest.approx(0.98)
    assert mass_ratio(needed, measured, np.zeros(400, dtype=bool)) is None


@pytest.mark.parametrize(
    ("times", "shift", "says"), [(1e-3, 0.0, "in kN"), (-1.0, 0.0, "on the body"), (1.0, 500.0, "in mm")]
)
def test_plates_in_other_units_are_told_so(times: float, shift: float, says: str) -> None:
    plates = two_feet(TIME, times * HILL, times * HILL)
    wrong = GroundForces(TIME, plates.names, plates.force, plates.point + (shift * np.eye(3)[0]), plates.torque)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", uk.UkemiWarning)
        with pytest.raises(uk.InvalidInputError, match=says):
            on_feet(wrong, FEET)


def test_plates_of_another_time_are_told_so() -> None:
    plates = two_feet(TIME, HILL, HILL)
    with pytest.raises(uk.InvalidInputError, match=r"read from 0 to 1\.995 s, the motion lasts from 5 to 6 s"):
        during(plates, 5.0, 6.0)
    assert len(during(plates, 0.5, 1.0)) == pytest.approx(102, abs=2)


def test_stances_begin_and_end_where_a_foot_bears() -> None:
    found = stances(two_feet(TIME[:350], HILL[:350], np.roll(HILL, 100)[:350]))
    assert [s.foot for s in found] == ["right_foot", "left_foot", "right_foot", "left_foot"]
    assert found[0].touch_down == pytest.approx(0.01, abs=0.006)  # 20 N of 600
    assert found[0].release == pytest.approx(0.49, abs=0.006)
    assert [s.whole for s in found] == [True, True, True, False]


def test_a_stance_that_no_plate_saw_does_not_count() -> None:
    both = two_feet(TIME, HILL, np.roll(HILL, 100))
    blind = two_feet(TIME, HILL, np.where(TIME < 1, np.roll(HILL, 100), 0))
    seen = seen_whole(both, blind)
    assert seen[TIME < 1].all()
    assert not seen[(TIME > 1.55) & (TIME < 1.95)].any()


def test_a_stance_half_beside_the_plate_does_not_count() -> None:
    both = two_feet(TIME, HILL, np.roll(HILL, 100))
    slipped = np.where((TIME > 1.0) & (TIME < 1.18), 0.2, 1.0) * HILL  # the heel is beside the plate
    seen = seen_whole(both, two_feet(TIME, slipped, np.roll(HILL, 100)))
    assert not seen[(TIME > 1.05) & (TIME < 1.45)].any()
    assert seen[(TIME > 0.05) & (TIME < 0.95)].all()


def test_smoothing_keeps_the_impulse_and_cuts_noise() -> None:
    rng = np.random.default_rng(3)
    noisy = two_feet(TIME, HILL + rng.normal(0, 30, len(TIME)) * (HILL > 0), 0 * HILL)
    smooth = smoothed(noisy, 12.0)
    assert smooth.force[:, 0, 2].sum() == pytest.approx(noisy.force[:, 0, 2].sum(), rel=0.01)
    middle = (TIME > 0.1) & (TIME < 0.4)
    assert np.std(smooth.force[middle, 0, 2] - HILL[middle]) < 0.5 * np.std(noisy.force[middle, 0, 2] - HILL[middle])
