"""What holds the body besides level ground: hands, seats and steps that a motion shows."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import ukemi as uk
from tests.dynamics_filter.motions import puts_hands_down, sits_down
from ukemi.contact.terrain import Solids, pieces
from ukemi.dynamics_filter import clip as filtering
from ukemi.dynamics_filter.result import FilterResult
from ukemi.dynamics_filter.trajectory import solve as solving
from ukemi.dynamics_filter.trajectory.problem import Problem
from ukemi.dynamics_filter.trajectory.solve import Solution
from ukemi.motion.synthesis import walk

RESIDUAL = 1e-6  # body weights, at the samples


@cache
def walked() -> FilterResult:
    return uk.filter_motion(walk(2.0))


def test_who_sits_on_nothing_shows_a_seat() -> None:
    result = uk.filter_motion(sits_down())
    assert result.verdict == "supported"
    (support,) = result.supports
    assert support.kind == "seat"
    assert "pelvis" in support.link or "thigh" in support.link
    assert 1.0 < support.start < 1.6 < 2.3 < support.end
    assert support.force[2] > 0.2 * result.model.mass * 9.81 > np.hypot(*support.force[:2])
    assert result.quality.supported_share == 0  # the seat explains it
    assert result.quality.residual_bw < RESIDUAL
    assert result.quality.joint_rms_deg < 1.0
    seat = pieces(result.terrain)[-1]
    assert isinstance(seat, Solids)
    (box,) = seat.shapes
    top = box.at.position[2] + 0.5 * box.size[2]  # type: ignore[attr-defined]
    assert support.place[2] == pytest.approx(top, abs=0.01)


def test_who_climbs_without_stairs_shows_their_steps() -> None:
    """A walk that was filtered onto stairs, given back without them."""
    rise = 0.15
    made = uk.filter_motion(walk(3.0, speed=0.6, step_time=0.6), terrain=uk.stairs(6, rise, 0.35, start=(0.5, 0, 0)))
    result = uk.filter_motion(made.motion)
    assert result.verdict == "supported"
    steps = [support for support in result.supports if support.kind == "step"]
    levels = np.array([support.place[2] for support in steps]) / rise
    assert len(np.unique(np.round(levels))) >= 2
    assert np.abs(levels - np.round(levels)).max() < 0.1
    assert {support.link for support in steps} == {"left_foot", "right_foot"}
    assert result.quality.joint_rms_deg < 1.5


def test_who_leans_on_the_hands_bears_on_them() -> None:
    result = uk.filter_motion(puts_hands_down())
    assert result.verdict == "feasible"
    assert set(result.ground_forces.names) >= {"left_foot", "right_foot", "left_hand", "right_hand"}
    hands = [result.ground_forces.names.index(f"{side}_hand") for side in ("left", "right")]
    leaning = (result.time > 2.0) & (result.time < 2.4)
    share = result.ground_forces.force[leaning][:, hands, 2].sum(axis=1) / (result.model.mass * 9.81)
    assert 0.1 < share.mean() < 0.9


def test_a_walk_needs_no_support() -> None:
    assert walked().supports == ()
    assert walked().ground_forces.names == ("left_foot", "right_foot")


def test_a_capture_that_sits_down_needs_a_seat(shared: Path) -> None:
    result = uk.filter_motion(shared / "motions" / "cmu_bvh" / "143_18.bvh")
    assert result.verdict == "supported"
    assert len(result.supports) == 2
    assert all("pelvis" in support.link or "thigh" in support.link for support in result.supports)
    assert all(support.kind == "seat" for support in result.supports)
    assert all(0.3 < support.place[2] < 0.6 for support in result.supports)


def test_ctrl_c_while_a_seat_is_tried_gives_what_was_solved_without(monkeypatch: pytest.MonkeyPatch) -> None:
    solve = solving.solve
    solved = 0

    def once(problem: Problem, *args: object) -> Solution:
        nonlocal solved
        solution = solve(problem, *args)  # type: ignore[arg-type]
        solution.interrupted = bool(solved)
        solved += 1
        return solution

    monkeypatch.setattr(filtering, "solve", once)
    result = uk.filter_motion(sits_down())
    assert solved == 2
    assert not result.interrupted
    assert [support.kind for support in result.supports] == ["wrench"]
