"""MJCF files, through MuJoCo's own compiler.

Read: bodies with their inertias, joints (several on one body too) with ref, range, spring, damping, armature and the
largest force of their actuators; geoms that collide; connect and weld as loops, joint equalities as couplings;
named sites as landmarks. Meshes may be absent where they carry no mass.
Ignored: cameras, lights, materials, sensors, keyframes, contact parameters, solver options.
Warned about: what MuJoCo would let act on the motion and a Model does not (see `_warn_forces`).
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ukemi.errors import FileFormatError, InvalidInputError, ModelError, UkemiError
from ukemi.model.description import Description
from ukemi.model.readers.diagnostics import Diagnostics
from ukemi.model.readers.mjcf_bodies import Bodies
from ukemi.model.readers.mjcf_files import ready_to_compile, to_xml
from ukemi.model.readers.mjcf_kinds import JointKind
from ukemi.model.readers.mjcf_names import joint_names
from ukemi.model.readers.mjcf_shapes import shapes_of_bodies
from ukemi.model.readers.mjcf_ties import add_landmarks, add_ties
from ukemi.model.readers.xmltree import LARGEST_NUMBER, Element


def read_mjcf(root: Element, diagnostics: Diagnostics) -> Description:
    """The mechanism of a <mujoco>.

    Raises:
        FileFormatError: whatever is wrong with the file, in MuJoCo's words where its compiler found it.
        UkemiError: mujoco is not installed.
    """
    m = compile_mjcf(root, diagnostics)
    _check_numbers(m, root)
    description = Description(root.attributes.get("model") or root.path.stem)
    try:
        description.links.extend(Bodies(m, shapes_of_bodies(m, diagnostics)).links())
        add_ties(m, description, diagnostics)
        add_landmarks(m, description)
    except (ModelError, InvalidInputError) as error:
        raise FileFormatError(root.path, None, str(error)) from error
    description.gravity = (float(m.opt.gravity[0]), float(m.opt.gravity[1]), float(m.opt.gravity[2]))
    _warn_forces(m, diagnostics)
    return description


def compile_mjcf(root: Element, diagnostics: Diagnostics) -> Any:
    """The MjModel of a <mujoco>, without decoration and absent meshes."""
    try:
        import mujoco
    except ImportError as cause:
        raise UkemiError("MJCF files are read with mujoco, which is not installed: pip install ukemi[mjcf]") from cause
    text, origins = to_xml(ready_to_compile(root, diagnostics))
    before = mujoco.get_mju_user_warning()
    # by default MuJoCo appends its warnings to a file where the user stands
    mujoco.set_mju_user_warning(lambda message: diagnostics.warn(f"MuJoCo: {' '.join(message.split())}"))
    try:
        return mujoco.MjModel.from_xml_string(text)
    except (ValueError, mujoco.FatalError) as cause:
        message = " ".join(str(cause).split())
        line = re.search(r",? line (?:number=)?(\d+)", message, re.IGNORECASE)
        if line is None or not 0 < int(line[1]) <= len(origins):
            raise FileFormatError(root.path, None, f"MuJoCo: {message}") from cause
        # the line is of the text made here; what counts is where it came from
        raise origins[int(line[1]) - 1].error(f"MuJoCo: {message.replace(line[0], '')}") from cause
    finally:
        mujoco.set_mju_user_warning(before)


def _check_numbers(m: Any, root: Element) -> None:
    """MuJoCo accepts numbers whose products are not finite."""
    for what in ("body_mass", "body_inertia", "body_ipos", "body_pos", "jnt_pos", "geom_pos", "geom_size", "qpos0"):
        if not (np.abs(getattr(m, what)) < LARGEST_NUMBER).all():
            raise FileFormatError(root.path, None, f"{what}: expected finite numbers below {LARGEST_NUMBER:g}")


def _warn_forces(m: Any, diagnostics: Diagnostics) -> None:
    """Warns about what acts on the motion in MuJoCo and not in a Model."""
    names = joint_names(m)
    for v in np.flatnonzero(m.dof_frictionloss):
        diagnostics.warn("joint friction (frictionloss) is not modelled", example=names[m.dof_jntid[v]])
    for j in np.flatnonzero(m.jnt_type == JointKind.FREE):
        if m.jnt_stiffness[j] != 0:
            diagnostics.warn("springs of free joints are not modelled", example=names[j])
        if m.dof_armature[m.jnt_dofadr[j]] != 0:
            diagnostics.warn("armature of a free joint acts along the link's axes, not the world's", example=names[j])
    for kind, present in {
        "tendons are not modelled": m.ntendon,
        "soft bodies (flex) are not modelled": m.nflex,
        "plugins are not modelled": m.nplugin,
        "gravity compensation is not modelled": m.body_gravcomp.any(),
        "the surrounding fluid is not modelled": m.opt.density or m.opt.viscosity,
        "polynomial springs and dampers: only the linear part is read": _any(m, "jnt_stiffnesspoly", "dof_dampingpoly"),
        "armature and damping of actuators are not modelled": _any(m, "actuator_armature", "actuator_damping"),
        f"gravity {m.opt.gravity.tolist()} acts where it is given: World(gravity=model.gravity)": not np.array_equal(
            m.opt.gravity, (0, 0, -9.81)
        ),
    }.items():
        if present:
            diagnostics.warn(kind)


def _any(m: Any, *fields: str) -> bool:
    """Whether any of these is not zero; older versions of MuJoCo lack some."""
    return any(np.any(getattr(m, name, 0)) for name in fields)
