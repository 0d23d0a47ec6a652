"""Trees whose couplings hold, against closed forms and against the closed chains of a World."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.model.readers.osim_texts import ALL, ZERO, Joint, line, osim, polynomial, transform
from tests.model.readers.urdf_texts import written

import ukemi as uk
from ukemi.dynamics.coupled import (
    coupled_coordinates,
    coupled_inverse_dynamics,
    coupled_neutral,
    leaders_first,
)
from ukemi.dynamics.inverse import inverse_dynamics
from ukemi.model.description import Coupling
from ukemi.motion.opensim import joint_coordinates
from ukemi.motion.trajectory import trajectory

G = 9.81
#: A knee that slides while it bends, about axes that stand square.
SLIDING = transform(
    ("knee", "0 0 1", line()),
    ("", "0 1 0", ZERO),
    ("", "1 0 0", ZERO),
    ("knee", "1 0 0", polynomial("0.01 -0.02 0.005 -0.03 0.02")),
    ("knee", "0 1 0", polynomial("0.01 -0.02 0.005 -0.4")),
    ("", "0 0 1", ZERO),
)
LEG = [
    Joint("PinJoint", "pin", coordinates=("hinge",), at=("0.1 0.2 0.3", "0.3 -0.2 0.5")),
    Joint("SliderJoint", "slider", "pin", ("slide",), ("0 -0.3 0", "0 0.5 0")),
    Joint("CustomJoint", "shank", "slider", ("knee",), ("0 -0.1 0", "0 0.1 0"), transform=SLIDING),
]
#: InverseDynamicsSolver of OpenSim 4.6 (2026-06-22, opensim on PyPI) on `osim(LEG)`: hinge, slide, knee.
VALUES, SPEEDS, ACCELERATIONS = (0.3, -0.2, 0.6), (1.0, -0.5, 2.0), (0.5, 1.5, -3.0)
OPENSIM = (13.367875897340193, 25.336115661433794, 1.0574665277995412)


def cart(*couplings: Coupling) -> uk.Model:
    """A massless wheel, a slide along x that follows it, and a slide up on that, which carries a mass of 2 kg."""
    builder = (
        uk.Builder("cart")
        .link("wheel", joint=uk.Revolute((0, 1, 0)), mass=1.0, inertia=(0.1, 0.1, 0.1))
        .link("slide", joint=uk.Prismatic((1, 0, 0)))
        .link("lift", "slide", uk.Prismatic((0, 0, 1)), mass=2.0)
    )
    builder.description.couplings += couplings
    return builder.build()


def test_a_mass_that_a_turning_wheel_lifts_along_a_parabola() -> None:
    """x = 0.3 t, z = 0.1 + 2 x^2, with the lift following the slide that follows the wheel: named last to first."""
    model = cart(Coupling("lift", "slide", 0.0, 0.1, (2.0,)), Coupling("slide", "wheel", 0.3, 0.0))
    t, w, a, m = 0.7, 1.5, -2.0, 2.0
    q, v, change = [t, 9.0, 9.0], [w, 9.0, 9.0], [a, 9.0, 9.0]
    np.testing.assert_allclose(coupled_coordinates(model, q), [t, 0.3 * t, 0.1 + 2 * (0.3 * t) ** 2])
    dx, dz, ddz = 0.3, 4 * 0.09 * t, 4 * 0.09
    wanted = 0.1 * a + m * dx * dx * a + m * dz * (dz * a + ddz * w**2) + m * G * dz
    tau = coupled_inverse_dynamics(model, q, v, change)
    np.testing.assert_allclose(tau, [wanted, 0, 0], rtol=1e-12)


def test_a_body_with_sliding_knees_stands_straight_in_a_world(tmp_path: Path) -> None:
    """Leaders stay at zero: a tie from 40 cm away would bend all other joints too."""
    model = uk.load(written(tmp_path, osim(LEG), "leg.osim"))
    man = uk.World().add(model)
    np.testing.assert_allclose(man.q, coupled_neutral(model), atol=1e-12)
    assert man.q[model.joint("knee").q.start] == pytest.approx(0, abs=1e-12)
    assert man.q[model.joint("shank_joint/translation2").q.start] == pytest.approx(-0.4)
    ring = cart(Coupling("slide", "lift", 1.0, 0.0), Coupling("lift", "slide", 1.0, 0.0))
    np.testing.assert_array_equal(coupled_neutral(ring), np.zeros(3))


def test_a_joint_that_stays_takes_no_part() -> None:
    model = cart(Coupling("lift", None, 0.0, 0.4), Coupling("slide", "wheel", 0.5, 0.0))
    tau = coupled_inverse_dynamics(model, np.zeros(3), np.ones(3), np.ones(3))
    np.testing.assert_allclose(tau, [0.1 + 2 * 0.25, 0, 0], rtol=1e-12)
    assert coupled_coordinates(model, np.zeros(3))[2] == 0.4


def test_the_torques_are_opensims(tmp_path: Path) -> None:
    model = uk.load(written(tmp_path, osim(LEG), "leg.osim"))
    at = [model.joint(name).v.start for name in ("hinge", "slide", "knee")]
    q, v, a = np.zeros((3, model.nv))
    q[at], v[at], a[at] = VALUES, SPEEDS, ACCELERATIONS
    tau = coupled_inverse_dynamics(model, q, v, a, gravity=model.gravity)
    np.testing.assert_allclose(tau[at], OPENSIM, rtol=1e-12)
    assert np.count_nonzero(tau) == 3


@pytest.mark.filterwarnings("ignore::ukemi.UkemiWarning")
def test_at_rest_they_are_the_slopes_of_the_potential(tmp_path: Path) -> None:
    """About the oblique axes of `KNEE`."""
    model = uk.load(written(tmp_path, osim(ALL), "all.osim"))
    q = np.random.default_rng(6).uniform(-0.8, 0.8, model.nq)
    knee, h = model.joint("knee").q.start, 1e-5
    low, high = (coupled_coordinates(model, q + step * np.eye(model.nq)[knee]) for step in (-h, h))
    slope = np.diff([uk.potential_energy(model, x) for x in (low, high)])[0] / (2 * h)
    still = np.zeros(model.nv)
    assert coupled_inverse_dynamics(model, q, still, still)[knee] == pytest.approx(slope, abs=1e-8)


@pytest.mark.filterwarnings("ignore::ukemi.UkemiWarning")
def test_the_torques_are_those_of_a_world_whose_ties_hold(tmp_path: Path) -> None:
    model = uk.load(written(tmp_path, osim(ALL), "all.osim"))
    model = uk.Model(replace(model.description, functions={}))  # ties are polynomials
    q, v = model.random(np.random.default_rng(2))
    assert model.gravity is not None
    world = uk.World(gravity=model.gravity)
    man = world.add(model, q=coupled_coordinates(model, q), v=v)
    followers = {coupling.joint for coupling in model.couplings}
    assert followers
    leaders = [man.joint(name) for name in model.joint_names if name not in followers and model.joint(name).joint.nv]
    a = world.forward_dynamics(np.random.default_rng(3).standard_normal(model.nv))  # what the ties allow
    tau = coupled_inverse_dynamics(model, world.q, world.v, a, gravity=model.gravity)
    np.testing.assert_allclose(tau, world.inverse_dynamics(a, leaders), atol=1e-9)
    alone = uk.inverse_dynamics(model, world.q, world.v, a, gravity=model.gravity)
    knee = model.joint("knee").v.start
    assert abs(tau[knee] - alone[knee]) > 0.5 * abs(tau[knee])  # what the shank's slide asks of the knee


def test_batches_are_the_states_one_by_one() -> None:
    model = cart(Coupling("slide", "wheel", 0.3, 0.2, (0.5,)))
    rng = np.random.default_rng(4)
    q, v, a = rng.standard_normal((3, 5, model.nv))
    together = coupled_inverse_dynamics(model, q, v, a[0])
    alone = [coupled_inverse_dynamics(model, *state, a[0]) for state in zip(q, v, strict=True)]
    np.testing.assert_array_equal(together, alone)


def test_without_couplings_it_is_inverse_dynamics() -> None:
    model = uk.human(16)
    q, v = model.random(np.random.default_rng(5))
    np.testing.assert_array_equal(coupled_inverse_dynamics(model, q, v, v), uk.inverse_dynamics(model, q, v, v))


def test_what_cannot_be_is_said() -> None:
    ring = cart(Coupling("slide", "lift", 1.0, 0.0), Coupling("lift", "slide", 1.0, 0.0))
    with pytest.raises(uk.ModelError, match="slide, lift of 'cart' follow each other in a ring"):
        leaders_first(ring)
    twice = cart(Coupling("slide", "lift", 1.0, 0.0), Coupling("slide", "wheel", 1.0, 0.0))
    with pytest.raises(uk.ModelError, match="joint 'slide' of 'cart' follows twice"):
        coupled_coordinates(twice, np.zeros(3))
    model = cart()
    with pytest.raises(uk.InvalidInputError, match=r"v: expected shape \(\.\.\., 3\), got \(2,\)"):
        coupled_inverse_dynamics(model, np.zeros(3), np.zeros(2), np.zeros(3))
    with pytest.raises(uk.InvalidInputError, match="batch axes do not match"):
        coupled_inverse_dynamics(model, np.zeros((2, 3)), np.zeros((4, 3)), np.zeros(3))


@pytest.mark.filterwarnings("ignore::ukemi.UkemiWarning")
def test_the_slides_of_a_real_knee_are_carried_by_its_torque(shared: Path) -> None:
    model = uk.load(shared / "models" / "opensim_gait2392" / "subject01.osim")
    ik = shared / "motions" / "forceplate" / "opensim_subject01_walk" / "subject01_walk1_ik.mot"
    time, q = joint_coordinates(model, ik)
    motion = trajectory(model, q, 1 / np.diff(time).mean())
    knee = model.joint("knee_angle_r").v.start
    tau, alone = (f(model, motion.q, motion.v, motion.a)[:, knee] for f in (coupled_inverse_dynamics, inverse_dynamics))
    assert np.abs(tau).max() == pytest.approx(21.1, abs=0.05)
    assert np.abs(tau - alone).max() == pytest.approx(1.79, abs=0.005)
