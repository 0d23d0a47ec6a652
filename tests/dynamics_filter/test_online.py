"""The filter online: a standing figure is pushed, in place and with a step."""

from __future__ import annotations

import numpy as np
import pytest

import ukemi as uk
from tests.dynamics_filter.figures import pushed, standing_figure


def shove(impulse: float, angle: float, *, stepping: bool, seconds: float = 2.0) -> tuple[uk.DynamicsFilter, bool]:
    """N s at the chest over 0.1 s from 0.1 s on; whether the figure's feet were ever moved."""
    model, q = standing_figure()
    f = uk.DynamicsFilter(model, stepping=stepping)
    force = impulse / 0.1 * np.array([np.cos(angle), np.sin(angle), 0.0])
    moved = False
    for k in range(round(seconds / 0.002)):
        wrench = pushed(model, "chest", force, f.q) if 50 <= k < 100 else None
        step = f.step(q, wrench)
        moved |= not step.contact.all()
    return f, moved


@pytest.mark.parametrize("degrees", [0, 90, 180])
def test_25_newton_seconds_are_taken_in_place(degrees: int) -> None:
    f, moved = shove(25.0, np.deg2rad(degrees), stepping=False)
    _, q = standing_figure()
    assert not moved
    assert abs(f.q[2] - q[2]) < 0.03
    assert np.linalg.norm(f.v[:3]) < 0.1


def test_a_harder_push_takes_a_step() -> None:
    f, moved = shove(40.0, 0.0, stepping=True, seconds=3.0)
    _, q = standing_figure()
    assert moved
    assert abs(f.q[2] - q[2]) < 0.08
    assert np.linalg.norm(f.v[:3]) < 0.1
    assert f.q[0] > 0.03  # it stands elsewhere now


def test_a_world_with_one_figure_is_kept_up_to_date() -> None:
    model, q = standing_figure()
    world = uk.World()
    world.add(model, q=q)
    f = uk.DynamicsFilter(world)
    step = f.step(q)
    np.testing.assert_array_equal(world.q, step.q)
    with pytest.raises(uk.InvalidInputError, match="expected a world with one figure, got 0"):
        uk.DynamicsFilter(uk.World())
