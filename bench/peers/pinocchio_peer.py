"""Pinocchio's model of the same bodies, through its Python interface."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from mechanism import Body

from ukemi.model.arrays import Array

VERSION: str = pin.__version__


class Pinocchio:
    """Velocities and torques are laid out as ukemi's; quaternions are (x, y, z, w)."""

    name = "Pinocchio"

    def __init__(self, rows: list[Body]) -> None:
        self.model = pin.Model()
        self.model.gravity.linear = np.array((0, 0, -9.81))
        for b in rows:
            i = self.model.addJoint(b.parent + 1, _joint(b), pin.SE3(b.at.R, b.at.position.copy()), b.name)
            self.model.appendBodyToJoint(i, pin.Inertia(b.mass, b.com.copy(), b.inertia.copy()), pin.SE3.Identity())
        self.data = self.model.createData()

    def coordinates(self, q: Array) -> Array:
        """Pinocchio's q from ukemi's."""
        out = q.copy()
        for joint in self.model.joints:
            if joint.nq >= 4:
                k = joint.idx_q + joint.nq - 4
                out[k : k + 4] = np.roll(q[k : k + 4], -1)
        return out


def _joint(b: Body) -> object:
    if b.kind == "free":
        return pin.JointModelFreeFlyer()
    if b.kind == "spherical":
        return pin.JointModelSpherical()
    aligned = {0: pin.JointModelRX, 1: pin.JointModelRY, 2: pin.JointModelRZ}
    along = int(np.argmax(b.axis))
    return aligned[along]() if b.axis[along] == 1 else pin.JointModelRevoluteUnaligned(b.axis)
