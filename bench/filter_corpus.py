"""The whole-clip filter on many clips: verdicts, distances from the input, smoothness, residuals, time.

    python -m bench.filter_corpus FOLDER [--sample 300 --seed 20261118] [--seconds 15] [--change noise] [--out rows.jsonl]

A sample is drawn from all files by the seed alone. ``--change`` disturbs every clip first, to see whether verdicts stay.
"""

from __future__ import annotations

import argparse
import json
import random
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import ukemi as uk
from ukemi.model.arrays import Array
from ukemi.motion.clip import Clip
from ukemi.motion.rotations import exponential, product

COLUMNS = ("joint_rms_deg", "joint_max_deg", "com_rms_cm", "hand_acceleration_ratio", "skate_cm_s", "penetration_mm")
COLUMNS += ("float_mm", "peak_bw", "residual_bw", "written_residual_rms", "supported_share", "realtime_factor")
#: Within this of the input a motion counts as kept: joints RMS [degrees], centre of mass RMS [cm].
NEAR = (5.0, 3.0)


def _noise(clip: Clip) -> Clip:
    """Half a degree and 5 mm, white."""
    rng = np.random.default_rng(1)
    turns = exponential(np.deg2rad(0.5) / np.sqrt(3) * rng.standard_normal((*clip.rotations.shape[:2], 3)))
    places = {j: p + 0.005 / np.sqrt(3) * rng.standard_normal(p.shape) for j, p in clip.translations.items()}
    return clip.with_motion(product(clip.rotations, turns), places)


def _slow_frames(clip: Clip) -> Clip:
    """25 frames a second."""
    from ukemi.motion.sampling import sample

    return sample(clip, np.arange(0, clip.duration + 1e-9, 0.04), 25.0)


def _scaled(length: float) -> Callable[[Clip], Clip]:
    def change(clip: Clip) -> Clip:
        from dataclasses import replace

        bones = replace(
            clip.skeleton,
            offsets=length * np.asarray(clip.skeleton.offsets),
            ends=tuple((j, length * np.asarray(p)) for j, p in clip.skeleton.ends),
        )
        places: dict[int, Array] = {j: length * p for j, p in clip.translations.items()}
        moved = clip.with_motion(clip.rotations, places, clip.fps / np.sqrt(length))
        return replace(moved, skeleton=bones)

    return change


CHANGES: dict[str, Callable[[Clip], Clip]] = {
    "none": lambda clip: clip,
    "noise": _noise,
    "25 fps": _slow_frames,
    "faster": lambda clip: clip.with_motion(clip.rotations, clip.translations, 1.1 * clip.fps),
    "slower": lambda clip: clip.with_motion(clip.rotations, clip.translations, clip.fps / 1.1),
    "0.3": _scaled(0.3),
    "0.63": _scaled(0.63),
    "1.5": _scaled(1.5),
}


def one(job: tuple[str, float, str]) -> dict[str, object]:
    """The sheet of one file; an error is a row too."""
    file, seconds, change = job
    row: dict[str, object] = {"clip": Path(file).stem}
    begun = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", uk.UkemiWarning)
            clip = uk.read_motion(file)
            clip = CHANGES[change](clip[: round(seconds * clip.fps) + 1])
            result = uk.filter_motion(clip)
        row |= {"duration_s": clip.duration, **result.quality.as_dict()}
        row["supports"] = [str(x) for x in result.supports]
    except uk.UkemiError as error:
        row |= {"verdict": "error", "reason": f"{type(error).__name__}: {error}"}
    row["whole_seconds"] = time.perf_counter() - begun
    return row


def rows_of(jobs: list[tuple[str, float, str]], processes: int) -> Iterator[dict[str, object]]:
    with get_context("spawn").Pool(processes) as pool:
        yield from pool.imap(one, jobs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", type=int, default=0, help="how many of the files; 0: all")
    parser.add_argument("--seed", type=int, default=20261118)
    parser.add_argument("--seconds", type=float, default=15.0, help="longer clips are cut")
    parser.add_argument("--change", choices=list(CHANGES), default="none")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, help="rows as JSON lines")
    given = parser.parse_args()
    files = sorted(str(f) for e in ("bvh", "amc") for f in given.folder.rglob(f"*.{e}"))
    if given.sample:
        files = sorted(random.Random(given.seed).sample(files, min(given.sample, len(files))))
    rows = []
    print("| clip | verdict | " + " | ".join(COLUMNS) + " |\n|" + "---|" * (len(COLUMNS) + 2))
    for row in rows_of([(f, given.seconds, given.change) for f in files], given.processes):
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
