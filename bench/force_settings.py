"""How much the setting of force estimation owes to the subjects that it was chosen on.

    python bench/force_settings.py FOLDER [--draws 40 --seed 1]

Prices and scales are drawn around the package's (each by a factor of up to 2 either way). For every subject: its mean
error with the package's setting, with the best of the draws for all other subjects, and with the best for itself. An
error is the mean of V, A, L and the distance of the centres of pressure, each over its mean for the package's setting.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ukemi.dynamics_filter.placed import PlacedClip, place
from ukemi.errors import UkemiError, UkemiWarning
from ukemi.forces.agreement import COMPONENTS, agreement
from ukemi.forces.estimate import estimate
from ukemi.forces.folder import find_trials
from ukemi.forces.scores import run_trial
from ukemi.forces.setting import STANDARD, ForceSettings
from ukemi.forces.trial import TrialForces
from ukemi.motion.ground_forces import GroundForces

DRAWN = ("height", "speed", "line", "force", "moment", "spread")


@dataclass
class Trial:
    """A trial with its plates on the feet."""

    subject: str
    placed: PlacedClip
    found: TrialForces


def trials(folder: Path, source: str) -> list[Trial]:
    out = []
    for trial in find_trials(folder):
        if trial.source != source:
            continue
        try:
            found = run_trial(trial)
        except UkemiError as error:
            print(f"{trial.name}: {error}", file=sys.stderr)
            continue
        out.append(Trial(trial.motion.parent.name, place(found.clip, mass=found.mass, sex=trial.sex), found))
    return out


def errors(trial: Trial, setting: ForceSettings) -> NDArray[np.float64]:
    """V, A, L [%] and centre of pressure [mm]."""
    f, found = estimate(trial.placed, setting).forces, trial.found
    assert found.measured is not None
    feet = GroundForces(f.time, f.names[:2], f.force[:, :2], f.point[:, :2], f.torque[:, :2])
    fit = agreement(feet, found.measured, found.mass, forward=found.forward, valid=found.seen)
    pressure = np.nan if fit.cop is None else fit.cop.median
    return np.array([*(fit.foot[name].rrmse for name in COMPONENTS), pressure])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--source", choices=("ik", "markers"), default="ik")
    given = parser.parse_args()
    warnings.simplefilter("ignore", UkemiWarning)
    rng = np.random.default_rng(given.seed)
    known = trials(given.folder, given.source)
    settings = [STANDARD]
    for _ in range(given.draws):
        values = {name: float(getattr(STANDARD, name) * 2 ** rng.uniform(-1, 1)) for name in DRAWN}
        settings.append(ForceSettings(**{**vars(STANDARD), **values}))
    table = np.array([[errors(t, s) for t in known] for s in settings])
    mean = np.nanmean(table / np.nanmean(table[0], axis=0), axis=2)  # (settings, trials)
    subjects = np.array([t.subject for t in known])
    print("| subject | trials | as it is | best of the draws without it | best for it |\n|---|---|---|---|---|")
    for subject in dict.fromkeys(subjects):
        mine = subjects == subject
        others = mean[:, ~mine].mean(axis=1).argmin()
        own = mean[:, mine].mean(axis=1)
        print(f"| {subject} | {mine.sum()} | {own[0]:.3f} | {own[others]:.3f} | {own.min():.3f} |")
    whole = mean.mean(axis=1)
    print(
        f"\nall: {whole[0]:.3f} as it is, {whole.min():.3f} best of {given.draws} draws, {np.median(whole):.3f} median"
    )
    print(settings[int(whole.argmin())])


if __name__ == "__main__":
    main()
