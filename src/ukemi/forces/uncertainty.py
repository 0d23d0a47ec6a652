"""How far from the truth estimated forces and moments may be: a band around each.

The variance of each is the sum of four:

- how much it scatters over estimates with another body, motion and contact (`ukemi.forces.ensemble`);
- the mass: forces and moments grow with it;
- the clock: by how much it changes within `CLOCK`;
- what no case of the ensemble knows: a share of the foot's load; of a centre of pressure, a length.

The half width of a band is the normal quantile of its level, times the standard deviation, times the inflation of its
component, chosen so that bands of 90 % hold 90 % of what plates measure. Other levels than 0.9 trust the normal law.
In flight forces have no error, and no band.

Bands of joint moments are of what forces, masses and smoothing cause. Plates cannot tell where a joint's centre is: if
it is off by 10 mm, the force times 10 mm comes on top.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from ukemi.dynamics_filter.placed import PlacedClip
from ukemi.dynamics_filter.trajectory.points import leg_length
from ukemi.errors import InvalidInputError
from ukemi.forces.agreement import COMPONENTS, body_axes, resampled
from ukemi.forces.ensemble import cases, scatter
from ukemi.forces.estimate import GRAVITY, ForceEstimate
from ukemi.forces.inverse import JointMoments
from ukemi.forces.moments import joint_moments
from ukemi.forces.setting import STANDARD, ForceSettings
from ukemi.model.arrays import Array
from ukemi.motion.ground_forces import GroundForces

#: Standard deviation of the mass [share], by where it is known from (`TrialForces.mass_from`). Plates drift by a few
#: newtons. Of what is given: plates carry 0 to 4.7 % more than the masses stated with five subjects, rms 2.7 %, shoes
#: and clothes. Of people of one height: assumed.
MASS = {"plates": 0.005, "given": 0.025, "height": 0.12}
#: Standard deviation between the clocks of the motion and of the truth [tau]: 2 ms of an adult.
CLOCK = 0.0075
PRESSURE = ("pressure_anterior", "pressure_lateral")
#: Of forces [share of the foot's vertical force], centres of pressure [l], and moments [share of the vertical force
#: times l]: standard deviation of what no case of the ensemble knows. Round numbers near the least interval score of
#: bands of 90 % on plates (Gneiting and Raftery 2007), which is flat there; 0.02 l are 18 mm of an adult.
UNKNOWN = {
    **dict(zip(COMPONENTS, (0.01, 0.01, 0.05), strict=True)),
    **dict(zip(PRESSURE, (0.02, 0.014), strict=True)),
    **{"free_moment": 0.003, "flexion": 0.015, "dorsiflexion": 0.015},
    **{"adduction": 0.015, "inversion": 0.01, "rotation": 0.005},
}
#: Component -> by how much bands are wider than the standard deviation says. Chosen on plates (`bench/force_bands.py`):
#: 70 trials of eight subjects; walking, running, squats and drop jumps, from markers and from coordinates, count the
#: same. Leaving any subject out changes them by 16 % at most, those of forces by 34 %.
INFLATION = {
    **dict(zip(COMPONENTS, (1.89, 1.61, 1.04), strict=True)),
    **dict(zip(PRESSURE, (1.60, 0.92), strict=True)),
    "free_moment": 2.30,
    **{"hip_flexion": 1.22, "hip_adduction": 1.30, "hip_rotation": 1.45},
    **{"knee_flexion": 1.54, "knee_adduction": 1.11, "knee_rotation": 1.48},
    **{"ankle_dorsiflexion": 1.79, "ankle_inversion": 1.37, "ankle_rotation": 1.56},
}


@dataclass(frozen=True, eq=False)
class ForceBands:
    """Half widths of the bands of a level, at the samples of an estimate: the truth lies in that many of them.

    axes (3, 3): rows anterior, lateral, vertical, which `force` and `pressure` are along. half: component -> (n,
    parts) [N, m, N m], in the order of the estimate's forces, for joints (n, 2), right and left [N m]: those of
    `COMPONENTS`, `PRESSURE`, ``"free_moment"``, ``"hip_flexion"`` ...
    """

    level: float
    axes: Array
    half: Mapping[str, Array]

    @property
    def force(self) -> Array:
        """(n, parts, 3) [N]."""
        return np.stack([self.half[name] for name in COMPONENTS], axis=-1)

    @property
    def pressure(self) -> Array:
        """(n, parts, 2): of centres of pressure, anterior and lateral [m]; zero where there is none."""
        return np.stack([self.half[name] for name in PRESSURE], axis=-1)

    @property
    def free_moment(self) -> Array:
        """(n, parts) [N m]."""
        return self.half["free_moment"]

    def moment(self, name: str) -> Array:
        """(n,) of a joint moment such as ``"hip_flexion_r_moment"`` [N m]."""
        component, side = name.removesuffix("_moment").rsplit("_", 1)
        return self.half[component][:, "rl".index(side)]

    def along(self, axes: Array) -> Array:
        """(n, parts, 3): of forces along other axes (3, 3), its rows, such as the world's [N]; errors along the body's
        are independent."""
        turned: Array = np.sqrt(self.force**2 @ (self.axes @ axes.T) ** 2)
        return turned


def bands(
    placed: PlacedClip,
    found: ForceEstimate,
    forward: Array | tuple[float, float, float] = (1.0, 0.0, 0.0),
    *,
    level: float = 0.9,
    mass_error: float = MASS["given"],
    settings: ForceSettings = STANDARD,
    cutoff: float | None = None,
    inflation: Mapping[str, float] = INFLATION,
) -> ForceBands:
    """Bands of an estimate of a placed clip, from eight others: eight times its cost.

    forward: of the person. mass_error: standard deviation of the mass [share], such as those of `MASS`. settings,
    cutoff [Hz]: what the estimate was made with.
    """
    if not 0 < level < 1:
        raise InvalidInputError(f"bands: level: expected a share between 0 and 1, such as 0.9, got {level!r}")
    axes = body_axes(np.asarray(forward, dtype=np.float64))
    parts = found.forces.names
    at = force_curves(found.forces, axes, parts) | joint_curves(joint_moments(found))
    others = (
        force_curves(case.forces, axes, parts, found.forces) | joint_curves(joint_moments(case))
        for case in cases(placed, settings, cutoff)
    )
    leg = leg_length(found.model, found.soles)
    clock, shift = found.forces.time, CLOCK * np.sqrt(leg / GRAVITY)
    half = {}
    for name, ensemble in scatter(at, others).items():
        values, load = at[name], at["vertical"][:, : at[name].shape[1]]
        if name in PRESSURE:
            known, unit = ensemble**2, leg * found.forces.point.any(axis=-1)
        else:
            moved = 0.5 * (resampled(clock + shift, clock, values) - resampled(clock - shift, clock, values))
            known = ensemble**2 + moved**2 + (mass_error * values) ** 2
            unit = load * (1.0 if name in COMPONENTS else leg)
        unknown = UNKNOWN[name if name in UNKNOWN else name.rsplit("_", 1)[1]] * unit
        half[name] = float(ndtri(0.5 + 0.5 * level)) * inflation[name] * np.sqrt(known + unknown**2)
    return ForceBands(level, axes, half)


def force_curves(
    forces: GroundForces, axes: Array, parts: tuple[str, ...], within: GroundForces | None = None
) -> dict[str, Array]:
    """Component -> (n, parts) [N, m, N m], along the rows anterior, lateral and vertical of ``axes``; a part that is
    not among the forces bears none. within: whose centres of pressure stand where one of the two has none."""
    shape = (len(forces), len(parts), 3)
    force, point, torque = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for k, name in enumerate(parts):
        if name in forces.names:
            j = forces.names.index(name)
            force[:, k], point[:, k], torque[:, k] = forces.force[:, j], forces.point[:, j], forces.torque[:, j]
    if within is not None:
        both = point.any(axis=-1, keepdims=True) & within.point.any(axis=-1, keepdims=True)
        point = np.where(both, point, within.point)
    along = {name: force @ axis for name, axis in zip(COMPONENTS, axes, strict=True)}
    places = {name: point @ axis for name, axis in zip(PRESSURE, axes[:2], strict=True)}
    return {**along, **places, "free_moment": torque[..., 2]}


def joint_curves(moments: JointMoments) -> dict[str, Array]:
    """Component -> (n, 2) of right and left [N m]."""
    joints = dict.fromkeys(name.rsplit("_", 2)[0] for name in moments.names)
    return {joint: np.stack([moments[f"{joint}_{side}_moment"] for side in "rl"], axis=1) for joint in joints}
