"""Steps: given as terrain, or shown by the motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ukemi as uk
from tests.dynamics_filter.figures import pushed, standing_figure, standing_reference
from ukemi.contact.terrain import HeightField, Solids, Terrain, stairs
from ukemi.dynamics_filter.floor import SteppedGround, above_floor, as_ground, floor_of, ground_height
from ukemi.dynamics_filter.footholds import MARGIN, _level_place, lead_over
from ukemi.dynamics_filter.paper import follow_paper
from ukemi.model.pose import Pose
from ukemi.model.shapes import Box, Sphere
from ukemi.motion.clip import Clip
from ukemi.motion.synthesis import walk

RISE, GOING = 0.15, 0.35


def slow_walk(seconds: float = 3.6) -> Clip:
    return walk(seconds, speed=0.6, step_time=0.6)


def climbs() -> Solids:
    return stairs(6, RISE, GOING, start=(0.5, 0, 0))


def descends(steps: int = 5) -> Solids:
    high = [Box((2.5, 2, steps * RISE), at=Pose(np.array([-0.75, 0, 0.5 * steps * RISE])))]
    for k in range(1, steps):
        z = (steps - k) * RISE
        high.append(Box((GOING, 2, z), at=Pose(np.array([0.5 + GOING * (k - 0.5), 0, 0.5 * z]))))
    return Solids(high)


@pytest.mark.parametrize("down", [False, True])
def test_a_walk_on_level_ground_goes_on_stairs(down: bool) -> None:
    result = uk.filter_motion(slow_walk(), terrain=descends() if down else climbs())
    q = result.quality
    assert q.verdict == "feasible", q.reason
    assert q.residual_bw < 1e-6
    assert q.penetration_mm < 2.0  # 19 without a look between the samples
    assert q.skate_cm_s < 0.3
    bears = result.force[..., 2] > 0.05 * result.model.mass * 9.81
    levels = np.asarray(result.place[..., 2][bears] / RISE)
    off = RISE * np.abs(levels - np.round(levels))
    assert np.quantile(off, 0.99) < 5e-3  # m; soles give way by 1 mm a standard deviation
    assert off.max() < 2e-2  # where a contact begins or ends
    assert len(np.unique(np.round(levels))) >= 4
    way = result.q[-1, 2] - result.q[0, 2]
    assert (-way if down else way) > 3 * RISE


def test_raised_ground_raises_the_motion() -> None:
    plain, raised = (uk.filter_motion(walk(0.8), terrain=uk.Ground(height=h)) for h in (0.0, 0.3))
    assert raised.verdict == "feasible"
    assert raised.q[:, 2] - plain.q[:, 2] == pytest.approx(np.full(len(plain), 0.3), abs=1e-3)


def test_stairs_are_boxes_on_level_ground() -> None:
    ground = as_ground([uk.Ground(friction=0.5), climbs()])
    assert isinstance(ground, SteppedGround)
    assert ground.friction == 0.5
    height = ground_height(ground)
    assert height is not None
    assert height(np.array([[0.0, 0], [0.6, 0], [0.9, 0.9], [0.9, 1.1]])) == pytest.approx([0, RISE, 2 * RISE, 0])
    floor = floor_of(ground)
    over = np.array([[0.6, 0, RISE + 0.2], [0.6, 0, RISE - 0.05], [0.6, 0, RISE - 0.07], [0.0, 0, 0.2]])
    # a point far below a top is under it, not in it
    assert above_floor(floor, over) == pytest.approx([0.2, -0.05, RISE - 0.07, 0.2])


@pytest.mark.parametrize(
    ("terrain", "message"),
    [
        (Solids([Sphere(0.2)]), "expected boxes that stand upright"),
        (
            Solids(
                [
                    Box(
                        (1, 1, 1),
                        at=Pose.from_rotation(np.array([[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, 1.0]]), np.zeros(3)),
                    )
                ]
            ),
            "axes",
        ),
        (Solids([Box((1, 1, 1))], velocity=(1, 0, 0)), "at rest"),
        (HeightField(np.zeros((2, 2))), "planes and on boxes"),
        ([uk.Ground(normal=(0.1, 0, 1)), stairs(2)], "one level ground"),
    ],
)
def test_what_the_filter_cannot_walk_on_is_named(terrain: Terrain, message: str) -> None:
    with pytest.raises(uk.InvalidInputError, match=message):
        uk.filter_motion(walk(0.3), terrain=terrain, solver="online")


PODIUM = Solids([Box((2, 2, 0.4), at=Pose((0, 0, 0.2)))])


def test_the_paper_stands_on_a_box() -> None:
    level = standing_reference(0.1)
    raised = replace(level, q=level.q + np.eye(level.model.nq)[2] * 0.4)
    low, high = follow_paper(level), follow_paper(raised, as_ground(PODIUM))
    assert high.rows["force"] == pytest.approx(low.rows["force"], abs=1e-6)
    assert high.rows["down"].all(axis=0).sum() >= 8


def test_an_online_filter_is_pushed_on_a_box_as_on_the_floor() -> None:
    model, q = standing_figure()
    up = q + np.eye(model.nq)[2] * 0.4
    low, high = uk.DynamicsFilter(model), uk.DynamicsFilter(model, terrain=PODIUM)
    for k in range(600):
        wrench = pushed(model, "chest", np.array([250.0, 0, 0]), q) if 50 <= k < 100 else None
        a, b = low.step(q, wrench), high.step(up, wrench)
    assert not b.fell
    assert b.q[2] - a.q[2] == pytest.approx(0.4, abs=1e-6)
    assert b.q[:2] == pytest.approx(a.q[:2], abs=1e-6)


def test_a_foot_across_an_edge_goes_to_the_nearer_side() -> None:
    height = ground_height(as_ground(climbs()))
    assert height is not None
    heel, ball = 0.06, 0.15
    sole = np.array([[-heel, 0.03], [-heel, -0.03], [ball, 0.04], [ball, -0.04]])
    for ahead, level in ((0.42, 0), (0.48, 1), (0.60, 1)):
        shift, z = _level_place(sole + np.array([ahead, 0.0]), height)
        assert height(sole + np.array([ahead, 0.0]) + shift) == pytest.approx(np.full(4, z))
        assert z == pytest.approx(level * RISE)
        needed = 0.5 - ball - ahead if level == 0 else max(0.5 + heel - ahead, 0.0)  # the edge is at 0.5
        assert abs(shift[0]) <= abs(needed) + MARGIN + 0.01  # no farther than the grid makes it


def test_a_swinging_foot_goes_over_the_edge() -> None:
    height = ground_height(as_ground(climbs()))
    assert height is not None
    s = np.linspace(0, 1, 41)[:, None, None]
    way = np.array([[-0.05, 0.0, 0.0], [0.2, 0.0, 0.0]]).repeat(2, axis=0) + s * (0.60, 0.0, RISE)
    stands = np.zeros(41, dtype=bool)
    stands[[0, -1]] = True
    assert (way[1:-1, :, 2] < height(way[1:-1, :, :2])).any()  # straight it would run into the step
    led = lead_over(way, stands, height)
    assert (led[1:-1, :, 2] >= height(led[1:-1, :, :2])).all()
    assert led[[0, -1]] == pytest.approx(way[[0, -1]])
