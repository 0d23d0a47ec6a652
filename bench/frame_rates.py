"""How well the ground explains captures at their file's frame rate, at half and at double of it.

    python bench/frame_rates.py FOLDER [--sample 300 --seed 20261119] [--seconds 10]

Prints the leftover wrench (RMS, body weights) of every clip at each rate, and which rates are doubted.
"""

from __future__ import annotations

import argparse
import random
import warnings
from multiprocessing import get_context
from pathlib import Path

import ukemi as uk
from ukemi.dynamics_filter.placed import place
from ukemi.dynamics_filter.trajectory.frame_rate import SPEEDS, leftover_at, plausible_speed


def one(job: tuple[str, float]) -> tuple[str, list[float], float]:
    file, seconds = job
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", uk.UkemiWarning)
        clip = uk.read_motion(file)
        problem = place(clip[: round(seconds * clip.fps) + 1]).problem()
    return Path(file).stem, [leftover_at(problem, s) for s in (SPEEDS[0], 1.0, SPEEDS[1])], plausible_speed(problem)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", type=int, default=0, help="how many of the files; 0: all")
    parser.add_argument("--seed", type=int, default=20261119)
    parser.add_argument("--seconds", type=float, default=10.0, help="longer clips are cut")
    given = parser.parse_args()
    files = sorted(str(f) for e in ("bvh", "amc") for f in given.folder.rglob(f"*.{e}"))
    if given.sample:
        files = sorted(random.Random(given.seed).sample(files, min(given.sample, len(files))))
    doubted = 0
    with get_context("spawn").Pool(2) as pool:
        for name, (half, same, double), speed in pool.imap(one, [(f, given.seconds) for f in files]):
            doubted += speed != 1
            print(f"{name:24s} {half:7.3f} {same:7.3f} {double:7.3f}" + (f"  {speed:g} times" if speed != 1 else ""))
    print(f"{doubted} of {len(files)} are doubted")


if __name__ == "__main__":
    main()
