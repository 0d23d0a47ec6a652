"""Joint moments of ukemi beside those of OpenSim's InverseDynamicsTool on the same models, motions and forces.

    python -m venv osim && osim/bin/pip install opensim
    OPENSIM_PYTHON=osim/bin/python python bench/opensim_id.py FOLDER ... [--cutoff 6]

FOLDER: with one .osim and trials ``T_ik.mot`` and ``T_grf.mot`` beside it. Without OPENSIM_PYTHON, opensim is taken
from the environment that runs this. Per trial two rows, for the joints in shares of each moment's range (largest minus
smallest; moments that range over less than 1 N m are left out), for the residual at the root in N and N m:

- ``same``: both get one low-passed motion and differentiate it themselves; the models, splines and forces are judged.
- ``own``: both get the motion as it is and low-pass it at the cut-off; the ends are continued in different ways.

Forces are the plates' at the frames, for both; each plate acts on the foot (calcn_r, calcn_l) that is nearest to its
centre of pressure. Forces of the model (muscles, contacts, springs) are left out. A coordinate that a constraint ties
to another (the patella's) gets its column in the motion. Ends with 1 where a ``same`` row is off by more than 1 %.

What is left in ``same`` rows is OpenSim's: where a joint turns about several axes by functions of one coordinate (the
knee of Rajagopal 2016), the accelerations that OpenSim 4.6 uses are not quite the derivatives of its velocities (by
0.3 % of the knee's angular acceleration), and where such axes are not square to each other nor are its velocities those
of its places.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

GOAL = 0.01
#: Moments that range over less are noise [N m, N].
LEAST = 1.0
FEET = ("calcn_r", "calcn_l")


def opensims(job: dict[str, Any]) -> None:
    """Runs OpenSim's tool; in its own interpreter."""
    import opensim

    opensim.Logger.setLevelString("Error")
    loads = opensim.ExternalLoads()
    loads.setDataFileName(job["forces"])
    for plate, body in job["bodies"].items():
        force = opensim.ExternalForce()
        force.setName(plate)
        force.set_applied_to_body(body)
        force.set_force_expressed_in_body("ground")
        force.set_point_expressed_in_body("ground")
        force.set_force_identifier(f"ground_force_{plate}_v")
        force.set_point_identifier(f"ground_force_{plate}_p")
        force.set_torque_identifier(f"ground_torque_{plate}_")
        loads.cloneAndAppend(force)
    loads.printToXML(job["loads"])
    for motion, cutoff, results in job["runs"]:
        tool = opensim.InverseDynamicsTool()
        tool.setModelFileName(job["model"])
        tool.setCoordinatesFileName(motion)
        tool.setExternalLoadsFileName(job["loads"])
        tool.setLowpassCutoffFrequency(cutoff)
        tool.setStartTime(-1e9)
        tool.setEndTime(1e9)
        excluded = opensim.ArrayStr()
        excluded.append("ALL")
        tool.setExcludedForces(excluded)
        tool.setResultsDir(str(Path(results).parent))
        tool.setOutputGenForceFileName(Path(results).name)
        tool.run()


def trial(
    model_file: Path, motion: Path, plates: Path, cutoff: float
) -> dict[str, tuple[float, str, float, float, float]]:
    """{row: (largest share of a moment's range, which, median over the moments, N and N m at the root)}."""
    import numpy as np

    import ukemi as uk
    from ukemi.forces.inverse import inverse_dynamics_of_trial
    from ukemi.motion.ground_forces import GroundForces, read_ground_forces, write_ground_forces
    from ukemi.motion.opensim import joint_coordinates
    from ukemi.motion.tables import read_table, write_table
    from ukemi.motion.trajectory import low_pass

    model = uk.load(model_file)
    time, q = joint_coordinates(model, motion)
    raw = read_ground_forces(plates)
    inside = (time >= raw.time[0]) & (time <= raw.time[-1])
    time, q = time[inside], q[inside]

    def at_frames(values: Any) -> Any:
        flat = values.reshape(len(raw), -1)
        columns = [np.interp(time, raw.time, column) for column in flat.T]
        return np.stack(columns, axis=1).reshape(len(time), *values.shape[1:])

    forces = GroundForces(time, raw.names, *(at_frames(x) for x in (raw.force, raw.point, raw.torque)))
    X = uk.link_poses(model, q)
    places = np.stack([X[:, model.link_index(foot), :3, 3] for foot in FEET], axis=1)
    bodies = {}
    for k, plate in enumerate(forces.names):
        away = np.linalg.norm(places - forces.point[:, k, None], axis=2)
        bodies[plate] = FEET[int(np.argmin((away * forces.force[:, k, 2, None]).sum(axis=0)))]
    smooth = low_pass(q, 1 / np.diff(time).mean(), cutoff)
    wanted = {"same": (smooth, None, -1.0), "own": (q, cutoff, cutoff)}
    root = set(model.joint_names[: model.joint_names.index(_root(model)) + 1])
    rows: dict[str, tuple[float, str, float, float, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for name, (states, _, theirs) in wanted.items():
            columns = {c: states[:, model.joint(c).q.start] for c in model.coordinates}
            file = write_table(Path(folder) / f"{name}.mot", time, columns)
            runs.append((str(file), theirs, str(Path(folder) / f"{name}.sto")))
        job = {
            "model": str(model_file.resolve()),
            "forces": str(write_ground_forces(forces, Path(folder) / "forces.mot")),
            "loads": str(Path(folder) / "loads.xml"),
            "bodies": bodies,
            "runs": runs,
        }
        python = Path(os.environ.get("OPENSIM_PYTHON", sys.executable)).absolute()
        command = [str(python), str(Path(__file__).resolve()), "--job", json.dumps(job)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder)  # OpenSim leaves a log
        for (name, (states, ours, _)), (*_, results) in zip(wanted.items(), runs, strict=True):
            if not Path(results).exists():
                raise SystemExit(f"{motion}: OpenSim gave nothing:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
            table = read_table(results)
            moments = inverse_dynamics_of_trial(model, time, states, forces, bodies, ours)
            shares, left = {}, {"force": 0.0, "moment": 0.0}
            for label in table.names:
                theirs_then = np.interp(time, table.time, table[label])
                off, span = np.abs(moments[label] - theirs_then).max(), np.ptp(theirs_then)
                coordinate, _, kind = label.rpartition("_")
                if coordinate in root:
                    left[kind] = max(left[kind], float(off))
                elif span > LEAST:
                    shares[label] = off / span
            worst = max(shares, key=lambda label: shares[label])
            rows[name] = (
                float(shares[worst]),
                worst,
                float(np.median(list(shares.values()))),
                left["force"],
                left["moment"],
            )
    return rows


def _root(model: Any) -> str:
    """The last joint between the ground and the first body."""
    link = model.links[0]
    while link.mass_properties.mass == 0:
        link = link.children[0]
    return str(link.joint_name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--cutoff", type=float, default=6.0, help="low-pass of the motions [Hz]")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        opensims(json.loads(options.job))
        return 0
    warnings.simplefilter("ignore")
    print("| trial | row | worst % of range | of | median % | root N | root N m |\n|---|---|---|---|---|---|---|")
    far = False
    for folder in options.folders:
        (model,) = sorted(folder.glob("*.osim"))
        for motion in sorted(folder.glob("*_ik.mot")):
            plates = motion.with_name(motion.name.replace("_ik.mot", "_grf.mot"))
            if not plates.exists():
                continue
            for row, (worst, of, median, newtons, arms) in trial(model, motion, plates, options.cutoff).items():
                name = f"{folder.name}/{motion.name.removesuffix('_ik.mot')}"
                print(
                    f"| {name} | {row} | {100 * worst:.2g} | {of} | {100 * median:.1g} | {newtons:.2g} | {arms:.2g} |",
                    flush=True,
                )
                far |= row == "same" and worst > GOAL
    return int(far)


if __name__ == "__main__":
    sys.exit(main())
