"""``ukemi simulate``: run a model without contact and look at it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, cast

import numpy as np
import typer

from ukemi.cli.figures import open_model
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
    file: Annotated[str, typer.Argument(help="URDF, MJCF, or a figure: human16, human28, human40.")] = "human28",
    time: Annotated[float, typer.Option(help="Seconds to run.")] = 1.2,
    dt: Annotated[float, typer.Option(help="Time step (s).")] = 1e-3,
    integrator: Annotated[str, typer.Option(help="semi-implicit, implicit, rk4 or adaptive.")] = "rk4",
    out: Annotated[Path, typer.Option(help="Folder for recording.npz and strip.png.")] = Path("out"),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    limp: Annotated[bool, typer.Option(help="No torques: the joints hang loose.")] = False,
) -> None:
    """Run a model through the air and draw it.

    A figure is thrown up, tucks, spins faster and opens again; any other model starts in its zero pose and moves under
    gravity. Nothing is touched: contact comes with the ground.

    Example: ukemi simulate human40 --time 1 --out jump
    """
    model = open_model(file)
    figure = bool(model.links) and isinstance(model.links[0].joint, Free) and "left_sole" in model.landmarks
    world = World()
    q, v = thrown(model) if figure else (model.neutral(), np.zeros(model.nv))
    world.add(model, q=q, v=v)
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
    summary = _summary(model, recording, saved, picture)
    if as_json:
        typer.echo(json.dumps(summary))
        return
    for key, value in summary.items():
        typer.echo(f"{key.replace('_', ' '):32s} {value}")


def _summary(model: Model, recording: Recording, saved: Path, picture: Path | None) -> dict[str, object]:
    h = momentum(model, recording.q, recording.v)
    drift = np.abs(h[:, 3:] - h[0, 3:]).max()
    free = bool(model.links) and isinstance(model.links[0].joint, Free)
    return {
        "model": model.name,
        "time_s": float(recording.time[-1]),
        "samples": len(recording),
        "energy_start_J": float(recording.energy[0]),
        "energy_end_J": float(recording.energy[-1]),
        **({"angular_momentum_drift": float(drift)} if free else {}),
        "largest_torque_Nm": float(np.abs(recording.tau).max(initial=0.0)),
        "recording": str(saved),
        "picture": None if picture is None else str(picture),
    }
