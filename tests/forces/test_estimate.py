"""Forces of a motion as it is: statics, the momentum theorem, moments by hand, and plates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.forces.made import standing

import ukemi as uk
from ukemi.dynamics_filter.placed import place
from ukemi.forces.estimate import ForceEstimate, estimate
from ukemi.forces.folder import find_trials
from ukemi.forces.moments import joint_moments
from ukemi.forces.scores import Score, score
from ukemi.forces.setting import STANDARD, ForceSettings
from ukemi.forces.trial import estimate_forces
from ukemi.motion.synthesis import walk


@pytest.fixture(scope="module")
def still() -> ForceEstimate:
    return estimate(place(standing()))


@pytest.fixture(scope="module")
def walking() -> ForceEstimate:
    return estimate(place(walk(3.0, skate=0.0, floating=0.0)))


def test_who_stands_is_carried_under_the_centre_of_mass(still: ForceEstimate) -> None:
    weight = 9.81 * still.model.mass
    total = still.forces.total
    assert total[:, 2] == pytest.approx(weight, rel=5e-3)
    assert np.abs(total[:, :2]).max() < 1e-2 * weight
    share = still.forces.force[..., 2:] / total[:, None, 2:]
    pressure = (share * still.forces.point).sum(axis=1)
    com = uk.center_of_mass(still.model, still.q) + still.origin
    assert np.abs(pressure - com)[:, :2].max() < 5e-3


def test_the_ankle_of_who_stands_holds_what_is_ahead_of_it(still: ForceEstimate) -> None:
    """Statics of a foot: the moment about its ankle is that of the ground's force, and of its own weight."""
    moments = joint_moments(still)
    X = uk.link_poses(still.model, still.q)
    for k, side in enumerate(("right", "left")):
        foot = still.model.link(f"{side}_foot")
        parts = [foot, *foot.children]
        ankle = X[0, foot.index, :3, 3] + still.origin[0]
        about = np.cross(still.forces.point[0, k] - ankle, still.forces.force[0, k]) + still.forces.torque[0, k]
        for part in parts:
            body = part.mass_properties
            com = (X[0, part.index] @ np.append(body.com, 1))[:3] + still.origin[0]
            about += np.cross(com - ankle, (0, 0, -9.81 * body.mass))
        left = X[0, still.model.link_index("left_thigh"), :3, 3] - X[0, still.model.link_index("right_thigh"), :3, 3]
        across = left / np.linalg.norm(left)  # nearly the ankle's axis
        mine = moments[f"ankle_dorsiflexion_{side[0]}_moment"][0]
        assert mine == pytest.approx(about @ across, abs=0.05 * float(np.linalg.norm(about)) + 0.2)
        assert mine < 0 or still.forces.point[0, k, 0] < ankle[0]  # calves hold who leans forward


def test_over_a_walk_the_ground_gives_back_weight_and_momentum(walking: ForceEstimate) -> None:
    time, model = walking.forces.time, walking.model
    p = uk.momentum(model, walking.q, walking.v)[..., :3]
    gained = p[-1] - p[0] + (0, 0, 9.81 * model.mass * (time[-1] - time[0]))
    from scipy.integrate import trapezoid

    total = walking.forces.total + walking.residual[:, :3]
    given = trapezoid(total, time, axis=0)
    assert np.abs(given - gained).max() < 2e-3 * np.linalg.norm(gained)


def test_feet_bear_in_turn_and_swing_free(walking: ForceEstimate) -> None:
    weight = 9.81 * walking.model.mass
    vertical = walking.forces.force[..., 2] / weight
    assert (vertical >= -1e-6).all()
    for k in (0, 1):
        assert (vertical[:, k] < 1e-3).mean() > 0.15  # swing
        assert (vertical[:, k] > 0.9).mean() > 0.2  # single support
    assert np.abs(walking.residual[20:-20, :3]).max() < 0.2 * weight  # a made walk is not feasible
    friction = np.linalg.norm(walking.forces.force[..., :2], axis=-1)
    assert (friction <= 0.8 * walking.forces.force[..., 2] + 1e-3 * weight).all()


def test_powers_of_a_joint_add_up_to_its_torque_times_its_turning(walking: ForceEstimate) -> None:
    moments = joint_moments(walking)
    for joint, part in (("hip", "thigh"), ("knee", "shank"), ("ankle", "foot")):
        link = walking.model.link(f"right_{part}")
        whole = (walking.tau[:, link.v] * walking.v[:, link.v]).sum(axis=1)
        mine = [k for k, name in enumerate(moments.names) if name.startswith(joint) and name.endswith("_r_moment")]
        assert moments.power[:, mine].sum(axis=1) == pytest.approx(whole, abs=1e-6 * np.abs(whole).max())


def test_its_own_forces_given_as_measured_give_its_own_moments(walking: ForceEstimate) -> None:
    mine, again = joint_moments(walking), joint_moments(walking, walking.forces)
    assert np.abs(mine.moments - again.moments).max() < 2e-3 * np.abs(mine.moments).max()


def test_a_child_has_a_childs_forces() -> None:
    """Scaled in length, and in time by its root, the same motion needs the same shares of body weight."""
    clip = walk(2.0, skate=0.0, floating=0.0)
    scale = 0.6
    small = replace(
        clip,
        skeleton=replace(
            clip.skeleton,
            offsets=scale * clip.skeleton.offsets,
            ends=tuple((j, scale * p) for j, p in clip.skeleton.ends),
        ),
        translations={j: scale * p for j, p in clip.translations.items()},
        fps=clip.fps / np.sqrt(scale),
        raw=None,
        layout=None,  # type: ignore[arg-type]
    )
    big, little = (estimate(place(c)) for c in (clip, small))
    shares = [e.forces.force / (9.81 * e.model.mass) for e in (big, little)]
    assert len(shares[0]) == len(shares[1])
    assert np.abs(shares[0] - shares[1]).max() < 0.02


def test_wrong_settings_and_inputs_are_refused() -> None:
    with pytest.raises(uk.InvalidInputError, match=r"ForceSettings\.line: expected positive numbers"):
        ForceSettings(line=-1)
    with pytest.raises(uk.InvalidInputError, match="cutoff"):
        estimate_forces(walk(1.0), cutoff=-3)
    with pytest.raises(uk.InvalidInputError, match="a clip or its file"):
        estimate_forces(3)  # type: ignore[arg-type]


# --- force plates -----------------------------------------------------------------------------------------------------


def scores(shared: Path, words: str) -> list[Score]:
    trials = [t for t in find_trials(shared / "motions" / "forceplate") if t.source == "ik" and words in t.name]
    if not trials:
        pytest.skip("needs trials with force plates in ../shared/motions/forceplate")
    rows = [score(t) for t in trials if t.skeleton is not None]
    assert not [row.error for row in rows if row.error]
    return rows


@pytest.mark.parametrize(
    ("words", "v", "a", "l", "cop"),
    # what was measured (ukemi bench forces), and a quarter more
    [("/walking", 6.0, 9.5, 12.5, 19.0), ("/run", 4.3, 7.0, 18.5, 28.0), ("/squats", 6.2, 23.0, 31.0, 45.0)],
)
def test_forces_are_near_those_of_plates(shared: Path, words: str, v: float, a: float, l: float, cop: float) -> None:
    rows = scores(shared, words)
    means = {name: np.mean([getattr(row, name) for row in rows]) for name in ("v", "a", "l", "cop", "r")}
    assert means["v"] < v
    assert means["a"] < a
    assert means["l"] < l
    assert means["cop"] < cop
    assert means["r"] > 0.98


def test_sagittal_moments_of_walks_are_near_those_by_plates(shared: Path) -> None:
    rows = scores(shared, "/walking")
    for joint, bound in (("hip", 0.16), ("knee", 0.12), ("ankle", 0.16)):
        assert np.mean([getattr(row, joint) for row in rows]) < bound


def test_without_the_limbs_line_feet_no_longer_brake_and_drive(shared: Path) -> None:
    """The price of what is off the line to the hip is what tells horizontal forces of the feet in double support."""
    trial = next(t for t in find_trials(shared / "motions" / "forceplate") if t.name.endswith("walking1_ik"))
    clip = uk.read_motion(trial.motion, skeleton=trial.skeleton)
    placed = place(clip, mass=trial.mass)
    from ukemi.forces.agreement import agreement
    from ukemi.forces.trial import TrialForces

    found: TrialForces = estimate_forces(clip, trial.plates, mass=trial.mass)
    assert found.measured is not None
    errors = [
        agreement(e.forces, found.measured, found.mass, forward=found.forward, valid=found.seen).foot["anterior"].rrmse
        for e in (estimate(placed), estimate(placed, replace(STANDARD, line=0.0)))
    ]
    assert errors[1] > 1.3 * errors[0]
