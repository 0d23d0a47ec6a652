"""Limits, springs, dampers, armature and largest effort of the joints of a compiled MuJoCo model."""

from __future__ import annotations

from math import inf, isfinite
from typing import Any

import numpy as np

#: MuJoCo's mjtJoint and its number of coordinates and of freedoms
_FREE, _BALL = 0, 1
_NQ, _NV = (7, 4, 1, 1), (6, 3, 1, 1)
#: MuJoCo's mjtTrn: joint, joint in parent
_ON_JOINT = (0, 1)


def drive_options(m: Any, j: int) -> dict[str, Any]:
    """Options of the joint, as far as they are given."""
    kind, q, v = int(m.jnt_type[j]), int(m.jnt_qposadr[j]), int(m.jnt_dofadr[j])
    options: dict[str, Any] = {"armature": m.dof_armature[v : v + _NV[kind]]}
    if m.dof_damping[v] != 0:
        options["damping"] = np.diag(m.dof_damping[v : v + _NV[kind]])
    if kind == _FREE:
        return options
    if m.jnt_limited[j]:
        options["limits"] = m.jnt_range[j]
    if m.jnt_stiffness[j] != 0:
        options["stiffness"] = m.jnt_stiffness[j]
        options["rest"] = m.qpos_spring[q : q + _NQ[kind]]
    if kind != _BALL and isfinite(effort := _effort(m, j)):
        options["effort"] = effort
    return options


def _effort(m: Any, j: int) -> float:
    """The smaller of what the joint bears and what its actuators can give together; infinite without a bound."""
    bears = float(np.abs(m.jnt_actfrcrange[j]).max()) if m.jnt_actfrclimited[j] else inf
    on_joint = [a for a in range(m.nu) if m.actuator_trntype[a] in _ON_JOINT and m.actuator_trnid[a, 0] == j]
    give = sum(_largest_force(m, a) * abs(float(m.actuator_gear[a, 0])) for a in on_joint) if on_joint else inf
    return min(bears, give)


def _largest_force(m: Any, a: int) -> float:
    if m.actuator_forcelimited[a]:
        return float(np.abs(m.actuator_forcerange[a]).max())
    is_motor = m.actuator_gaintype[a] == 0 and m.actuator_biastype[a] == 0 and m.actuator_dyntype[a] == 0
    if is_motor and m.actuator_ctrllimited[a]:  # force = gain * control
        return float(np.abs(m.actuator_gainprm[a, 0] * m.actuator_ctrlrange[a]).max())
    return inf
