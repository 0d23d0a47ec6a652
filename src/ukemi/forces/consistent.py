"""Motion and ground forces that agree: the nearest motion to a clip that its ground forces explain.

With plates this is residual reduction, as OpenSim's RRA [Delp et al. 2007] and AddBiomechanics [Werling et al. 2023] do
it, by the whole-clip problem of the filter: the forces are known, nothing is sought but the motion, and what the root
lacks has a price. Without plates the estimated forces take their place; or it is the filter itself, which moves the
motion farther and leaves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ukemi.dynamics.inverse import inverse_dynamics
from ukemi.dynamics.kinematics import center_of_mass, difference, link_poses
from ukemi.dynamics_filter.placed import PlacedClip
from ukemi.dynamics_filter.trajectory.problem import Problem
from ukemi.dynamics_filter.trajectory.setting import STANDARD
from ukemi.dynamics_filter.trajectory.solve import solve
from ukemi.dynamics_filter.trajectory.window import STEP as SETTLED
from ukemi.errors import InvalidInputError
from ukemi.forces.agreement import resampled
from ukemi.forces.body_fit import FittedBody, fitted_body
from ukemi.forces.estimate import STEP, ForceEstimate, cutoff_of, estimate
from ukemi.forces.filtered import filtered_estimate
from ukemi.forces.known import KnownForces
from ukemi.model.arrays import Array
from ukemi.model.model import Model
from ukemi.motion.clip import Clip
from ukemi.motion.ground_forces import GroundForces

#: Of a motion that is to agree with plates. Knots are as near to each other as the samples of estimated forces; rates
#: and accelerations off the clip are cheap, they are what must change; legs, whose turns move most of the body, are
#: held closer; how deep soles sink does not count: those of captures do, and the plates say where they bear. Chosen
#: with the prices below among some twenty variants on the twelve runs of three subjects, 2 to 5 m/s.
TRACKING = replace(
    STANDARD,
    step=STEP,
    turn=0.02,
    legs=0.03,
    velocity_time=0.02,
    acceleration_time=0.005,
    inertia=1.0,
    penetration=1e3,
)
#: Price of a force and of a moment that the root lacks where plates carry the body, and elsewhere [1/unit^2]. Of those
#: runs they leave 4 N and 6 N m at most, on average, and move joint centres by 5 mm.
FORCE, MOMENT, NO_PRICE = 1e3, 3e2, 1e-6
#: Where more than this is missing on average over tau, something stands or sits beside the plates [body weights].
CARRIED = 0.4
#: Fewer samples that plates see tell nothing.
FEWEST = 10


@dataclass(frozen=True)
class Residual:
    """What the root lacks: largest and RMS force [N] and moment [N m]."""

    force: float
    moment: float
    force_rms: float
    moment_rms: float

    @classmethod
    def of(cls, wrench: Array) -> Residual:
        """From (n, 6) [N, N m]."""
        size = np.linalg.norm(wrench.reshape(-1, 2, 3), axis=-1)
        rms = np.sqrt((size**2).mean(axis=0))
        return cls(float(size[:, 0].max()), float(size[:, 1].max()), float(rms[0]), float(rms[1]))


@dataclass(frozen=True)
class Distances:
    """Of a motion from the clip, RMS: joints [deg], centre of mass [cm], centres of all joints [mm]."""

    joints: float
    centre_of_mass: float
    joint_centres: float

    @classmethod
    def between(cls, model: Model, q0: Array, q1: Array) -> Distances:
        """Of two motions (frames, nq)."""
        turns = difference(model, q0, q1)[:, 6:]
        moving = [link.index for link in model.links if link.joint.nv]
        centres = (link_poses(model, q1) - link_poses(model, q0))[:, moving, :3, 3]
        away = center_of_mass(model, q1) - center_of_mass(model, q0)
        return cls(float(np.degrees(np.sqrt((turns**2).mean()))), 100 * _rms(away), 1000 * _rms(centres))


@dataclass(frozen=True, eq=False)
class ConsistentMotion:
    """placed: the clip. estimate: the motion that was found, with its forces. frames (frames, nq): at the clip's times.

    before, after: residuals of the clip, on the body as it came, and of the estimate, in the samples that count (n,);
    before is None where the filter found the forces; body: what was changed of it, or None. distances: from the clip.
    iterations, converged: of the solve.
    """

    placed: PlacedClip
    estimate: ForceEstimate
    frames: Array
    before: Residual | None
    after: Residual
    counts: NDArray[np.bool_]
    distances: Distances
    body: FittedBody | None
    iterations: int
    converged: bool

    @property
    def motion(self) -> Clip:
        """The motion on the clip's own skeleton."""
        own, times = self.placed.own, self.placed.clip.time
        if own is None:
            raise AttributeError("this motion is on another model than the clip's: it has frames, but no clip")
        frames = self.frames.copy()
        frames[:, :3] += times[:, None] * self.placed.ground.velocity
        return own.to_clip(frames)


def consistent_with_plates(
    placed: PlacedClip,
    measured: GroundForces,
    cutoff: float | None = None,
    *,
    seen: NDArray[np.bool_] | None = None,
    fit_body: bool = True,
) -> ConsistentMotion:
    """The motion nearest to a clip that what plates measured explains.

    Args:
        placed: the clip on its body and ground.
        measured: forces on links of the body (`ukemi.forces.plates.on_feet`), as measured, on the clip's clock and in
            its place.
        cutoff: at which motion and forces are smoothed [Hz]; by default 3.6 sqrt(g / leg), 12 Hz for an adult.
        seen: (samples of ``measured``,) in which no foot stands beside the plates. In others, and where the plates
            leave two fifths of the weight to something else, nothing is asked.
        fit_body: whether mass and the heaviest segment's centre of mass may be changed (`ukemi.forces.body_fit`).

    Raises:
        InvalidInputError: the plates were read at other times than the motion, or they never carry the body.
        UnknownNameError: a force on a link that the body does not have.
    """
    edge = cutoff_of(placed, cutoff)
    problem = placed.problem(TRACKING, edge)
    known = KnownForces(placed, measured, problem.times, edge)
    counts = known.covered & _during(placed, problem)
    if seen is not None:
        counts &= resampled(known.clock, measured.time, seen.astype(np.float64)) > 0.99
    if not counts.any():
        clip = placed.clip
        raise InvalidInputError(
            f"plates: read from {measured.time[0]:g} to {measured.time[-1]:g} s, the motion lasts from {clip.start:g} "
            f"to {clip.start + clip.duration:g} s: expected the same times"
        )
    return _tracked(placed, problem, known, counts, fit_body)


def consistent_estimate(
    placed: PlacedClip, cutoff: float | None = None, *, by_filter: bool = False
) -> ConsistentMotion:
    """The motion nearest to a clip that forces of its ground explain, without plates.

    by_filter: whether the filter finds forces and motion together: nothing is left over, feet in contact stand, steps
    and seats that the motion shows count, and the motion moves three to thirty times as far. Else the forces are those
    estimated of the motion as it is (`ukemi.forces.estimate`), and a few newtons are left.
    cutoff: of the clip; by default 3.6 sqrt(g / leg), 12 Hz for an adult, or the filter's [Hz].
    """
    if by_filter:
        filtered, solved = filtered_estimate(placed, cutoff)
        counts = np.ones(len(filtered.q), dtype=bool)
        return ConsistentMotion(
            *(placed, filtered, solved.state.frames, None, Residual.of(filtered.residual), counts),
            *(Distances.between(filtered.model, placed.q, solved.state.frames), None),
            *(solved.iterations, solved.converged),
        )
    problem = placed.problem(TRACKING, cutoff_of(placed, cutoff))
    known = KnownForces(placed, estimate(placed, cutoff=cutoff).forces, problem.times, None)
    return _tracked(placed, problem, known, known.covered & _during(placed, problem), False)


def _during(placed: PlacedClip, problem: Problem) -> NDArray[np.bool_]:
    """(n,) samples before the clip ends: the last knot may be behind."""
    out: NDArray[np.bool_] = problem.times <= placed.clip.time[-1] + 1e-9
    return out


def _tracked(
    placed: PlacedClip, problem: Problem, known: KnownForces, counts: NDArray[np.bool_], fit_body: bool
) -> ConsistentMotion:
    """The motion nearest to a clip that known forces explain where samples count (n,)."""
    problem.known = known.total
    lack = _residual(problem, *problem.reference.at(problem.times))
    counts = counts & _carried(problem, lack)
    if counts.sum() < FEWEST:
        raise InvalidInputError(
            f"forces on {', '.join(known.names)}: they carry the body in {counts.sum()} of {len(counts)} samples; are "
            f"they in newtons, and is {problem.model.mass:.3g} kg the body's mass?"
        )
    before = Residual.of(lack[counts])
    body = fitted_body(problem, counts) if fit_body else None
    if body is not None:
        problem = replace(problem, model=body.model)
        problem.known = known.total
    problem.given[:] = -1  # besides these forces there are none
    problem.efforts[:] = np.inf  # and whoever exerted them had the strength
    problem.price = np.where(counts[:, None], np.repeat((FORCE, MOMENT), 3), NO_PRICE)
    solution = solve(problem, placed.clip.time)
    state, inside = solution.state, _during(placed, problem)
    residual = _residual(problem, state.q, state.v, state.a)
    external = known.on_links(problem.model, state.q)
    tau = inverse_dynamics(problem.model, state.q, state.v, state.a, external=external)
    found = ForceEstimate(
        *(problem.model, placed.figure.soles, state.q[inside], state.v[inside], state.a[inside]),
        *(_rows(known.as_forces(), inside), known.origin[inside], tau[inside], residual[inside]),
    )
    settled = all(rows[-1].step < SETTLED[0] for rows in solution.trace)
    return ConsistentMotion(
        *(placed, found, state.frames, before, Residual.of(residual[counts]), counts[inside]),
        *(Distances.between(problem.model, placed.q, state.frames), body),
        *(solution.iterations, settled and not solution.interrupted),
    )


def _residual(problem: Problem, q: Array, v: Array, a: Array) -> Array:
    """(n, 6): what a motion needs besides the problem's known forces, about the root, in world axes [N, N m]."""
    nowhere = np.zeros((len(q), len(problem.points), 3))
    out = problem.core.kinematics(q, v, a, nowhere)[0] * np.repeat((problem.weight, problem.moment), 3)
    force, moment = problem.known[:, :3], problem.known[:, 3:]
    out[:, :3] -= force
    out[:, 3:] -= moment - np.cross(q[:, :3], force)
    return out


def _carried(problem: Problem, lack: Array) -> NDArray[np.bool_]:
    """(n,): where nothing but the known forces holds the body, by the smooth part of what it lacks (n, 6) [N, N m]."""
    from scipy.ndimage import binary_dilation, uniform_filter1d

    width = max(round(problem.tau / problem.knots.step), 1)
    missing = np.linalg.norm(uniform_filter1d(lack[:, :3], width, axis=0), axis=1) > CARRIED * problem.weight
    out: NDArray[np.bool_] = ~binary_dilation(missing, iterations=width // 2 + 1)
    return out


def _rows(forces: GroundForces, rows: NDArray[np.bool_]) -> GroundForces:
    return GroundForces(forces.time[rows], forces.names, forces.force[rows], forces.point[rows], forces.torque[rows])


def _rms(vectors: Array) -> float:
    """Of the lengths of vectors (..., 3)."""
    return float(np.sqrt((vectors**2).sum(axis=-1).mean()))
