"""One trial with plates as a row of numbers: how far its estimated forces and moments are from measured ones."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ukemi.errors import InvalidInputError, UkemiError, UkemiWarning
from ukemi.forces.agreement import COMPONENTS
from ukemi.forces.folder import FolderTrial
from ukemi.forces.inverse import JointMoments
from ukemi.forces.trial import TrialForces, estimate_forces

#: Sagittal moments that are compared.
SAGITTAL = ("hip_flexion", "knee_flexion", "ankle_dorsiflexion")


@dataclass(frozen=True)
class Score:
    """Of one trial; or the error that kept it from having one.

    v, a, l: relative RMSE per foot [%], cop: median distance [mm], r: correlation of vertical forces, free: RMSE of the
    free moment [N m/kg], peak: largest vertical force, estimated less measured, mean of its size [% of body weight].
    hip, knee, ankle: RMS difference of sagittal moments, by estimated and by measured forces, same figure [N m/kg];
    peaks: of their extremes, mean of its size [%]. residual_force [N], residual_moment [N m]: largest, with plates.
    seen: share of the samples in which no foot stands beside the plates. seconds: of processor time.
    """

    trial: str
    source: str
    activity: str
    v: float = float("nan")
    a: float = float("nan")
    l: float = float("nan")
    cop: float = float("nan")
    r: float = float("nan")
    free: float = float("nan")
    peak: float = float("nan")
    hip: float = float("nan")
    knee: float = float("nan")
    ankle: float = float("nan")
    peaks: float = float("nan")
    residual_force: float = float("nan")
    residual_moment: float = float("nan")
    seen: float = float("nan")
    seconds: float = float("nan")
    error: str = ""


def score(trial: FolderTrial) -> Score:
    """Estimates the forces of a trial and compares them with its plates."""
    begun = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UkemiWarning)
            found = run_trial(trial)
    except UkemiError as error:
        return Score(trial.name, trial.source, trial.activity, error=f"{type(error).__name__}: {error}")
    return score_of(trial, found, time.process_time() - begun)


def run_trial(trial: FolderTrial, *, consistent: bool = False) -> TrialForces:
    """The forces of a trial of a folder, beside its plates; consistent: with residuals reduced."""
    from ukemi.motion.markers import read_markers
    from ukemi.motion.read import read_motion

    plates: object = trial.plates
    if plates is None:
        plates = read_markers(trial.motion).forces
        if plates is None:
            raise InvalidInputError(f"{trial.motion}: no plates in the file, and no file of plates beside it")
    clip = read_motion(trial.motion, skeleton=trial.skeleton, static=trial.static)
    return estimate_forces(clip, plates, mass=trial.mass, height=trial.height, sex=trial.sex, consistent=consistent)  # type: ignore[arg-type]


def score_of(trial: FolderTrial, found: TrialForces, seconds: float) -> Score:
    """The numbers of a trial whose forces are known."""
    fit, measured, seen = found.agreement, found.measured_moments, found.seen
    assert fit is not None
    assert measured is not None
    assert seen is not None
    assert found.measured is not None
    counts = np.interp(measured.time, found.measured.time, seen.astype(np.float64)) > 0.99
    differences, peaks = moment_differences(found.moments, measured, counts, found.mass)
    force, moment = found.measured_residual or (float("nan"), float("nan"))
    anterior, lateral, vertical = (fit.foot[name] for name in COMPONENTS)
    return Score(
        trial.name,
        trial.source,
        trial.activity,
        v=vertical.rrmse,
        a=anterior.rrmse,
        l=lateral.rrmse,
        cop=float("nan") if fit.cop is None else fit.cop.median,
        r=vertical.r,
        free=fit.foot["free_moment"].rmse,
        peak=fit.peak["vertical_max"].mae,
        hip=differences["hip"],
        knee=differences["knee"],
        ankle=differences["ankle"],
        peaks=peaks,
        residual_force=force,
        residual_moment=moment,
        seen=float(seen.mean()),
        seconds=seconds,
    )


def moment_differences(
    mine: JointMoments, measured: JointMoments, counts: NDArray[np.bool_], mass: float
) -> tuple[dict[str, float], float]:
    """RMS differences of sagittal moments by joint [N m/kg], and the mean size of that of their extremes [%].

    counts: samples of the measured ones that do.
    """
    out, peaks = {}, []
    for name in SAGITTAL:
        columns = [f"{name}_{side}_moment" for side in "rl"]
        pairs = [
            (np.interp(measured.time, mine.time, mine[column])[counts], measured[column][counts]) for column in columns
        ]
        out[name.split("_")[0]] = float(np.sqrt(np.mean([(a - b) ** 2 for a, b in pairs]))) / mass
        peaks += [abs(np.abs(a).max() / np.abs(b).max() - 1) for a, b in pairs if len(b) and np.abs(b).max() > 0]
    return out, 100 * float(np.mean(peaks)) if peaks else float("nan")
