"""Every clip of a folder through the filter in other circumstances: how many stay up.

`python bench/filter_stress.py FOLDER`: played slower and faster, cut at either end, with another mass and friction.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import ukemi as uk
from ukemi.dynamics_filter.result import FilterResult

CASES: dict[str, Callable[[uk.Clip], FilterResult]] = {
    "pace 0.9": lambda clip: uk.filter_motion(clip, pace=0.9),
    "pace 1.1": lambda clip: uk.filter_motion(clip, pace=1.1),
    "without its first 0.3 s": lambda clip: uk.filter_motion(clip[round(0.3 * clip.fps) :]),
    "without its last 0.4 s": lambda clip: uk.filter_motion(clip[: len(clip) - round(0.4 * clip.fps)]),
    "95 kg": lambda clip: uk.filter_motion(clip, mass=95.0),
    "friction 0.5": lambda clip: uk.filter_motion(clip, terrain=uk.Ground(friction=0.5)),
}


def main() -> None:
    folder = Path(sys.argv[1])
    files = sorted([*folder.rglob("*.bvh"), *folder.rglob("humanoid3d_*.txt")])
    stood = dict.fromkeys(CASES, 0)
    for file in files:
        clip = uk.read_motion(file)
        for name, run in CASES.items():
            quality = run(clip).quality
            stood[name] += not quality.fell
            if quality.fell:
                print(f"{file.stem}, {name}: falls at {quality.fell_at:.2f} s", flush=True)
    for name, count in stood.items():
        print(f"{name}: {count} of {len(files)} stay up")


if __name__ == "__main__":
    main()
