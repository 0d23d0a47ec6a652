"""Feet that turn and toes that bend: what holds, what slides, and by which law."""

from __future__ import annotations

import numpy as np
import pytest

from tests.dynamics_filter.figures import standing_figure
from ukemi.dynamics_filter.bearing import sole_contacts
from ukemi.dynamics_filter.online import Follower
from ukemi.dynamics_filter.prepare import contact_points
from ukemi.dynamics_filter.reference import GLIDE, PIVOT, Reference
from ukemi.dynamics_filter.run import residual_bw
from ukemi.dynamics_filter.settings import STANDARD
from ukemi.motion.humanoid import model_soles
from ukemi.motion.pivots import with_pivot

FPS = 100.0


@pytest.mark.parametrize(("part", "pitch"), [("ball", 0.05), ("heel", -0.05)])
def test_a_foot_turns_about_its_pivot_against_coulomb_friction(part: str, pitch: float) -> None:
    model, q = standing_figure()
    q[model.joint("right_knee").q] = 0.8  # lifts the other foot
    q[model.joint("left_ankle").q] = (np.cos(pitch), 0, np.sin(pitch), 0)  # and the heel or the ball
    points = contact_points(model, {name: with_pivot(sole) for name, sole in model_soles(model).items()})
    mine = points.group == 0
    turns = np.flatnonzero(mine & points.turns)
    mine &= np.isin(np.arange(len(points)), turns[:3] if part == "ball" else turns[3:])
    q[2] -= points.in_world(model, q)[mine & points.turns, 2].min()
    n, spin = 50, np.array([0.0, 0.0, 3.0])
    contact = np.repeat((mine & points.turns)[None], n, axis=0)
    v = np.zeros(model.nv)
    v[:6] = [*np.cross(spin, q[:3] - points.in_world(model, q)[mine & (points.kind == PIVOT)][0]), *spin]
    # the figure turns as a whole; its base looks along the axes of the world at first
    still = np.zeros((n, model.nv))
    reference = Reference(model, 0.002, np.tile(q, (n, 1)), still + v, still, points, contact)
    follower = Follower(reference, STANDARD)
    follower.core.reset(q, v)
    out = follower.advance(5)
    pivot, glides = mine & (points.kind == PIVOT), mine & (points.kind == GLIDE)
    assert out["down"][:, pivot | glides].all()
    # what a step of the turn bends is of second order: (spin dt)^2 times a metre
    assert np.abs(np.diff(out["place"][:, pivot], axis=0)).max() < (3.0 * 0.002) ** 2
    way = np.diff(out["place"][:, glides], axis=0)
    assert np.linalg.norm(way, axis=2).min() > 0.5 * 0.002 * 3.0 * 0.03  # it does turn
    force, slide = out["force"][0, glides], np.cross(spin, out["place"][0, glides] - out["place"][0, pivot])
    bears = force[:, 2] > 1.0
    assert bears.any()
    for f, along in zip(force[bears], slide[bears], strict=True):
        assert f[:2] / f[2] == pytest.approx(-0.8 * along[:2] / np.linalg.norm(along), abs=1e-9)
    rows = out | {"q": out["q_before"], "v": out["v_before"]}
    assert residual_bw(reference, rows) < 1e-9


def still_foot(heel: float, ball: tuple[float, float]) -> np.ndarray:
    """(frames, 1, 4, 3) of a foot at rest, its heel and the two sides of its ball so high [m]."""
    corners = np.array([(-0.2, 0.03, heel), (-0.2, -0.03, heel), (0, 0.045, ball[0]), (0, -0.045, ball[1])])
    return np.repeat(corners[None, None], 100, axis=0)


@pytest.mark.parametrize(
    ("heel", "ball", "wanted"),
    [
        (0.0, (0.0, 0.0), "1111"),
        (-0.02, (0.09, 0.09), "1111"),  # at rest on the heel: the capture has the ankle wrong
        (0.15, (0.0, 0.0), "0011"),
        (0.15, (0.03, 0.0), "0001"),  # on the tip of a foot that leans
        (0.0, (0.03, 0.0), "1111"),  # a flat foot does not lean
    ],
)
def test_feet_at_rest_stand_as_people_do(heel: float, ball: tuple[float, float], wanted: str) -> None:
    found = sole_contacts(still_foot(heel, ball), FPS)
    assert "".join(str(int(on)) for on in found[50, 0]) == wanted


def test_feet_that_tremble_rest() -> None:
    foot = still_foot(-0.02, (0.09, 0.09))
    foot[..., 0] += 0.006 * np.sin(2 * np.pi * 6.0 * np.arange(len(foot)) / FPS)[:, None, None]  # at 0.23 m/s
    assert sole_contacts(foot, FPS)[50, 0].all()
    foot[..., 0] += 0.2 * np.arange(len(foot))[:, None, None] / FPS
    assert not sole_contacts(foot, FPS)[50, 0, 2:].any()
