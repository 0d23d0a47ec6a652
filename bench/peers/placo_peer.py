"""PlaCo's whole-body solve of a standing figure, in a process of its own: its wheel wants another Pinocchio.

``PLACO_PYTHON`` names the interpreter that has it; without it, the one that runs the benchmark is tried.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import numpy as np
from mechanism import Body, bodies
from scipy.spatial.transform import Rotation

import ukemi as uk
from ukemi.model.arrays import Array
from ukemi.motion.humanoid import model_soles

PROGRAM = Path(__file__).with_name("placo_program.py")
NAMES = ("PlaCo", "PlaCo with limits")
#: Turns of a ball joint as PlaCo gets it: three hinges without mass between them.
AXES = "xyz"


class Placo:
    """The figure in the pose q on its soles; ``built`` says what PlaCo found.

    Raises:
        RuntimeError: PlaCo is missing, or could not be asked.
    """

    def __init__(self, model: uk.Model, q: Array, folder: Path, **settings: float) -> None:
        path = folder / "figure.urdf"
        soles = model_soles(model)
        path.write_text(urdf(model, {sole.link: np.mean(sole.points, axis=0) for sole in soles.values()}))
        length, width = np.ptp(np.asarray(next(iter(soles.values())).points), axis=0)[:2]
        task = {
            "urdf": str(path),
            "base": uk.Pose(q[:3], q[3:7]).matrix.tolist(),
            "angles": angles(model, q),
            "soles": [f"{sole.link}_sole" for sole in soles.values()],
            "sole_size": [float(length), float(width)],
            "root": model.link_names[0],
            **settings,
        }
        command = [os.environ.get("PLACO_PYTHON", sys.executable), str(PROGRAM)]
        pipe = subprocess.PIPE
        outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=outside)
        self.built: dict[str, Any] = json.loads(self._ask(json.dumps(task)))

    def seconds(self, solves: int) -> list[float]:
        """Of one solve, by NAMES, each the mean of so many in a row."""
        return [float(x) for x in self._ask(str(solves)).split()]

    def _ask(self, line: str) -> str:
        to, answers, complaints = self._pipes()
        try:
            print(line, file=to, flush=True)
            answer = answers.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self._process.wait()
            last = complaints.read().strip().splitlines()
            raise RuntimeError(last[-1] if last else "it ended without a word")
        return answer

    def _pipes(self) -> tuple[IO[str], IO[str], IO[str]]:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        return process.stdin, process.stdout, process.stderr

    def close(self) -> None:
        for pipe in self._pipes():
            pipe.close()
        self._process.wait()


def angles(model: uk.Model, q: Array) -> dict[str, float]:
    """Of every hinge that PlaCo has, by name."""
    found: dict[str, float] = {}
    for link in model.links[1:]:
        if isinstance(link.joint, uk.Spherical):
            turns = Rotation.from_quat(q[link.q], scalar_first=True).as_euler(AXES.upper())
            found |= {f"{link.joint_name}_{axis}": float(a) for axis, a in zip(AXES, turns, strict=True)}
        else:
            found[link.joint_name] = float(q[link.q][0])
    return found


def urdf(model: uk.Model, soles: dict[str, Array]) -> str:
    """The figure with its free base left out (PlaCo adds one), and a frame ``<link>_sole`` at the given places."""
    parts = []
    for link, body in zip(model.links, bodies(model), strict=True):
        parts.append(_link(body))
        if link.parent is None:
            continue
        above = link.parent.name
        rpy = Rotation.from_matrix(body.at.R).as_euler("xyz")
        origin = f'<origin xyz="{_numbers(body.at.position)}" rpy="{_numbers(rpy)}"/>'
        if body.kind == "revolute":
            limits = np.asarray(link.joint.limits)[0] if link.joint.limits is not None else (-3.2, 3.2)
            parts.append(_hinge(link.joint_name, above, body.name, origin, body.axis, limits))
            continue
        for k, axis in enumerate(AXES):
            below = body.name if axis == AXES[-1] else f"{body.name}_{axis}"
            if below != body.name:
                parts.append(f'<link name="{below}"/>')
            parts.append(_hinge(f"{link.joint_name}_{axis}", above, below, origin, np.eye(3)[k], (-3.2, 3.2)))
            above, origin = below, ""
    for name, place in soles.items():
        origin = f'<origin xyz="{_numbers(place)}"/>'
        ends = f'<parent link="{name}"/><child link="{name}_sole"/>'
        parts.append(f'<link name="{name}_sole"/><joint name="{name}_to_sole" type="fixed">{origin}{ends}</joint>')
    return f'<robot name="figure">{"".join(parts)}</robot>'


def _link(b: Body) -> str:
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    inertia = b.inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    six = " ".join(f'{name}="{value:.17g}"' for name, value in zip(names, inertia, strict=True))
    inertial = f'<origin xyz="{_numbers(b.com)}"/><mass value="{b.mass:.17g}"/><inertia {six}/>'
    return f'<link name="{b.name}"><inertial>{inertial}</inertial></link>'


def _hinge(name: str, above: str, below: str, origin: str, axis: Array, limits: Array | tuple[float, float]) -> str:
    # a figure without torque limits: 1000 N m, which no joint of it reaches
    limit = f'<limit lower="{limits[0]:.17g}" upper="{limits[1]:.17g}" effort="1000" velocity="100"/>'
    ends = f'<parent link="{above}"/><child link="{below}"/>'
    return f'<joint name="{name}" type="revolute">{origin}{ends}<axis xyz="{_numbers(axis)}"/>{limit}</joint>'


def _numbers(x: Array | tuple[float, ...]) -> str:
    return " ".join(f"{value:.17g}" for value in x)
