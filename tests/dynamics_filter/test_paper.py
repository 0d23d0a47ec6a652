"""The filter as printed in [DF03] VII: the 2-DOF arm with a free root, and a figure that stands and is pushed."""

from __future__ import annotations

import numpy as np

import ukemi as uk
from tests.dynamics_filter.figures import pushed, standing_reference
from ukemi.dynamics_filter.paper import PaperFilter, PaperSettings, follow_paper
from ukemi.model.arrays import Array


def arm() -> uk.Model:
    b = uk.Builder("arm")
    for k, parent in enumerate(("world", "upper")):
        b.link(
            ("upper", "lower")[k],
            parent,
            uk.Revolute((0, 1, 0)),
            uk.Pose((0, 0, 0 if k == 0 else -0.5)),
            mass=1.0,
            com=(0, 0, -0.25),
            inertia=(0.02, 0.02, 0.001),
        )
    return b.build()


def test_the_arm_obeys_its_equation_of_motion_without_torque_at_the_free_joint() -> None:
    model = arm()
    f = PaperFilter(model, [False, True], settings=PaperSettings(kp=100, kd=20, root_weight=0.1))
    q, v, dt = np.array([0.3, 0.2]), np.zeros(2), 0.002
    error = []
    for k in range(500):
        t = k * dt
        wanted = np.array([0.0, 0.4 * np.sin(3 * t)]), np.array([0.0, 1.2 * np.cos(3 * t)])
        a_ref = np.array([0.0, -3.6 * np.sin(3 * t)])
        s = f.solve(q, v, f.desired(q, v, *wanted, a_ref), np.zeros((0, 2)), np.zeros(0))
        np.testing.assert_allclose(uk.inverse_dynamics(model, q, v, s.a), s.tau, atol=1e-9)
        assert s.tau[0] == 0
        v = v + dt * s.a
        q = uk.integrate(model, q, v, dt)
        error.append(abs(q[1] - wanted[0][1]))
    assert max(error[250:]) < 0.1  # the actuated joint follows; the free one had to give way


def test_without_underactuation_the_desired_acceleration_is_met() -> None:
    model = arm()
    f = PaperFilter(model, [True, True], settings=PaperSettings(robust=1e-12))
    s = f.solve(np.array([0.3, 0.2]), np.array([0.1, -0.4]), np.array([1.0, -2.0]), np.zeros((0, 2)), np.zeros(0))
    np.testing.assert_allclose(s.a, [1.0, -2.0], atol=1e-8)


def test_it_holds_a_standing_figure_that_is_pushed() -> None:
    reference = standing_reference(0.6)
    model = reference.model

    def push(t: float) -> Array | None:
        return pushed(model, "chest", np.array([80.0, 0.0, 0.0]), reference.q[0]) if 0.05 <= t < 0.15 else None

    run = follow_paper(reference, push=push)
    assert run.fell_at is None
    assert not run.stopped
    assert (run.rows["force"][..., 2] >= -1e-9).all()
    assert np.abs(run.rows["tau"][:, :6]).max() == 0
