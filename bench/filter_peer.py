"""The whole-clip filter beside Crocoddyl's FDDP (multi-contact optimal control) on one clip and one robot.

    pip install crocoddyl "pin<4.1"    # the wheel of Crocoddyl 3.2.1 crashes beside Pinocchio 4.1, and allows it
    python bench/filter_peer.py ROBOT.xml ROBOT.urdf CLIP.bvh [--iterations 150]

Both are asked for the motion nearest to the same retargeted reference that full dynamics allow with forces on the feet
in friction cones, at the same samples. Both rows are measured by the same code, at these samples. What differs:

- Crocoddyl does not look for contacts: it is given those that ukemi found, and the state that ukemi starts from.
- There a foot is held still as a whole (6D) while any of its points bears: it cannot roll from heel to toe, which
  ukemi's points allow. Its wrench stays in the cone of its sole. (3D contacts
  at the points that bear were tried: FDDP stalled there within 25 iterations.)
- Contacts are held in accelerations and damped in one step, without impacts: what lands stops in one sample. Where it
  lands is not hard: points in contact pay for their height. Nothing keeps the other points out of the ground.
- Cones are penalties there, ``cone`` says how far wrenches leave them (N and N m alike); torque limits are not kept.
- ukemi follows the reference behind a low-pass, as splines with accelerations as a price; Crocoddyl multiple-shoots
  with explicit (semi-implicit Euler) steps and pays for torques instead. Costs of distances and of rates are alike.
- Processor time: of all of `filter_motion`, retargeting too; of making Crocoddyl's problem and solving it.
"""

from __future__ import annotations

import argparse
import sys
import time as clock
import warnings
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ukemi as uk
from ukemi.dynamics.kinematics import center_of_mass, difference, link_poses
from ukemi.dynamics_filter.placed import place
from ukemi.dynamics_filter.result import FilterResult
from ukemi.dynamics_filter.trajectory.setting import STANDARD
from ukemi.model.arrays import Array
from ukemi.model.model import Model

try:
    import crocoddyl  # type: ignore[import-not-found]
    import pinocchio as pin
except ImportError:
    print('Crocoddyl is not installed here: pip install crocoddyl "pin<4.1"')
    sys.exit(2)

FRICTION, GRAVITY = 0.8, 9.81
#: Prices of Crocoddyl's problem: torque over its limit squared, force outside of a cone [1/N^2].
TORQUE, CONE = 0.1, 0.1
#: Where Crocoddyl stops: gradient of its cost (some 200 at the end) along a step, gap between samples.
STOP, GAP = 1e-2, 1e-4
#: Share within which a cost counts as found; what the two models may differ by [kg, m].
NEAR, SAME = 0.01, 1e-3
COLUMNS = ["iterations", "converged", "CPU s", "CPU s per s", "to 1 % CPU s per s", "joints RMS deg", "CoM RMS cm"]
COLUMNS += ["skate cm/s", "gap mm", "deepest mm", "cone BW", "torque use"]


@dataclass(frozen=True, eq=False)
class Feet:
    """Points of feet: links, places (np, 3) in them [m], names of their feet; bears (n, np): which of them bear."""

    links: NDArray[np.intp]
    places: Array
    names: tuple[str, ...]
    bears: NDArray[np.bool_]

    @staticmethod
    def of(result: FilterResult) -> Feet:
        bearing = {result.point_groups[i] for i in np.flatnonzero(result.contact.any(axis=0))}
        mine = [i for i, g in enumerate(result.point_groups) if g in bearing]
        X = link_poses(result.model, result.q[0])[result.point_links[mine]]
        places = np.einsum("pji,pj->pi", X[:, :3, :3], result.place[0, mine] - X[:, :3, 3])
        names = tuple(result.point_groups[i] for i in mine)
        return Feet(result.point_links[mine], places, names, result.contact[:, mine])

    def at(self, model: Model, q: Array) -> Array:
        """(n, np, 3) in the world."""
        X = link_poses(model, q)[:, self.links]
        return np.asarray(np.einsum("npij,pj->npi", X[..., :3, :3], self.places) + X[..., :3, 3])


@dataclass(frozen=True, eq=False)
class Solved:
    """near: share of iterations after which the cost stays within 1 % of the end; cone [N]; torque: share of limits."""

    q: Array
    iterations: int
    converged: bool
    seconds: float
    near: float
    cone: float
    torque: float


class Peer:
    """The same robot for Pinocchio, and Crocoddyl's problem on it."""

    def __init__(self, model: Model, urdf: Path, leg: float) -> None:
        self.model, self.leg, self.robot = model, leg, pin.buildModelFromUrdf(str(urdf), pin.JointModelFreeFlyer())
        self.order = np.arange(model.nq)  # of Pinocchio's q in ukemi's
        self.order[3:7] = (4, 5, 6, 3)
        armature, self.effort = np.zeros(model.nv), np.ones(model.nv - 6)
        for link in model.links[1:]:
            if link.joint.nv:
                joint = self.robot.joints[self.robot.getJointId(link.joint_name)]
                self.order[joint.idx_q] = link.q.start
                armature[joint.idx_v] = np.ravel(link.joint.armature)[0]
                self.effort[joint.idx_v - 6] = 1.0 if link.joint.effort is None else np.ravel(link.joint.effort)[0]
        self.robot.armature = armature

    def disagreement(self) -> float:
        """Largest difference of mass, centre of mass and links' frames from ukemi's, in ten poses [kg, m]."""
        data, rng = self.robot.createData(), np.random.default_rng(1)
        worst = abs(pin.computeTotalMass(self.robot) - self.model.mass)
        for k in range(10):
            q = self.model.random(rng)[0] if k else self.model.neutral()
            off = pin.centerOfMass(self.robot, data, q[self.order]) - center_of_mass(self.model, q)
            pin.updateFramePlacements(self.robot, data)
            there = [data.oMf[self.robot.getFrameId(link.name)].homogeneous for link in self.model.links]
            worst = max(worst, np.abs(off).max(), np.abs(np.array(there) - link_poses(self.model, q)).max())
        return float(worst)

    def states(self, q: Array, dt: float) -> Array:
        """(n, nq + nv): Pinocchio's states on the way along q."""
        there = q[:, self.order]
        v = [pin.difference(self.robot, a, b) / dt for a, b in pairwise(there)]
        return np.concatenate([there, [*v, v[-1]]], axis=1)

    def solve(self, reference: Array, start: Array, dt: float, feet: Feet, iterations: int) -> Solved:
        """reference (n, nq), start (2, nq): the first two of a motion."""
        begun = clock.process_time()
        xs = np.concatenate([self.states(start, dt)[:1], self.states(reference, dt)[1:]])
        self.frames(feet)
        drive = crocoddyl.ActuationModelFloatingBase(state := crocoddyl.StateMultibody(self.robot))
        models = [self.sample(state, drive, x, dt, feet, on) for x, on in zip(xs, feet.bears, strict=True)]
        steps = [crocoddyl.IntegratedActionModelEuler(m, dt) for m in models[:-1]]
        problem = crocoddyl.ShootingProblem(xs[0], steps, crocoddyl.IntegratedActionModelEuler(models[-1], 0.0))
        problem.nthreads = 1
        solver = crocoddyl.SolverFDDP(problem)
        solver.th_stop, solver.th_gapTol = STOP, GAP
        log, guess = crocoddyl.CallbackLogger(), [*xs]
        solver.setCallbacks([log])
        done = solver.solve(guess, list(problem.quasiStatic(guess[:-1])), iterations, False, 1e-9)
        seconds = clock.process_time() - begun
        q = np.empty_like(reference)
        q[:, self.order] = np.array(solver.xs)[:, : self.model.nq]
        costs = np.array(log.costs)
        far = np.flatnonzero(np.abs(costs / costs[-1] - 1) > NEAR)
        near = (1 + int(far.max(initial=-1))) / len(costs)
        torque = float((np.abs(np.array(solver.us)) / self.effort).max())
        return Solved(q, int(solver.iter), bool(done), seconds, near, self.outside(problem), torque)

    def frames(self, feet: Feet) -> None:
        """A frame on each point, and one amid the points of each foot."""
        names = {name: [i for i, n in enumerate(feet.names) if n == name] for name in feet.names}
        spots = [(f"point {i}", feet.links[i], p) for i, p in enumerate(feet.places)]
        spots += [(f"sole {n}", feet.links[i[0]], feet.places[i].mean(axis=0)) for n, i in names.items()]
        for name, link, spot in spots:
            frame = self.robot.frames[self.robot.getFrameId(self.model.links[link].name)]
            put = frame.placement * pin.SE3(np.eye(3), spot)
            self.robot.addFrame(pin.Frame(name, frame.parentJoint, put, pin.FrameType.OP_FRAME))

    def sample(self, state: Any, drive: Any, x: Array, dt: float, feet: Feet, on: NDArray[np.bool_]) -> Any:
        """Dynamics and costs at a sample."""
        nu, leg, s, tau = drive.nu, self.leg, STANDARD, np.sqrt(self.leg / GRAVITY)
        contacts, costs = crocoddyl.ContactModelMultiple(state, nu), crocoddyl.CostModelSum(state, nu)
        far = np.full(self.model.nv, s.legs)
        far[:3], far[3:6] = s.place * leg, s.turn

        def add(name: str, activation: Any, residual: Any, price: float = 1.0) -> None:
            costs.addCost(name, crocoddyl.CostModelResidual(state, activation, residual), price)

        near = crocoddyl.ActivationModelWeightedQuad(np.concatenate([far**-2, (s.velocity_time * tau / far) ** 2]))
        add("state", near, crocoddyl.ResidualModelState(state, x, nu))
        effort = crocoddyl.ActivationModelWeightedQuad(TORQUE / self.effort**2)
        add("torque", effort, crocoddyl.ResidualModelControl(state, nu))
        gains = np.array((0.0, 1 / dt))
        high = crocoddyl.ActivationModelWeightedQuad(np.array((0.0, 0.0, (s.gap * leg) ** -2)))
        for i in np.flatnonzero(on):
            frame = self.robot.getFrameId(f"point {i}")
            add(f"height {i}", high, crocoddyl.ResidualModelFrameTranslation(state, frame, np.zeros(3), nu))
        for name in dict.fromkeys(n for n, bears in zip(feet.names, on, strict=True) if bears):
            frame = self.robot.getFrameId(f"sole {name}")
            mine = feet.places[[n == name for n in feet.names]]
            held = crocoddyl.ContactModel6D(state, frame, pin.SE3.Identity(), pin.ReferenceFrame.LOCAL, nu, gains)
            contacts.addContact(name, held)
            cone = crocoddyl.WrenchCone(np.eye(3), FRICTION, np.ptp(mine, axis=0)[:2], 4, False)
            bounds = crocoddyl.ActivationModelQuadraticBarrier(crocoddyl.ActivationBounds(cone.lb, cone.ub))
            add(f"cone {name}", bounds, crocoddyl.ResidualModelContactWrenchCone(state, frame, cone, nu), CONE)
        return crocoddyl.DifferentialActionModelContactFwdDynamics(state, drive, contacts, costs, 0.0, True)

    def outside(self, problem: Any) -> float:
        """How far forces leave their cones, along any facet [N]."""
        worst = 0.0
        for model, data in zip(problem.runningModels, problem.runningDatas, strict=True):
            prices, paid = model.differential.costs.costs.todict(), data.differential.costs.costs.todict()
            for name in (n for n in prices if n.startswith("cone")):
                r, bounds = paid[name].residual.r, prices[name].cost.activation.bounds
                worst = max(worst, float(np.maximum(bounds.lb - r, r - bounds.ub).max()))
        return worst


def row(name: str, model: Model, reference: Array, s: Solved, feet: Feet, dt: float) -> str:
    """A line of the table; the centre of mass's mean rise is taken out, as in the quality sheet."""
    turned = np.rad2deg(difference(model, reference, s.q)[:, 6:])
    com = 100 * (center_of_mass(model, s.q) - center_of_mass(model, reference))
    com[:, 2] -= com[:, 2].mean()
    at = feet.at(model, s.q)
    both = feet.bears[1:] & feet.bears[:-1]
    skate = 100 * np.linalg.norm(np.diff(at[..., :2], axis=0), axis=-1)[both].mean() / dt
    cells = [f"{s.iterations}", "yes" if s.converged else "no", f"{s.seconds:.2f}"]
    cells += [f"{share * s.seconds / (dt * (len(s.q) - 1)):.3g}" if share else "" for share in (1.0, s.near)]
    cells += [f"{np.sqrt((turned**2).mean()):.2f}", f"{np.sqrt((com**2).sum(axis=1).mean()):.2f}", f"{skate:.2f}"]
    cells += [f"{1e3 * np.abs(at[..., 2][feet.bears]).mean():.2f}", f"{-1e3 * at[..., 2].min():.1f}"]
    cells += [f"{s.cone / (model.mass * GRAVITY):.3f}", f"{s.torque:.2f}"]
    return f"| {name} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robot", type=Path, help="MJCF, for ukemi")
    parser.add_argument("urdf", type=Path, help="the same robot, for Pinocchio")
    parser.add_argument("clip", type=Path)
    parser.add_argument("--iterations", type=int, default=150)
    given = parser.parse_args()
    warnings.simplefilter("ignore", uk.UkemiWarning)
    model, clip = uk.load(given.robot), uk.read_motion(given.clip)
    begun = clock.process_time()
    result = uk.filter_motion(clip, model)
    seconds = clock.process_time() - begun
    peer = Peer(model, given.urdf, place(clip, model, None).problem(STANDARD, None).leg)
    if (off := peer.disagreement()) > SAME:
        sys.exit(f"the two models are not of the same robot: they differ by {off:.3g}")
    nearest = np.abs(result.frame_time[:, None] - result.time).argmin(axis=0)
    reference, feet, sheet = result.input_frames[nearest], Feet.of(result), result.quality
    cone, torque = sheet.contact_bw * model.mass * GRAVITY, sheet.torque_use
    ours = Solved(result.q, sheet.iterations, sheet.converged, seconds, 0.0, cone, torque)
    print("| | " + " | ".join(COLUMNS) + " |\n|" + "---|" * (len(COLUMNS) + 1))
    print(row("ukemi", model, reference, ours, feet, result.dt), flush=True)
    theirs = peer.solve(reference, result.q[:2], result.dt, feet, given.iterations)
    print(row("Crocoddyl", model, reference, theirs, feet, result.dt), flush=True)


if __name__ == "__main__":
    main()
