"""A trial as a laboratory looks at it: ground forces and joint moments of a motion, beside those of plates, if any.

`estimate_forces` is the whole of it; the other files of this room each do one step.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ukemi.contact.terrain import Terrain
from ukemi.dynamics.kinematics import link_poses
from ukemi.dynamics_filter.placed import PlacedClip, place
from ukemi.errors import UkemiWarning
from ukemi.forces.agreement import GRAVITY, Agreement, agreement
from ukemi.forces.consistent import ConsistentMotion, consistent_estimate, consistent_with_plates
from ukemi.forces.estimate import ForceEstimate, cutoff_of, estimate
from ukemi.forces.inverse import JointMoments
from ukemi.forces.moments import joint_moments
from ukemi.forces.plates import Stance, carried, during, mass_ratio, on_feet, seen_whole, smoothed, stances
from ukemi.forces.uncertainty import MASS, ForceBands, bands
from ukemi.model.arrays import Array, positive
from ukemi.model.figures.anthropometry import Sex
from ukemi.model.kinds import of_kind, truth
from ukemi.motion.clip import Clip
from ukemi.motion.ground_forces import GroundForces, read_ground_forces

#: Who goes less far than this stays in place: forward is then where the pelvis faces [m].
IN_PLACE = 0.5
#: A mass that plates contradict by more than this share is doubted.
DOUBT = 0.03
#: Residuals above this share of body weight say that something else bears, or that mass, belt or clock are wrong; so
#: does a correlation of vertical forces below this.
LARGE, ALIKE = 0.2, 0.7
#: Ends of a record tell no mass [s].
ENDS = 0.1


@dataclass(frozen=True, eq=False)
class TrialForces:
    """clip: as it came. mass [kg], height [m]: of the person, mass_from where that is known from. estimate: forces and
    motion. moments: of the legs, by these forces. forward (3,): where the person goes or faces. belt (3,): velocity of
    a treadmill's [m/s]. joints: link of the estimate -> joint or body of the clip. cutoff: of the motion [Hz].

    bands: around forces and moments, if asked for. consistent: the nearest motion that its forces explain, if asked
    for, those of the plates where there are any; consistent_moments: of that motion by these forces.

    measured: what plates measured, on the feet of the estimate, or None; smoothed at the same cut-off for
    measured_moments. seen (n,): samples of it in which no foot stands beside the plates. agreement: of the two.
    """

    clip: Clip
    mass: float
    mass_from: str
    height: float
    estimate: ForceEstimate
    moments: JointMoments
    forward: Array
    belt: Array
    joints: Mapping[str, str]
    cutoff: float
    bands: ForceBands | None = None
    consistent: ConsistentMotion | None = None
    consistent_moments: JointMoments | None = None
    measured: GroundForces | None = None
    measured_moments: JointMoments | None = None
    seen: NDArray[np.bool_] | None = None
    agreement: Agreement | None = None

    @property
    def forces(self) -> GroundForces:
        """Estimated forces, per foot, right first; then other parts that bear."""
        return self.estimate.forces

    @property
    def stances(self) -> tuple[Stance, ...]:
        """When each foot touches down and releases, by the plates if there are any."""
        return stances(self.forces if self.measured is None else self.measured)

    @property
    def residual(self) -> tuple[float, float]:
        """Largest force and moment that the root lacks, by the estimated forces [N, N m]."""
        return peak_residual(self.moments, self.cutoff)

    @property
    def measured_residual(self) -> tuple[float, float] | None:
        """The same by the plates' forces, where these see all feet and carry the body; None without plates."""
        moments = self.measured_moments
        if moments is None or self.measured is None or self.seen is None:
            return None
        counts = np.interp(moments.time, self.measured.time, self.seen.astype(np.float64)) > 0.99
        counts &= carried(moments.residual[:, 2], moments.time, GRAVITY * self.mass)
        return peak_residual(moments, self.cutoff, counts)


def peak_residual(moments: JointMoments, cutoff: float, counts: NDArray[np.bool_] | None = None) -> tuple[float, float]:
    """Largest force [N] and moment [N m] that the root lacks in the samples that count, but for one period of the
    cut-off [Hz] at either end, where a smoothed motion has no accelerations that one could trust; NaN where none do."""
    time = moments.time
    inside = (time > time[0] + 1 / cutoff) & (time < time[-1] - 1 / cutoff)
    inside = inside if inside.any() else np.ones(len(time), dtype=bool)
    rows = moments.residual[inside if counts is None else inside & counts]
    if not len(rows):
        return float("nan"), float("nan")
    force, moment = (float(np.linalg.norm(rows[:, k : k + 3], axis=1).max()) for k in (0, 3))
    return force, moment


def estimate_forces(
    clip: Clip | str | Path,
    plates: GroundForces | str | Path | None = None,
    *,
    mass: float | None = None,
    height: float | None = None,
    sex: Sex = "male",
    terrain: Terrain = None,
    parts: Mapping[str, str] | None = None,
    belt: bool = True,
    cutoff: float | None = None,
    level: float | None = None,
    consistent: bool = False,
) -> TrialForces:
    """Ground forces and joint moments of a motion as it is, without plates; with plates, both, and how they agree.

    Args:
        clip: a motion, or its file.
        plates: what plates measured, or a .mot or .sto file of it, on the clip's clock and in its place.
        mass: of the person [kg]; by default what plates tell, else a person's of this height. height [m]; sex: whose
            table of body masses. parts: body part -> joint of the clip.
        terrain: the ground, level by default. belt: whether a treadmill's belt is looked for.
        cutoff: at which motion, and plates for their joint moments, are smoothed [Hz]; default 3.6 sqrt(g / leg), 12 Hz
            for an adult.
        level: of bands around forces and moments, such as 0.9; None: without. They cost eight estimates.
        consistent: whether the motion is moved, as little as possible, until its forces explain it: those of the plates
            (residual reduction), or else the estimated ones.
    """
    if isinstance(clip, str | Path):
        from ukemi.motion.read import read_motion

        clip = read_motion(clip)
    of_kind("estimate_forces", clip, Clip, "a clip or its file")
    if isinstance(plates, str | Path):
        plates = read_ground_forces(plates)
    placed = place(clip, None, terrain, mass=mass, height=height, sex=sex, parts=parts, belt=truth("belt", belt))
    said = None if mass is None else positive("mass", mass)
    mass_from, measured = "given" if said is not None else "height", None
    edge = None if cutoff is None else positive("cutoff", cutoff)
    if level is not None:
        level = positive("level", level)
    found = estimate(placed, cutoff=edge)
    if plates is not None:
        of_kind("plates", plates, GroundForces)
        measured = on_feet(during(plates, clip.start, clip.start + clip.duration), _feet(placed))
        weighed = _weighed(found, measured)
        if said is None and weighed is not None:
            with warnings.catch_warnings():  # said before
                warnings.simplefilter("ignore", UkemiWarning)
                placed = place(clip, None, terrain, mass=weighed, height=height, sex=sex, parts=parts, belt=belt)
            found, mass_from = estimate(placed, cutoff=edge), "plates"
        elif said is not None and weighed is not None and abs(weighed / said - 1) > DOUBT:
            _warn(clip, f"the plates carry {weighed:.1f} kg where they see the feet, the person weighs {said:g} kg")
    trial = TrialForces(
        *(clip, placed.figure.model.mass, mass_from, placed.person.height, found, joint_moments(found)),
        *(_forward(placed), placed.ground.velocity),
        {link: placed.person.clip.skeleton.names[j] for link, j in placed.person.joints.items()},
        cutoff_of(placed, cutoff),
    )
    if level is not None:
        trial = replace(
            trial, bands=bands(placed, found, trial.forward, level=level, mass_error=MASS[mass_from], cutoff=cutoff)
        )
    if measured is not None:
        trial = _beside_plates(trial, measured)
    _doubt(trial)
    return _made_consistent(trial, placed) if truth("consistent", consistent) else trial


def _weighed(found: ForceEstimate, measured: GroundForces) -> float | None:
    """Mass of the person on the plates [kg], where these see all feet."""
    mine = found.forces
    needed = np.interp(measured.time, mine.time, mine.total[:, 2] + found.residual[:, 2])
    counts = seen_whole(_feet_of(mine, measured), measured)
    counts &= (measured.time > mine.time[0] + ENDS) & (measured.time < mine.time[-1] - ENDS)
    ratio = mass_ratio(needed, measured.total[:, 2], counts)
    return None if ratio is None or ratio <= 0 else ratio * found.model.mass


def _feet_of(forces: GroundForces, measured: GroundForces) -> GroundForces:
    """The feet among the parts that bear: those that plates measured."""
    feet = slice(0, len(measured.names))
    return GroundForces(
        forces.time, forces.names[feet], forces.force[:, feet], forces.point[:, feet], forces.torque[:, feet]
    )


def _doubt(trial: TrialForces) -> None:
    """Warns of what cannot be right."""
    force, _ = trial.residual
    share = force / (GRAVITY * trial.mass)
    if share > LARGE:
        what = "does something besides the ground hold the body, or are belt or frame rate wrong? (ukemi filter tells)"
        _warn(trial.clip, f"forces leave {100 * share:.0f} % of body weight unexplained: {what}")
    if trial.agreement is not None and trial.agreement.foot["vertical"].r < ALIKE:
        r = trial.agreement.foot["vertical"].r
        _warn(trial.clip, f"estimated and measured vertical forces hardly agree (r {r:.2f}): are they on one clock?")


def _warn(clip: Clip, text: str) -> None:
    warnings.warn(f"{clip.name}: {text}", UkemiWarning, stacklevel=4)


def _beside_plates(trial: TrialForces, measured: GroundForces) -> TrialForces:
    estimated = _feet_of(trial.forces, measured)
    seen = seen_whole(estimated, measured)
    return replace(
        trial,
        measured=measured,
        measured_moments=joint_moments(trial.estimate, smoothed(measured, trial.cutoff)),
        seen=seen,
        agreement=agreement(estimated, measured, trial.mass, forward=trial.forward, valid=seen),
    )


def _made_consistent(trial: TrialForces, placed: PlacedClip) -> TrialForces:
    if trial.measured is None:
        found = consistent_estimate(placed, trial.cutoff)
    else:
        found = consistent_with_plates(placed, trial.measured, trial.cutoff, seen=trial.seen)
    return replace(trial, consistent=found, consistent_moments=joint_moments(found.estimate))


def _feet(placed: PlacedClip) -> dict[str, tuple[Array, Array]]:
    """Link -> times and places of the middle of its sole in the clip's place, right foot first."""
    model, soles, clip = placed.figure.model, placed.figure.soles, placed.clip
    X, out = link_poses(model, placed.q), {}
    ways = (0.0, 0.0, placed.person.floor) + clip.time[:, None] * placed.ground.velocity
    for side in ("right", "left"):
        pose = X[:, model.link_index(soles[side].link)]
        middle = pose[:, :3, :3] @ soles[side].points.mean(axis=0) + pose[:, :3, 3]
        out[soles[side].link] = (clip.start + clip.time, middle + ways)
    return out


def _forward(placed: PlacedClip) -> Array:
    """Unit vector (3,): where the person goes over the ground, or faces where nobody goes anywhere."""
    way = placed.q[-1, :3] - placed.q[0, :3]
    if np.linalg.norm(way[:2]) < IN_PLACE:
        X = link_poses(placed.figure.model, placed.q)
        left, right = (X[:, placed.figure.model.link_index(f"{side}_thigh"), :3, 3] for side in ("left", "right"))
        way = np.cross((left - right).mean(axis=0), (0.0, 0.0, 1.0))
    way = way * (1.0, 1.0, 0.0)
    return way / np.linalg.norm(way)
