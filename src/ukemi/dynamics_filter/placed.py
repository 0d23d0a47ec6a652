"""A clip on its body and on its ground, before any physics: whose motion it is, and where it stands."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ukemi.contact.terrain import Ground, Solids, Surface, Terrain, pieces
from ukemi.dynamics_filter.assumptions import belt_of, check_size, check_upright
from ukemi.dynamics_filter.trajectory.ground import GroundUnder, brought_to, made_on
from ukemi.dynamics_filter.trajectory.problem import Problem, make_problem
from ukemi.dynamics_filter.trajectory.setting import STANDARD, TrajectorySettings
from ukemi.errors import UkemiWarning
from ukemi.model.arrays import Array
from ukemi.model.figures.anthropometry import Sex
from ukemi.model.model import Model
from ukemi.model.shapes import Box
from ukemi.motion.clip import Clip
from ukemi.motion.figure import ClipFigure, figure_from_clip
from ukemi.motion.footfalls import Footed
from ukemi.motion.guess import longest_stay


@dataclass(frozen=True, eq=False)
class PlacedClip:
    """clip: as it came. person: of the clip. figure: the body that moves, the person's or another model's.
    q (frames, nq): its motion, seen from the ground (a belt is at rest). terrain, ground: with a belt that was found.
    stay: the frames in which the body does not stand elsewhere; in the others it is held."""

    clip: Clip
    person: ClipFigure
    figure: Footed
    q: Array
    terrain: Terrain
    ground: GroundUnder
    stay: slice

    @property
    def own(self) -> ClipFigure | None:
        """The person, where it is the body that moves: a motion of its own skeleton can be written."""
        return replace(self.person, clip=self.clip) if self.figure is self.person else None

    def with_props(self, boxes: Sequence[Box]) -> PlacedClip:
        """The same motion on a ground that has boxes besides."""
        solids = Solids(boxes, Surface(self.ground.friction), self.ground.velocity)
        terrain = (*(pieces(self.terrain) or (Ground(),)), solids)
        return replace(self, terrain=terrain, ground=GroundUnder(terrain))

    def problem(self, settings: TrajectorySettings = STANDARD, cutoff: float | None = None) -> Problem:
        """The whole clip as one problem. cutoff: of the reference, instead of the setting's [Hz]."""
        out = make_problem(self.figure.model, self.figure.soles, self.q, self.clip.time, self.ground, settings, cutoff)
        out.reference.trust[: self.stay.start], out.reference.trust[self.stay.stop :] = 0.0, 0.0
        return out


def place(
    clip: Clip,
    model: Model | None = None,
    terrain: Terrain = None,
    *,
    mass: float | None = None,
    height: float | None = None,
    sex: Sex = "male",
    parts: Mapping[str, str] | None = None,
    belt: bool = True,
) -> PlacedClip:
    """Arguments are those of `filter_motion`."""
    ground = GroundUnder(terrain)
    about: dict[str, Any] = {"mass": mass, "height": height, "sex": sex, "parts": parts if model is None else None}
    still = _on_the_belt(clip, ground)
    stay = longest_stay(still)
    person = _person(still, stay, about)
    check_size(person)
    if belt and (terrain is None or isinstance(terrain, Ground)) and not ground.velocity.any():
        velocity = belt_of(person)
        if velocity.any():
            plane = Ground() if terrain is None else terrain
            normal = np.asarray(plane.normal)
            velocity[2] = -(velocity[:2] @ normal[:2]) / normal[2]  # along a slope
            terrain = replace(plane, velocity=velocity)
            ground = GroundUnder(terrain)
            still = _on_the_belt(clip, ground)
            stay = longest_stay(still)
            person = _person(still, stay, about)
    figure, q = _body(person, model, parts)
    if not ground.level:
        if made_on(ground, figure, q, clip.fps):
            person = _person(still, stay, about | {"ground": ground.heights})
            figure, q = _body(person, model, parts)
        elif ground.boxes:
            q = _on_steps(terrain, figure, q, clip.fps)
        else:
            q = brought_to(ground, q, clip.fps)
    check_upright(figure.model, q)
    q[: stay.start], q[stay.stop :] = q[stay.start], q[stay.stop - 1]  # what is elsewhere has no say
    return PlacedClip(clip, person, figure, q, terrain, ground, stay)


def _on_the_belt(clip: Clip, ground: GroundUnder) -> Clip:
    """The clip seen from a treadmill's belt, which is at rest for whoever walks along with it."""
    if not ground.velocity.any():
        return clip
    ways = {j: p - clip.time[:, None] * ground.velocity if j == 0 else p for j, p in clip.translations.items()}
    return clip.with_motion(clip.rotations, ways)


def _person(clip: Clip, stay: slice, about: Mapping[str, Any]) -> ClipFigure:
    """The person in a clip, as the frames tell in which the body does not stand elsewhere."""
    if stay == slice(0, len(clip)):
        return figure_from_clip(clip, **about)
    outside = f"0 to {stay.start - 1}" if stay.start else f"{stay.stop} to {len(clip) - 1}"
    text = f"{clip.name}: the body jumps to another place: frames {outside} are held still"
    warnings.warn(f"filter_motion: {text}", UkemiWarning, stacklevel=4)
    return replace(figure_from_clip(clip[stay], **about), clip=clip)


def _body(person: ClipFigure, model: Model | None, parts: Mapping[str, str] | None) -> tuple[Footed, Array]:
    if model is None:
        return person, np.array(person.q())
    from ukemi.motion.humanoid import model_soles
    from ukemi.motion.retarget import retarget

    model_soles(model, parts)  # says what is missing before the work begins
    if model.couplings or model.loops:
        what = "the filter leaves loops open and gives joints that follow others drives of their own"
        warnings.warn(f"filter_motion: {model.name!r}: {what}", UkemiWarning, stacklevel=4)
    moved = retarget(person, model, parts)
    return moved, np.array(moved.q)


def _on_steps(terrain: Terrain, figure: Footed, q: Array, fps: float) -> Array:
    """A motion made on a level floor, with footholds on boxes ([DF03] Fig. 10)."""
    from ukemi.dynamics_filter.floor import as_ground
    from ukemi.dynamics_filter.prepare import make_reference

    moved = make_reference(figure, q, fps, 1 / fps, as_ground(terrain)).q
    return moved[np.minimum(np.arange(len(q)), len(moved) - 1)]
