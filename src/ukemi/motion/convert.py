"""One motion file into another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ukemi.errors import InvalidInputError
from ukemi.model.arrays import numbers, positive
from ukemi.motion.clip import Clip
from ukemi.motion.ground_forces import write_ground_forces
from ukemi.motion.markers import read_markers, write_trc
from ukemi.motion.read import read_motion, write_motion
from ukemi.motion.sampling import sample
from ukemi.motion.tables import read_table, write_table

CLIPS, MARKERS, TABLES = (".bvh", ".amc", ".npz", ".json", ".txt"), (".c3d", ".trc"), (".mot", ".sto", ".csv")
COORDINATES = (".mot", ".sto")
#: What the person under markers is written to.
PERSONS = (".bvh", ".npz")
TARGETS = {
    "a clip": (".bvh", ".npz", ".csv", ".trc"),
    "markers": (".trc", *TABLES, *PERSONS),
    "a table": TABLES,
}
#: Options of reading that markers and tables take or pass over.
FOR_ALL = ("up", "rest_pose", "static", "markers")
#: More is a slip of the pen, not a motion.
MOST_FRAMES = 1e7


def convert(
    source: str | Path,
    target: str | Path,
    *,
    rate: float | None = None,
    start: float | None = None,
    end: float | None = None,
    **reading: Any,
) -> dict[str, object]:
    """Reads one file and writes the other; says what was converted.

    Clips (.bvh, .amc, .npz) become .bvh, .npz, .csv or .trc; ``rate`` samples them anew [frames per second], start and
    end cut them [s]. Markers (.c3d, .trc) become .trc, what plates measured beside them .mot, .sto or .csv, the person
    under them .bvh or .npz. Tables (.mot, .sto, .csv) become each other; coordinates of OpenSim (.mot, .sto) with their
    .osim become what clips become, a .csv of places and rotations where ``skeleton`` names it. reading: options of
    `read_motion`.
    """
    file, out = Path(source), Path(target)
    kind, wanted = file.suffix.lower(), out.suffix.lower()
    if kind not in (*CLIPS, *MARKERS, *TABLES):
        raise InvalidInputError(f"{file}: expected a file that ends in {', '.join((*CLIPS, *MARKERS, *TABLES))}")
    as_table = (".mot", ".sto") if reading.get("skeleton") is not None else TABLES
    as_clip = kind in CLIPS or (kind in COORDINATES and wanted not in as_table)
    what = "a clip" if as_clip else "markers" if kind in MARKERS else "a table"
    as_clip = as_clip or (kind in MARKERS and wanted in PERSONS)
    if wanted not in TARGETS[what]:
        *most, last = TARGETS[what]
        verb = "become" if what == "markers" else "becomes"
        raise InvalidInputError(f"{file}: {what} {verb} {', '.join(most)} or {last}; {out.name} is none of these")
    if as_clip:
        clip = _cut(read_motion(file, **reading), file, rate, start, end)
        write_motion(clip, out)
        return {"kind": "clip", "frames": len(clip), "fps": clip.fps, "joints": len(clip.skeleton)}
    given = {"rate": rate, "start": start, "end": end, **reading}
    unused = [name for name, value in given.items() if value is not None and name not in FOR_ALL]
    if unused:
        also = ", and coordinates with skeleton='model.osim'" if kind in COORDINATES else ""
        also = f", and markers that become {' or '.join(PERSONS)}" if kind in MARKERS else also
        raise InvalidInputError(f"{file}: {', '.join(unused)}: only clips ({', '.join(CLIPS)}{also}) take these")
    if kind in MARKERS:
        markers = read_markers(file, up=reading.get("up"))
        if wanted == ".trc":
            write_trc(markers, out)
            return {"kind": "markers", "frames": len(markers), "fps": markers.fps, "markers": len(markers.names)}
        if markers.forces is None:
            raise InvalidInputError(f"{file}: no force plates in it: nothing to write to {out.name}")
        write_ground_forces(markers.forces, out)
        return {"kind": "ground forces", "rows": len(markers.forces), "plates": len(markers.forces.names)}
    table = read_table(file)
    columns = {name: table.values[:, k] for k, name in enumerate(table.names)}
    write_table(out, table.time, columns, in_degrees=table.in_degrees, title=table.title)
    return {"kind": "table", "rows": len(table), "columns": len(table.names), "in_degrees": table.in_degrees}


def _cut(clip: Clip, file: Path, rate: float | None, start: float | None, end: float | None) -> Clip:
    """What is between two times, sampled anew."""
    first = 0 if start is None else max(0, round(float(numbers("start", start, ())) * clip.fps))
    last = len(clip) if end is None else min(len(clip), round(float(numbers("end", end, ())) * clip.fps) + 1)
    if first >= last:
        raise InvalidInputError(f"{file}: nothing between {start} and {end} s: it lasts {clip.duration:g} s")
    clip = clip[first:last]
    if rate is None:
        return clip
    rate = positive("rate", rate)
    frames = clip.duration * rate
    if frames > MOST_FRAMES:
        raise InvalidInputError(
            f"rate: {rate:g} frames a second would be {frames:.3g} frames, expected at most {MOST_FRAMES:.0g}"
        )
    return sample(clip, np.arange(int(frames + 1e-9) + 1) / rate, rate)
