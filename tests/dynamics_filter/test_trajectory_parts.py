"""Parts of the whole-clip filter against other ways to compute the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import BSpline
from scipy.optimize import nnls

import ukemi as uk
from ukemi import _core
from ukemi.dynamics_filter.trajectory.contacts import schedule_of, sustained, widened
from ukemi.dynamics_filter.trajectory.ground import GroundUnder
from ukemi.dynamics_filter.trajectory.points import contact_points, leg_length
from ukemi.dynamics_filter.trajectory.problem import make_problem
from ukemi.dynamics_filter.trajectory.reference import reference_of
from ukemi.dynamics_filter.trajectory.setting import STANDARD
from ukemi.dynamics_filter.trajectory.spline import Knots, evaluate, fit
from ukemi.model.model import tree_of
from ukemi.model.pose import Pose
from ukemi.model.shapes import Box
from ukemi.motion.figure import figure_from_clip
from ukemi.motion.synthesis import walk

MU = 0.7


def test_forces_are_those_of_nonnegative_least_squares() -> None:
    """min 1/2 l'R l + p'l + 1/2 ws (w - G l)^2, l >= 0 written out for scipy; the barrier makes the difference."""
    model = uk.human(28)
    rng = np.random.default_rng(0)
    n, k = 20, 6
    weight, moment = 700.0, 210.0
    core = _core.Trajectory(tree_of(model), [0] * k, np.array((0, 0, -9.81)), weight, moment)
    arm = rng.normal(size=(n, k, 3)) * 0.4
    arm[..., 2] = -0.9
    wrench = np.concatenate([rng.normal(size=(n, 2)) * 0.2, 1 + 0.3 * rng.normal(size=(n, 1))], axis=1)
    wrench = np.concatenate([wrench, 0.2 * rng.normal(size=(n, 3))], axis=1)
    normal = np.tile((0.0, 0.0, 1.0), (n, k, 1))
    cost, price = rng.uniform(0.03, 0.5, (n, k)), rng.uniform(0, 0.2, (n, k))
    line = normal + np.concatenate([0.2 * rng.normal(size=(n, k, 2)), np.zeros((n, k, 1))], axis=-1)
    stiffness = np.tile([100.0, 100, 100, 50, 50, 50], (n, 1))
    zero = np.zeros((n, k, 3))
    edges, barrier = np.zeros((2, n, k, 4)), 1e-9
    settings = np.array([0.15, 0.0, MU, barrier])
    out = core.forces(
        wrench, arm, normal, cost, price, zero, line, np.zeros((n, 6)), stiffness, edges[0], edges[1], settings
    )
    for i in range(n):
        G, rows, p = np.zeros((6, 4 * k)), [], np.zeros(4 * k)
        for j in range(k):
            for e, t in enumerate(((MU, 0, 1), (-MU, 0, 1), (0, MU, 1), (0, -MU, 1))):
                edge = np.array(t, dtype=float)
                column = 4 * j + e
                G[:, column] = np.concatenate([edge, np.cross(arm[i, j], edge) * weight / moment])
                p[column] = price[i, j]
                unit = np.zeros(4 * k)
                unit[column] = np.sqrt(cost[i, j])
                rows.append(unit)
            off = np.zeros((3, 4 * k))
            for e, t in enumerate(((MU, 0, 1), (-MU, 0, 1), (0, MU, 1), (0, -MU, 1))):
                edge = np.array(t, dtype=float)
                off[:, 4 * j + e] = np.sqrt(0.15) * (edge - line[i, j] * edge[2])
            rows.extend(off)
        W = np.sqrt(stiffness[i])
        A = np.concatenate([np.array(rows), W[:, None] * G])
        H = A.T @ A
        g = A[-6:].T @ (W * wrench[i]) - p
        L = np.linalg.cholesky(H + 1e-12 * np.eye(len(H)))
        wanted, _ = nnls(L.T, np.linalg.solve(L, g))
        assert G @ edges[0, i].ravel() == pytest.approx(G @ wanted, abs=2e-5)
        assert out["residual"][i] == pytest.approx(wrench[i] - G @ wanted, abs=2e-5)


def test_the_basis_is_that_of_another_library() -> None:
    knots = Knots(0.1, 12)
    rng = np.random.default_rng(1)
    c = rng.normal(size=(knots.size, 2))
    spline = BSpline(0.1 * np.arange(-3, 12 + 4), c, 3)
    t = rng.uniform(0, 1.2, 50)
    for order, values in enumerate(evaluate(c, *knots.basis(t))):
        assert values == pytest.approx(spline(t, order), abs=1e-8)
    times, first, basis = knots.at_knots()
    for order, values in enumerate(evaluate(c, first, basis)):
        assert values == pytest.approx(spline(times, order), abs=1e-8)


def test_the_fit_is_a_low_pass_with_half_its_gain_at_the_cutoff() -> None:
    fps, cutoff = 240.0, 8.0
    t = np.arange(0, 4, 1 / fps)
    knots = Knots.of_frames(len(t), 1 / fps, 1 / 120, 1 / 120)
    for frequency, gain in ((2.0, 1.0), (cutoff, 0.5), (24.0, 0.0014)):
        y = np.sin(2 * np.pi * frequency * t)[:, None]
        s = evaluate(fit(knots, t, y, np.ones(len(t)), cutoff), *knots.basis(t))[0][:, 0]
        inner = slice(240, -240)
        assert s[inner] @ y[inner, 0] / (y[inner, 0] @ y[inner, 0]) == pytest.approx(gain, abs=0.02)


def test_knots_stand_on_frames() -> None:
    for fps in (25.0, 30.0, 60.0, 100.0, 120.0, 240.0, 500.0):
        knots = Knots.of_frames(101, 1 / fps, 1 / 118, 1 / 80)
        ratio = knots.step * fps
        assert ratio == pytest.approx(round(ratio)) or 1 / ratio == pytest.approx(round(1 / ratio))
        assert 0.7 / 118 < knots.step < 1.45 / 118
        assert knots.step * knots.intervals >= 100 / fps - 1e-9


def test_rates_of_the_reference_are_those_of_its_coordinates() -> None:
    figure = uk.figure_from_clip(walk(0.6))
    q, times = np.array(figure.q()), walk(0.6).time
    reference = reference_of(figure.model, q, times, Knots.of_frames(len(q), 1 / 120, 1 / 118, 1 / 118), 8.0, 0.9)
    t, h = np.linspace(0.101, 0.401, 7), 1e-5
    before, here, after = (reference.at(t + d) for d in (-h, 0.0, h))
    v = uk.difference(figure.model, before[0], after[0]) / (2 * h)
    assert here[1] == pytest.approx(v, abs=1e-4)
    assert here[2] == pytest.approx((after[1] - before[1]) / (2 * h), abs=2e-3)


def test_ground_is_the_highest_of_its_pieces_and_steps_have_sides() -> None:
    a = np.deg2rad(10)
    slope = GroundUnder(uk.Ground(normal=(-np.sin(a), 0, np.cos(a))))
    above, normal = slope.look(np.array([[1.0, 0.3, 1.0]]))
    assert above == pytest.approx([np.cos(a) - np.sin(a)])
    assert normal == pytest.approx(np.array([[-np.sin(a), 0, np.cos(a)]]))
    assert slope.heights(np.array([[1.0, 0.0]])) == pytest.approx([np.tan(a)])
    step = uk.Solids([Box((1.0, 2.0, 0.2), at=Pose((1.0, 0.0, 0.1)))])
    ground = GroundUnder([uk.Ground(), step])
    places = np.array([[0.0, 0, 0.05], [1.0, 0, 0.25], [1.0, 0, 0.19], [0.51, 0, 0.05]])
    above, normal = ground.look(places)
    assert above == pytest.approx([0.05, 0.05, -0.01, -0.01])
    assert normal[:, 2] == pytest.approx([1, 1, 1, 0])
    assert normal[3] == pytest.approx([-1, 0, 0])  # out of the side that the point ran into
    field = uk.HeightField(0.1 * np.add.outer(np.arange(4.0), np.zeros(4)))
    above, normal = GroundUnder(field).look(np.array([[1.5, 1.5, 1.0]]))
    assert above == pytest.approx([(1.0 - 0.15) / np.sqrt(1.01)])
    assert normal == pytest.approx(np.array([[-0.1, 0, 1]]) / np.sqrt(1.01))


def test_points_stand_on_all_parts_and_know_their_limb() -> None:
    figure = uk.figure_from_clip(walk(0.6))
    leg = leg_length(figure.model, figure.soles)
    assert 0.75 < leg < 1.0
    points = contact_points(figure.model, figure.soles, leg)
    names = figure.model.link_names
    assert points.sole.sum() == 12  # four corners and two tips of toes a foot
    assert {names[i] for i in points.links} >= {"pelvis", "chest", "head", "left_hand", "right_forearm", "left_shank"}
    base = {names[i]: "" if b < 0 else names[b] for i, b in zip(points.links, points.base, strict=True)}
    assert base["left_foot"] == base["left_toes"] == "left_thigh"
    assert base["right_hand"] == "right_upper_arm"
    assert base["pelvis"] == base["chest"] == ""
    assert set(points.groups) >= {"left_foot", "right_foot"}
    assert "left_toes" not in points.groups
    q = np.array(figure.q()[:3])
    up = np.tile((0.0, 0.0, 1.0), (3, len(points), 1))
    X = uk.link_poses(figure.model, q)[:, points.links]
    balls = np.flatnonzero(points.radii > 0)
    middle = np.einsum("fpij,pj->fpi", X[..., :3, :3], points.centres) + X[..., :3, 3]
    lowest = np.einsum("fpij,fpj->fpi", X[..., :3, :3], points.places(q, up)) + X[..., :3, 3]
    assert (middle - lowest)[:, balls] == pytest.approx(np.tile(points.radii[balls, None] * [0, 0, 1], (3, 1, 1)))


def test_schedules_close_gaps_drop_blinks_and_overlap() -> None:
    flags = np.array([1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0], dtype=bool)[:, None]
    on = schedule_of(
        flags, 0.1, replace(STANDARD, fill=0.13, shortest=0.17), 2.0
    )  # gaps below 0.26, contacts below 0.34
    assert on[:, 0].tolist() == [True] * 7 + [False] * 13
    wide, inside = widened(on, 2)
    assert wide[:, 0].tolist() == [True] * 9 + [False] * 11
    assert inside[6:10, 0] == pytest.approx([1, 2 / 3, 1 / 3, 0])


def test_only_what_lasts_is_a_support() -> None:
    size = np.array([0, 0.2, 0.5, 0.5, 0.5, 0.2, 0, 0, 0.5, 0, 0])
    found = sustained(size, 0.3, 0.1, 0.25, 0.1)
    assert found.tolist() == [False] + [True] * 5 + [False] * 5


def test_toes_bend_across_the_foot() -> None:
    figure = figure_from_clip(walk(0.5))
    q = np.array(figure.q())
    problem = make_problem(figure.model, figure.soles, q, np.arange(len(q)) / 120, GroundUnder(None))
    s = problem.settings
    for side in ("left", "right"):
        deviations = 1 / problem.spread[figure.model.link(f"{side}_toes").v]
        assert deviations.max() == pytest.approx(s.toes, rel=0.05)  # about y, which is across
        assert deviations.argmax() == 1
        assert np.delete(deviations, 1) == pytest.approx(s.twist, rel=0.05)
