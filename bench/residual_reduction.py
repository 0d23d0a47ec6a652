"""What residual reduction reaches with plates, and how far it moves the motion, by activity.

    python bench/residual_reduction.py FOLDER [--source ik]

Trials are those that `ukemi bench forces` finds. Residuals are the largest of each trial where the plates carry the
body: mean over the trials, and the worst. Distances are RMS, from the motion as it came.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np

from ukemi.errors import UkemiError, UkemiWarning
from ukemi.forces.folder import find_trials
from ukemi.forces.scores import run_trial


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--source", choices=("ik", "markers"), default="ik")
    given = parser.parse_args()
    warnings.simplefilter("ignore", UkemiWarning)
    found: dict[str, list[tuple[float, ...]]] = {}
    for trial in find_trials(given.folder):
        if trial.source != given.source:
            continue
        try:
            moved = run_trial(trial, consistent=True).consistent
        except UkemiError as error:
            print(f"{trial.name}: {error}", file=sys.stderr)
            continue
        assert moved is not None
        d = moved.distances
        row = (moved.after.force, moved.after.moment, d.joints, d.centre_of_mass, d.joint_centres)
        found.setdefault(trial.activity, []).append(row)
    print("| activity | trials | N | N m | joints deg | com cm | joint centres mm |\n|---|---|---|---|---|---|---|")
    for activity, rows in sorted(found.items()):
        mean, worst = np.mean(rows, axis=0), np.max(rows, axis=0)
        residuals = " | ".join(f"{mean[k]:.1f} ({worst[k]:.1f})" for k in (0, 1))
        print(f"| {activity} | {len(rows)} | {residuals} | {mean[2]:.2f} | {mean[3]:.2f} | {mean[4]:.1f} |")


if __name__ == "__main__":
    main()
