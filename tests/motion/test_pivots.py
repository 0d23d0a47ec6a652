"""Feet that turn on their balls or heels are told from feet that stand, step and swing."""

from __future__ import annotations

import numpy as np
import pytest

import ukemi as uk
from ukemi.model.arrays import Array
from ukemi.motion.foot_lock import contact_anchors
from ukemi.motion.footfalls import runs, sole_points
from ukemi.motion.pivots import LEAST, PARTS, turning, with_pivot
from ukemi.motion.soles import PIVOT, Sole
from ukemi.motion.synthesis import walk

FPS = 100.0
#: Heel left and right, ball left and right, about the middle of the ball [m].
CORNERS = np.array([(-0.2, 0.03, 0), (-0.2, -0.03, 0), (0, 0.045, 0), (0, -0.045, 0)])


def turned(angle: Array, about: tuple[float, float] = (0.0, 0.0), speed: float = 0.0) -> Array:
    """(frames, 1, 4, 3): the corners of a foot that turns by angles about a place, which moves along x."""
    R = np.moveaxis(np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]), -1, 0)
    points = np.repeat(CORNERS[None], len(angle), axis=0)
    points[..., :2] = (points[..., :2] - about) @ R.swapaxes(1, 2) + about
    points[..., 0] += speed * np.arange(len(angle))[:, None] / FPS
    return points[:, None]


def ramp(angle: float, seconds: float = 0.4) -> Array:
    """An angle that goes from 0 to ``angle`` within a time, at rest half a second before and after."""
    t = np.clip((np.arange(140) / FPS - 0.5) / seconds, 0, 1)
    return np.asarray(angle * t * t * (3 - 2 * t))


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize(("part", "about"), [(0, (0.0, 0.0)), (1, (-0.2, 0.0))])
def test_a_foot_that_turns_on_its_ball_or_heel_is_found(side: int, part: int, about: tuple[float, float]) -> None:
    found = turning(turned(ramp(side * 1.5), about=about), FPS)[:, 0]
    ((first, end),) = runs(found[:, part])
    assert 50 <= first <= 56
    assert 84 <= end <= 91
    assert not found[:, 1 - part].any()


def test_what_is_no_turn_on_the_foot_is_none() -> None:
    assert not turning(turned(ramp(0.9 * LEAST)), FPS).any()  # too little
    assert not turning(turned(ramp(1.5), about=(-0.1, 0.2)), FPS).any()  # about a place beside the foot
    assert not turning(turned(ramp(1.5), speed=1.0), FPS).any()  # in a step
    assert not turning(turned(ramp(1.5)) + np.array([0, 0, 0.05]), FPS).any()  # in the air
    assert not turning(turned(ramp(1.5)), FPS, hands=[True]).any()


def test_walks_do_not_turn_on_their_feet() -> None:
    figure = uk.figure_from_clip(walk(2.0))
    assert not turning(sole_points(figure.model, figure.soles.values(), figure.q()), figure.clip.fps).any()


def test_a_foot_stands_about_the_place_on_which_it_turned() -> None:
    """The ball of the capture wanders by 4 cm while it turns: both stances meet the pivot."""
    sole = with_pivot(Sole("foot", CORNERS, uk.Pose()))
    corners = turned(ramp(1.5))
    corners[..., 0] += 0.04 * np.clip((np.arange(len(corners)) - 50) / 40, 0, 1)[:, None, None]
    middles = [corners[:, :, part].mean(axis=2, keepdims=True) for part in PARTS]
    points = np.concatenate([corners, *middles], axis=2)
    turns = np.zeros(len(points), dtype=bool)
    turns[50:90] = True
    contacts = np.repeat(~turns[:, None, None], 6, axis=2)
    contacts[..., PIVOT], contacts[..., PIVOT + 1] = turns[:, None], False
    anchors, kept = contact_anchors(points, contacts, [sole])
    assert np.array_equal(kept, contacts)
    pivot = anchors[60, 0, PIVOT]
    for frame in (10, 120):
        assert anchors[frame, 0, 2:4].mean(axis=0) == pytest.approx(pivot, abs=1e-4)
