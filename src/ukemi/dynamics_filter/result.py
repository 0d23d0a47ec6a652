"""What filtering leaves: the motion, its torques and ground forces, what else held it, and how good it is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ukemi.contact.terrain import Terrain
from ukemi.dynamics.kinematics import integrate
from ukemi.dynamics_filter.quality import Quality
from ukemi.dynamics_filter.support import Support
from ukemi.model.arrays import Array
from ukemi.model.model import Model
from ukemi.motion.clip import Clip
from ukemi.motion.figure import ClipFigure
from ukemi.motion.ground_forces import GroundForces
from ukemi.motion.pressure import gathered

#: Below this share of body weight a foot has no centre of pressure.
UNLOADED = 0.01


@dataclass(frozen=True, eq=False)
class FilterResult:
    """A motion that physics allows, or as near to one as could be had.

    model: whose motion it is. figure: of the clip, if the motion is on its own skeleton. solver: which made it.
    time (n,); q (n, nq), v, a, tau (n, nv): tau holds joint torques from column 6 on, before them what the root lacks.
    force, place (n, points, 3): on points of the body, in the world [N], [m]; contact (n, points): whether they bear.
    point_links, point_groups (points,): the link of each point, and the foot or other part that it counts as.
    frame_time (frames,), frames, input_frames (frames, nq): the motion and the input at the frames of the clip.
    supports: what else holds the body. terrain: what it stands on. interrupted: whether it was stopped from outside.
    start: time of the first frame on the file's clock [s]; files that are written, supports and what the sheet says
    keep that clock, arrays here count from the first frame.
    """

    model: Model
    figure: ClipFigure | None
    solver: str
    time: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    force: Array
    place: Array
    contact: NDArray[np.bool_]
    point_links: NDArray[np.intp]
    point_groups: tuple[str, ...]
    frame_time: Array
    frames: Array
    input_frames: Array
    quality: Quality
    supports: tuple[Support, ...] = ()
    terrain: Terrain = None
    interrupted: bool = False
    start: float = 0.0

    def __len__(self) -> int:
        return len(self.time)

    @property
    def dt(self) -> float:
        """Between two rows [s]."""
        return float(self.time[1] - self.time[0]) if len(self.time) > 1 else 0.0

    @property
    def verdict(self) -> str:
        """``"feasible"``, ``"supported"`` (by more than the ground) or ``"infeasible"``."""
        return self.quality.verdict

    @property
    def torques(self) -> Array:
        """(n, nv - 6): joint torques [N m]."""
        return self.tau[:, 6:]

    @cached_property
    def ground_forces(self) -> GroundForces:
        """On each foot, and on whatever else bears, with its centre of pressure and free moment."""
        least = UNLOADED * self.model.mass * 9.81
        names = list(dict.fromkeys(self.point_groups))
        mine = {name: np.array([g == name for g in self.point_groups]) for name in names}
        feet = {name for name in names if name.endswith("foot")} or set(names[:2])
        names = [n for n in names if n in feet or self.force[:, mine[n], 2].sum(axis=1).max(initial=0.0) > least]
        return gathered(self.time, names, self.point_groups, self.force, self.place, least)

    @property
    def cop(self) -> Array:
        """(n, feet, 3): centre of pressure of each part that bears, in the world [m]; NaN while it bears nothing."""
        g = self.ground_forces
        bearing = g.force[..., 2:] > UNLOADED * self.model.mass * 9.81
        return np.where(bearing, g.point, np.nan)

    def held_at(self, time: float) -> Array:
        """(n, 6): where [m] and with how much, on average [N], supports that are no steps or seats hold the body."""
        now = [x for x in self.supports if x.kind == "wrench" and x.start <= self.start + time <= x.end]
        return np.array([(*x.place, *x.force) for x in now], dtype=np.float64).reshape(-1, 6)

    def at(self, times: Array) -> Array:
        """q at any times of the motion [s]."""
        wanted = np.asarray(times, dtype=np.float64)
        k = np.clip(np.searchsorted(self.time, wanted + 1e-9) - 1, 0, len(self) - 1)
        ahead = (wanted - self.time[k])[:, None]
        return integrate(self.model, self.q[k], self.v[k] * ahead + 0.5 * self.a[k] * ahead**2, 1.0)

    @cached_property
    def motion(self) -> Clip:
        """The motion on the clip's own skeleton: its channels, frames and frame rate."""
        if self.figure is None:
            raise AttributeError("this motion is on another model than the clip's: it has q, but no clip")
        return self.figure.to_clip(self.frames)


def plate_force(force: Array, dt: float) -> Array:
    """Mean over 10 ms of forces (n,) [N]: what a plate with its filter shows."""
    width = max(round(0.01 / dt), 1) if dt > 0 else 1
    return np.convolve(force, np.full(width, 1 / width), mode="same")
