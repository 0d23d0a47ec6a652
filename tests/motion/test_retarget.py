"""Motions on other bodies: goals met, limits kept, no jumps."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import ukemi as uk
from ukemi.dynamics.coupled import coupled_coordinates
from ukemi.motion.foot_lock import lock_feet
from ukemi.motion.humanoid import humanoid_parts, model_soles
from ukemi.motion.inverse_kinematics import Goal, follow_goals, within_limits
from ukemi.motion.rotations import of_matrices
from ukemi.motion.synthesis import walk


@pytest.fixture(scope="module")
def figure() -> uk.ClipFigure:
    return uk.figure_from_clip(walk(1.5))


def within(model: uk.Model, q: np.ndarray) -> bool:
    limits = model.limits()
    return bool(((q >= limits[:, 0] - 1e-12) & (q <= limits[:, 1] + 1e-12)).all())


def test_goals_that_can_be_met_are_met() -> None:
    model = uk.human(28)
    rng = np.random.default_rng(1)
    wanted = uk.integrate(model, np.tile(model.neutral(), (5, 1)), 0.3 * rng.standard_normal((5, model.nv)), 1.0)
    wanted = within_limits(model, wanted)
    X = uk.link_poses(model, wanted)
    goals = [Goal(name, X[:, k, :3, 3], of_matrices(X[:, k, :3, :3])) for k, name in enumerate(model.link_names)]
    found = follow_goals(model, goals, np.tile(model.neutral(), (5, 1)), stay=0.0)
    assert np.abs(uk.difference(model, found.q, wanted)).max() < 1e-3
    assert max(found.place_errors.values()) < 1e-3


def test_a_goal_beyond_a_limit_stops_there() -> None:
    model = uk.human(28)
    q = model.neutral()
    knee = model.joint("left_knee")
    bent = q.copy()
    bent[knee.q] = -0.5  # backwards: not for a knee
    X = uk.link_poses(model, bent)[None]
    goals = [
        Goal(name, X[:, k, :3, 3]) for k, name in enumerate(model.link_names) if "left" in name or name == "pelvis"
    ]
    found = follow_goals(model, goals, q[None])
    assert found.q[0, knee.q] == pytest.approx(0.0, abs=1e-12)
    assert within(model, found.q)


def test_frames_without_a_goal_are_free() -> None:
    model = uk.human(28)
    start = np.tile(model.neutral(), (2, 1))
    place = np.array([[0.1, 0.2, 0.1], [np.nan] * 3])
    found = follow_goals(model, [Goal("pelvis", place)], start)
    assert np.abs(found.q[0, :3] - place[0]).max() < 1e-4
    assert np.array_equal(found.q[1], start[1])


def test_the_walk_on_human28(figure: uk.ClipFigure) -> None:
    model = uk.human(28, height=1.6)
    got = uk.retarget(figure, model)
    assert got.scale == pytest.approx(1.6 / 1.75, rel=1e-3)
    assert within(model, got.q)
    assert max(got.place_errors.values()) < 0.01
    assert max(got.turn_errors.values()) < np.deg2rad(2)
    rates = uk.difference(model, got.q[:-1], got.q[1:]) * got.fps
    assert np.abs(rates).max() < 12  # rad/s: what a walk has
    # bones point where the clip's point
    mine, theirs = uk.link_poses(model, got.q), uk.link_poses(figure.model, figure.q())
    for a, b in (("left_thigh", "left_shank"), ("right_shank", "right_foot"), ("left_upper_arm", "left_forearm")):
        u, v = (
            X[:, m.link_index(b), :3, 3] - X[:, m.link_index(a), :3, 3]
            for X, m in ((mine, model), (theirs, figure.model))
        )
        cosine = (u * v).sum(axis=1) / np.linalg.norm(u, axis=1) / np.linalg.norm(v, axis=1)
        assert cosine.min() > np.cos(np.deg2rad(4)), (a, b)


def test_a_body_retargeted_onto_itself_stays(figure: uk.ClipFigure) -> None:
    model = uk.human(40, height=1.75)
    got = uk.retarget(figure, model)
    pelvis = uk.link_poses(model, got.q)[:, model.link_index("pelvis"), :3, 3]
    assert np.abs(pelvis - figure.q()[:, :3]).max() < 0.02
    locked = lock_feet(got, got.q, got.fps)
    assert locked.contacts.any(axis=-1).mean() > 0.5
    assert locked.after.skate < 0.6 * locked.before.skate


def test_soles_of_the_packages_figure() -> None:
    model = uk.human(28)
    soles = model_soles(model)
    for side, sole in soles.items():
        mark = model.landmarks[f"{side}_sole"]
        assert sole.link == mark.link
        assert np.abs(sole.points.mean(axis=0) - mark.at.position).max() < 1e-12
        assert np.ptp(sole.points[:, 0]) == pytest.approx(0.19, abs=1e-12)
        assert np.ptp(sole.points[:, 1]) == pytest.approx(0.12, abs=1e-12)


def test_models_that_are_no_humanoids_are_refused(figure: uk.ClipFigure) -> None:
    b = uk.Builder("rod")
    b.link("rod", "world", uk.Free(), mass=1, inertia=(1, 1, 1))
    with pytest.raises(uk.InvalidInputError, match="left knee"):
        uk.retarget(figure, b.build())
    fixed = uk.Builder("rod").link("rod", "world", uk.Fixed(), mass=1, inertia=(1, 1, 1)).build()
    with pytest.raises(uk.InvalidInputError, match="free base"):
        uk.retarget(figure, fixed)
    with pytest.raises(uk.UnknownNameError):
        humanoid_parts(uk.human(28), {"left_foot": "nothing"})


@pytest.mark.parametrize(
    ("path", "largest"),
    [
        ("unitree_g1/g1_29dof_rev_1_0.urdf", 0.03),
        pytest.param("mujoco_humanoid/humanoid.xml", 0.06, marks=pytest.mark.oracle),
        ("human_36dof/human.urdf", 0.04),
    ],
)
def test_loaded_humanoids_follow(shared: Path, figure: uk.ClipFigure, path: str, largest: float) -> None:
    file = shared / "models" / path
    if path.endswith(".xml"):
        pytest.importorskip("mujoco", reason="MJCF files need mujoco")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", uk.UkemiWarning)
        model = uk.load(file, base=uk.Free()) if path.endswith(".urdf") else uk.load(file)
    got = uk.retarget(figure, model)
    assert within(model, got.q)
    # ankles of two joints and elbows with limits cannot do everything a person's do
    assert max(got.place_errors.values()) < largest
    feet = [got.place_errors[humanoid_parts(model)[f"{side}_foot"]] for side in ("left", "right")]
    assert max(feet) < 0.01


@pytest.mark.filterwarnings("ignore::ukemi.UkemiWarning")
@pytest.mark.parametrize("name", ["opensim_gait2392/subject01", "hamner_subject01/final"])
def test_opensims_models_follow(shared: Path, figure: uk.ClipFigure, name: str) -> None:
    model = uk.load(shared / "models" / f"{name}.osim", base=uk.Free())
    parts = humanoid_parts(model)
    legs = {part: parts[f"left_{part}"] for part in ("thigh", "shank", "foot")}
    assert legs == {"thigh": "femur_l", "shank": "tibia_l", "foot": "talus_l"}
    assert parts["chest"] == "torso"
    assert parts.get("left_forearm") == (None if "gait" in name else "ulna_l")
    got = uk.retarget(figure, model)
    assert within(model, got.q)
    np.testing.assert_array_equal(got.q, coupled_coordinates(model, got.q))  # knees slide as they bend
    assert max(got.place_errors.values()) < 0.01
    assert max(got.turn_errors.values()) < np.deg2rad(1.7)


def test_a_body_without_arms_follows_with_its_legs_and_says_so(figure: uk.ClipFigure) -> None:
    """Feet go where those of the whole body go."""
    builder = uk.Builder("walker")
    whole = uk.human(28)
    arms = {x.name for x in whole.links if "arm" in x.name or "hand" in x.name}
    builder.description.links += [x for x in whole.description.links if x.name not in arms]
    model = builder.build()
    with pytest.warns(uk.UkemiWarning, match="'walker': no link looks like a forearm: the arms of the motion are left"):
        got = uk.retarget(figure, model)
    theirs = uk.retarget(figure, whole)
    for foot in ("left_foot", "right_foot"):
        mine, wanted = (uk.link_poses(r.model, r.q)[:, r.model.link_index(foot), :3, 3] for r in (got, theirs))
        assert np.abs(mine - wanted).max() < 0.005
    with pytest.raises(uk.UnknownNameError, match="body part"):
        uk.retarget(figure, model, {"tail": "head"})
