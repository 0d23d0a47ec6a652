"""MuJoCo's model of the same bodies: MJCF text with everything but smooth dynamics switched off."""

from __future__ import annotations

import mujoco
import numpy as np
from mechanism import Body

from ukemi.model.arrays import Array
from ukemi.model.pose import rotation_matrix

VERSION: str = mujoco.__version__
OFF = ("constraint", "equality", "frictionloss", "limit", "contact", "spring", "damper", "actuation", "sensor")


class Mujoco:
    """MuJoCo has the linear velocity of a free joint in world axes: v_M = R v, f_M = R f, vdot = R^T vdot_M - w x v."""

    name = "MuJoCo"

    def __init__(self, rows: list[Body]) -> None:
        self.model = mujoco.MjModel.from_xml_string(mjcf(rows))
        self.data = mujoco.MjData(self.model)
        self.free = rows[0].kind == "free"

    def turned(self, q: Array, x: Array) -> Array:
        """Velocities or torques in MuJoCo's layout from ukemi's."""
        return np.concatenate([rotation_matrix(q[3:7]) @ x[:3], x[3:]]) if self.free else x

    def forward_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        """Accelerations in MuJoCo's layout, from v and tau in MuJoCo's layout."""
        data = self.data
        data.qpos, data.qvel, data.qfrc_applied = q, v, tau
        mujoco.mj_forward(self.model, data)
        a: Array = data.qacc
        return a

    def accelerations(self, q: Array, v: Array, a: Array) -> Array:
        """ukemi's accelerations from MuJoCo's; v as ukemi has it."""
        if not self.free:
            return a
        return np.concatenate([rotation_matrix(q[3:7]).T @ a[:3] - np.cross(v[3:6], v[:3]), a[3:]])


def mjcf(rows: list[Body]) -> str:
    """The bodies as MJCF."""
    flags = " ".join(f'{flag}="disable"' for flag in OFF)
    children: dict[int, list[int]] = {}
    for i, b in enumerate(rows):
        children.setdefault(b.parent, []).append(i)
    inner = "".join(_element(rows, children, i) for i in children[-1])
    return f'<mujoco><option gravity="0 0 -9.81"><flag {flags}/></option><worldbody>{inner}</worldbody></mujoco>'


def _element(rows: list[Body], children: dict[int, list[int]], i: int) -> str:
    b = rows[i]
    joint = {
        "free": "<freejoint/>",
        "spherical": '<joint type="ball"/>',
        "revolute": f'<joint type="hinge" axis="{_numbers(b.axis)}"/>',
    }[b.kind]
    xx_yy_zz_xy_xz_yz = b.inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    return (
        f'<body pos="{_numbers(b.at.position)}" quat="{_numbers(b.at.quaternion)}">'
        f'<inertial mass="{b.mass!r}" pos="{_numbers(b.com)}" fullinertia="{_numbers(xx_yy_zz_xy_xz_yz)}"/>'
        f"{joint}{''.join(_element(rows, children, k) for k in children.get(i, []))}</body>"
    )


def _numbers(x: Array) -> str:
    return " ".join(f"{value:.17g}" for value in x)
