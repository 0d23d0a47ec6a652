"""Contacts that a body's weight asks for: flights that are none, and those that are."""

from __future__ import annotations

import numpy as np

import ukemi as uk
from tests.dynamics_filter.figures import standing_figure
from ukemi.dynamics_filter.retiming import carried, flights, weight_asked_for
from ukemi.model.arrays import Array
from ukemi.motion.footfalls import Contacts

GAP, FPS = (20, 30), 100.0


def two_feet(n: int = 50) -> tuple[Contacts, Array]:
    """The left foot stands before the gap and drifts away in it, the right one comes to its place and stands after."""
    points = np.zeros((n, 2, 4, 3))
    points[:, 0, :, 0] = 0.01 * np.clip(np.arange(n) - 19, 0, None)[:, None]
    points[:, 1, :, 0] = 1.0 - 0.02 * np.clip(30 - np.arange(n), 0, None)[:, None]
    contacts = np.zeros((n, 2, 4), dtype=bool)
    contacts[: GAP[0], 0, 2:] = contacts[GAP[1] :, 1, :2] = True
    return contacts, points


def test_whoever_does_not_fall_stands_on_something() -> None:
    contacts, points = two_feet()
    kept = carried(contacts, points, np.ones(50), FPS)
    assert flights(contacts) == [GAP]
    assert flights(kept) == []
    assert (kept >= contacts).all()
    assert not kept[:, 0, :2].any()  # the heel that did not stand before does not stand now
    # squares of ways of 0.01 and 0.02 m a frame: the sums are least with 7 frames for the slower foot, 3 for the other
    assert (kept[20:30, 0, 2].sum(), kept[20:30, 1, 0].sum()) == (7, 3)


def test_whoever_falls_flies() -> None:
    contacts, points = two_feet()
    np.testing.assert_array_equal(carried(contacts, points, np.full(50, 0.2), FPS), contacts)


def test_a_fall_between_two_contacts_stays_a_flight() -> None:
    """Nothing bears for 0.3 s; weight is asked for in the first and in the last tenth of a second."""
    contacts, points = two_feet(70)
    contacts[30:50] = False
    weight = np.ones(70)
    weight[30:40] = 0.0
    kept = carried(contacts, points, weight, FPS)
    assert flights(kept) == [(30, 40)]
    assert kept[20:30, 0, 2].all()
    assert kept[40:50, 1, 0].all()
    # what smoothing takes off a flight is not borne
    weight = np.ones(70)
    weight[24:46] = 0.0
    np.testing.assert_array_equal(carried(contacts, points, weight, FPS), contacts)


def test_contacts_reach_to_the_ends_of_a_motion() -> None:
    contacts, points = two_feet()
    contacts[:] = False
    contacts[20:30, 0, 2:] = True
    kept = carried(contacts, points, np.ones(50), FPS)
    assert kept[:, 0, 2:].all()
    assert not kept[:, 1].any()
    weight = np.ones(50)
    weight[:20] = weight[30:] = 0.0  # it flies at both ends
    np.testing.assert_array_equal(carried(contacts, points, weight, FPS), contacts)
    contacts[:] = False
    assert not carried(contacts, points, np.ones(50), FPS).any()


def test_a_foot_that_turns_under_the_weight_is_left_alone() -> None:
    contacts, points = two_feet()
    contacts[GAP[1] :] = False
    contacts[GAP[1] :, 0, 2:] = True  # the same ball, 10 cm farther
    np.testing.assert_array_equal(carried(contacts, points, np.ones(50), FPS), contacts)
    points[:, 0, :, 0] *= 0.1
    assert flights(carried(contacts, points, np.ones(50), FPS)) == []


def test_a_free_fall_asks_for_no_weight() -> None:
    _, stance = standing_figure()
    q = np.tile(stance, (60, 1))
    time = np.arange(60) / 120
    q[:, 2] += 2.0 * time - 0.5 * 9.81 * time**2
    model = uk.human(28)
    # one-sided differences at the ends are not accelerations
    np.testing.assert_allclose(weight_asked_for(model, q, 120.0)[2:-2], 0.0, atol=1e-9)
    np.testing.assert_allclose(weight_asked_for(model, np.tile(stance, (60, 1)), 120.0), 1.0, atol=1e-9)
