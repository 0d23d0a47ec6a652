"""``ukemi simulate``: run a model through the air or onto the ground, and look at it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, cast

import numpy as np
import typer

from ukemi.cli.figures import open_model
from ukemi.cli.folders import check_folder
from ukemi.contact.terrain import Ground
from ukemi.dynamics.momentum import momentum
from ukemi.errors import InvalidInputError
from ukemi.model.joints import Free
from ukemi.model.model import Model
from ukemi.report.strip import draw_strip
from ukemi.sim.recording import Recording
from ukemi.sim.simulation import Control, IntegratorName, Simulation
from ukemi.sim.somersault import Tuck, thrown
from ukemi.sim.world import World


def simulate(
    file: Annotated[str, typer.Argument(help="URDF, MJCF, .osim, or a figure: human16, human28, human40.")] = "human28",
    time: Annotated[float, typer.Option(help="Seconds to run.")] = 1.2,
    dt: Annotated[float, typer.Option(help="Time step (s).")] = 1e-3,
    integrator: Annotated[str, typer.Option(help="semi-implicit, implicit, rk4 or adaptive.")] = "rk4",
    out: Annotated[Path, typer.Option(help="Folder for recording.npz and strip.png.")] = Path("out"),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    ground: Annotated[bool, typer.Option("--ground", help="Put a floor under it.")] = False,
    friction: Annotated[float, typer.Option(help="Of the ground.")] = 0.8,
    slope: Annotated[float, typer.Option(help="Of the ground along x (degrees), positive uphill.")] = 0.0,
    limp: Annotated[bool, typer.Option(help="No torques: the joints hang loose.")] = False,
) -> None:
    """Run a model and draw it.

    A figure is thrown up, tucks, spins faster and opens again; any other model starts in its zero pose and moves under
    the gravity of its file. With --ground it lands: shapes touch the floor and each other; what begins inside the
    floor is lifted out of it.

    Examples:

      ukemi simulate human40 --time 1 --out jump

      ukemi simulate human28 --ground --limp --time 2

      ukemi simulate humanoid.xml --ground --slope 10 --friction 0.3
    """
    check_folder(out)
    if dt > time > 0:
        raise InvalidInputError(f"--dt: expected at most the --time of {time:g} s, got {dt:g}")
    model = open_model(file)
    figure = bool(model.links) and isinstance(model.links[0].joint, Free) and "left_sole" in model.landmarks
    world = World() if model.gravity is None else World(gravity=model.gravity)
    q, v = thrown(model) if figure else (None, None)
    world.add(model, q=q, v=v)
    if not abs(slope) < 90:
        raise InvalidInputError(f"--slope: expected less than 90 degrees, got {slope:g}")
    if slope and not ground:
        raise InvalidInputError("--slope: there is no ground to slope; give --ground too")
    if ground and not any(link.shapes for link in model.links):
        typer.echo("note: this model has no shapes, so that nothing of it touches the ground", err=True)
    if ground:
        a = np.deg2rad(slope)
        world.terrain = Ground(normal=(-np.sin(a), 0.0, np.cos(a)), friction=friction)
        world.separate()
    control: Control | None = Tuck(model) if figure and not limp else None
    recording = Simulation(world, dt, cast(IntegratorName, integrator)).run(time, control, progress=not as_json)
    out.mkdir(parents=True, exist_ok=True)
    saved = recording.save(out / "recording.npz")
    try:
        picture = draw_strip(
            model, recording.q, out / "strip.png", time=recording.time, title=f"{model.name}, {time:g} s"
        )
    except InvalidInputError:  # a model without shapes has nothing to draw
        picture = None
    summary = _summary(model, recording, saved, picture, ground)
    if as_json:
        typer.echo(json.dumps(summary))
        return
    for key, value in summary.items():
        typer.echo(f"{key.replace('_', ' '):32s} {value}")


def _summary(model: Model, recording: Recording, saved: Path, picture: Path | None, ground: bool) -> dict[str, object]:
    h = momentum(model, recording.q, recording.v)
    drift = np.abs(h[:, 3:] - h[0, 3:]).max()
    free = bool(model.links) and isinstance(model.links[0].joint, Free)
    return {
        "model": model.name,
        "time_s": float(recording.time[-1]),
        "samples": len(recording),
        "energy_start_J": float(recording.energy[0]),
        "energy_end_J": float(recording.energy[-1]),
        **({"angular_momentum_drift": float(drift)} if free and not ground else {}),
        **({"touches_at_the_end": [list(c.links) for c in recording.contacts[-1]]} if ground else {}),
        "largest_torque_Nm": float(np.abs(recording.tau).max(initial=0.0)),
        "recording": str(saved),
        "picture": None if picture is None else str(picture),
    }
