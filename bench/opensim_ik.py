"""`ukemi ik` beside OpenSim's InverseKinematicsTool and ScaleTool on the same models and markers.

    python -m venv osim && osim/bin/pip install opensim
    export OPENSIM_PYTHON=osim/bin/python
    python bench/opensim_ik.py FOLDER ...
    python bench/opensim_ik.py --scale MODEL.osim STATIC.trc SETUP.xml [--trial TRIAL.trc --weights IK.xml]

FOLDER: with one .osim and trials ``T_markers.trc`` beside it; all markers weigh the same. Models and setups to try
--scale with are in the folders Pipelines and Models of github.com/opensim-org/opensim-models. Without OPENSIM_PYTHON,
opensim is taken from the environment that runs this. Prints, for inverse kinematics, two rows for each trial: OpenSim
run to an accuracy of 1e-9, where both have found the same minimum, and to 1e-5, its default, where it has not quite:

- in how many frames one of them found a lower minimum (sums of squared errors differ by more than `LOWER`), ukemi and
  OpenSim, at the finer accuracy and with equal weights; the columns after it are of the other frames;
- the largest difference of an angle, and of which coordinate; of all but those of which no marker says anything (there
  ukemi keeps the model's default and OpenSim drifts to the middle of the range);
- the largest difference of the markers' rms error, and what it is in the mean;
- processor time of both.

For scaling, the largest differences of the two scaled models as OpenSim reads them. Markers that are placed follow the
static pose, which the ScaleTool solves to 1e-4 only: ``static_pose`` compares with OpenSim's inverse kinematics to 1e-9
on the same averaged frame, tasks and scaled model. Ends with 1 where an angle at 1e-9 differs by more than `SAME`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time as clock
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

ACCURACIES = (1e-9, 1e-5)
#: Largest difference of an angle that is the same minimum [degrees]: forearms' turns, which markers hardly tell, differ
#: most.
SAME = 0.2
#: A lower minimum, by the sum of squared errors [m^2].
LOWER = 1e-6


# --- in OpenSim's interpreter -----------------------------------------------------------------------------------------
def opensims(job: dict[str, Any]) -> dict[str, Any]:
    import opensim

    opensim.Logger.setLevelString("Error")
    opensim.Logger.removeFileSink()
    if job["kind"] == "scale":
        return scale_by_opensim(opensim, job)
    if job["kind"] == "compare":
        return compared(opensim, job)
    model = opensim.Model(job["model"])
    setup = job.get("setup", "")
    tool = opensim.InverseKinematicsTool(setup, False) if setup else opensim.InverseKinematicsTool()
    if job.get("scale_setup"):
        scaler = opensim.ScaleTool(job["scale_setup"])  # must outlive what it gives
        placer = scaler.getMarkerPlacer()
        tool.set_IKTaskSet(placer.getIKTaskSet())
    markers = opensim.MarkerData(job["markers"])
    tool.setModel(model)
    tool.setName("ik")
    tool.setMarkerDataFileName(job["markers"])
    tool.setStartTime(markers.getStartFrameTime())
    tool.setEndTime(markers.getLastFrameTime())
    tool.set_accuracy(job["accuracy"])
    tool.set_report_errors(True)
    tool.setResultsDir(job["results"])
    tool.setOutputMotionFileName(str(Path(job["results"]) / "ik.mot"))
    start = clock.process_time()
    tool.run()
    return {"cpu": clock.process_time() - start}


def scale_by_opensim(opensim: Any, job: dict[str, Any]) -> dict[str, Any]:
    tool = opensim.ScaleTool(job["setup"])
    tool.setPathToSubject("")
    maker, scaler, placer = tool.getGenericModelMaker(), tool.getModelScaler(), tool.getMarkerPlacer()
    maker.setModelFileName(job["model"])
    if maker.getMarkerSetFileName() not in ("", "Unassigned"):
        maker.setMarkerSetFileName(str(Path(job["setup"]).parent / maker.getMarkerSetFileName().strip()))
    scaler.setMarkerFileName(job["static"])
    placer.setStaticPoseFileName(job["static"])
    out = Path(job["results"])
    scaler.setOutputModelFileName(str(out / "only_scaled.osim"))
    scaler.setOutputScaleFileName("")
    placer.setOutputModelFileName(job["out"])
    placer.setOutputMotionFileName("")
    placer.setOutputMarkerFileName("")
    start = clock.process_time()
    tool.run()
    return {"cpu": clock.process_time() - start}


def compared(opensim: Any, job: dict[str, Any]) -> dict[str, Any]:
    """What -> (largest difference, of which)."""
    one, two = (opensim.Model(file) for file in job["models"])
    states = [model.initSystem() for model in (one, two)]
    found: dict[str, tuple[float, str]] = {}

    def put(what: str, difference: float, name: str) -> None:
        if what not in found or difference > found[what][0]:
            found[what] = (difference, name)

    def apart(a: Any, b: Any) -> float:
        return max(abs(a[i] - b[i]) for i in range(3))

    def places(when: str) -> None:
        for body in one.getBodySet():
            other = two.getBodySet().get(body.getName())
            at = body.getPositionInGround(states[0]), other.getPositionInGround(states[1])
            put(f"body origins [m], {when}", apart(*at), body.getName())
        for muscle in one.getMuscles():
            lengths = muscle.getLength(states[0]), two.getMuscles().get(muscle.getName()).getLength(states[1])
            put(f"muscle paths [m], {when}", abs(lengths[0] - lengths[1]), muscle.getName())

    for body in one.getBodySet():
        other = two.getBodySet().get(body.getName())
        put("masses [kg]", abs(body.getMass() - other.getMass()), body.getName())
        put("mass centres [m]", apart(body.getMassCenter(), other.getMassCenter()), body.getName())
        I, J = body.getInertia(), other.getInertia()
        off = max(apart(I.getMoments(), J.getMoments()), apart(I.getProducts(), J.getProducts()))
        put("inertias [kg m^2]", off, body.getName())
    for marker in one.getMarkerSet():
        other = two.getMarkerSet().get(marker.getName())
        put("placed markers [m]", apart(marker.get_location(), other.get_location()), marker.getName())
    for muscle in one.getMuscles():
        other = two.getMuscles().get(muscle.getName())
        ratio = muscle.getOptimalFiberLength() / other.getOptimalFiberLength()
        put("fibre lengths [share]", abs(ratio - 1), muscle.getName())
    places("default pose")
    for model, state in zip((one, two), states, strict=True):
        for i, coordinate in enumerate(model.getCoordinateSet()):
            if not coordinate.getLocked(state) and not coordinate.isDependent(state):
                value = min(max(0.1 + 0.2 * (i % 3), coordinate.getRangeMin()), coordinate.getRangeMax())
                coordinate.setValue(state, value, False)
        model.assemble(state)
        model.realizePosition(state)
    places("another pose")
    return found


# --- in ours ----------------------------------------------------------------------------------------------------------
def run(job: dict[str, Any]) -> dict[str, Any]:
    command = [os.environ.get("OPENSIM_PYTHON", sys.executable), __file__, "--job", json.dumps(job)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"OpenSim failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def trial(model: Path, markers: Path, **more: str) -> bool:
    """Prints two rows; whether angles at the finer accuracy are the same."""
    import numpy as np

    from ukemi.forces.ik import inverse_kinematics
    from ukemi.forces.ik_tasks import read_tasks
    from ukemi.forces.osim_kinematics import OsimKinematics, open_osim
    from ukemi.forces.scale_setup import read_scale_setup
    from ukemi.motion.markers import read_markers
    from ukemi.motion.tables import read_table

    tasks = read_tasks(more["setup"]) if "setup" in more else None
    if "scale_setup" in more:
        tasks = read_scale_setup(more["scale_setup"]).tasks
    start = clock.process_time()
    ours = inverse_kinematics(OsimKinematics(open_osim(model)), read_markers(markers, up="y"), tasks)
    cpu = clock.process_time() - start
    same = True
    for accuracy in ACCURACIES:
        with tempfile.TemporaryDirectory() as folder:
            job = {"kind": "ik", "model": str(model.resolve()), "markers": str(markers.resolve()), "results": folder}
            theirs = run(job | {"accuracy": accuracy} | more)
            motion = read_table(Path(folder) / "ik.mot")
            errors = read_table(Path(folder) / "ik_ik_marker_errors.sto")
        off = ours.squared - errors["total_squared_error"]
        told = tasks is None and accuracy == ACCURACIES[0]  # else the sum is not what is made small, or not yet
        alike = np.abs(off) < LOWER if told else np.ones(len(off), dtype=bool)
        apart = {}
        for k, name in enumerate(ours.names):
            if ours.turning[k] and name not in ours.unseen:
                apart[name] = float(np.abs(np.rad2deg(ours.q[:, k]) - motion[name])[alike].max(initial=0))
        worst = max(apart, key=lambda name: apart[name])
        rms = np.abs(np.sqrt(ours.squared) - np.sqrt(errors["total_squared_error"]))[alike] / np.sqrt(len(ours.markers))
        lower = f"{int((off < -LOWER).sum())}, {int((off > LOWER).sum())}" if told else "-"
        print(
            f"| {model.parent.name}/{markers.stem} | {len(ours.time)} | {accuracy:g} | {lower} | {apart[worst]:.2g} | "
            f"{worst} | {float(np.median(list(apart.values()))):.2g} | {1000 * rms.max(initial=0):.2g} | "
            f"{1000 * ours.rms.mean():.2f} | {cpu:.2f} | {theirs['cpu']:.2f} |",
            flush=True,
        )
        same &= accuracy != ACCURACIES[0] or apart[worst] < SAME
    return same


HEAD = (
    "| trial | frames | OpenSim to | lower frames | largest angle deg | of | median deg | rms error mm | of mm | "
    "CPU s ukemi | OpenSim |\n|---|---|---|---|---|---|---|---|---|---|---|"
)


def scaling(model: Path, static: Path, setup: Path, trials: Path | None, weights: Path | None) -> bool:
    import numpy as np

    from ukemi.forces.osim_edit import write_scaled
    from ukemi.forces.osim_kinematics import OsimKinematics, open_osim
    from ukemi.forces.scale_setup import read_scale_setup
    from ukemi.forces.scaling import average, scale_model, setup_factors, with_marker_set
    from ukemi.motion.markers import read_markers, write_trc

    asked, standing = read_scale_setup(setup), read_markers(static, up="y")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours = folder / "ours.osim"
        scale_model(model, standing, ours, asked)
        job = {"model": str(model.resolve()), "static": str(static.resolve()), "setup": str(setup.resolve())}
        run({"kind": "scale", "results": name, "out": str(folder / "theirs.osim"), **job})
        found = run({"kind": "compare", "models": [str(folder / "theirs.osim"), str(ours)]})
        print("\n| scaled models | largest difference | of |\n|---|---|---|")
        for what, (difference, of) in found.items():
            print(f"| {what} | {difference:.2g} | {of} |")
        osim = open_osim(model) if asked.marker_set is None else with_marker_set(open_osim(model), asked.marker_set)
        factors, _ = setup_factors(osim, standing, asked)
        kinematics = OsimKinematics(osim, factors=factors)
        grown = {m: (b, type(at)(at.position * kinematics.scale(b))) for m, (b, at) in osim.markers.items()}
        unplaced = write_scaled(model, folder / "unplaced.osim", osim, kinematics, grown)
        mean = average(standing, asked.place)
        still = replace(mean, positions=np.repeat(mean.positions, 2, axis=0))  # OpenSim wants two frames
        pose = write_trc(still, folder / "static_pose.trc")
        print(f"\n{HEAD}")
        same = trial(unplaced, pose, scale_setup=str(setup.resolve()))
        if trials is not None:
            same &= trial(
                folder / "theirs.osim", trials, **({} if weights is None else {"setup": str(weights.resolve())})
            )
    return same


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--scale", nargs=3, type=Path, metavar=("MODEL", "STATIC", "SETUP"))
    parser.add_argument("--trial", type=Path, help="inverse kinematics on OpenSim's scaled model")
    parser.add_argument("--weights", type=Path, help="setup of OpenSim's inverse kinematics")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(opensims(json.loads(options.job))))
        return 0
    warnings.simplefilter("ignore")
    same = True
    if options.scale:
        model, static, setup = options.scale
        same &= scaling(model, static, setup, options.trial, options.weights)
    if options.folders:
        print(HEAD)
    for folder in options.folders:
        (model,) = sorted(folder.glob("*.osim"))
        for markers in sorted(folder.glob("*_markers.trc")):
            same &= trial(model, markers)
    return int(not same)


if __name__ == "__main__":
    sys.exit(main())
