"""Smooth derivatives against closed forms and against the manifold's own steps."""

from __future__ import annotations

import numpy as np
import pytest

import ukemi as uk
from ukemi.motion.rotations import about, product
from ukemi.motion.trajectory import low_pass, smooth_coordinates, trajectory


def spinning_top() -> tuple[uk.Model, np.ndarray, np.ndarray]:
    """A free body on a circle that turns about a fixed axis; q at 200 Hz, and the times."""
    b = uk.Builder("top")
    b.link("body", "world", uk.Free(), mass=1, inertia=(1, 1, 1))
    b.link("arm", "body", uk.Spherical(), uk.Pose((1, 0, 0)), mass=1, inertia=(1, 1, 1))
    b.link("hinge", "arm", uk.Revolute((0, 1, 0)), uk.Pose((1, 0, 0)), mass=1, inertia=(1, 1, 1))
    t = np.arange(401) / 200
    place = np.stack([np.cos(t), np.sin(t), 0.1 * t**2], axis=1)
    arm = product(about(0, np.sin(2 * t)), about(2, 0 * t + 0.3))
    q = np.concatenate([place, about(2, 3 * t), arm, np.sin(4 * t)[:, None]], axis=1)
    return b.build(), q, t


def test_rates_have_their_closed_form() -> None:
    model, q, _ = spinning_top()
    motion = trajectory(model, q, 200, 1e-3, cutoff=None)
    t = motion.time
    inner = slice(20, -20)
    # free: R^T of the velocity on the circle; R turns by 3 t about z
    c, s = np.cos(3 * t), np.sin(3 * t)
    vx, vy = -np.sin(t), np.cos(t)
    v = np.stack([c * vx + s * vy, c * vy - s * vx, 0.2 * t], axis=1)
    assert np.abs(motion.v[inner, :3] - v[inner]).max() < 1e-6
    assert np.abs(motion.v[inner, 3:6] - (0, 0, 3)).max() < 1e-6
    # its rate in the link's frame: R^T (p'' - w x p')
    ax, ay = -np.cos(t) + 3 * vy, -np.sin(t) - 3 * vx
    a = np.stack([c * ax + s * ay, c * ay - s * ax, 0 * t + 0.2], axis=1)
    assert np.abs(motion.a[inner, :3] - a[inner]).max() < 2e-3
    # spherical: 2 cos 2t about x of the parent, seen in a child turned by 0.3 about z
    rate = np.stack([np.cos(0.3) + 0 * t, -np.sin(0.3) + 0 * t, 0 * t], axis=1) * (2 * np.cos(2 * t))[:, None]
    assert np.abs(motion.v[inner, 6:9] - rate[inner]).max() < 1e-6
    assert np.abs(motion.v[inner, 9] - 4 * np.cos(4 * t)[inner]).max() < 1e-6
    assert np.abs(motion.a[inner, 9] + 16 * np.sin(4 * t)[inner]).max() < 3e-3


def test_rates_are_those_of_integrate_and_difference() -> None:
    model, q, _ = spinning_top()
    h = 1e-4
    motion = trajectory(model, q, 200, h, cutoff=8.0)
    middle = slice(1, -1)
    central = uk.difference(model, motion.q[:-2], motion.q[2:]) / (2 * h)
    # central differences on the manifold err by h^2 times third derivatives (here up to some 100)
    assert np.abs(central - motion.v[middle]).max() < 1e-5
    rates = (motion.v[2:] - motion.v[:-2]) / (2 * h)
    # accelerations of a cubic spline have kinks at the frames
    assert np.abs(rates - motion.a[middle]).max() < 0.05
    forward = uk.integrate(model, motion.q[:-1], motion.v[:-1] + 0.5 * h * motion.a[:-1], h)
    assert np.abs(uk.difference(model, forward, motion.q[1:])).max() < 1e-9


def test_the_filter_halves_its_cut_off_and_shifts_nothing() -> None:
    t = np.arange(2400) / 240
    for frequency, gain in ((1.0, 1.0), (8.0, 0.5), (30.0, 0.0)):
        x = np.sin(2 * np.pi * frequency * t)
        y = low_pass(x, 240, 8.0)[480:-480]
        # order 2 twice: 1 / (1 + (f / fc)^4) up to the warping of the bilinear transform
        assert np.abs(y - gain * x[480:-480]).max() < 0.012


def test_signs_of_quaternions_do_not_matter_and_units_stay() -> None:
    model, q, _ = spinning_top()
    flipped = q.copy()
    flipped[::3, 3:7] *= -1
    assert np.array_equal(smooth_coordinates(model, q, 200), smooth_coordinates(model, flipped, 200))
    smooth = smooth_coordinates(model, q, 200)
    assert np.abs(np.linalg.norm(smooth[:, 3:7], axis=1) - 1).max() < 1e-15


@pytest.mark.parametrize("frames", [1, 2, 3, 4, 5])
def test_very_short_motions_work(frames: int) -> None:
    model, q, _ = spinning_top()
    motion = trajectory(model, q[:frames], 200, 1e-3)
    assert np.isfinite(motion.a).all()
    assert len(motion) == 5 * (frames - 1) + 1


def test_bad_motions_are_named() -> None:
    model, q, _ = spinning_top()
    q[7, 2] = np.nan
    with pytest.raises(uk.InvalidInputError, match="frame 7"):
        trajectory(model, q, 200)
    with pytest.raises(uk.InvalidInputError, match="expected"):
        trajectory(model, q[:, :-1], 200)
