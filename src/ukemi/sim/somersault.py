"""A figure thrown into the air that tucks, spins faster, and opens again: the embedded default of ``ukemi simulate``.

Nothing touches it, so its angular momentum about the centre of mass stays and the centre of mass flies a parabola,
whatever the joints do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ukemi.dynamics.forward import mass_matrix
from ukemi.dynamics.inverse import bias
from ukemi.dynamics.kinematics import difference, link_poses
from ukemi.model.arrays import Array
from ukemi.model.model import Model

TUCK_START, TUCK_END = 0.1, 0.7  # [s]
STIFFNESS, DAMPING = 150.0, 24.0  # of the posture, per unit inertia: critically damped at 12 rad/s
#: joint -> angle [rad] about y when tucked; hinges take the angle itself
TUCK = {"waist": 0.5, "neck": 0.3, "shoulder": -0.9, "elbow": 1.2, "hip": -1.9, "knee": 2.2, "ankle": 0.3}


def thrown(model: Model) -> tuple[Array, Array]:
    """Start: standing height plus 0.4 m, upwards at 4.5 m/s, turning backwards at 4 rad/s."""
    q, v = model.neutral(), np.zeros(model.nv)
    poses = link_poses(model, q)
    soles = [poses[model.link_index(m.link)] @ m.at.matrix for name, m in model.landmarks.items() if "sole" in name]
    q[2] = 0.4 - min(X[2, 3] for X in soles)
    v[2], v[4] = 4.5, -4.0
    return q, v


@dataclass
class Tuck:
    """Joint torques that hold a posture, tucked between two times: computed torques with no hand on the root."""

    model: Model

    def __post_init__(self) -> None:
        self._open = self.model.neutral()
        self._tucked = self.model.neutral()
        for link in self.model.links:
            for joint, angle in TUCK.items():
                if link.joint_name.endswith(joint):
                    half = angle / 2
                    self._tucked[link.q] = angle if link.joint.nq == 1 else (np.cos(half), 0, np.sin(half), 0)

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        model = self.model
        goal = (self._tucked if TUCK_START < t < TUCK_END else self._open).copy()
        goal[:7] = q[:7]
        a = (STIFFNESS * difference(model, q, goal) - DAMPING * v)[6:]
        M, b = mass_matrix(model, q), bias(model, q, v)
        root = np.linalg.solve(M[:6, :6], -b[:6] - M[:6, 6:] @ a)
        tau: Array = M @ np.concatenate([root, a]) + b
        tau[:6] = 0.0
        return tau
