"""Inverse kinematics: the coordinates of an OpenSim model with which its markers come closest to those of a trial.

Every frame is a weighted nonlinear least-squares problem, that of OpenSim (Delp et al., IEEE Trans. Biomed. Eng. 54,
2007; `SimTK::Markers`, `SimTK::QValue`): sum w |x(q) - m|^2 / sum w over the markers m that are seen, plus weights on
coordinates, with locked, coupled and clamped coordinates kept. It is solved by damped Gauss-Newton, then Newton steps
with exact derivatives, bounds by an active set, and many frames at once: a chain of frames `STRIDE` apart, each from
the one before, then all from the straight lines between these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ukemi.errors import InvalidInputError
from ukemi.forces.ik_tasks import Tasks
from ukemi.forces.osim_kinematics import OsimKinematics
from ukemi.model.arrays import Array
from ukemi.motion.ground_forces import to_opensim
from ukemi.motion.markers import Markers

Index = NDArray[np.intp]

#: Time between frames of the chain [s]: in a run at 5 m/s steps of 0.12 s still lead to the same minima.
STRIDE = 0.06
#: A frame is solved when its last step is shorter [rad, m], or promised to lower the mean squared error by less [m^2]:
#: errors of 1 cm are then good to 1e-11 m, angles to about 1e-4 degrees, but for those that markers hardly tell.
TOLERANCE, GAIN = 1e-7, 1e-13
#: The chain only needs to start the others well.
CHAIN_TOLERANCE = 1e-2
MOST_STEPS = 100
#: After so many steps errors of markers bend the problem more than what is left to go: then Newton's steps.
GAUSS_NEWTON = 3
#: Damping of the steps, beside second derivatives of about 0.1 (m^2, of markers normed to weight 1).
LEAST_DAMPING, FIRST_DAMPING, MOST_DAMPING = 1e-10, 1e-6, 1e6
#: Frames solved at once: more do not fit the cache.
CHUNK = 64
#: Turns of the base that are tried first, evenly around each of its axes, and how many of them are pursued.
HEADINGS, PURSUED = 8, 8


@dataclass(frozen=True, eq=False)
class InverseKinematics:
    """Coordinates over time, and how far markers are off.

    time: (frames,) [s]. names, q: coordinates, (frames, coordinates) [rad, m]; turning: which are angles. markers,
    errors: distances (frames, markers) [m], NaN where a marker was not seen. weights: of the markers. solved: (frames,)
    whether the solver came to its tolerance. unseen: free coordinates of which no marker says anything, at defaults.
    """

    time: Array
    names: tuple[str, ...]
    q: Array
    turning: NDArray[np.bool_]
    markers: tuple[str, ...]
    errors: Array
    weights: Array
    solved: NDArray[np.bool_]
    unseen: tuple[str, ...] = ()

    @property
    def squared(self) -> Array:
        """(frames,): the sum of squared errors over the markers [m^2]."""
        return np.nansum(self.errors**2, axis=1)

    @property
    def rms(self) -> Array:
        """(frames,) over the markers that are seen [m]."""
        seen = (~np.isnan(self.errors)).sum(axis=1)
        return np.sqrt(self.squared / np.maximum(seen, 1))

    @property
    def largest(self) -> Array:
        """(frames,) [m]."""
        return np.nan_to_num(self.errors).max(axis=1)

    def by_marker(self) -> dict[str, tuple[float, float, float]]:
        """Marker -> rms and largest error [m], and the share of frames in which it is seen; worst first."""
        seen = ~np.isnan(self.errors)
        rms = np.sqrt(np.nansum(self.errors**2, axis=0) / np.maximum(seen.sum(axis=0), 1))
        largest = np.nan_to_num(self.errors).max(axis=0)
        order = np.argsort(-rms)
        return {self.markers[k]: (float(rms[k]), float(largest[k]), float(seen[:, k].mean())) for k in order}


def inverse_kinematics(
    kinematics: OsimKinematics,
    markers: Markers,
    tasks: Tasks | None = None,
    progress: Callable[[int], None] | None = None,
) -> InverseKinematics:
    """Coordinates for every frame of a trial. ``progress`` is told how many frames were solved since the last time.

    Raises:
        InvalidInputError: the trial and the model have no marker in common that weighs anything; both are listed.
    """
    tasks = Tasks() if tasks is None else tasks
    k, weights, columns = tracked(kinematics, markers, tasks)
    targets = to_opensim(markers.positions[:, columns])
    problem = _Problem(k, targets, weights, tasks)
    x, solved = problem.solve_all(max(round(STRIDE * markers.fps), 1), progress or (lambda frames: None))
    _, J = k.linearized(x[:1])
    told = problem.pull > 0
    told |= np.abs(J[0]).max(axis=(1, 2)) > 0
    unseen = tuple(name for name, is_told in zip(k.free, told, strict=True) if not is_told)
    q = k.all_of(x)
    errors = np.concatenate([k.positions(q[i : i + CHUNK]) for i in range(0, len(q), CHUNK)]) - targets
    return InverseKinematics(
        markers.time, k.names, q, k.turning, k.markers, np.linalg.norm(errors, axis=-1), weights, solved, unseen
    )


def tracked(kinematics: OsimKinematics, markers: Markers, tasks: Tasks) -> tuple[OsimKinematics, Array, list[int]]:
    """Kinematics of the markers that trial and model share and that weigh something, weights, and columns."""
    common = [name for name in markers.names if name in kinematics.osim.markers and tasks.weight(name) > 0]
    if not common:
        raise InvalidInputError(
            f"{markers.name}: no marker that the model knows. The trial has {', '.join(markers.names) or 'none'}; "
            f"the model {kinematics.osim.name!r} has {', '.join(kinematics.osim.markers) or 'none'}"
            + (
                "; the weights leave out the ones in common"
                if set(markers.names) & set(kinematics.osim.markers)
                else ""
            )
        )
    weights = np.array([tasks.weight(name) for name in common])
    columns = [markers.names.index(name) for name in common]
    return OsimKinematics(kinematics.osim, tuple(common), kinematics.factors), weights, columns


class _Problem:
    """Least squares for frames of targets (frames, markers, 3), NaN where a marker is not seen."""

    def __init__(self, kinematics: OsimKinematics, targets: Array, weights: Array, tasks: Tasks) -> None:
        self.kinematics = kinematics
        seen = ~np.isnan(targets[..., 0])
        self.targets = np.where(seen[..., None], targets, 0.0)
        share = seen * weights
        self.weights = share / np.maximum(share.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        self.seen = share.sum(axis=1)
        self.lower, self.upper = kinematics.limits
        self.goal = np.clip(kinematics.free_of(kinematics.default), self.lower, self.upper)
        self.pull = np.zeros(len(self.goal))
        for name, (value, weight) in tasks.coordinates.items():
            if name in kinematics.free:
                j = kinematics.free.index(name)
                self.pull[j] = weight
                self.goal[j] = self.goal[j] if value is None else value

    def solve_all(self, stride: int, progress: Callable[[int], None]) -> tuple[Array, NDArray[np.bool_]]:
        """x (frames, free) and whether each frame is solved."""
        frames = len(self.targets)
        x, solved = np.empty((frames, len(self.goal))), np.zeros(frames, dtype=bool)
        first = int(np.argmax(self.seen))  # where most is seen
        chain = {first: self.first_pose(first)}
        for keys in ([*range(first + stride, frames, stride), frames - 1], [*range(first - stride, 0, -stride), 0]):
            last = first
            for key in keys:
                chain[key] = self.solve(np.array([key]), chain[last][None], CHAIN_TOLERANCE)[0][0]
                last = key
        known = np.array(sorted(chain))
        starts = np.array([chain[key] for key in known])
        for some in np.array_split(np.arange(frames), -(-frames // CHUNK)):
            start = np.stack([np.interp(some, known, column) for column in starts.T], axis=1)
            x[some], solved[some] = self.solve(some, start)
            progress(len(some))
        return x, solved

    def first_pose(self, frame: int) -> Array:
        """x of a frame of which nothing is known: from the default pose, and from turns of the base that bring the
        markers' cloud near; the least cost, the default's if it is as good."""
        k = self.kinematics
        base = [j for j, name in enumerate(k.free) if self._turns_base(name)]
        angles = 2 * np.pi * np.arange(HEADINGS) / HEADINGS - np.pi
        starts = np.tile(self.goal, (HEADINGS ** len(base), 1))
        starts[:, base] = np.array(list(product(angles, repeat=len(base)))).reshape(len(starts), -1)
        starts = np.clip(starts, self.lower, self.upper)
        w = self.weights[frame][:, None]
        points = k.positions(k.all_of(starts))
        apart = points - (w * points).sum(axis=1, keepdims=True)
        apart -= self.targets[frame] - (w * self.targets[frame]).sum(axis=0)
        best = np.argsort((w * apart**2).sum(axis=(1, 2)), kind="stable")[:PURSUED]
        x = np.concatenate([self.goal[None], starts[best]])
        at = np.full(len(x), frame)
        x, _ = self.solve(at, x)
        cost = self.cost(at, x, k.positions(k.all_of(x)))
        return x[np.argmax(cost <= cost.min() + 1e-9)]  # 1e-9 m^2: not worth another turn

    def _turns_base(self, coordinate: str) -> bool:
        osim = self.kinematics.osim
        roots = [joint for joint in osim.joints if joint.parent == "ground"]
        return len(roots) == 1 and any(a.turns and a.coordinate == coordinate for a in roots[0].axes)

    def cost(self, frames: Index, x: Array, points: Array) -> Array:
        r = points - self.targets[frames]
        marked: Array = np.einsum("fm,fmi->f", self.weights[frames], r * r)
        return marked + ((x - self.goal) ** 2 * self.pull).sum(axis=1)

    def solve(self, frames: Index, x: Array, tolerance: float = TOLERANCE) -> tuple[Array, NDArray[np.bool_]]:
        """x of frames from where they start, and whether they came to the tolerance."""
        n = x.shape[1]
        x = np.clip(x, self.lower, self.upper)
        points, J = self.kinematics.linearized(x)
        cost = self.cost(frames, x, points)
        damping = np.full(len(x), LEAST_DAMPING)
        solved = np.zeros(len(x), dtype=bool)
        left = np.arange(len(x))
        for step_number in range(MOST_STEPS):
            f = frames[left]
            flat = J.reshape(len(left), n, -1)
            weighted = flat * np.repeat(self.weights[f], 3, axis=1)[:, None]
            H = weighted @ flat.transpose(0, 2, 1)
            r = (points - self.targets[f]).reshape(len(left), -1, 1)
            g = (weighted @ r)[..., 0] + self.pull * (x[left] - self.goal)
            if step_number >= GAUSS_NEWTON:
                H = self._with_curvature(H, x[left], r.reshape(points.shape) * self.weights[f][..., None])
            # coordinates at a bound that the gradient pushes on stay there
            held = ((x[left] <= self.lower) & (g > 0)) | ((x[left] >= self.upper) & (g < 0))
            H[held] = 0.0
            H.transpose(0, 2, 1)[held] = 0.0
            g[held] = 0.0
            H[:, np.arange(n), np.arange(n)] += self.pull + damping[left, None] + held
            newton = -np.linalg.solve(H, g[..., None])[..., 0]
            step = np.clip(x[left] + newton, self.lower, self.upper) - x[left]
            tried = self.kinematics.linearized(x[left] + step)
            new = self.cost(f, x[left] + step, tried[0])
            short = (np.abs(step).max(axis=1, initial=0.0) < tolerance) | (-(g * newton).sum(axis=1) < GAIN)
            better = new <= cost[left]
            x[left[better]] += step[better]
            cost[left[better]] = new[better]
            points[better], J[better] = tried[0][better], tried[1][better]
            grown = np.maximum(10 * damping[left], FIRST_DAMPING)
            damping[left] = np.where(better, np.maximum(damping[left] / 10, LEAST_DAMPING), grown)
            solved[left] = short
            going = ~short & (damping[left] < MOST_DAMPING)
            left, points, J = left[going], points[going], J[going]
            if not len(left):
                break
        return x, solved

    def _with_curvature(self, H: Array, x: Array, forces: Array) -> Array:
        """Newton's matrices, where they are positive definite; else those of Gauss and Newton."""
        full = H + self.kinematics.curvature(x, forces)
        convex = np.linalg.eigvalsh(full + np.diag(self.pull))[:, 0] > -LEAST_DAMPING / 2
        return np.where(convex[:, None, None], full, H)
