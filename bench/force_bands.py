"""How often bands of 90 % hold what plates measured, by activity and component, for a folder of trials.

    python bench/force_bands.py FOLDER [--source ik] [--level 0.9]

FOLDER as for ``ukemi bench forces``. The inflation of a component (`ukemi.forces.uncertainty.INFLATION`) is chosen so
that bands hold 90 % of the samples of stance; every activity, from markers and from coordinates, counts the same. Each
trial is judged with what the trials of all other subjects chose (folders are of one subject where the name of one
begins with the other's). What counts: samples in which the foot bears more than 20 N by plates or estimate (centre of
pressure: 10 % of body weight by plates) and no foot stands beside the plates. Forces as measured; moments by inverse
dynamics of the same figure with plates smoothed at the motion's cut-off.

Prints, for each component: what all trials together choose; least and most that they choose without one subject; how
much is covered of all samples, in the mean over trials, and in the worst of them; and by activity and source, with the
mean width of the bands behind the stroke, over the range that plates measure (of a foot in a trial). ``--standing``:
with the inflation that the package has, which was chosen on its development trials.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ukemi.dynamics_filter.placed import place
from ukemi.errors import UkemiError, UkemiWarning
from ukemi.forces.agreement import GRAVITY, LOADED, STANCE, resampled
from ukemi.forces.folder import FolderTrial, find_trials
from ukemi.forces.scores import run_trial
from ukemi.forces.uncertainty import INFLATION, MASS, PRESSURE, bands, force_curves, joint_curves
from ukemi.model.arrays import Array

ACTIVITIES = ("walk", "run", "squat", "jump", "other")


@dataclass(frozen=True)
class Errors:
    """Of one component in one trial: how far off it is, in half widths without inflation (samples,); those widths over
    the measured range."""

    share: Array
    width: float


@dataclass(frozen=True)
class Checked:
    """A trial's errors by component; the folder it is in; kind: activity and source of the motion; seconds of
    processor time of its bands."""

    name: str
    folder: str
    kind: str
    errors: dict[str, Errors]
    seconds: float


def check(trial: FolderTrial, level: float) -> Checked:
    found = run_trial(trial)
    measured, seen = found.measured, found.seen
    assert measured is not None
    assert found.measured_moments is not None
    assert seen is not None
    placed = place(found.clip, mass=found.mass, height=found.height, sex=trial.sex)
    begun = time.process_time()
    ones = dict.fromkeys(INFLATION, 1.0)
    band = bands(placed, found.estimate, found.forward, level=level, mass_error=MASS[found.mass_from], inflation=ones)
    seconds = time.process_time() - begun
    clock, feet = found.forces.time, found.forces.names[: len(measured.names)]
    at = measured.time[(measured.time >= clock[0]) & (measured.time <= clock[-1])]
    mine = force_curves(found.forces, band.axes, feet)
    truth = {c: resampled(at, measured.time, x) for c, x in force_curves(measured, band.axes, feet).items()}
    estimate = {c: resampled(at, clock, x) for c, x in mine.items()}
    half = {c: resampled(at, clock, x[:, : len(feet)]) for c, x in band.half.items() if c in mine}
    whole = resampled(at, measured.time, seen.astype(float))[:, None] > 0.99
    stance = whole & (np.maximum(estimate["vertical"], truth["vertical"]) > STANCE)
    loaded = stance & (truth["vertical"] > LOADED * found.mass * GRAVITY) & (estimate["vertical"] > STANCE)
    errors = {c: _errors(loaded if c in PRESSURE else stance, estimate[c] - truth[c], half[c], truth[c]) for c in truth}
    known = found.measured_moments.time
    on_clock = resampled(known, at, stance.astype(float)) > 0.99
    joints = joint_curves(found.measured_moments)
    for c, x in joint_curves(found.moments).items():
        x, wide = resampled(known, clock, x), resampled(known, clock, band.half[c])
        errors[c] = _errors(on_clock, x - joints[c], wide, joints[c])
    return Checked(trial.name, Path(trial.name).parent.name, f"{trial.activity} {trial.source}", errors, seconds)


def _errors(counts: NDArray[np.bool_], off: Array, half: Array, truth: Array) -> Errors:
    ranges = [np.ptp(truth[counts[:, k], k]) for k in range(truth.shape[1]) if counts[:, k].sum() > 2]
    share = np.abs(off[counts]) / np.maximum(half[counts], 1e-9)
    return Errors(share, 2 * float(half[counts].mean()) / float(np.mean(ranges)))


def chosen(trials: list[Checked], component: str, level: float) -> float:
    """The inflation with which that share of samples lies in the band: every kind counts the same, and every trial of a
    kind."""
    found = [(t.kind, t.errors[component].share) for t in trials if len(t.errors[component].share)]
    alike = Counter(kind for kind, _ in found)
    weights = np.concatenate([np.full(len(x), 1 / len(x) / alike[kind]) for kind, x in found])
    every = np.concatenate([x for _, x in found])
    order = every.argsort()
    upto = weights[order].cumsum()
    return float(every[order][np.searchsorted(upto, level * upto[-1])])


def main() -> None:
    about, _, _ = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--source", choices=("ik", "markers", "both"), default="both")
    parser.add_argument("--level", type=float, default=0.9)
    parser.add_argument("--standing", action="store_true", help="with the package's inflation: nothing is chosen")
    asked = parser.parse_args()
    trials, missing = [], []
    for trial in find_trials(asked.folder):
        if asked.source not in ("both", trial.source):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UkemiWarning)
                trials.append(check(trial, asked.level))
        except UkemiError as error:
            missing.append(f"{trial.name}: {error}")
    show(trials, asked.level, asked.standing)
    print(f"\n{len(trials)} trials, {np.mean([t.seconds for t in trials]):.2f} s of processor time each for bands")
    print("\n".join(missing))


def show(trials: list[Checked], level: float, standing: bool) -> None:
    folders = {trial.folder for trial in trials}
    subject = {folder: min(other for other in folders if folder.startswith(other)) for folder in folders}
    kinds = sorted({trial.kind for trial in trials}, key=lambda kind: (ACTIVITIES.index(kind.split()[0]), kind))
    print("| component | inflation | without a subject | samples | trials | least |", " | ".join(kinds), "|")
    print("|" + "---|" * (6 + len(kinds)))
    for c in INFLATION:
        factor = {
            folder: INFLATION[c]
            if standing
            else chosen([t for t in trials if subject[t.folder] != subject[folder]], c, level)
            for folder in folders
        }
        inside = {t.name: t.errors[c].share <= factor[t.folder] for t in trials if len(t.errors[c].share)}
        covered = {name: float(x.mean()) for name, x in inside.items()}
        cells = [c, f"{chosen(trials, c, level):.2f}", f"{min(factor.values()):.2f}-{max(factor.values()):.2f}"]
        cells += [f"{np.concatenate(list(inside.values())).mean():.3f}", f"{np.mean(list(covered.values())):.3f}"]
        cells += [f"{min(covered.values()):.2f}"]
        for kind in kinds:
            mine = [t for t in trials if t.kind == kind and t.name in covered]
            width = np.mean([factor[t.folder] * t.errors[c].width for t in mine])
            cells.append(f"{np.mean([covered[t.name] for t in mine]):.2f} / {width:.2f}")
        print("|", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
