"""`ukemi bench`: the tables of the documentation, computed again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from ukemi.cli.bench_forces import bench_forces
from ukemi.contact.terrain import Ground
from ukemi.dynamics_filter.clip import filter_motion
from ukemi.dynamics_filter.quality import Quality
from ukemi.errors import InvalidInputError, UkemiError
from ukemi.motion.clip import Clip
from ukemi.motion.join import join
from ukemi.motion.read import read_motion
from ukemi.motion.synthesis import walk

app = typer.Typer(name="bench", help="Compute the tables of the documentation again.", no_args_is_help=True)
app.command("forces")(bench_forces)

COLUMNS: tuple[str, ...] = (
    "clip",
    "s",
    "verdict",
    "joints deg",
    "farthest",
    "com cm",
    "hands",
    "skate cm/s",
    "sink mm",
    "float mm",
)
COLUMNS += ("peak BW", "residual BW", "written %", "real time")
SHORT = ("clip", "verdict", "joints deg", "com cm", "hands", "peak BW")


@app.callback()
def bench() -> None:
    """Compute the tables of the documentation again."""


@app.command("filter")
def bench_filter(
    folder: Annotated[Path | None, typer.Argument(help="Where motion files are; folders in it count too.")] = None,
    seconds: Annotated[float, typer.Option(help="Longer clips are cut.")] = 60.0,
    short: Annotated[bool, typer.Option("--short", help="Fewer columns, as in the README.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per clip.")] = False,
) -> None:
    """Filters our own walk (level, down a slope, with a turn) and every .bvh and .amc below a folder with one setting,
    and prints a table in Markdown.

    Example: ukemi bench filter motions --short
    """
    files: list[Path] = []
    if folder is not None:
        files = sorted([*folder.rglob("*.bvh"), *folder.rglob("*.amc")]) if folder.is_dir() else [folder]
        if not files or not folder.exists():
            raise InvalidInputError(f"{folder}: no .bvh or .amc files")
    down = np.deg2rad(5)
    slope = Ground(normal=(np.sin(down), 0.0, np.cos(down)))
    own: list[tuple[str, Clip | Path, Ground | None]] = [
        ("our walk", walk(), None),
        ("our walk, 5 degrees down", walk(), slope),
        ("our walk, 30 degrees turn", join(walk(2.4), walk(2.4), turn=np.deg2rad(30)), None),
    ]
    columns = SHORT if short else COLUMNS
    if not as_json:
        typer.echo("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for name, motion, ground in [*own, *((str(file), file, None) for file in files)]:
        try:
            clip = read_motion(motion) if isinstance(motion, Path) else motion
            result = filter_motion(clip[: round(seconds * clip.fps) + 1], terrain=ground)
        except UkemiError as error:
            typer.echo(
                json.dumps({"clip": name, "error": str(error)}) if as_json else f"| {Path(name).stem} | {error} |"
            )
            continue
        q = result.quality
        if as_json:
            typer.echo(json.dumps({"clip": name, "duration_s": float(result.time[-1]), **q.as_dict()}))
            continue
        cells = _cells(Path(name).stem, clip.duration, q)
        typer.echo("| " + " | ".join(cells[column] for column in columns) + " |")


def _cells(name: str, duration: float, q: Quality) -> dict[str, str]:
    return {
        "clip": name,
        "s": f"{duration:.1f}",
        "verdict": q.verdict,
        "joints deg": f"{q.joint_rms_deg:.2f}",
        "farthest": f"{q.joint_max_deg:.0f} {q.joint_max_name.replace('_', ' ')}",
        "com cm": f"{q.com_rms_cm:.2f}",
        "hands": f"{q.hand_acceleration_ratio:.2f}",
        "skate cm/s": f"{q.skate_cm_s:.2f}",
        "sink mm": f"{q.penetration_mm:.1f}",
        "float mm": f"{q.float_mm:.2f}",
        "peak BW": f"{q.peak_bw:.2f}",
        "residual BW": f"{q.residual_bw:.0e}",
        "written %": f"{100 * q.written_residual_rms:.2f}",
        "real time": f"{q.realtime_factor:.1f}",
    }
