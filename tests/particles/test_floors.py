"""Floors: the bounce of eq. 30, springs that hold the weight, friction of eq. 31, slopes and hills."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ukemi.errors import InvalidInputError
from ukemi.particles import BouncyFloor, Flat, ParticleSystem, SoftFloor, SpringFloor, Uneven
from ukemi.particles.floors import Floor

G = 9.81


def one(
    floor: Floor, at: tuple[float, float, float] = (0, 0, 1), velocity: tuple[float, ...] = (0, 0, 0)
) -> ParticleSystem:
    system = ParticleSystem(floor=floor)
    system.add(at, 2.0, velocity=velocity)
    return system


def test_a_ball_bounces_as_restitution_says() -> None:
    system = one(BouncyFloor(0.8))
    recording = system.run(1.3, 1e-5, sample=1e-3)
    fall = math.sqrt(2 / G)
    up = recording.time > fall
    assert recording.x[up, 0, 2].max() == pytest.approx(0.64, abs=1e-3)  # e^2 of the height; the step is 1e-5 s
    apex = recording.time[up][np.argmax(recording.x[up, 0, 2])]
    assert apex == pytest.approx(fall * 1.8, abs=2e-3)  # down in t, up in 0.8 t


def test_a_ball_comes_to_rest_on_every_floor() -> None:
    for floor in (BouncyFloor(0.5), SpringFloor(sink=1e-3), SoftFloor(sink=0.02)):
        system = one(floor)
        pushed = system.run(5.0).floor_force[-50:, 0]
        assert pushed.mean(axis=0) == pytest.approx((0, 0, 2 * G), abs=0.01 * 2 * G)  # the weight, on average
        assert abs(system.v[0, 2]) < 0.01


@pytest.mark.parametrize("floor", [SpringFloor(sink=1e-3), SoftFloor(sink=0.02)])
@pytest.mark.parametrize("method", ["semi-implicit", "implicit"])
def test_the_weight_sinks_as_deep_as_said(floor: SpringFloor | SoftFloor, method: str) -> None:
    system = one(floor, (0, 0, 0))
    system.advance(5.0, None if method == "semi-implicit" else 2e-3, method=method)
    assert system.x[0, 2] == pytest.approx(-floor.sink, rel=1e-3)


def test_the_floor_gives_the_momentum_that_the_figure_takes() -> None:
    rng = np.random.default_rng(8)
    system = ParticleSystem(floor=SpringFloor(sink=1e-3, drag=10.0, friction=0.5))
    system.add_many(rng.normal(size=(6, 3)) + np.array((0, 0, 2)), rng.uniform(0.5, 2, 6), rng.normal(size=(6, 3)))
    for i in range(5):
        system.link(i, i + 1)
    before = system.momentum()[0]
    recording = system.run(1.5)
    impulse = recording.floor_force.sum(axis=(0, 1)) * 0.01
    gained = system.momentum()[0] - before
    assert np.allclose(gained, impulse + system.mass.sum() * system.gravity * 1.5, atol=1e-9)


def test_drag_slows_as_an_exponential_and_friction_as_a_line() -> None:
    gamma, mu = 0.3, 0.4
    drag = one(SpringFloor(sink=1e-3, drag=gamma), (0, 0, -1e-3), (1, 0, 0))
    drag.advance(0.5, 1e-4)
    assert drag.v[0, 0] == pytest.approx(math.exp(-gamma * G * 0.5), rel=1e-3)  # m v' = -gamma v m g [eq. 31]
    slide = one(SpringFloor(sink=1e-3, drag=1e4, friction=mu), (0, 0, -1e-3), (3, 4, 0))
    slide.advance(0.5, 1e-4)
    assert slide.v[0, :2] == pytest.approx(np.array((3, 4)) * (1 - mu * G * 0.5 / 5), rel=1e-3)
    slide.advance(2.0, 1e-4)
    assert np.abs(slide.v[0]).max() < 1e-6  # and stops


def test_a_particle_slides_down_a_slope() -> None:
    angle, mu = math.radians(30), 0.3
    normal = (-math.sin(angle), 0.0, math.cos(angle))
    floor = SpringFloor(sink=1e-4, drag=1e5, friction=mu, ground=Flat(0.0, normal))
    system = one(floor, (0, 0, 0))
    system.advance(1.0)
    speed = G * (math.sin(angle) - mu * math.cos(angle))
    assert np.linalg.norm(system.v[0]) == pytest.approx(speed, rel=5e-3)  # it first sinks in, for a moment
    assert system.v[0, 0] < 0


def test_hills_hold_a_particle_in_their_valley() -> None:
    x = np.linspace(-1, 1, 41)
    hills = Uneven(np.tile((x**2)[:, None], (1, 3)), origin=(-1, -1), spacing=(0.05, 1))
    system = one(SpringFloor(sink=1e-3, drag=2.0, ground=hills), (0.6, 0.2, 0.6))
    system.advance(20.0)
    assert abs(system.x[0, 0]) < 0.03  # a cell is 0.05 wide, and bilinear ground is flat within the two at the bottom
    assert system.x[0, 2] == pytest.approx(0, abs=5e-3)


def test_hills_and_a_plane_are_the_same_where_they_are_the_same() -> None:
    slope = 0.3
    x = np.linspace(-5, 5, 11)
    hills = Uneven(np.tile((slope * x)[:, None], (1, 2)), origin=(-5, -5), spacing=(1, 10))
    runs = []
    for ground in (hills, Flat(0.0, (-slope, 0, 1))):
        system = one(SpringFloor(sink=1e-3, drag=1.0, ground=ground), (0.3, 0, 1))
        system.advance(1.0, 1e-4)
        runs.append(system.x.copy())
    assert np.allclose(runs[0], runs[1], atol=1e-9)


@pytest.mark.parametrize(
    ("floor", "word"),
    [
        (BouncyFloor(1.5), "restitution"),
        (SpringFloor(sink=0.0), "sink"),
        (SpringFloor(drag=-1.0), "drag"),
        (SoftFloor(exponent=1.0), "exponent"),
        (SpringFloor(ground=Uneven([[0.0]])), "heights"),
        (SpringFloor(ground=Uneven(np.array([[0.0, np.nan], [0, 0]]))), "heights"),
        (SpringFloor(ground=Flat(0.0, (0, 0, 0))), "normal"),
    ],
)
def test_floors_that_cannot_be(floor: Floor, word: str) -> None:
    with pytest.raises(InvalidInputError, match=word):
        one(floor).advance(0.1)
