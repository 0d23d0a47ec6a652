"""The core's step: it obeys the equation of motion, cones and limits, and it holds a figure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ukemi as uk
from tests.dynamics_filter.figures import standing_reference
from ukemi import _core
from ukemi.dynamics_filter.floor import floor_of
from ukemi.dynamics_filter.online import Follower, gains_of, limits_of
from ukemi.dynamics_filter.run import residual_bw
from ukemi.dynamics_filter.settings import STANDARD
from ukemi.dynamics_filter.start import standing_start
from ukemi.model.arrays import Array


def run(reference: object, external: Array | None = None, steps: int = 200) -> dict[str, Array]:
    follower = Follower(reference, STANDARD)  # type: ignore[arg-type]
    chunks = [follower.advance(5, None if external is None else external[k : k + 5]) for k in range(0, steps, 5)]
    out = {name: np.concatenate([c[name] for c in chunks]) for name in chunks[0] if name != "steps"}
    return out | {"q": out["q_before"], "v": out["v_before"]}


def push(model: uk.Model, steps: int, force: Array) -> Array:
    wrench = np.zeros((steps, model.nlinks, 6))
    wrench[20:70, model.link_index("chest"), :3] = force  # the chest hardly turns: link axes are the world's
    return wrench


def test_a_standing_figure_stands_still() -> None:
    reference = standing_reference(0.4)
    out = run(reference)
    weight = reference.model.mass * 9.81
    # the plan prices forces: it lets the figure sink by some hundredths of a millimetre
    np.testing.assert_allclose(out["force"][5:, :, 2].sum(axis=1), weight, rtol=1e-4)
    assert np.abs(out["centroid"][:, :3] - reference.centroid[0, :3]).max() < 1e-4
    assert not out["impulse"].any()


@pytest.mark.parametrize("dof", [28, 40])
def test_accelerations_and_forces_satisfy_the_equation_of_motion(dof: int) -> None:
    reference = standing_reference(0.4, dof)
    wrench = push(reference.model, 200, np.array([60.0, 40.0, 0.0]))
    out = run(reference, wrench)
    assert residual_bw(reference, out, wrench) < 1e-9
    f = out["force"]
    assert (np.hypot(f[..., 0], f[..., 1]) <= 0.8 * f[..., 2] + 1e-9).all()
    assert (f[..., 2] >= 0).all()


def test_a_motion_that_begins_in_the_air_flies_as_it_does_later() -> None:
    still = standing_reference(0.3)
    t, v0 = still.time, 1.5
    q, v = still.q.copy(), still.v.copy()
    q[:, 2] += 0.5 + v0 * t - 0.5 * 9.81 * t**2
    v[:, 2] = v0 - 9.81 * t
    v[0, :6] = [0.2, 0.0, v0 + 0.4, 0.0, 0.5, 0.0]  # an end that smoothing has bent
    thrown = replace(still, q=q, v=v, contact=np.zeros_like(still.contact))
    _, start = standing_start(thrown, floor_of(None))
    assert uk.momentum(still.model, q[0], start)[:3] / still.model.mass == pytest.approx([0, 0, v0], abs=1e-9)
    assert uk.momentum(still.model, q[0], start)[3:] == pytest.approx(np.zeros(3), abs=1e-9)


def test_points_that_are_down_do_not_move() -> None:
    reference = standing_reference(0.4)
    out = run(reference, push(reference.model, 200, np.array([100.0, 0.0, 0.0])))
    assert out["down"].all()
    assert np.abs(out["place"] - out["place"][0]).max() < 1e-6


def test_the_same_run_twice_is_the_same_bit_for_bit() -> None:
    reference = standing_reference(0.2)
    wrench = push(reference.model, 100, np.array([80.0, 30.0, 0.0]))
    first, second = run(reference, wrench, 100), run(reference, wrench, 100)
    for name, value in first.items():
        assert value.tobytes() == second[name].tobytes(), name


def test_torque_limits_are_kept() -> None:
    reference = standing_reference(0.3)
    wrench = push(reference.model, 150, np.array([120.0, 0.0, 0.0]))
    free = run(reference, wrench, 150)
    model = reference.model
    knees = [model.joint(f"{side}_knee").v.start for side in ("left", "right")]
    largest = 0.9 * np.abs(free["tau"][:, knees]).max()
    follower = Follower(reference, STANDARD)
    limits = limits_of(model)
    limits[2, knees] = largest
    points = reference.points
    follower.core = _core.Filter(
        model.tree,
        points.links.tolist(),
        points.places,
        points.tip.astype(int).tolist(),
        gains_of(model, STANDARD),
        limits,
        STANDARD.of_step(),
        floor_of(None),
        None,
    )
    follower.core.reset(reference.q[0], reference.v[0])
    chunks = [follower.advance(5, wrench[k : k + 5]) for k in range(0, 150, 5)]
    tau = np.concatenate([c["tau"] for c in chunks])[:, knees]
    assert np.abs(tau).max() <= largest * (1 + 1e-6)
    assert np.abs(tau).max() > 0.999 * largest  # the limit was felt


def test_joint_limits_are_kept() -> None:
    reference = standing_reference(0.4)
    knee = reference.model.joint("left_knee")
    wanted = reference.q.copy()
    wanted[:, 2] += 2.0  # in the air: impulses know no limits
    wanted[1:, knee.q] = -0.5  # beyond what a knee does
    out = run(replace(reference, q=wanted, contact=np.zeros_like(reference.contact)), steps=200)
    lower = float(np.asarray(knee.joint.limits)[0, 0])
    assert out["q"][:, knee.q].min() > lower - 1e-3


def test_a_foot_that_slides_is_not_thrown_up() -> None:
    """Least squares over the friction cone would lift it by mu times its speed."""
    reference = standing_reference(0.1)
    follower = Follower(reference, STANDARD)
    q, v = reference.q[0].copy(), np.zeros(reference.model.nv)
    q[2] += 1e-3
    v[:3] = (6.0, 0.0, -2.0)
    follower.core.reset(q, v)
    out = follower.advance(1)
    hit = out["impulse"][0, :, 2] > 0
    assert hit.any()
    velocity = (reference.points.in_world(reference.model, follower.core.state()[0]) - out["place"][0]) / STANDARD.dt
    assert np.abs(velocity[hit, 0]).min() > 0.5  # it still slides
    # down to the floor is -0.5 m/s; the fixed point comes to -0.39, least squares alone to +0.09
    assert velocity[hit, 2].max() < -0.3


@pytest.mark.parametrize(("speed", "sticks"), [(0.1, True), (0.5, False)])
def test_before_its_time_only_what_does_not_slide_sticks(speed: float, sticks: bool) -> None:
    """Feet touch the floor a few steps before they are meant to bear."""
    reference = standing_reference(0.1)
    contact, v = reference.contact.copy(), np.zeros(reference.model.nv)
    contact[:5] = False
    v[0] = speed
    follower = Follower(replace(reference, contact=contact), STANDARD)
    follower.core.reset(reference.q[0], v)
    down = follower.advance(1)["down"][0, ~reference.points.tip] > 0
    assert down.all() if sticks else not down.any()


def test_a_foot_comes_down_at_its_pace_and_is_slow_when_it_touches() -> None:
    reference = standing_reference(0.4)
    model = reference.model
    lifted, bend = reference.q[0].copy(), 0.7
    lifted[model.joint("left_knee").q] = bend
    for joint in ("hip", "ankle"):
        lifted[model.joint(f"left_{joint}").q] = (np.cos(bend / 4), 0, -np.sin(bend / 4), 0)
    follower = Follower(reference, STANDARD)
    follower.core.reset(lifted, np.zeros(model.nv))
    chunks = [follower.advance(5) for _ in range(40)]
    place, down, impulse = (np.concatenate([c[name] for c in chunks]) for name in ("place", "down", "impulse"))
    left = np.flatnonzero((model.link_index("left_foot") == reference.points.links) & ~reference.points.tip)
    height = place[:, left, 2].mean(axis=1)
    touch = int(np.flatnonzero((down[:, left] > 0).any(axis=1))[0])
    speed = -np.diff(height[: touch + 1]) / reference.dt
    s = STANDARD
    assert height[0] > 0.03
    assert speed.max() < 1.05 * s.land_speed
    assert speed[-1] <= s.land_touch
    assert not impulse[:, left].any()  # nothing is left for the floor to stop
    # at its speed until a steady deceleration stops it; a few time constants of 6 ms to start and to end
    wanted = (height[0] - s.land_speed**2 / (2 * s.land_brake)) / s.land_speed + s.land_speed / s.land_brake
    assert touch * reference.dt == pytest.approx(wanted, abs=0.03)
    assert (down[touch + 2 :, left] > 0).all()
