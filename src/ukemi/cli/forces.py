"""`ukemi forces`: ground forces and joint moments of a motion, without plates or beside them."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Annotated

import typer

from ukemi.cli.filter import opened, window
from ukemi.cli.folders import check_folder
from ukemi.contact.terrain import Ground
from ukemi.errors import InvalidInputError, UkemiWarning
from ukemi.forces.plates import smoothed
from ukemi.forces.trial import TrialForces, estimate_forces
from ukemi.model.model import Model
from ukemi.motion.ground_forces import GroundForces, read_ground_forces
from ukemi.report.forces_files import summary, write_forces

#: Where a mass is known from, in words.
MASS_FROM = {"given": "as given, or the model's", "plates": "as the plates say", "height": "guessed from the height"}


def forces_command(
    file: Annotated[
        Path | None,
        typer.Argument(help="A motion: markers .trc, .c3d; coordinates .mot; .bvh ... Without one: a walk of our own."),
    ] = None,
    plates: Annotated[
        Path | None, typer.Option(help="What force plates measured, .mot or .sto; those in a C3D are found.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for forces, moments and report.")] = Path("out"),
    skeleton: Annotated[
        Path | None, typer.Option(help="The .osim of coordinates (.mot, .sto); default the one beside them.")
    ] = None,
    static: Annotated[Path | None, typer.Option(help="A standing trial with more markers, for .c3d and .trc.")] = None,
    markers: Annotated[
        Path | None, typer.Option(help="CSV file label,landmark: markers whose names are unknown.")
    ] = None,
    mass: Annotated[
        float | None, typer.Option(help="Of the person (kg); default the model's (.osim), or by plates, or by height.")
    ] = None,
    height: Annotated[float | None, typer.Option(help="Of the person (m); default by the bones.")] = None,
    sex: Annotated[str, typer.Option(help="male or female: whose table of body masses.")] = "male",
    belt: Annotated[
        float | None,
        typer.Option(
            help="Velocity of a treadmill's belt along x (m/s), negative under who walks to +x; 0: none; default found."
        ),
    ] = None,
    friction: Annotated[float, typer.Option(help="Of the ground.")] = 0.8,
    cutoff: Annotated[float | None, typer.Option(help="Of the smoothing of the motion (Hz); default about 12.")] = None,
    bands: Annotated[float, typer.Option(help="Level of the bands around forces and moments; 0: none.")] = 0.9,
    consistent: Annotated[
        bool, typer.Option("--consistent", help="Move the motion, as little as possible, until its forces explain it.")
    ] = False,
    up: Annotated[str | None, typer.Option(help="Axis of the file that is up, y or z; default found.")] = None,
    unit: Annotated[str | None, typer.Option(help="m, cm, mm, inch, foot, or metres per unit; default found.")] = None,
    fps: Annotated[float | None, typer.Option(help="Frames per second, where the file is wrong.")] = None,
    start: Annotated[float | None, typer.Option(help="First second, on the file's clock.")] = None,
    end: Annotated[float | None, typer.Option(help="Last second.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Ground forces, centres of pressure and joint moments of a motion as it is.

    Without plates they are estimated: Newton and Euler say what the ground must exert, feet that are low and slow exert
    it. What they leave over is the residual. With plates each stance on a plate is given to the foot that stood there;
    moments by plates, residuals, gait events and how far the estimate is from the plates are in the report.

    Open report.html first. OpenSim reads ground_forces.mot with external_loads.xml; for coordinates of a model id.sto
    holds its generalised forces, and id_setup.xml lets OpenSim compute them itself.

    The motion is as it came. --consistent moves it, as little as possible, until the plates' forces explain it
    (residual reduction), or else the estimated ones: motion.bvh. (ukemi filter also makes feet stand, and finds what
    else holds the body.) Bands: nine of ten measured values are inside, on 70 trials with plates.

    Examples:

      ukemi forces                                             a walk of our own, results in out/

      ukemi forces walk.trc --static standing.trc --mass 72    from markers

      ukemi forces walk_ik.mot --plates walk_grf.mot           beside plates, on a model's coordinates

      ukemi forces run_ik.mot --plates run_grf.mot --consistent  residuals reduced

      ukemi forces trial.c3d --out trial --json                plates inside the file; numbers for scripts
    """
    check_folder(out)
    if static is not None and file is None:
        raise InvalidInputError("--static: expected a motion too")
    ground = Ground(friction=friction, velocity=(belt or 0.0, 0.0, 0.0))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UkemiWarning)
        clip = window(opened(file, unit, up, "auto", fps, skeleton, static, markers), start, end)
        trial = estimate_forces(
            clip,
            _plates(file, plates),
            mass=mass if mass is not None else _mass_of_model(file, skeleton),
            height=height,
            sex=sex,  # type: ignore[arg-type]  # checked there
            terrain=ground,
            belt=belt is None,
            cutoff=cutoff,
            level=bands or None,
            consistent=consistent,
        )
    notes = list(dict.fromkeys(str(w.message) for w in said if issubclass(w.category, UkemiWarning)))
    for note in notes:
        typer.echo(f"warning: {note}", err=True)
    files = write_forces(trial, out)
    if file is not None and file.suffix.lower() in (".mot", ".sto"):
        if consistent:
            typer.echo("note: ik.mot and id.sto are of the motion as it came; motion.bvh is the one moved", err=True)
        files |= _for_opensim(trial, file, skeleton, out)
    numbers = {**summary(trial), "warnings": notes, "files": {kind: str(path) for kind, path in files.items()}}
    if as_json:
        typer.echo(json.dumps(numbers))
        return
    _print(trial)
    typer.echo(f"look at {files['report']}")


def _mass_of_model(file: Path | None, skeleton: Path | None) -> float | None:
    """Of the scaled model of coordinates [kg]: its moments are in id.sto."""
    if file is None or file.suffix.lower() not in (".mot", ".sto"):
        return None
    return float(_model_of(file, skeleton).mass) or None


def _model_of(file: Path, skeleton: Path | None) -> Model:
    from ukemi.model.readers.load import load

    with warnings.catch_warnings():  # muscles have no say here
        warnings.simplefilter("ignore", UkemiWarning)
        return load(skeleton if skeleton is not None else next(file.parent.glob("*.osim")))


def _plates(file: Path | None, plates: Path | None) -> GroundForces | None:
    if plates is not None:
        return read_ground_forces(plates)
    if file is not None and file.suffix.lower() == ".c3d":
        from ukemi.motion.markers import read_markers

        return read_markers(file).forces
    return None


def _for_opensim(trial: TrialForces, file: Path, skeleton: Path | None, out: Path) -> dict[str, Path]:
    """Generalised forces of the model's own coordinates, and what OpenSim needs to compute them itself."""
    from ukemi.forces.inverse import inverse_dynamics_of_trial
    from ukemi.forces.opensim_files import write_coordinates, write_id_setup, write_loads, write_moments
    from ukemi.motion.opensim import joint_coordinates
    from ukemi.motion.tables import read_table

    path = skeleton if skeleton is not None else next(file.parent.glob("*.osim"))
    model = _model_of(file, skeleton)
    time, q = joint_coordinates(model, file)
    forces = trial.forces if trial.measured is None else smoothed(trial.measured, trial.cutoff)
    bodies = {name: _standing_body(trial, name, model.link_names) for name in forces.names}
    moments = inverse_dynamics_of_trial(model, time, q, forces, bodies, trial.cutoff)
    loads = out / ("ground_forces.mot" if trial.measured is None else "plates_on_feet.mot")
    files = {
        "coordinates": write_coordinates(read_table(file), out / "ik.mot"),
        "external_loads": write_loads(forces, bodies, loads, out / "external_loads.xml"),
        "generalised_forces": write_moments(moments, out / "id.sto"),
    }
    span = (float(moments.time[0]), float(moments.time[-1]))
    model_file = path.resolve()
    files["id_setup"] = write_id_setup(
        model_file, files["coordinates"], files["external_loads"], span, trial.cutoff, out / "id_setup.xml"
    )
    return files


def _standing_body(trial: TrialForces, link: str, known: tuple[str, ...]) -> str:
    """The body of an OpenSim model that a link of the figure is; of a foot the one that stands, not the ankle's."""
    body = trial.joints[link]
    standing = re.sub("talus", "calcn", body)
    return standing if standing in known else body


def _print(trial: TrialForces) -> None:
    force, moment = trial.residual
    typer.echo(f"{'person':28s} {trial.mass:.1f} kg ({MASS_FROM[trial.mass_from]}), {trial.height:.2f} m")
    typer.echo(f"{'stances':28s} {len(trial.stances)}, {sum(s.whole for s in trial.stances)} of them whole")
    weight = 9.81 * trial.mass
    typer.echo(f"{'largest vertical force':28s} {100 * trial.forces.total[:, 2].max() / weight:.0f} % of body weight")
    typer.echo(f"{'what the root lacks':28s} at most {force:.0f} N, {moment:.0f} N m")
    if trial.measured_residual is not None:
        force, moment = trial.measured_residual
        typer.echo(f"{'the same by plates':28s} at most {force:.0f} N, {moment:.0f} N m")
    if trial.consistent is not None:
        after, moved = trial.consistent.after, trial.consistent.distances
        typer.echo(f"{'after --consistent':28s} at most {after.force:.0f} N, {after.moment:.0f} N m")
        text = f"joints {moved.joints:.2f} degrees, centre of mass {moved.centre_of_mass:.2f} cm (RMS)"
        typer.echo(f"{'for which moved':28s} {text}")
    if trial.agreement is not None:
        v, a, l = (trial.agreement.foot[name].rrmse for name in ("vertical", "anterior", "lateral"))
        typer.echo(f"{'beside the plates':28s} V / A / L within {v:.1f} / {a:.1f} / {l:.1f} % of range")
        if trial.agreement.cop is not None:
            typer.echo(f"{'centre of pressure':28s} {trial.agreement.cop.median:.0f} mm from theirs (median)")
