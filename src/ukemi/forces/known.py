"""What plates measured, or who else knows, as forces at the samples of a motion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ukemi.dynamics.kinematics import link_poses
from ukemi.dynamics_filter.placed import PlacedClip
from ukemi.errors import InvalidInputError
from ukemi.forces.agreement import STANCE, resampled
from ukemi.forces.plates import of_wrenches, wrenches
from ukemi.model.arrays import Array
from ukemi.model.model import Model
from ukemi.motion.ground_forces import GroundForces
from ukemi.motion.trajectory import low_pass


class KnownForces:
    """Forces on links of the body, smoothed if there is a cut-off [Hz], at times (n,) from a clip's first frame [s].

    origin (n, 3): where the model's origin is in the clip's place: a belt carries it along. wrench (n, links, 6): force
    and moment about that origin [N, N m]; links: their indices. covered (n,): whether anything was read then.
    """

    def __init__(self, placed: PlacedClip, measured: GroundForces, times: Array, cutoff: float | None) -> None:
        self.names, self.clock = measured.names, placed.clip.start + times
        self.links = [placed.figure.model.link_index(name) for name in measured.names]
        self.origin = placed_origin(placed, times)
        if len(measured) < 2:
            raise InvalidInputError(f"measured: expected two samples or more, got {len(measured)}")
        step = float(measured.time[-1] - measured.time[0]) / (len(measured) - 1)
        first, last = measured.time[0] - step, measured.time[-1] + step
        self.covered: NDArray[np.bool_] = (self.clock >= first) & (self.clock <= last)
        smooth = low_pass(wrenches(measured), 1 / step, cutoff)
        wrench = resampled(self.clock, measured.time, smooth) * self.covered[:, None, None]
        wrench[..., 3:] -= np.cross(self.origin[:, None], wrench[..., :3])
        self.wrench = wrench
        self.points = np.stack([self._points(measured, smooth[:, k], k) for k in range(len(self.names))], axis=1)

    def _points(self, measured: GroundForces, wrench: Array, k: int) -> Array:
        """(n, 3): a foot's centre of pressure; while it bears less than 20 N, between the last one and the next [m]."""
        foot = of_wrenches(measured.time, self.names[k : k + 1], wrench[:, None], self._heights(measured, k)[:, None])
        on = foot.force[:, 0, 2] > STANCE
        if not on.any():
            return np.zeros((len(self.clock), 3))
        return resampled(self.clock, measured.time[on], foot.point[on, 0])

    @staticmethod
    def _heights(measured: GroundForces, k: int) -> Array:
        """(samples,) of the plate under a foot, also a little before it is loaded and after [m]."""
        on = measured.force[:, k, 2] > STANCE
        return np.interp(measured.time, measured.time[on], measured.point[on, k, 2]) if on.any() else np.zeros(len(on))

    @property
    def total(self) -> Array:
        """(n, 6)."""
        out: Array = self.wrench.sum(axis=1)
        return out

    def on_links(self, model: Model, q: Array) -> Array:
        """(n, nlinks, 6) in link coordinates."""
        X = link_poses(model, q)
        out = np.zeros((len(q), model.nlinks, 6))
        for k, link in enumerate(self.links):
            R, force = X[:, link, :3, :3], self.wrench[:, k, :3]
            moment = self.wrench[:, k, 3:] - np.cross(X[:, link, :3, 3], force)
            out[:, link, :3] += np.einsum("nji,nj->ni", R, force)
            out[:, link, 3:] += np.einsum("nji,nj->ni", R, moment)
        return out

    def as_forces(self) -> GroundForces:
        """The same at centres of pressure, on the clip's clock and in its place: what a hardly loaded foot has besides
        its force, there is no centre of pressure for, is all in its free moment."""
        force, moment = self.wrench[..., :3], self.wrench[..., 3:]
        turn = moment - np.cross(self.points - self.origin[:, None], force)
        return GroundForces(self.clock, self.names, force, self.points, turn)


def placed_origin(placed: PlacedClip, times: Array) -> Array:
    """(n, 3): where the model's origin is in the clip's place [m], at times from the first frame [s]."""
    out: Array = np.array((0.0, 0.0, placed.person.floor)) + times[:, None] * placed.ground.velocity
    return out
