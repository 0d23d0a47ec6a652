"""What mechanics demands of particles: conservation, statics, closed forms, the same motion by two methods."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from tests.oracles.particles import NumpyParticles

from ukemi import _core
from ukemi.particles import Hinge, ParticleSystem
from ukemi.particles.forces import couple, equivalent_mass

#: Sums in another order.
ROUNDING = 1e-12


def cloud(rng: np.random.Generator, n: int = 12, ratio: float = 0.1) -> ParticleSystem:
    """Random particles in free flight, each tied to some others."""
    system = ParticleSystem((0, 0, 0), load=100.0, ratio=ratio)
    system.add_many(rng.normal(size=(n, 3)), rng.uniform(0.5, 2, n), rng.normal(size=(n, 3)))
    for i in range(1, n):
        system.link(i, int(rng.integers(i)))
        if i > 2:
            system.link(i, (i + 3) % i)
    return system


@pytest.mark.parametrize("level", _core.levels())
def test_the_core_steps_as_plain_numpy_does(level: str, request: pytest.FixtureRequest) -> None:
    request.addfinalizer(partial(_core.choose_level, _core.level()))
    _core.choose_level(level)
    system = cloud(np.random.default_rng(1))
    system.gravity = np.array((0.0, 1.0, -9.81))
    system.fix(3)
    system.link(0, 11)  # compiled anew
    plain, h = NumpyParticles.of(system), system.stable_step() / 3
    for _ in range(50):
        plain.step(h)
    system.advance(50 * h, h)
    assert np.allclose(system.x, plain.x, rtol=0, atol=1e-11)
    assert np.allclose(system.v, plain.v, rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", ["semi-implicit", "implicit"])
def test_internal_forces_keep_both_momenta(method: str) -> None:
    system = cloud(np.random.default_rng(2), ratio=0.3)
    knee = system.hinge(1, 0, 2, friction=0.5, kp=20.0, kd=1.0)
    system.hinge(4, 3, 5)
    system.torque[:] = 3.0, -2.0
    system.target[knee.index] = 1.0
    linear, angular = system.momentum()
    system.advance(0.5, None, method=method)
    after = system.momentum()
    assert np.allclose(after[0], linear, atol=1e-10)
    if method == "semi-implicit":  # central forces and couples at one place turn nothing; backward Euler is dissipative
        assert np.allclose(after[1], angular, atol=1e-9)


def test_without_dampers_energy_stays_and_its_error_falls_with_the_square_of_the_step() -> None:
    errors = []
    for share in (0.4, 0.2, 0.1):
        system = cloud(np.random.default_rng(3), ratio=0.0)
        system.gravity = np.array((0.0, 0.0, -9.81))
        system.fix(0)
        before = system.energy()
        recording = system.run(2.0, share * system.stable_step(), sample=0.05)
        errors.append(np.abs(recording.energy - before).max())
    ratios = np.array(errors[:-1]) / errors[1:]
    assert (ratios > 3).all()  # 4 for the second order
    assert (ratios < 6).all()
    assert errors[-1] < 0.02 * abs(before)


def test_a_damped_link_only_loses_energy() -> None:
    system = cloud(np.random.default_rng(4), ratio=0.2)
    recording = system.run(1.0)
    assert (np.diff(recording.energy) < 1e-9).all()


def test_a_couple_has_no_force_and_opposite_moments() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(4, 3))
    normal = np.cross(x[2] - x[1], x[0] - x[1])
    n = tuple((normal / np.linalg.norm(normal)).tolist())
    f = couple(Hinge(0, 0, 1, 2, 1, n, False, 0, 0, 0), x, 7.0)
    assert np.allclose(f.sum(axis=0), 0, atol=ROUNDING)  # [PART05] eq. 21, with the hinge's reaction
    assert np.allclose(np.cross(x, f).sum(axis=0), 0, atol=ROUNDING)
    turn = np.cross(x[0] - x[1], f[0])  # on the first link about the hinge
    assert np.allclose(turn, 7.0 * np.array(n), atol=ROUNDING)


def test_a_torque_turns_two_links_as_two_flywheels() -> None:
    # m l^2 about a hinge so heavy that it stays: theta'' = tau / (m l^2), relative angle twice that [eq. 17-18]
    system = ParticleSystem((0, 0, 0), load=1e4)
    a, b, c = system.add((1, 0, 0)), system.add((0, 0, 0), 1e9), system.add((-1, 0, 0))
    system.link(a, b), system.link(b, c)
    hinge = system.hinge(a, b, c, normal=(0, 0, 1))
    system.torque[hinge.index] = 0.02
    system.advance(1.0)
    angle, rate = system.angles()[0]
    assert rate == pytest.approx(2 * 0.02, rel=1e-3)  # links give by 1e-3 of nothing here: the step's error
    assert abs(angle) == pytest.approx(math.pi - 0.02, rel=1e-3)


def test_friction_stops_the_joint_as_an_exponential() -> None:
    D, m = 0.3, 1.0
    system = ParticleSystem((0, 0, 0), load=1e4)
    a, b, c = system.add((1, 0, 0), m), system.add((0, 0, 0), fixed=True), system.add((-1, 0, 0), m)
    system.link(a, b), system.link(b, c)
    system.hinge(a, b, c, normal=(0, 0, 1), friction=D)
    system.v[a], system.v[c] = (0, 0.1, 0), (0, 0.1, 0)
    rate = system.angles()[0, 1]
    system.advance(1.0)
    # both wheels have m l^2: the relative rate decays with 2 D / (m l^2) [eq. 22, with the angle's rate]
    assert system.angles()[0, 1] / rate == pytest.approx(math.exp(-2 * D), rel=2e-3)


def test_a_held_plane_keeps_momentum_and_direction() -> None:
    rng = np.random.default_rng(6)
    system = ParticleSystem((0, 0, 0), load=100.0)
    for x in ((0, 0, 0), (1, 0, 0), (1, 1, 0), (2, 1, 0)):
        system.add(x, rng.uniform(0.5, 2), velocity=(*rng.normal(size=2), 0.7))
    for i in range(3):
        system.link(i, i + 1)
    system.hinge(0, 1, 2, normal=(0, 0, 1)), system.hinge(1, 2, 3, normal=(0, 0, 1))
    system.force[0] = (0, 0, 5.0)  # pulls one particle out of the plane
    linear = system.momentum()[0]
    system.advance(0.5)
    assert np.ptp(system.x[:, 2]) < ROUNDING  # eq. 12: the plane stays plane and keeps its direction
    assert np.allclose(system.momentum()[0], linear + np.array((0, 0, 2.5)), atol=1e-10)  # and yet the force acts


def test_perpendicular_planes_meet_in_one_particle() -> None:
    system = ParticleSystem((0, 0, 0), load=100.0)
    for x in ((1, 0, 0), (0, 0, 0), (0, 1, 0), (0, 1, 1), (0, 2, 1)):
        system.add(x)
    for i in range(4):
        system.link(i, i + 1)
    system.hinge(0, 1, 2, normal=(0, 0, 1)), system.hinge(2, 3, 4, normal=(1, 0, 0))
    system.force[4] = (1, 1, 1)
    system.force[0] = (1, 1, 1)
    system.advance(0.5)
    assert np.ptp(system.x[:3, 2]) < ROUNDING
    assert np.ptp(system.x[2:, 0]) < ROUNDING
    assert np.allclose(system.momentum()[0], 1.0, atol=1e-10)


def test_a_hanging_chain_stretches_as_allowed() -> None:
    system = ParticleSystem(stretch=1e-3, ratio=0.5)
    system.add((0, 0, 0), fixed=True)
    for i in range(4):
        system.add((0, 0, -1 - i))
        system.link(i, i + 1)
    for method in ("semi-implicit", "implicit"):
        system.advance(60.0 if method == "implicit" else 20.0, method=method)
        carried = np.array([4, 3, 2, 1]) / 4  # the top link carries the whole weight, for which links are made
        assert np.allclose(system.stretches(), 1e-3 * carried, rtol=1e-4)


def test_implicit_steps_stay_stable_where_explicit_ones_would_not_and_converge_to_them() -> None:
    def swing(method: str, dt: float | None) -> ParticleSystem:
        system = ParticleSystem(stretch=1e-4)
        system.add((0, 0, 0), fixed=True), system.add((1, 0, 0)), system.add((2, 0, 0))
        system.link(0, 1), system.link(1, 2)
        system.advance(0.5, dt, method=method)
        return system

    exact = swing("semi-implicit", None)
    coarse = swing("implicit", 0.02)
    assert 8 * exact.stable_step() < 0.02
    assert np.abs(coarse.x - exact.x).max() < 0.2
    assert coarse.energy() < 0  # it started at rest at zero: nothing was gained
    errors = [np.abs(swing("implicit", h).x - exact.x).max() for h in (0.0025, 0.00125, 0.000625)]
    assert all(1.6 < a / b < 2.4 for a, b in pairwise(errors))  # first order


def test_an_added_inertia_swings_as_a_compound_pendulum() -> None:
    m, l, I = 2.0, 0.7, 0.9
    system = ParticleSystem(stretch=1e-5, ratio=0.0)
    hub = system.add((0, 0, 0), fixed=True)
    amplitude = 1e-3
    bob = system.add((l * math.sin(amplitude), 0, -l * math.cos(amplitude)), m)
    system.link(hub, bob)
    system.add_inertia(bob, hub, I)
    assert system.added_mass[bob] == pytest.approx(equivalent_mass(I, l))  # eq. 33
    period = 2 * math.pi * math.sqrt((m * l**2 + I) / (m * 9.81 * l))
    system.advance(period / 4)
    assert abs(system.x[bob, 0]) < 0.01 * amplitude


def test_external_force_and_fixed_particles() -> None:
    system = ParticleSystem((0, 0, 0), load=1.0)
    a, b = system.add((0, 0, 0), 2.0), system.add((1, 0, 0), fixed=True)
    system.force[a], system.force[b] = (1.0, 0, 0), (9.0, 0, 0)
    system.advance(3.0)
    assert np.allclose(system.v[a], (1.5, 0, 0))
    assert np.allclose(system.x, ((2.25, 0, 0), (1, 0, 0)))


def test_a_square_closed_by_one_link_keeps_its_shape_where_the_open_chain_does_not() -> None:
    corners = ((0, 0, 0), (1, 0, 0), (1, 0, -1), (0, 0, -1))
    spread = {}
    for closed in (False, True):
        system = ParticleSystem()
        system.add_many(corners)
        system.fix(0)
        for i in range(3):
            system.link(i, i + 1)
        if closed:
            system.link(3, 0)  # the one object that differs
        recording = system.run(1.0)
        spread[closed] = np.abs(np.linalg.norm(recording.x[:, 3] - recording.x[:, 0], axis=1) - 1).max()
    assert spread[True] < 0.01
    assert spread[False] > 0.5


def test_runs_are_the_same_every_time_and_in_pieces() -> None:
    runs = [cloud(np.random.default_rng(7)) for _ in range(2)]
    h = runs[0].stable_step() / 4
    runs[0].advance(64 * h, h)
    for _ in range(2):
        runs[1].advance(32 * h, h)
    assert np.allclose(runs[0].x, runs[1].x, rtol=0, atol=ROUNDING)


def test_masses_and_gravity_may_change_between_runs() -> None:
    system = ParticleSystem()
    ball = system.add((0, 0, 0), 2.0)
    system.advance(1.0)
    assert system.v[ball, 2] == pytest.approx(-9.81)
    system.gravity[2], system.mass[ball], system.force[ball] = 0.0, 4.0, (8.0, 0, 0)
    system.advance(1.0)
    assert system.v[ball] == pytest.approx((2.0, 0, -9.81))
