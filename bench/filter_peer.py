"""The whole-clip filter beside Crocoddyl's FDDP (multi-contact optimal control) on one clip and one robot.

    pip install crocoddyl
    python bench/filter_peer.py ROBOT.xml ROBOT.urdf CLIP.bvh [--contacts foot] [--iterations 100] [--seconds 3]

Both are asked for the motion nearest to the same retargeted reference that full dynamics allow with forces on the feet
in friction cones, at the same samples. Both rows are measured by the same code, at these samples. What differs:

- Crocoddyl does not look for contacts: it is given those that ukemi found, and the state that ukemi starts from.
- With ``--contacts foot`` (6D) a foot is held still as a whole while any of its points bears: it cannot roll from heel
  to toe. Its wrench stays in the cone of its sole. With ``--contacts points`` (3D) the points that ukemi loads are held.
- Contacts are held in accelerations and damped in one step, without impacts: what lands stops in one sample. Where it
  lands is not hard: points in contact pay for their height. Nothing keeps the other points out of the ground.
- Cones are penalties in Crocoddyl; ``cone`` says how far forces leave them. Torque limits are not kept there.
- ukemi follows the reference behind a low-pass, as splines with accelerations as a price; Crocoddyl multiple-shoots
  with explicit (semi-implicit Euler) steps and pays for torques instead. Costs of distances and of rates are alike.
"""

from __future__ import annotations

import argparse
import sys
import time as clock
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import ukemi as uk
from ukemi.dynamics.kinematics import center_of_mass, difference, link_poses
from ukemi.dynamics_filter.result import FilterResult
from ukemi.dynamics_filter.trajectory.setting import STANDARD
from ukemi.model.arrays import Array
from ukemi.model.model import Model

try:
    import crocoddyl
    import pinocchio as pin
except ImportError:
    print("Crocoddyl is not installed here: pip install crocoddyl")
    sys.exit(2)

FRICTION, GRAVITY = 0.8, 9.81
#: Prices of Crocoddyl's problem: torque over its limit squared, force outside of a cone [1/N^2].
TORQUE, CONE = 0.1, 0.1
#: By this a contact's matrix is damped where its points constrain a foot more often than it has freedoms.
DAMPING = 1e-9
#: What the two models may differ by [kg, m].
SAME = 1e-3
HEADER = "| | iterations | converged | CPU s | CPU s per s | joints RMS deg | CoM RMS cm | skate cm/s | float mm | cone BW |"


@dataclass(frozen=True, eq=False)
class Feet:
    """Points of the feet: links (np,), places (np, 3) in them [m], names of their feet; bears (n, np)."""

    links: NDArray[np.intp]
    places: Array
    names: tuple[str, ...]
    bears: NDArray[np.bool_]

    @staticmethod
    def of(result: FilterResult) -> Feet:
        ever = result.contact.any(axis=0)
        on = np.flatnonzero([g in {n for n, e in zip(result.point_groups, ever, strict=True) if e} for g in result.point_groups])
        X = link_poses(result.model, result.q[0])[result.point_links[on]]
        places = np.einsum("pji,pj->pi", X[:, :3, :3], result.place[0, on] - X[:, :3, 3])
        return Feet(result.point_links[on], places, tuple(result.point_groups[i] for i in on), result.contact[:, on])

    def at(self, model: Model, q: Array) -> Array:
        """(n, np, 3) in the world."""
        X = link_poses(model, q)[:, self.links]
        return np.asarray(np.einsum("npij,pj->npi", X[..., :3, :3], self.places) + X[..., :3, 3])


class Peer:
    """The same robot for Pinocchio; q and v there and back."""

    def __init__(self, model: Model, urdf: Path) -> None:
        self.model, self.robot = model, pin.buildModelFromUrdf(str(urdf), pin.JointModelFreeFlyer())
        self.order = np.arange(model.nq)
        self.order[3:7] = (4, 5, 6, 3)
        armature, self.effort = np.zeros(model.nv), np.ones(model.nv - 6)
        for link in model.links[1:]:
            if link.joint.nv:
                joint = self.robot.joints[self.robot.getJointId(link.joint_name)]
                self.order[joint.idx_q] = link.q.start
                armature[joint.idx_v] = np.ravel(link.joint.armature)[0]
                self.effort[joint.idx_v - 6] = 1.0 if link.joint.effort is None else np.ravel(link.joint.effort)[0]
        self.robot.armature = armature
        self.back = np.argsort(self.order)

    def disagreement(self) -> float:
        """Largest difference in mass, centre of mass, link places and inertia matrix over some random poses."""
        data, worst = self.robot.createData(), 0.0
        rng = np.random.default_rng(1)
        for k in range(10):
            q = self.model.neutral() if not k else self.model.random(rng)
            there = q[self.order]
            worst = max(worst, float(np.abs(pin.centerOfMass(self.robot, data, there) - center_of_mass(self.model, q)).max()))
            pin.framesForwardKinematics(self.robot, data, there)
            for link, X in zip(self.model.links, link_poses(self.model, q), strict=True):
                X_peer = data.oMf[self.robot.getFrameId(link.name)].homogeneous
                worst = max(worst, float(np.abs(X_peer - X).max()))
        return max(worst, abs(pin.computeTotalMass(self.robot) - self.model.mass))
