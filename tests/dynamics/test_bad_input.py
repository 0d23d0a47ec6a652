"""What the border refuses, and that it says what came and what was wanted."""

from __future__ import annotations

import numpy as np
import pytest

import ukemi as uk

MODEL = uk.human(28)
Q, V = MODEL.neutral(), np.zeros(MODEL.nv)


def with_value(x: np.ndarray, i: int, value: float) -> np.ndarray:
    y = x.copy()
    y[i] = value
    return y


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((Q[:-1], V, V), r"q: expected shape \(\.\.\., 43\) \(nq\), got \(42,\)"),
        ((Q, V[:5], V), r"v: expected shape \(\.\.\., 34\)"),
        ((Q, V, 3.0), r"tau: expected shape .* got \(\)"),
        ((Q, V, "torque"), "tau: expected an array of numbers, got str"),
        ((Q, V, None), "tau"),
        ((None, V, V), "q"),
        ((with_value(Q, 0, np.nan), V, V), r"q\[0\] is NaN"),
        ((Q, with_value(V, 7, np.inf), V), r"v\[7\] is infinite"),
        ((with_value(Q, 3, 0.0), V, V), r"quaternion \(w, x, y, z\) of joint 'root' has length 0"),
        ((with_value(Q, 7, 1.1), V, V), r"quaternion .* of joint 'waist' has length 1.1"),
        ((np.tile(Q, (2, 1)), np.zeros((3, 34)), V), "batch axes do not match"),
        ((Q, V, V, np.zeros((12, 6))), r"external: expected shape \(\.\.\., 13, 6\)"),
        ((Q, V, V, {"left_foot": (1, 2)}), r"external\['left_foot'\]: expected"),
        ((Q, V, V, None, (0, 0)), r"gravity: expected shape \(3,\)"),
        ((Q, V, V, None, (0, 0, np.nan)), r"gravity\[2\] is NaN"),
    ],
)
def test_states_are_checked(arguments: tuple[object, ...], match: str) -> None:
    with pytest.raises(uk.InvalidInputError, match=match):
        uk.forward_dynamics(MODEL, *arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("thing", ["human28", None, 3, uk.World()])
def test_what_is_not_a_model_is_named(thing: object) -> None:
    for call in (uk.link_poses, uk.mass_matrix, uk.center_of_mass):
        with pytest.raises(uk.InvalidInputError, match="model: expected a Model, got"):
            call(thing, Q)  # type: ignore[arg-type]


def test_nan_in_a_batch_is_named() -> None:
    q = np.tile(Q, (3, 1))
    q[2, 5] = np.nan
    with pytest.raises(uk.InvalidInputError, match=r"q\[2, 5\] is NaN"):
        uk.link_poses(MODEL, q)


def test_unknown_link_of_a_wrench() -> None:
    with pytest.raises(uk.UnknownNameError, match="no link named 'tail'"):
        uk.forward_dynamics(MODEL, Q, V, V, {"tail": np.zeros(6)})


def test_a_joint_without_inertia_is_named() -> None:
    b = uk.Builder()
    b.link("arm", joint=uk.Revolute((0, 1, 0)), mass=1, com=(0, 0, 1), inertia=(1, 1, 1))
    b.link("ghost", "arm", uk.Revolute((0, 1, 0)), joint_name="ghost_hinge")
    model = b.build()
    with pytest.raises(uk.SingularError, match="'ghost_hinge' moves no inertia"):
        uk.forward_dynamics(model, [0, 0], [0, 0], [0, 1])
    with pytest.raises(uk.SingularError):
        uk.InertiaFactor(model, [0, 0])


def test_a_point_mass_on_a_ball_joint_is_singular_about_its_rod() -> None:
    b = uk.Builder()
    b.link("bob", joint=uk.Spherical(), mass=1, com=(0, 0, -1))
    with pytest.raises(uk.SingularError, match="'bob'"):
        uk.forward_dynamics(b.build(), [1, 0, 0, 0], [1, 2, 3], [0, 0, 0])


@pytest.mark.parametrize("dt", [np.nan, np.inf])
def test_integrate_refuses_bad_steps(dt: float) -> None:
    with pytest.raises(uk.InvalidInputError, match="dt"):
        uk.integrate(MODEL, Q, V, dt)


def test_factor_takes_one_state() -> None:
    with pytest.raises(uk.InvalidInputError, match="q: expected shape"):
        uk.InertiaFactor(MODEL, np.tile(Q, (2, 1)))
    with pytest.raises(uk.InvalidInputError, match="rhs"):
        uk.InertiaFactor(MODEL, Q).solve(np.zeros(3))


def test_threads_must_be_positive() -> None:
    for count in (0, -3, 10**6):
        with pytest.raises(uk.InvalidInputError, match="expected 1 to 1024"):
            uk.set_threads(count)
