"""Limits, springs, dampers, armature and largest effort of the joints of a compiled MuJoCo model."""

from __future__ import annotations

from math import inf, isfinite
from typing import Any

import numpy as np

from ukemi.model.readers.mjcf_kinds import ON_JOINT, JointKind


def drive_options(m: Any, j: int) -> dict[str, Any]:
    """Options of the joint, as far as they are given. The spring of a free joint is left out."""
    kind, q, v = JointKind(m.jnt_type[j]), int(m.jnt_qposadr[j]), int(m.jnt_dofadr[j])
    freedoms = slice(v, v + kind.nv)
    options: dict[str, Any] = {"armature": m.dof_armature[freedoms]}
    if m.dof_damping[freedoms].any():
        options["damping"] = np.diag(m.dof_damping[freedoms])
    if kind is JointKind.FREE:
        return options
    if m.jnt_limited[j]:
        options["limits"] = m.jnt_range[j]
    if m.jnt_stiffness[j] != 0:
        options["stiffness"] = m.jnt_stiffness[j]
        options["rest"] = m.qpos_spring[q : q + kind.nq]
    if kind is not JointKind.BALL and isfinite(effort := _effort(m, j)):
        options["effort"] = effort
    return options


def _effort(m: Any, j: int) -> float:
    """The smaller of what the joint bears and what its actuators can give together; infinite without a bound."""
    bears = float(np.abs(m.jnt_actfrcrange[j]).max()) if m.jnt_actfrclimited[j] else inf
    actuators = [int(a) for a in np.flatnonzero(m.actuator_trnid[:, 0] == j) if m.actuator_trntype[a] in ON_JOINT]
    give = [_largest_force(m, a) * abs(float(m.actuator_gear[a, 0])) for a in actuators]
    return min(bears, sum(give)) if give else bears


def _largest_force(m: Any, a: int) -> float:
    if m.actuator_forcelimited[a]:
        return float(np.abs(m.actuator_forcerange[a]).max())
    is_motor = m.actuator_gaintype[a] == 0 and m.actuator_biastype[a] == 0 and m.actuator_dyntype[a] == 0
    if is_motor and m.actuator_ctrllimited[a]:  # force = gain * control
        return float(np.abs(m.actuator_gainprm[a, 0] * m.actuator_ctrlrange[a]).max())
    return inf
