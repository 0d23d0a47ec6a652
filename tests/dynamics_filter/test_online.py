"""The filter online: a standing figure is pushed, in place and with a step."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import ukemi as uk
from tests.dynamics_filter.figures import pushed, standing_figure
from ukemi.dynamics_filter.stepping import Step, outside


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


@pytest.mark.parametrize("degrees", [0, 45, 90, 135, 180, 270])
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


@pytest.mark.parametrize("degrees", [0, 90, 135, 180, 225])
def test_60_newton_seconds_are_caught_by_stepping(degrees: int) -> None:
    f, moved = shove(60.0, np.deg2rad(degrees), stepping=True, seconds=3.0)
    _, q = standing_figure()
    assert moved
    assert abs(f.q[2] - q[2]) < 0.08
    assert np.linalg.norm(f.v[:3]) < 0.1


@pytest.mark.parametrize("degrees", [0, 90, 180])
def test_a_fall_is_reported_and_stays_finite(degrees: int) -> None:
    model, q = standing_figure()
    f = uk.DynamicsFilter(model, stepping=False)
    force = 1500.0 * np.array([np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees)), 0.0])
    fell = False
    for k in range(700):
        step = f.step(q, pushed(model, "chest", force, f.q) if 50 <= k < 100 else None)
        fell |= step.fell
    assert fell
    assert np.isfinite(f.q).all()
    assert not f.v.any()  # it lies there
    assert step.time == pytest.approx(1.4)
    f.reset(q)
    assert not f.step(q).fell


def test_memory_does_not_grow_with_time() -> None:
    model, q = standing_figure()
    f = uk.DynamicsFilter(model)
    sizes = []
    tracemalloc.start()
    for k in range(1600):
        q[0] += 1e-5  # the reference changes at every step
        f.step(q)
        if k % 800 == 799:
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert sizes[1] < sizes[0] + 20_000  # an hour has 1.8 million steps


def test_the_hull_is_that_of_another_library() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        points, at = rng.standard_normal((int(rng.integers(3, 12)), 2)), rng.standard_normal(2)
        wanted = (ConvexHull(points).equations @ np.append(at, 1)).max()
        assert outside(points, at) == pytest.approx(wanted, abs=1e-12)
    assert outside(np.array([[0.0, 0], [1, 1], [2, 2]]), np.zeros(2)) == np.inf


def test_a_step_moves_as_fast_as_it_says() -> None:
    step = Step(0, 1.0, np.zeros(3), np.array([0.3, -0.2, 0.0]))
    for t in (1.0 + 1e-6, 1.1, 1.2, 1.3 - 1e-6):
        slope = (step.shift(t + 1e-7) - step.shift(t - 1e-7)) / 2e-7
        np.testing.assert_allclose(step.rate(t), slope, atol=1e-6)


def test_a_world_with_one_figure_is_kept_up_to_date() -> None:
    model, q = standing_figure()
    world = uk.World()
    world.add(model, q=q)
    f = uk.DynamicsFilter(world)
    step = f.step(q)
    np.testing.assert_array_equal(world.q, step.q)
    with pytest.raises(uk.InvalidInputError, match="expected a world with one figure, got 0"):
        uk.DynamicsFilter(uk.World())
