"""The centroidal plan against non-negative least squares of the same problem written out, and against what must be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import nnls

from tests.dynamics_filter.figures import standing_reference
from ukemi import _core
from ukemi.dynamics_filter.reference import FLIGHT
from ukemi.dynamics_filter.settings import STANDARD
from ukemi.dynamics_filter.window import GRAVITY, Window, knots
from ukemi.model.arrays import Array

FLOOR = np.array([0.0, 0, 1, 1, 0, 0, 0, 1, 0])
MU = 0.8
WEIGHTS = np.array([2500.0, 2000, 3000, 250, 200, 300, *[2500] * 6, 1e-3, 10])
EDGES = np.array([[MU, 0, 1], [-MU, 0, 1], [0, MU, 1], [0, -MU, 1]])


def problem(rng: np.random.Generator, n: int = 10) -> dict[str, Array]:
    """A step from one foot to the other, with a start that is off."""
    feet = np.array([[x, y + dy, 0.0] for y in (-0.1, 0.1) for x in (-0.05, 0.12) for dy in (-0.04, 0.04)])
    share = np.zeros((n, 8))
    share[: n // 2 + 1, :4] = 1.0
    share[n // 2 - 1 :, 4:] = rng.uniform(0.2, 1.0, (n - n // 2 + 1, 4))
    goal = np.zeros((n, 12))
    goal[:, 0] = np.linspace(0.0, 0.1, n)
    goal[:, 2] = 0.9
    about = np.concatenate([goal[:, :3], np.tile([0, 0, 9.81], (n, 1))], axis=1)
    start = np.concatenate([[0.01, -0.08, 0.9, 0.2, 0.1, 0], 0.02 * rng.standard_normal(6)])
    h = rng.uniform(0.02, 0.05, n)
    push = np.concatenate([about[:, 3:] + rng.standard_normal((n, 3)), rng.uniform(0.1, 1.0, (n, 3))], axis=1)
    place = np.tile(feet, (n, 1, 1))
    return {"start": start, "h": h, "about": about, "share": share, "place": place, "push": push, "goal": goal}


def solve(p: dict[str, Array], spin: Array) -> tuple[Array, Array, int]:
    return _core.centroidal_plan(
        p["start"], p["h"], p["about"], p["share"], p["place"], spin, p["push"], p["goal"], WEIGHTS, FLOOR, MU, GRAVITY
    )


def test_the_plan_is_the_solution_of_its_least_squares_problem() -> None:
    rng = np.random.default_rng(3)
    p = problem(rng)
    n = len(p["h"])
    spin = 0.01 * rng.standard_normal((n, 3))
    x, force, status = solve(p, spin)
    assert status > 0
    # all states are affine in the edges' magnitudes: x = x0 + X u
    columns = [(k, i, e) for k in range(n) for i in range(8) if p["share"][k, i] > 0 for e in range(4)]
    state, effect = p["start"].copy(), np.zeros((12, len(columns)))
    rows, rhs = [], []
    for k in range(n):
        h, c0, f0 = p["h"][k], p["about"][k, :3], p["about"][k, 3:]
        A = np.eye(12)
        A[:3, 3:6] = A[9:, 6:9] = h * np.eye(3)
        A[6:9, :3] = h * np.array([[0, -f0[2], f0[1]], [f0[2], 0, -f0[0]], [-f0[1], f0[0], 0]])
        drift = np.concatenate([0.5 * h * h * GRAVITY, h * GRAVITY, h * np.cross(c0, f0), -h * spin[k]])
        state, effect = A @ state + drift, A @ effect
        for j, (interval, i, e) in enumerate(columns):
            if interval == k:
                f = EDGES[e]
                arm = np.cross(p["place"][k, i] - c0, f)
                effect[:9, j] += np.concatenate([0.5 * h * h * f, h * f, h * arm])
        weight = np.sqrt(WEIGHTS[:12] * h * (WEIGHTS[13] if k == n - 1 else 1.0))
        rows.append(weight[:, None] * effect)
        rhs.append(weight * (p["goal"][k] - state))
        whole = np.sqrt(p["push"][k, 3:] * h)
        pushes = np.array([EDGES[e] if interval == k else np.zeros(3) for interval, _, e in columns])
        rows.append(whole[:, None] * pushes.T)
        rhs.append(whole * p["push"][k, :3])
    small = [np.sqrt(WEIGHTS[12] * p["h"][k]) / p["share"][k, i] for k, i, _ in columns]
    u, _ = nnls(np.concatenate([*rows, np.diag(small)]), np.concatenate([*rhs, np.zeros(len(columns))]), maxiter=10000)
    wanted = np.zeros_like(force)
    for magnitude, (k, i, e) in zip(u, columns, strict=True):
        wanted[k, i] += magnitude * EDGES[e]
    # the interior-point method stops at a gap of 1e-7; forces are of order 10
    np.testing.assert_allclose(force, wanted, atol=2e-4)
    np.testing.assert_allclose(x[-1], effect @ u + state, atol=1e-6)


def test_forces_stay_in_their_cones_and_where_nothing_bears_there_are_none() -> None:
    p = problem(np.random.default_rng(5))
    _, force, _ = solve(p, np.zeros((len(p["h"]), 3)))
    assert (np.hypot(force[..., 0], force[..., 1]) <= MU * force[..., 2] + 1e-9).all()
    assert not force[p["share"] == 0].any()


def test_a_body_at_rest_above_its_feet_is_carried() -> None:
    p = problem(np.random.default_rng(7))
    p["share"][:] = 1.0
    p["goal"][:, 0], p["start"][:] = 0.03, 0.0
    p["goal"][:, 2] = p["start"][2] = 0.9
    p["start"][0] = 0.03
    p["about"][:, :3], p["push"][:, :3] = p["goal"][:, :3], -GRAVITY
    x, force, _ = solve(p, np.zeros((len(p["h"]), 3)))
    np.testing.assert_allclose(force.sum(axis=1), np.tile(-GRAVITY, (len(p["h"]), 1)), atol=2e-2)
    np.testing.assert_allclose(x, np.tile(p["start"], (len(x), 1)), atol=1e-3)


def test_knots_stand_on_changes_of_contact() -> None:
    contact = np.zeros((200, 2), dtype=bool)
    contact[37:, 0] = True
    contact[95:120, 1] = True
    contact[98:120, 1] = False
    contact[130:, 0] = False
    marks = knots(contact, 10, 150, 20)
    assert {10, 37, 95, 130, 150} <= set(marks.tolist())
    assert 98 not in marks
    assert (np.diff(marks) >= 20 // 3).all()
    # pushing until the last moment: take-off is a knot, however near
    assert knots(contact, 128, 170, 20)[:2].tolist() == [128, 130]


def test_only_what_is_far_from_flights_pays_more_for_pushing_otherwise_upwards() -> None:
    still = standing_reference(2.0)
    contact = still.contact.copy()
    contact[:50] = False  # a flight of 0.1 s
    price = Window(replace(still, contact=contact), STANDARD, FLOOR).push[:, 3:]
    np.testing.assert_allclose(price[:, :2], STANDARD.plan_push / 0.04)
    first = round((0.1 + FLIGHT) / still.dt)
    np.testing.assert_allclose(price[:first, 2], STANDARD.plan_push / 0.04)
    np.testing.assert_allclose(price[first:, 2], STANDARD.plan_steady * STANDARD.plan_push / 0.04)
