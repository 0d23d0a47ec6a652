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
from ukemi.forces.agreement import Agreement, agreement
from ukemi.forces.consistent import ConsistentMotion, consistent_estimate, consistent_with_plates
from ukemi.forces.estimate import ForceEstimate, cutoff_of, estimate
from ukemi.forces.inverse import JointMoments
from ukemi.forces.moments import joint_moments
from ukemi.forces.plates import Stance, mass_on_plates, on_feet, seen_whole, smoothed, stances
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
#: Plates are compared and written at no more than this rate [Hz].
PLATE_RATE = 250.0


@dataclass(frozen=True, eq=False)
class TrialForces:
    """clip: as it came. mass [kg], height [m]: of the person, mass_from where that is known from. estimate: forces and
    motion. moments: of the legs, by these forces. forward (3,): where the person goes or faces. belt (3,): velocity of
    a treadmill's [m/s]. joints: link of the estimate -> joint or body of the clip. cutoff: of the motion [Hz].

    bands: around forces and moments, if asked for. consistent: the nearest motion that its forces explain, if asked
    for, those of the plates where there are any; measured_moments are then of that motion.

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
        """Largest force and moment that the root lacks [N, N m]."""
        return peak_residual(self.moments, self.cutoff)


def peak_residual(moments: JointMoments, cutoff: float) -> tuple[float, float]:
    """Largest force [N] and moment [N m] that the root lacks, but for one period of the cut-off [Hz] at either end,
    where a smoothed motion has no accelerations that one could trust."""
    time = moments.time
    inside = (time > time[0] + 1 / cutoff) & (time < time[-1] - 1 / cutoff)
    rows = moments.residual[inside if inside.any() else slice(None)]
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
    measured, said = None, None if mass is None else positive("mass", mass)
    mass_from = "given" if said is not None else "height"
    if plates is not None:
        of_kind("plates", plates, GroundForces)
        measured = on_feet(thinned(plates, clip), _feet(placed))
        weighed = mass_on_plates(measured)
        if said is None and weighed is not None:
            with warnings.catch_warnings():  # said before
                warnings.simplefilter("ignore", UkemiWarning)
                placed = place(clip, None, terrain, mass=weighed, height=height, sex=sex, parts=parts, belt=belt)
            mass_from = "plates"
        elif said is not None and weighed is not None and abs(weighed / said - 1) > DOUBT:
            text = f"{clip.name}: the plates carry {weighed:.1f} kg on average, the person weighs {said:g} kg"
            warnings.warn(f"estimate_forces: {text}", UkemiWarning, stacklevel=2)
    if level is not None:
        level = positive("level", level)
    found = estimate(placed, cutoff=None if cutoff is None else positive("cutoff", cutoff))
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
    return _made_consistent(trial, placed) if truth("consistent", consistent) else trial


def _beside_plates(trial: TrialForces, measured: GroundForces) -> TrialForces:
    feet = slice(0, len(measured.names))
    mine = trial.forces
    estimated = GroundForces(
        mine.time, mine.names[feet], mine.force[:, feet], mine.point[:, feet], mine.torque[:, feet]
    )
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
        return replace(trial, consistent=found, moments=joint_moments(found.estimate))
    found = consistent_with_plates(placed, trial.measured, trial.cutoff, seen=trial.seen)
    return replace(trial, consistent=found, measured_moments=joint_moments(found.estimate))


def thinned(plates: GroundForces, clip: Clip) -> GroundForces:
    """Plates during a clip, at no more than 250 Hz (every so many samples: forces are hardly faster)."""
    rate = (len(plates) - 1) / float(plates.time[-1] - plates.time[0])
    every = max(round(rate / PLATE_RATE), 1)
    inside = (plates.time >= clip.start - 1 / rate) & (plates.time <= clip.start + clip.duration + 1 / rate)
    rows = np.flatnonzero(inside)[::every]
    return GroundForces(plates.time[rows], plates.names, plates.force[rows], plates.point[rows], plates.torque[rows])


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
