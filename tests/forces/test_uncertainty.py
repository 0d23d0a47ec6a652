"""Bands of forces: propagation where it is linear, similar bodies, made truth inside, and plates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtri
from tests.forces.made import standing

import ukemi as uk
from ukemi.dynamics_filter.placed import PlacedClip, place
from ukemi.dynamics_filter.trajectory.points import leg_length
from ukemi.errors import InvalidInputError
from ukemi.forces.agreement import STANCE, resampled
from ukemi.forces.ensemble import AHEAD, ASIDE, DESIGN, LEGS, OFTEN, SWAY, cases, disturbed, scatter
from ukemi.forces.estimate import GRAVITY, ForceEstimate, estimate
from ukemi.forces.folder import find_trials
from ukemi.forces.moments import joint_moments
from ukemi.forces.scores import run_trial
from ukemi.forces.uncertainty import INFLATION, MASS, UNKNOWN, ForceBands, bands, force_curves
from ukemi.motion.clip import Clip
from ukemi.motion.synthesis import walk

ONE = dict.fromkeys(INFLATION, 1.0)
AXES = np.array(((1.0, 0, 0), (0, -1, 0), (0, 0, 1)))
UNKNOWNS = ("ahead", "aside", "legs", "sway", "smoothing", "contact", "line")


def only(**off: float) -> np.ndarray:
    """So many standard deviations of each unknown, of others none."""
    return np.array([off.get(name, 0.0) for name in UNKNOWNS])


@pytest.fixture(scope="module")
def walking() -> PlacedClip:
    return place(walk(1.5, skate=0.0, floating=0.0))


@pytest.fixture(scope="module")
def found(walking: PlacedClip) -> ForceEstimate:
    return estimate(walking)


@pytest.fixture(scope="module")
def walked(walking: PlacedClip, found: ForceEstimate) -> ForceBands:
    return bands(walking, found)


def scaled(clip: Clip, by: float) -> Clip:
    """The same motion of a body so many times as long, in gravity's own time: every force over weight stays."""
    skeleton = replace(
        clip.skeleton,
        offsets=by * clip.skeleton.offsets,
        ends=tuple((joint, by * place) for joint, place in clip.skeleton.ends),
    )
    places = {joint: by * place for joint, place in clip.translations.items()}
    return Clip(skeleton, clip.fps / np.sqrt(by), clip.rotations, places, name=clip.name)


def leaping(height: float) -> Clip:
    """Somebody who stands, and between is in the air without moving a limb; feet rise by the height [m]."""
    clip, time = standing(2.0), standing(2.0).time
    rise = np.clip(height - 0.5 * 9.81 * (time - 1.0) ** 2, 0.0, None)
    places = {j: p + (rise[:, None] * (0.0, 0.0, 1.0) if j == 0 else 0.0) for j, p in clip.translations.items()}
    return clip.with_motion(clip.rotations, places)


def test_the_scatter_of_what_is_linear_is_its_standard_deviation() -> None:
    rng = np.random.default_rng(4)
    effects, centre = rng.standard_normal((7, 20, 3)), rng.standard_normal((20, 3))
    linear = [centre + np.tensordot(signs, effects, 1) for signs in DESIGN]
    found = scatter({"f": centre}, ({"f": case} for case in linear))
    assert found["f"] == pytest.approx(np.sqrt((effects**2).sum(axis=0)))
    assert np.mean(linear, axis=0) == pytest.approx(centre)


def test_every_unknown_is_off_by_as_much_as_it_says(walking: PlacedClip) -> None:
    model, leg = walking.figure.model, leg_length(walking.figure.model, walking.figure.soles)
    before = uk.center_of_mass(model, walking.q)
    trunk = sum(model.link(name).mass_properties.mass for name in ("pelvis", "abdomen", "chest"))

    def shift(**off: float) -> np.ndarray:
        moved = disturbed(walking, only(**off))[0].figure.model
        assert moved.mass == pytest.approx(model.mass, rel=1e-12)
        return (uk.center_of_mass(moved, walking.q) - before).mean(axis=0) * model.mass / trunk / leg

    assert shift(ahead=1) == pytest.approx((AHEAD, 0, 0), abs=0.15 * AHEAD)  # an upright trunk, which turns a little
    assert shift(aside=1) == pytest.approx((0, ASIDE, 0), abs=0.1 * ASIDE)
    heavy = disturbed(walking, only(legs=1))[0].figure.model
    for link in ("left_thigh", "right_shank", "left_foot"):
        share = heavy.link(link).mass_properties.mass / model.link(link).mass_properties.mass
        assert share == pytest.approx(1 + LEGS)
    swayed = disturbed(walking, only(sway=1))[0]
    pushed = np.gradient(np.gradient(swayed.q[:, :3] - walking.q[:, :3], axis=0), axis=0)[2:-2] * walking.clip.fps**2
    periods = walking.clip.duration * OFTEN * np.sqrt(GRAVITY / leg)  # two of them and a bit
    assert np.sqrt((pushed**2).mean()) == pytest.approx(SWAY * GRAVITY, rel=0.5 / periods)


def test_nothing_off_is_the_estimate_itself(walking: PlacedClip, found: ForceEstimate) -> None:
    same = estimate(*disturbed(walking, only()))
    assert np.abs(same.forces.force - found.forces.force).max() < 1e-6 * 9.81 * found.model.mass


def test_the_same_clip_has_the_same_bands(walking: PlacedClip, found: ForceEstimate, walked: ForceBands) -> None:
    again = bands(walking, found)
    for name, half in walked.half.items():
        assert np.array_equal(again.half[name], half), name


def test_bands_hold_truths_that_differ_as_the_unknowns_do(walking: PlacedClip, found: ForceEstimate) -> None:
    """Twelve made persons, whose unknowns are drawn from the normal law: 90 % of their forces lie within 1.645 standard
    deviations, if three components of forces are near enough linear in seven unknowns."""
    parts = found.forces.names[:2]
    centre = force_curves(found.forces, AXES, parts)
    sigma = scatter(centre, (force_curves(case.forces, AXES, parts) for case in cases(walking)))
    rng, inside = np.random.default_rng(7), []
    stands = centre["vertical"] > STANCE
    for _ in range(12):
        truth = force_curves(estimate(*disturbed(walking, rng.standard_normal(7))).forces, AXES, parts)
        for name in ("anterior", "lateral", "vertical"):
            inside.append(np.abs(truth[name] - centre[name])[stands] <= ndtri(0.95) * sigma[name][stands])
    assert 0.82 < np.mean(inside) < 0.97


def test_bands_of_a_shorter_body_are_shorter_by_its_size() -> None:
    """Similar motions of similar bodies: forces scale with weight, lengths with l, moments with both."""
    clip, by = walk(1.0, skate=0.0, floating=0.0), 0.63
    halves = []
    for size in (1.0, by):
        placed = place(scaled(clip, size), mass=70.0 * size**3, height=1.75 * size)
        halves.append(bands(placed, estimate(placed)).half)
    large, small = halves
    for name, half in large.items():
        unit = by if name.startswith("pressure") else by**3 if name in ("anterior", "lateral", "vertical") else by**4
        assert np.abs(small[name] / unit - half).max() < 0.03 * half.max(), name


def test_in_flight_there_is_no_force_and_no_band() -> None:
    placed = place(leaping(0.35))
    found = estimate(placed)
    band = bands(placed, found)
    aloft = np.abs(found.forces.time - 1.0) < 0.1
    assert (band.force[aloft] == 0).all()
    assert (band.pressure[aloft] == 0).all()
    assert (band.free_moment[aloft] == 0).all()
    stands = found.forces.time < 0.5
    assert (band.half["vertical"][stands] > 0.02 * 9.81 * found.model.mass).all()


def test_an_unsure_mass_widens_forces_in_proportion(walking: PlacedClip, found: ForceEstimate) -> None:
    unsure, sure = (bands(placed=walking, found=found, mass_error=e, inflation=ONE) for e in (MASS["height"], 0.0))
    mass = np.sqrt(unsure.half["vertical"] ** 2 - sure.half["vertical"] ** 2)
    assert mass == pytest.approx(ndtri(0.95) * MASS["height"] * np.abs(found.forces.force[..., 2]), abs=1e-3)


def test_bands_are_at_least_what_nobody_knows(found: ForceEstimate, walked: ForceBands) -> None:
    least = ndtri(0.95) * INFLATION["vertical"] * UNKNOWN["vertical"] * found.forces.force[..., 2]
    assert (walked.half["vertical"] >= least * (1 - 1e-9)).all()


def test_a_higher_level_has_wider_bands(walking: PlacedClip, found: ForceEstimate, walked: ForceBands) -> None:
    wider = bands(walking, found, level=0.99)
    ratio = ndtri(0.995) / ndtri(0.95)
    assert wider.force == pytest.approx(ratio * walked.force)
    with pytest.raises(InvalidInputError, match="between 0 and 1"):
        bands(walking, found, level=90)


def test_bands_are_found_by_the_names_of_moments_and_along_the_worlds_axes(
    found: ForceEstimate, walked: ForceBands
) -> None:
    for name in joint_moments(found).names:
        assert walked.moment(name).shape == (len(found.forces),)
    assert np.array_equal(walked.moment("knee_flexion_l_moment"), walked.half["knee_flexion"][:, 1])
    quarter = np.array(((0.0, 1, 0), (-1, 0, 0), (0, 0, 1)))
    assert walked.along(np.eye(3)) == pytest.approx(walked.force)  # who goes along x
    assert walked.along(quarter)[..., 0] == pytest.approx(walked.force[..., 1])


@pytest.mark.parametrize("words", ["opencap_subject2/walking1_ik", "hamner_subject02/run300_ik", "subject3/squats1_ik"])
def test_bands_of_90_percent_hold_what_plates_measured(shared: Path, words: str) -> None:
    """One trial, on which the inflation was chosen among others: more than 80 %; on average as wide as a quarter of
    the range of the vertical force at most."""
    trial = next((t for t in find_trials(shared / "motions" / "forceplate") if t.name.endswith(words)), None)
    if trial is None:
        pytest.skip("needs trials with force plates in ../shared/motions/forceplate")
    found = run_trial(trial)
    assert found.measured is not None
    assert found.seen is not None
    placed = place(found.clip, mass=found.mass, sex=trial.sex)
    band = bands(placed, found.estimate, found.forward, mass_error=MASS[found.mass_from])
    clock, parts = found.measured.time, found.measured.names
    truth = force_curves(found.measured, band.axes, parts)
    mine = {c: resampled(clock, found.forces.time, x) for c, x in force_curves(found.forces, band.axes, parts).items()}
    stands = (truth["vertical"] > STANCE) & found.seen[:, None] & (clock <= found.forces.time[-1])[:, None]
    for name in ("anterior", "lateral", "vertical"):
        half = resampled(clock, found.forces.time, band.half[name][:, :2])
        assert np.mean((np.abs(mine[name] - truth[name]) <= half)[stands]) > 0.8, name
    assert 2 * resampled(clock, found.forces.time, band.half["vertical"][:, :2])[stands].mean() < 0.25 * np.ptp(
        truth["vertical"][stands]
    )
