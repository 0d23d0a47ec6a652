"""The whole-clip filter on many clips: verdicts, distances from the input, smoothness, residuals, time.

    python bench/filter_corpus.py FOLDER [--sample 300 --seed 20261118] [--seconds 15] [--change noise]

A sample is drawn from all files by the seed alone. ``--change`` disturbs every clip first: do verdicts stay?
``--clock`` does what the warning of a doubted frame rate asks for (CMU has subjects at 60 frames a second in files that
say 120).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.dynamics_filter.changes import CHANGES

import ukemi as uk

COLUMNS: tuple[str, ...] = ("joint_rms_deg", "joint_max_deg", "com_rms_cm", "hand_acceleration_ratio", "skate_cm_s")
COLUMNS += (
    "penetration_mm",
    "float_mm",
    "peak_bw",
    "residual_bw",
    "written_residual_rms",
    "supported_share",
    "realtime_factor",
)
#: Within this of the input a motion counts as kept: joints RMS [degrees], centre of mass RMS [cm].
NEAR = (5.0, 3.0)


def one(job: tuple[str, float, str, bool]) -> dict[str, object]:
    """The sheet of one file; an error is a row too."""
    file, seconds, change, clock = job
    row: dict[str, object] = {"clip": Path(file).stem}
    begun = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", uk.UkemiWarning)
            clip = uk.read_motion(file)
            clip = CHANGES[change](clip[: round(seconds * clip.fps) + 1])
            result = uk.filter_motion(clip)
            if clock and result.quality.plausible_fps != clip.fps:
                row["file_fps"] = clip.fps
                clip = uk.read_motion(file, fps=result.quality.plausible_fps)
                result = uk.filter_motion(CHANGES[change](clip[: round(seconds * clip.fps) + 1]))
        row |= {"duration_s": clip.duration, **result.quality.as_dict()}
        row["supports"] = [str(x) for x in result.supports]
    except uk.UkemiError as error:
        row |= {"verdict": "error", "reason": f"{type(error).__name__}: {error}"}
    row["whole_seconds"] = time.perf_counter() - begun
    return row


def rows_of(jobs: list[tuple[str, float, str, bool]], processes: int) -> Iterator[dict[str, object]]:
    with get_context("spawn").Pool(processes) as pool:
        yield from pool.imap(one, jobs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", type=int, default=0, help="how many of the files; 0: all")
    parser.add_argument("--seed", type=int, default=20261118)
    parser.add_argument("--seconds", type=float, default=15.0, help="longer clips are cut")
    parser.add_argument("--change", choices=list(CHANGES), default="none")
    parser.add_argument("--clock", action="store_true", help="where the frame rate is doubted take the plausible one")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, help="rows as JSON lines")
    given = parser.parse_args()
    files = sorted(str(f) for e in ("bvh", "amc") for f in given.folder.rglob(f"*.{e}"))
    if given.sample:
        files = sorted(random.Random(given.seed).sample(files, min(given.sample, len(files))))
    rows = []
    print("| clip | verdict | " + " | ".join(COLUMNS) + " |\n|" + "---|" * (len(COLUMNS) + 2))
    for row in rows_of([(f, given.seconds, given.change, given.clock) for f in files], given.processes):
        rows.append(row)
        cells = [f"{row[c]:.3g}" if c in row else "" for c in COLUMNS]
        print(f"| {row['clip']} | {row['verdict']} | " + " | ".join(cells) + " |", flush=True)
        if given.out:
            with given.out.open("a", encoding="utf-8") as f:
                f.write(json.dumps(row) + "\n")
    summary(rows)


def summary(rows: list[dict[str, object]]) -> None:
    """Shares of verdicts, of clips within `NEAR`, and medians with 95th percentiles."""
    print(f"\n{len(rows)} clips: {dict(Counter(str(row['verdict']) for row in rows))}")
    good = [row for row in rows if row["verdict"] in ("feasible", "supported")]
    near = [r for r in good if r["joint_rms_deg"] < NEAR[0] and r["com_rms_cm"] < NEAR[1]]  # type: ignore[operator]
    print(f"feasible or supported within {NEAR[0]:g} degrees and {NEAR[1]:g} cm: {len(near) / max(len(rows), 1):.1%}")
    for column in COLUMNS:
        values = np.array([row[column] for row in rows if column in row], dtype=np.float64)
        if len(values):
            middle, high = np.nanpercentile(values, (50, 95))
            print(f"{column:26s} mean {np.nanmean(values):.3g}, median {middle:.3g}, 95 % below {high:.3g}")


if __name__ == "__main__":
    main()
