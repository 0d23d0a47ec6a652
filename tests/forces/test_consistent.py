"""Motion and forces that agree: Newton's second law by hand, moved and scaled plates, gaps, treadmills, real plates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.forces.made import standing, two_feet

import ukemi as uk
from ukemi.contact.terrain import Ground
from ukemi.dynamics_filter.placed import PlacedClip, place
from ukemi.forces.consistent import ConsistentMotion, consistent_estimate, consistent_with_plates
from ukemi.forces.estimate import ForceEstimate, estimate
from ukemi.forces.folder import find_trials
from ukemi.forces.moments import joint_moments
from ukemi.forces.plates import during, on_feet, seen_whole
from ukemi.model.arrays import Array
from ukemi.motion.ground_forces import GroundForces, read_ground_forces
from ukemi.motion.read import read_motion
from ukemi.motion.synthesis import walk

G = 9.81


def moved(forces: GroundForces, by: tuple[float, float, float] = (0, 0, 0), scale: float = 1.0) -> GroundForces:
    """The same at plates that stand elsewhere [m], or show so many times as much."""
    point = forces.point + by
    return GroundForces(forces.time, forces.names, scale * forces.force, point, scale * forces.torque)


def com(found: ConsistentMotion) -> Array:
    return uk.center_of_mass(found.estimate.model, found.estimate.q)


@pytest.fixture(scope="module")
def stood() -> PlacedClip:
    return place(standing(2.0))


@pytest.fixture(scope="module")
def balanced(stood: PlacedClip) -> ForceEstimate:
    """Who stands still, with the forces of statics."""
    return estimate(stood)


@pytest.fixture(scope="module")
def walked() -> PlacedClip:
    """A walk that its ground forces explain: what the filter makes of one."""
    return place(consistent_estimate(place(walk(2.0)), by_filter=True).motion)


# --- what forces say, the motion does -------------------------------------------------------------------------------


def test_forces_that_a_motion_already_agrees_with_leave_it_as_it_is(walked: PlacedClip) -> None:
    """The filter's walk under the forces that the filter found for it. (Both are cut off at 12 Hz, which rounds the
    forces' corners at touch-down; that is what moves it at all.)"""
    first = consistent_estimate(place(walk(2.0)), by_filter=True)
    found = consistent_with_plates(walked, first.estimate.forces)
    assert found.converged
    assert found.before is not None
    assert found.after.force_rms < 0.3 * found.before.force_rms
    assert found.after.force < 10
    assert found.distances.joint_centres < 3
    assert found.distances.joints < 0.1
    assert found.body is not None
    assert found.body.model.mass == pytest.approx(walked.figure.model.mass, rel=5e-3)


def test_who_is_shaken_by_the_ground_moves_as_newton_says(stood: PlacedClip, balanced: ForceEstimate) -> None:
    """A tenth of the weight up and down, twice a second: the centre of mass moves by A / (m w^2) = 6.2 mm."""
    mass, omega = stood.figure.model.mass, 4 * np.pi
    time = np.arange(0, 2.0001, 0.004)
    static = balanced.forces
    shake = 1 + 0.1 * np.sin(omega * time)
    row = len(static) // 2
    force, point = static.force[row] * shake[:, None, None], np.repeat(static.point[row : row + 1], len(time), axis=0)
    plates = GroundForces(time, static.names, force, point, np.zeros_like(force))
    found = consistent_with_plates(stood, plates, fit_body=False)
    at = found.estimate.forces.time
    height = com(found)[:, 2]
    # a constant and a drift are free: a force says nothing of where the motion begins
    columns = np.stack([np.ones_like(at), at, np.sin(omega * at), np.cos(omega * at)], axis=1)
    _, _, sine, cosine = np.linalg.lstsq(columns, height, rcond=None)[0]
    assert sine == pytest.approx(-0.1 * G / omega**2, rel=0.05)
    assert abs(cosine) < 0.05 * abs(sine)
    assert found.before is not None
    assert found.before.force == pytest.approx(0.1 * mass * G, rel=0.1)
    assert found.after.force < 0.05 * found.before.force


def test_the_body_follows_plates_that_stand_elsewhere(stood: PlacedClip, balanced: ForceEstimate) -> None:
    """Who stands has the centre of mass over the centre of pressure: 1 cm to the side, or else the rest is a moment."""
    found = consistent_with_plates(stood, moved(balanced.forces, (0, 0.01, 0)), fit_body=False)
    weight = stood.figure.model.mass * G
    away = com(found) - uk.center_of_mass(balanced.model, balanced.q[: len(com(found))])
    middle = len(away) // 2  # it may fall at both ends, where nobody sees what comes of it
    assert found.before is not None
    assert found.before.moment == pytest.approx(0.01 * weight, rel=0.1)
    left = -found.estimate.residual[middle, 3] / weight  # what it lacks of the way
    assert away[middle, 1] + left == pytest.approx(0.01, abs=1e-3)
    assert away[middle, 1] > 0.005
    assert np.abs(away[:, [0, 2]]).max() < 1e-3


def test_a_trunk_that_weighs_elsewhere_explains_the_same_without_motion(
    stood: PlacedClip, balanced: ForceEstimate
) -> None:
    found = consistent_with_plates(stood, moved(balanced.forces, (0, 0.01, 0)))
    fixed = consistent_with_plates(stood, moved(balanced.forces, (0, 0.01, 0)), fit_body=False)
    assert found.body is not None
    segment = found.body.model.link(found.body.segment)
    assert segment.mass_properties.mass == max(link.mass_properties.mass for link in found.body.model.links)
    whole = segment.mass_properties.mass / found.body.model.mass * found.body.shift
    assert np.linalg.norm(whole) == pytest.approx(0.01, rel=0.2)  # of the whole body's centre of mass
    assert found.distances.centre_of_mass < 0.3  # of the new body, which is nearly as it was
    assert found.distances.joint_centres < 0.3 * fixed.distances.joint_centres


def test_plates_weigh_the_body(stood: PlacedClip, balanced: ForceEstimate) -> None:
    found = consistent_with_plates(stood, moved(balanced.forces, scale=1.05))
    assert found.body is not None
    assert found.body.model.mass == pytest.approx(1.05 * stood.figure.model.mass, rel=2e-3)
    assert found.estimate.model is found.body.model
    assert found.after.force < 2


def test_a_long_record_is_as_near_as_a_short_one() -> None:
    """Two windows of the solve; without a seam."""
    placed = place(standing(12.0))
    static = estimate(placed).forces
    shake = 1 + 0.05 * np.sin(2 * np.pi * static.time)[:, None, None]
    plates = GroundForces(static.time, static.names, static.force * shake, static.point, static.torque)
    found = consistent_with_plates(placed, plates, fit_body=False)
    assert found.converged
    assert found.before is not None
    assert found.after.force < 0.2 * found.before.force
    assert np.abs(np.diff(found.frames[:, :3], axis=0)).max() < 0.05 / (2 * np.pi) * G * placed.clip.time[1] * 1.5


# --- what is returned agrees with itself ----------------------------------------------------------------------------


def test_torques_forces_and_residual_are_those_of_one_motion(walked: PlacedClip) -> None:
    """Light forces too: no plate says where their centre of pressure is, but they act."""
    found = consistent_with_plates(walked, estimate(walked).forces).estimate
    free = uk.inverse_dynamics(found.model, found.q, found.v, found.a)[:, :6]
    X = uk.link_poses(found.model, found.q)[:, 0]
    needed = np.concatenate([np.einsum("nij,nj->ni", X[:, :3, :3], free[:, k : k + 3]) for k in (0, 3)], axis=1)
    arm = found.forces.point - (found.origin + X[:, :3, 3])[:, None]
    moment = (np.cross(arm, found.forces.force) + found.forces.torque).sum(axis=1)
    residual = needed - np.concatenate([found.forces.total, moment], axis=1)
    assert residual == pytest.approx(found.residual, abs=1e-6)
    assert joint_moments(found).residual == pytest.approx(found.residual, abs=1e-6)
    ankles = joint_moments(found, found.forces)["ankle_dorsiflexion_r_moment"]
    assert ankles == pytest.approx(joint_moments(found)["ankle_dorsiflexion_r_moment"], abs=1.0)


def test_without_plates_less_is_moved_than_by_the_filter_and_little_is_left() -> None:
    placed = place(walk(2.0))
    near, exact = consistent_estimate(placed), consistent_estimate(placed, by_filter=True)
    assert near.before is not None
    assert near.before.force > 50
    assert near.after.force < 20
    assert near.after.moment < 20
    assert exact.converged
    assert exact.after.force < 1e-3
    assert near.distances.joint_centres < 0.7 * exact.distances.joint_centres
    for found in (near, exact):
        assert found.estimate.forces.names == ("right_foot", "left_foot")
        assert len(found.motion) == len(placed.clip)


def test_the_filters_forces_are_those_that_its_motion_needs() -> None:
    """Newton's second law for the whole body."""
    found = consistent_estimate(place(walk(2.0)), by_filter=True).estimate
    p = uk.momentum(found.model, found.q, found.v)[..., :3]
    step = found.forces.time[1] - found.forces.time[0]
    needed = np.gradient(p, step, axis=0) + np.array((0, 0, G * found.model.mass))
    off = (found.forces.total - needed)[5:-5]
    assert np.sqrt((off**2).mean()) < 0.02 * found.model.mass * G


# --- what plates do not see -----------------------------------------------------------------------------------------


def test_nothing_is_asked_while_a_foot_stands_beside_the_plates(stood: PlacedClip, balanced: ForceEstimate) -> None:
    forces = balanced.forces
    late = forces.time >= 1.0
    plates = GroundForces(
        forces.time, forces.names, forces.force * (1 - 0.3 * late)[:, None, None], forces.point, forces.torque
    )
    told = consistent_with_plates(stood, plates, seen=~late)
    untold = consistent_with_plates(stood, plates)
    assert told.counts.mean() == pytest.approx(0.5, abs=0.1)
    assert told.distances.centre_of_mass < 1
    assert told.body is not None
    assert told.body.model.mass == pytest.approx(stood.figure.model.mass, rel=0.02)
    assert untold.distances.centre_of_mass > 5  # else the body falls


def test_who_stands_on_a_box_that_nobody_measures_is_left_there(stood: PlacedClip, balanced: ForceEstimate) -> None:
    forces = balanced.forces
    on = (forces.time >= 1.0)[:, None, None]
    plates = GroundForces(forces.time, forces.names, forces.force * on, forces.point, forces.torque)
    found = consistent_with_plates(stood, plates)
    assert 0.2 < found.counts.mean() < 0.6
    assert found.distances.centre_of_mass < 3


def test_a_belt_carries_the_body_and_not_the_plates() -> None:
    """The same walk over the ground, and on a belt that brings it back: the same motion is found."""
    clip = walk(2.0)
    speed = float((clip.translations[0][-1] - clip.translations[0][0])[0] / clip.time[-1])
    back = np.outer(clip.time, (speed, 0, 0))
    treadmill = clip.with_motion(clip.rotations, {j: p - back if j == 0 else p for j, p in clip.translations.items()})
    over = place(clip, belt=False)
    on = place(treadmill, terrain=Ground(velocity=(-speed, 0, 0)))
    forces = estimate(over).forces
    shift = np.stack([np.interp(forces.time, clip.time, back[:, i]) for i in range(3)], axis=1)
    plates = GroundForces(forces.time, forces.names, forces.force, forces.point - shift[:, None], forces.torque)
    here, there = consistent_with_plates(over, forces), consistent_with_plates(on, plates)
    assert there.before is not None
    assert here.before is not None
    assert there.before.force_rms == pytest.approx(here.before.force_rms, rel=1e-2)
    assert there.before.moment_rms == pytest.approx(here.before.moment_rms, rel=1e-2)
    assert there.distances.joint_centres == pytest.approx(here.distances.joint_centres, rel=0.05)
    ways = here.motion.translations[0] - there.motion.translations[0]
    assert ways - ways[0] == pytest.approx(back, abs=2e-3)


def test_plates_of_another_time_place_or_unit_are_refused(stood: PlacedClip, balanced: ForceEstimate) -> None:
    forces = balanced.forces
    with pytest.raises(uk.InvalidInputError, match=r"read from 100 to 10\d.* s, the motion lasts from 0 to 2 s"):
        consistent_with_plates(stood, replace(forces, time=forces.time + 100))
    with pytest.raises(uk.InvalidInputError, match="are they in newtons"):
        consistent_with_plates(stood, moved(forces, scale=1e-3))
    with pytest.raises(uk.UnknownNameError, match="left_paw"):
        consistent_with_plates(stood, replace(forces, names=("right_foot", "left_paw")))
    one = two_feet(np.zeros(1), np.full(1, 300.0), np.full(1, 300.0))
    with pytest.raises(uk.InvalidInputError, match="two samples or more"):
        consistent_with_plates(stood, one)


# --- force plates ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["hamner_subject01/run", "hamner_subject02/run", "opencap_subject3/walking"])
def test_residuals_with_plates_are_below_what_addbiomechanics_leaves(shared: Path, words: str) -> None:
    """Peaks of 14 N and 16 N m, its means over ten runners [Werling et al. 2023]; joints stay within 0.2 degrees."""
    trials = [t for t in find_trials(shared / "motions" / "forceplate") if words in t.name and t.source == "ik"]
    if not trials:
        pytest.skip("needs trials with force plates in ../shared/motions/forceplate")
    for trial in trials[:2]:
        clip = read_motion(trial.motion, skeleton=trial.skeleton)
        placed = place(clip, mass=trial.mass, sex=trial.sex)
        model, soles = placed.figure.model, placed.figure.soles
        X = uk.link_poses(model, placed.q)
        ways = clip.time[:, None] * placed.ground.velocity
        feet = {
            sole.link: (clip.start + clip.time, X[:, model.link_index(sole.link), :3, 3] + ways)
            for sole in (soles["right"], soles["left"])
        }
        assert trial.plates is not None
        measured = on_feet(during(read_ground_forces(trial.plates), clip.start, clip.start + clip.duration), feet)
        found = consistent_with_plates(placed, measured, seen=seen_whole(estimate(placed).forces, measured))
        assert found.converged
        assert found.after.force < 14
        assert found.after.moment < 16
        assert found.counts.mean() > 0.8
        assert found.distances.joints < 0.2
        assert found.distances.joint_centres < 10
