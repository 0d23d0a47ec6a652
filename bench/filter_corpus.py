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
import re
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
    parser.add_argument("--index", type=Path, help="CMU's index of descriptions: a table by kind of motion too")
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
    if given.index:
        by_kind(rows, given.index)


#: Kinds of motion, by the first pattern found in what CMU's index says of a clip or else of its subject.
KINDS = {
    "swims: nothing bears": r"swim|stroke|free style",
    "climbs, sits or stands on something": r"climb|playground|stool|\bsit|stair|terrain|ladder|step up|\bhang|chair",
    "two people": r"\(2 subjects|partner",
    "acrobatics": r"flip|cartwheel|hand ?stand|hand ?spring|summ?ersault|break ?dance|acrobat|\bspin|\broll|monkey",
    "lies, crawls, gets up": r"\blay|\blie|crawl|get up|getting up|creep|\bfall",
    "jumps": r"jump|\bhop|leap",
    "dances": r"danc|salsa|charleston|lindy|macarena|ballet|pirouette|waltz",
    "sport and fight": r"kick|punch|\bbox|golf|basketball|soccer|dribbl|shot|defens|offens|fight|throw|toss|geri",
    "runs": r"\brun|\bjog|sprint",
    "walks": r"walk|march|limp|stride|strut|stroll",
}


def kinds_of(index: Path) -> dict[str, str]:
    """Clip -> kind, from CMU's index of descriptions."""
    found, subject = {}, ""
    for line in index.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("Subject #"):
            subject = line
        clip, tab, text = line.partition("\t")
        if tab:
            hits = [kind for said in (text, subject) for kind, words in KINDS.items() if re.search(words, said, re.I)]
            found[clip.strip()] = hits[0] if hits else "other, or not described"
    return found


def by_kind(rows: list[dict[str, object]], index: Path) -> None:
    """A table of verdicts and distances for each kind of motion."""
    kinds = kinds_of(index)
    print("\n| what they do | clips | feasible | supported | infeasible | near | joints deg | com cm |")
    print("|---|---|---|---|---|---|---|---|")
    for kind in [*KINDS, "other, or not described"]:
        mine = [row for row in rows if kinds.get(str(row["clip"]), "other, or not described") == kind]
        counts = Counter(str(row["verdict"]) for row in mine)
        cells = [str(counts[verdict]) for verdict in ("feasible", "supported", "infeasible")]
        cells.append(str(sum(is_near(row) for row in mine)))
        for column in ("joint_rms_deg", "com_rms_cm"):
            values = [float(row[column]) for row in mine if column in row]  # type: ignore[arg-type]
            cells.append(f"{np.median(values):.1f}" if values else "")
        print(f"| {kind} | {len(mine)} | " + " | ".join(cells) + " |")


def is_near(row: dict[str, object]) -> bool:
    """Feasible or supported, within `NEAR` of the input."""
    if row["verdict"] not in ("feasible", "supported"):
        return False
    return bool(row["joint_rms_deg"] < NEAR[0] and row["com_rms_cm"] < NEAR[1])  # type: ignore[operator]


def summary(rows: list[dict[str, object]]) -> None:
    """Shares of verdicts, of clips within `NEAR`, and medians with 95th percentiles."""
    print(f"\n{len(rows)} clips: {dict(Counter(str(row['verdict']) for row in rows))}")
    near = sum(is_near(row) for row in rows)
    print(f"feasible or supported within {NEAR[0]:g} degrees and {NEAR[1]:g} cm: {near / max(len(rows), 1):.1%}")
    for column in COLUMNS:
        values = np.array([row[column] for row in rows if column in row], dtype=np.float64)
        if len(values):
            middle, high = np.nanpercentile(values, (50, 95))
            print(f"{column:26s} mean {np.nanmean(values):.3g}, median {middle:.3g}, 95 % below {high:.3g}")


if __name__ == "__main__":
    main()
