"""Rigid motions, neighbours and gaps, on bodies whose motion is known."""

from __future__ import annotations

import numpy as np
import pytest

from ukemi.motion.marker_gaps import RIGID, SPLINE, repaired
from ukemi.motion.rigid import joint_between, mean_shape, moved, rigid_motion, spread_out, spreads
from ukemi.motion.rotations import matrices

FPS = 100.0


def body(n: int = 300, points: int = 4, seed: int = 0, tempo: float = 3.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rotations, translations and the points (frames, points, 3) of a body that turns and goes about."""
    rng = np.random.default_rng(seed)
    t = np.arange(n) / FPS
    half = 0.3 * np.stack([np.sin(tempo * t), np.sin(0.7 * tempo * t + 1), np.cos(tempo * t)], axis=1)
    q = np.concatenate([np.ones((n, 1)), half], axis=1)
    R = matrices(q / np.linalg.norm(q, axis=1, keepdims=True))
    p = np.stack([t, 0.2 * np.sin(tempo * t), 0.1 * np.cos(tempo * t)], axis=1)
    shape = rng.uniform(-0.15, 0.15, (points, 3))
    return R, p, np.einsum("fij,nj->fni", R, shape) + p[:, None]


def test_a_rigid_motion_is_found_exactly_and_noise_shows_in_its_residual() -> None:
    R, p, now = body()
    shape = np.einsum("ji,nj->ni", R[0], now[0] - p[0])
    found, shift, residual = rigid_motion(shape, now)
    assert np.abs(found - R).max() < 1e-12
    assert np.abs(shift - p).max() < 1e-12
    assert residual.max() < 1e-12
    rng = np.random.default_rng(1)
    _, _, residual = rigid_motion(shape, now + 0.002 * rng.standard_normal(now.shape))
    # four points have 12 coordinates, the motion takes 6 of them
    assert np.sqrt((residual**2).mean()) == pytest.approx(0.002 * np.sqrt(3 * 6 / 12), rel=0.05)
    now[5, 2] = np.nan
    assert np.isnan(rigid_motion(shape, now)[0][5]).all()


def test_mirror_images_are_no_motions() -> None:
    then = np.array([(0.0, 0, 0), (0.1, 0, 0), (0, 0.2, 0), (0, 0, 0.3)])
    R, _, residual = rigid_motion(then, (then * (1, 1, -1))[None])
    assert np.linalg.det(R[0]) == pytest.approx(1)
    assert residual[0] > 0.05


def test_points_on_a_line_fix_no_rotation() -> None:
    line = np.outer(np.arange(4), (0.1, 0.05, 0.02))
    assert not spread_out(line)
    assert not spread_out(line[:2])
    assert spread_out(line + 0.05 * np.eye(4)[:, :3])


def test_the_shape_of_a_body_is_found_through_jumps() -> None:
    _, _, now = body()
    wrong = np.array(now)
    wrong[20:60, 1] += 0.3
    wanted = np.linalg.norm(now[0][:, None] - now[0], axis=-1)
    shape = mean_shape(wrong)
    assert np.abs(np.linalg.norm(shape[:, None] - shape, axis=-1) - wanted).max() < 1e-3
    middle, vary = spreads(now)
    assert np.abs(middle - wanted).max() < 1e-12
    assert vary.max() < 1e-12


def hinged(
    axis: tuple[float, float, float] | None, noise: float
) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """Two bodies that turn about a point: about all axes, or about one of the first body's; and the point's track."""
    R, p, _ = body()
    joint, beyond = np.array((0.05, -0.1, -0.3)), np.array((0.02, 0.04, 0.25))
    angle = 0.6 * np.sin(np.linspace(0, 20, len(R)))
    turn = np.zeros((len(R), 4))
    turn[:, 0] = np.cos(0.5 * angle)
    direction = np.array(axis) if axis else np.stack([np.sin(angle), np.cos(3 * angle), np.cos(angle)], axis=1)
    direction = direction / np.linalg.norm(direction, axis=-1, keepdims=True)
    turn[:, 1:] = np.sin(0.5 * angle)[:, None] * direction
    S = R @ matrices(turn)
    at = R @ joint + p
    rng = np.random.default_rng(4)
    lower = at - S @ beyond
    return [(R, p + noise * rng.standard_normal(p.shape)), (S, lower + noise * rng.standard_normal(p.shape))], at


def test_the_joint_between_two_bodies_is_where_they_turn() -> None:
    (upper, lower), at = hinged(None, 0.001)
    a, b = joint_between(upper, lower, (np.zeros(3), np.zeros(3)), 0.001, (np.eye(3), np.eye(3)))
    assert np.abs(moved(*upper, a) - at).max() < 0.006  # the noise itself, and a little of the guess
    assert np.abs(a - (0.05, -0.1, -0.3)).max() < 0.001
    assert np.abs(b - (0.02, 0.04, 0.25)).max() < 0.001


def test_along_a_hinge_the_guess_decides() -> None:
    (upper, lower), _ = hinged((0.0, 1.0, 0.0), 0.0)
    guess = (np.array((0.5, -0.07, 0.5)), np.array((0.5, 0.07, 0.5)))  # far off across the axis, 3 cm along it
    sure = np.diag((1.0, 1e-6, 1.0))  # a metre, and along the hinge a millimetre
    a, b = joint_between(upper, lower, guess, 0.001, (sure, sure))
    assert np.abs(a - (0.05, -0.07, -0.3)).max() < 0.001
    assert np.abs(b - (0.02, 0.07, 0.25)).max() < 0.001


# --- gaps -------------------------------------------------------------------------------------------------------------
NAMES = [f"m{k}" for k in range(4)]


def test_gaps_within_the_limits_are_filled_and_told_of() -> None:
    _, _, now = body()
    rng = np.random.default_rng(2)
    # skin: markers move over the bone by some millimetres, slowly
    skin = 0.003 * np.sin(np.linspace(0, 9, 300))[:, None, None] * rng.standard_normal((1, 4, 3))
    wanted = now + skin
    p = np.array(wanted)
    short, long, longer = int(SPLINE * FPS), int(0.8 * RIGID * FPS), int(1.3 * RIGID * FPS)
    p[40 : 40 + short, 0] = np.nan
    p[80 : 80 + long, 1] = np.nan
    p[170 : 170 + longer, 2] = np.nan
    out, said = repaired(p, FPS, NAMES, start=5.0)
    assert np.abs(out[40 : 40 + short, 0] - wanted[40 : 40 + short, 0]).max() < 0.002
    assert np.abs(out[80 : 80 + long, 1] - wanted[80 : 80 + long, 1]).max() < 0.006
    assert np.isnan(out[170:299, 2]).all()
    seen = np.isfinite(p)
    assert np.array_equal(out[seen], p[seen])  # what was seen stays
    assert said.filled == {"m0": [(5.4, 0.2)], "m1": [(5.8, 0.8)]}
    assert said.sentences() == ["gaps filled: m0 0.20 s at 5.40 s, m1 0.80 s at 5.80 s"]


def test_nothing_is_invented_where_nobody_tells() -> None:
    _, _, now = body()
    rng = np.random.default_rng(3)
    loose = np.concatenate(
        [now[:, :1], now[:, :1] + np.cumsum(0.01 * rng.standard_normal((300, 2, 3)), axis=0)], axis=1
    )
    loose[100:150, 0] = np.nan
    out, said = repaired(loose, FPS, NAMES[:3])
    assert np.isnan(out[100:150, 0]).all()
    assert not said.filled


def test_a_marker_without_neighbours_has_its_short_gaps_filled_along_its_own_track() -> None:
    t = np.arange(300) / FPS
    wrist = np.stack([np.sin(4 * t), np.cos(3 * t), 0.5 * t**2], axis=1)[:, None]
    gap = np.array(wrist)
    gap[100 : 100 + int(SPLINE * FPS)] = np.nan
    gap[200 : 201 + int(SPLINE * FPS)] = np.nan
    out, _ = repaired(gap, FPS, NAMES[:1])
    assert np.abs(out[:200] - wrist[:200]).max() < 2e-3
    assert np.isnan(out[205]).all()


def test_two_markers_that_change_places_are_put_back() -> None:
    _, _, one = body(seed=0)
    _, _, two = body(seed=1, tempo=4.0)
    p = np.concatenate([one, two + np.array((0.3, 0, 0))], axis=1)
    wrong = np.array(p)
    wrong[100:140, [1, 5]] = wrong[100:140, [5, 1]]
    out, said = repaired(wrong, FPS, [f"m{k}" for k in range(8)])
    assert np.abs(out - p).max() < 1e-6
    assert set(said.jumped) == {"m1", "m5"}
    assert said.jumped["m1"] == pytest.approx(0.4, abs=0.02)


def test_a_clean_capture_is_left_alone() -> None:
    _, _, now = body()
    rng = np.random.default_rng(2)
    noisy = now + 0.001 * rng.standard_normal(now.shape)
    out, said = repaired(noisy, FPS, NAMES)
    assert np.array_equal(out, noisy)
    assert not said.sentences()
