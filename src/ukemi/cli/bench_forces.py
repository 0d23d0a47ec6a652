"""`ukemi bench forces`: estimated ground forces and moments beside those of plates, for any folder of trials."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from ukemi.errors import InvalidInputError
from ukemi.forces.folder import FolderTrial, find_trials
from ukemi.forces.scores import Score, score

#: Column -> field and format.
COLUMNS = {
    "V %": ("v", ".1f"),
    "A %": ("a", ".1f"),
    "L %": ("l", ".1f"),
    "CoP mm": ("cop", ".0f"),
    "r": ("r", ".3f"),
    "peak % BW": ("peak", ".1f"),
    "hip": ("hip", ".2f"),
    "knee": ("knee", ".2f"),
    "ankle N m/kg": ("ankle", ".2f"),
    "peaks %": ("peaks", ".0f"),
    "residual N": ("residual_force", ".0f"),
    "N m": ("residual_moment", ".0f"),
    "seen": ("seen", ".2f"),
    "s": ("seconds", ".1f"),
}


def bench_forces(
    folder: Annotated[Path, typer.Argument(help="Trials with plates; folders in it count too.")],
    source: Annotated[str, typer.Option(help="markers, ik, or both.")] = "both",
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    each: Annotated[bool, typer.Option(help="A row for every trial, or means by activity alone.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per trial.")] = False,
) -> None:
    """Estimates ground forces from motion alone and compares them with force plates; prints a table in Markdown.

    A trial is a motion (markers .trc, .c3d; coordinates .mot with the .osim beside) and plates beside it: walk.trc with
    walk_grf.mot, or plates in the C3D itself. subject.json may say {"sex": "male", "massKg": 70, "heightM": 1.75}.

    V, A, L: RMSE of each foot's vertical, anterior and lateral force over the mean of both ranges. CoP: median
    distance. hip, knee, ankle: RMS difference of sagittal moments, estimated against measured forces on the same
    figure; peaks: of their extremes. residual: what the root lacks at most with the plates' forces. seen: share of the
    samples in which no foot stands beside the plates.

    Example: ukemi bench forces trials --jobs 2
    """
    if source not in ("markers", "ik", "both"):
        raise InvalidInputError(f"--source: expected markers, ik or both, got {source!r}")
    trials = [t for t in find_trials(folder) if source in ("both", t.source)]
    if not trials:
        raise InvalidInputError(f"{folder}: no motion with force plates beside it, such as walk.trc and walk_grf.mot")
    rows = []
    if not as_json:
        typer.echo("| trial | from | " + " | ".join(COLUMNS) + " |\n|" + "---|" * (len(COLUMNS) + 2))
    for row in _scores(trials, jobs):
        rows.append(row)
        if as_json:
            typer.echo(json.dumps(_finite(row)))
        elif each or row.error:
            typer.echo(f"| {row.trial} | {row.source} | {row.error or _cells(row)} |")
    if not as_json:
        _means(rows)


def _scores(trials: list[FolderTrial], jobs: int) -> Iterator[Score]:
    if jobs <= 1:
        yield from map(score, trials)
        return
    from multiprocessing import get_context

    with get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(score, trials)


def _cells(row: Score) -> str:
    return " | ".join(
        f"{getattr(row, name):{form}}" if np.isfinite(getattr(row, name)) else "" for name, form in COLUMNS.values()
    )


def _means(rows: list[Score]) -> None:
    """Means by activity and source."""
    typer.echo("\n| activity | from | trials | " + " | ".join(COLUMNS) + " |\n|" + "---|" * (len(COLUMNS) + 3))
    good = [row for row in rows if not row.error]
    for activity, source in sorted({(row.activity, row.source) for row in good}):
        mine = [row for row in good if (row.activity, row.source) == (activity, source)]
        mean = {f.name: [getattr(row, f.name) for row in mine] for f in fields(Score) if f.type == "float"}
        values = {k: float(np.nanmean(v)) if np.isfinite(v).any() else float("nan") for k, v in mean.items()}
        cells = _cells(replace(Score("", source, activity), **values))  # type: ignore[arg-type]  # floats alone
        typer.echo(f"| {activity} | {source} | {len(mine)} | {cells} |")


def _finite(row: Score) -> dict[str, object]:
    return {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in asdict(row).items()}
