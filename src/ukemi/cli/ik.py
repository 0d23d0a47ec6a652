"""`ukemi ik`: joint angles of an OpenSim model from markers, the model scaled to the person before if asked."""

from __future__ import annotations

import csv
import json
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ukemi.cli.folders import check_folder
from ukemi.errors import InvalidInputError, UkemiWarning
from ukemi.forces.ik import InverseKinematics, inverse_kinematics
from ukemi.forces.ik_tasks import Tasks, read_tasks
from ukemi.forces.osim_kinematics import OsimKinematics, open_osim
from ukemi.forces.scale_setup import read_scale_setup
from ukemi.forces.scaling import Scaled, scale_model
from ukemi.model.arrays import positive
from ukemi.model.readers.osim_parts import Osim
from ukemi.motion.markers import Markers, read_markers
from ukemi.motion.tables import write_table
from ukemi.report.progress import progress_bar

#: So many of the worst markers are shown.
WORST = 5
#: So many names stand in a warning.
SOME = 30


def ik(
    trial: Annotated[Path, typer.Argument(help="Markers: .trc or .c3d.")],
    model: Annotated[Path, typer.Option(help="An OpenSim model, .osim, with markers of the same names.")],
    out: Annotated[Path, typer.Option(help="Folder for angles, marker errors and the scaled model.")] = Path("out"),
    static: Annotated[
        Path | None, typer.Option(help="A standing trial: the model is scaled to the person in it first.")
    ] = None,
    scale: Annotated[
        Path | None,
        typer.Option(help="Setup .xml of OpenSim's ScaleTool; default: by all markers that both have."),
    ] = None,
    mass: Annotated[
        float | None, typer.Option(help="Of the person (kg), for the scaled model; default by the setup, or unchanged.")
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(help="Of markers: a setup or tasks .xml of OpenSim, or lines 'R.ASIS, 10' (others weigh 1)."),
    ] = None,
    start: Annotated[float | None, typer.Option(help="First second, on the file's clock.")] = None,
    end: Annotated[float | None, typer.Option(help="Last second.")] = None,
    up: Annotated[str | None, typer.Option(help="Axis of the files that is up, y or z; default found.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Joint angles from markers: inverse kinematics on an OpenSim model.

    In every frame the coordinates with which the model's markers come closest to the measured ones, by weighted least
    squares, as OpenSim's Inverse Kinematics has it: locked and coupled coordinates keep, clamped ones stay in their
    range, a marker that is not seen has no say. A generic model is scaled to the person with --static; its markers
    move to where the person has them.

    In the folder: TRIAL_ik.mot (angles in degrees, for OpenSim), TRIAL_ik_marker_errors.sto (metres, by frame),
    TRIAL_ik_marker_errors.csv (by marker), and MODEL_scaled.osim.

    Read the errors first: OpenSim's guide asks for a root mean square below 2 cm and a largest error below 2-4 cm. A
    marker that is far off in all frames stands elsewhere on the person than on the model, or bears another's name.
    With --scale the model is scaled as OpenSim's ScaleTool would; without, every body gets one factor, from all markers
    at once, and markers that stand elsewhere weigh little.

    Examples:

      ukemi ik walk.trc --model subject01.osim                     a model of this person

      ukemi ik walk.trc --model generic.osim --static standing.trc --mass 72.6

      ukemi ik walk.trc --model gait2392.osim --static standing.trc --scale Setup_Scale.xml --weights Setup_IK.xml
    """
    check_folder(out)
    if scale is None and static is None and mass is not None:
        raise InvalidInputError("--mass: the model is scaled only with a standing trial: add --static STANDING.trc")
    if mass is not None:
        positive("--mass", mass)
    markers = _window(read_markers(trial, up=up), start, end)
    tasks = Tasks() if weights is None else read_tasks(weights)
    files: dict[str, str] = {}
    scaled = None
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UkemiWarning)
        if scale is not None or static is not None:
            setup = None if scale is None else read_scale_setup(scale)
            standing = static or (setup.static if setup is not None else None)
            if standing is None:
                raise InvalidInputError(f"--scale: {scale} names no marker file: add --static STANDING.trc")
            persons = read_markers(standing, up=up)
            out.mkdir(parents=True, exist_ok=True)
            target = out / f"{model.stem}_scaled.osim"
            scaled = scale_model(model, persons, target, setup, tasks=tasks, mass=mass)
            files["model"] = str(target)
        osim = open_osim(files.get("model", model))
    notes = list(dict.fromkeys(str(w.message) for w in said if issubclass(w.category, UkemiWarning)))
    if scaled is not None and scaled.removed:
        notes.append(f"markers of the model that the static trial does not have are taken out: {_some(scaled.removed)}")
    with progress_bar("inverse kinematics", len(markers)) as advance:
        result = inverse_kinematics(OsimKinematics(osim), markers, tasks, advance)
    out.mkdir(parents=True, exist_ok=True)
    files |= write_inverse_kinematics(result, out, trial.stem)
    notes += _notes(osim, markers, tasks, result)
    for note in notes:
        typer.echo(f"warning: {note}", err=True)
    summary = _summary(result, trial, scaled) | {"warnings": notes, "files": files}
    if as_json:
        typer.echo(json.dumps(summary))
    else:
        _print(summary)


def write_inverse_kinematics(result: InverseKinematics, folder: Path, name: str) -> dict[str, str]:
    """Writes angles and marker errors for OpenSim, and errors by marker as a table; what -> file."""
    q = np.where(result.turning, np.rad2deg(result.q), result.q)
    motion = write_table(
        folder / f"{name}_ik.mot",
        result.time,
        dict(zip(result.names, q.T, strict=True)),
        in_degrees=True,
        title="Coordinates",
    )
    by_frame = {
        "total_squared_error": result.squared,
        "marker_error_RMS": result.rms,
        "marker_error_max": result.largest,
    }
    errors = folder / f"{name}_ik_marker_errors.sto"
    write_table(errors, result.time, by_frame, title="Model Marker Errors from IK")
    table = errors.with_suffix(".csv")
    with table.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["time", *result.markers])
        for time, row in zip(result.time.tolist(), result.errors.tolist(), strict=True):
            writer.writerow([time, *("" if np.isnan(x) else x for x in row)])  # nothing where it was not seen
    return {"angles": str(motion), "errors": str(errors), "errors_by_marker": str(table)}


def _window(markers: Markers, start: float | None, end: float | None) -> Markers:
    first, last = -np.inf if start is None else start, np.inf if end is None else end
    kept = (markers.time >= first - 1e-9) & (markers.time <= last + 1e-9)
    if not kept.any():
        raise InvalidInputError(
            f"--start, --end: no frame of {markers.name!r} ({markers.time[0]:g} to {markers.time[-1]:g} s) lies between"
        )
    return replace(markers, positions=markers.positions[kept], start=float(markers.time[kept][0]))


def _notes(osim: Osim, markers: Markers, tasks: Tasks, result: InverseKinematics) -> list[str]:
    """What was left out, each said once."""
    notes = []
    common = set(osim.markers) & set(markers.names)
    for what, names in (
        (f"markers of {markers.name} that the model does not have", [n for n in markers.names if n not in common]),
        (f"markers of the model that {markers.name} does not have", [n for n in osim.markers if n not in common]),
        ("markers that the weights leave out", sorted(common - set(result.markers))),
        (
            "weights of what neither file has",
            sorted(n for n in tasks.markers if n not in osim.markers and n not in markers.names),
        ),
        ("coordinates of which no marker says anything stay where the model has them", list(result.unseen)),
    ):
        if names:
            notes.append(f"{what}: {_some(names)}")
    blind = int(np.isnan(result.errors).all(axis=1).sum())
    if blind:
        notes.append(f"{blind} frames without any marker of the model: their pose is between their neighbours'")
    if not result.solved.all():
        first = result.time[np.argmin(result.solved)]
        notes.append(f"{int(np.sum(~result.solved))} frames did not converge, the first at {first:g} s")
    return notes


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:SOME]) + (f", ... ({len(names)} in all)" if len(names) > SOME else "")


def _summary(result: InverseKinematics, trial: Path, scaled: Scaled | None) -> dict[str, object]:
    by_marker = result.by_marker()
    summary: dict[str, object] = {
        "trial": str(trial),
        "frames": len(result.time),
        "start_s": float(result.time[0]),
        "end_s": float(result.time[-1]),
        "coordinates": len(result.names),
        "rms_mm": 1000 * float(np.sqrt(np.nanmean(result.errors**2))),
        "largest_mm": 1000 * float(result.largest.max()),
        "largest_at_s": float(result.time[np.argmax(result.largest)]),
        "markers": {
            name: {"rms_mm": 1000 * rms, "largest_mm": 1000 * largest, "seen": seen}
            for name, (rms, largest, seen) in by_marker.items()
        },
    }
    if scaled is not None:
        summary["scale"] = {
            body: {"factors": list(factors), "pairs": [list(pair) for pair in scaled.told.get(body, ())]}
            for body, factors in scaled.factors.items()
        }
        if scaled.pose is not None:
            summary["static_rms_mm"] = 1000 * float(scaled.pose.rms[0])
            summary["static_largest_mm"] = 1000 * float(scaled.pose.largest[0])
    return summary


#: Largest good RMS marker error [mm] (Hicks et al., J. Biomech. Eng. 137, 2015).
GUIDE = 20.0


def _print(summary: dict[str, Any]) -> None:
    for body, scale in summary.get("scale", {}).items():
        factors = scale["factors"]
        text = f"{factors[0]:.3f}" if max(factors) - min(factors) < 1e-9 else " ".join(f"{x:.3f}" for x in factors)
        by = ", ".join(" - ".join(pair) for pair in scale["pairs"])
        typer.echo(f"scale {body:20s} {text:20s} {by}".rstrip())
    if "static_rms_mm" in summary:
        typer.echo(
            f"static pose: markers off by {summary['static_rms_mm']:.1f} mm (rms), at most "
            f"{summary['static_largest_mm']:.1f} mm, before they were placed"
        )
    typer.echo(
        f"{summary['frames']} frames, {summary['start_s']:g} to {summary['end_s']:g} s; {len(summary['markers'])} "
        f"markers, {summary['coordinates']} coordinates"
    )
    typer.echo(
        f"markers off by {summary['rms_mm']:.1f} mm (rms), at most {summary['largest_mm']:.1f} mm at "
        f"{summary['largest_at_s']:.2f} s; the worst:"
    )
    for name, m in list(summary["markers"].items())[:WORST]:
        seen = "" if m["seen"] == 1 else f", seen in {100 * m['seen']:.0f} % of the frames"
        typer.echo(f"  {name:20s} {m['rms_mm']:6.1f} mm rms, {m['largest_mm']:6.1f} mm at most{seen}")
    if summary["rms_mm"] > GUIDE:
        what = "is it this person's model, scaled (--static), with its markers where the person's are?"
        typer.echo(f"warning: markers are off by more than the {GUIDE:g} mm of OpenSim's guide: {what}", err=True)
    typer.echo("written: " + ", ".join(summary["files"].values()))
