"""A walk whose feet slide and hover, read as a person and held where it stands.

The walk is made by formulas, or read from motion files: python examples/stand_still.py --out out [FILE ...]. Per
motion: how fast standing feet slide, how far they float and sink, before and after the foot lock.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import ukemi as uk
from ukemi.motion.foot_lock import lock_feet
from ukemi.motion.synthesis import walk
from ukemi.motion.trajectory import smooth_coordinates
from ukemi.report.strip import draw_strip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="motion files; default: a walk made by formulas")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the picture and the new motions")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    print(f"{'motion':12s} {'skate [cm/s]':>16s} {'float [mm]':>16s} {'sink [mm]':>16s} {'root moved [cm]':>16s}")
    for clip in [uk.read_motion(file) for file in arguments.files] or [walk()]:
        figure = uk.figure_from_clip(clip)
        q = smooth_coordinates(figure.model, figure.q(), clip.fps)
        locked = lock_feet(figure, q, clip.fps)
        before, after = locked.before, locked.after
        moved = np.linalg.norm(locked.q[:, :3] - q[:, :3], axis=1).max()
        pairs = [
            (100 * before.skate, 100 * after.skate),
            (1e3 * before.float_height, 1e3 * after.float_height),
            (1e3 * before.penetration, 1e3 * after.penetration),
        ]
        columns = " ".join(f"{a:6.1f} -> {b:5.1f}".rjust(16) for a, b in pairs)
        print(f"{clip.name:12s} {columns} {100 * moved:16.1f}")
        uk.write_motion(figure.to_clip(locked.q), arguments.out / f"{clip.name}_standing.bvh")
        # real captures may hold stances that contradict each other; the walk made here does not
        if not arguments.files:
            assert after.skate < 0.4 * before.skate
            assert after.float_height < 1e-4
            path = arguments.out / "stand_still.png"
            draw_strip(figure.model, locked.q, path, time=clip.time, title="a walk with locked feet")
            print(f"look at {path}")


if __name__ == "__main__":
    main()
