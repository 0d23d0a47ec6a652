"""Landmarks of a capture over time, wherever they come from: a marker, or a static trial carried along by a segment."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np

from ukemi.model.arrays import Array
from ukemi.motion.marker_gaps import Repairs, repaired
from ukemi.motion.marker_names import SIDES, MarkerNames, marker_names
from ukemi.motion.markers import Markers
from ukemi.motion.rigid import mean_shape, rigid_motion, spread_out, spreads

#: Landmarks that move with a segment.
MEMBERS = {
    "thigh": ("knee_lateral", "knee_medial"),
    "shank": ("ankle_lateral", "ankle_medial"),
    "foot": ("heel", "toe", "toe_first", "toe_fifth"),
    "upper_arm": ("elbow_lateral", "elbow_medial"),
    "forearm": ("wrist_lateral", "wrist_medial"),
}
PELVIS = ("left_asis", "right_asis", "left_psis", "right_psis", "sacrum")
TRUNK = ("c7", "t10", "clavicle", "sternum")
#: Markers seen in less than this share of the time that the best one of their group was seen do not count.
RARE = 0.8
#: Segments of legs, whose markers' sides are checked against each other.
TRACKED = ("thigh", "shank", "foot")
#: A marker that keeps its distance to no marker of its side better than this is not on that side [m].
WANDERS = 0.03


class Capture:
    """Landmarks (frames, 3) by name, NaN where they are not known.

    static: a standing trial, as a capture of one frame; what has no marker in this one is carried over from it.
    """

    def __init__(
        self, markers: Markers, mapping: Mapping[str, str] | None = None, static: Capture | None = None
    ) -> None:
        self.static, self.frames, self.name = static, len(markers), markers.name
        names = marker_names(markers.names, mapping)
        used = [*names.landmarks.values(), *(label for labels in names.trackers.values() for label in labels)]
        used = [label for label in dict.fromkeys(used) if np.isfinite(markers[label]).any()]
        places = np.stack([markers[label] for label in used], axis=1) if used else np.zeros((self.frames, 0, 3))
        self.repairs = Repairs()
        if static is not None or self.frames > 1:
            places, self.repairs = repaired(places, markers.fps, used, markers.start)
        self.tracks = dict(zip(used, np.moveaxis(places, 1, 0), strict=True))
        self.names, self.exchanged = self._with_sides(names)

    @classmethod
    def standing(cls, markers: Markers, mapping: Mapping[str, str] | None = None) -> Capture:
        """Of one frame: medians over a static trial."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # markers that were never seen
            still = np.nanmedian(markers.positions, axis=0)[None]
        return cls(Markers(markers.names, markers.fps, still, markers.start, None, markers.name), mapping)

    def marker(self, key: str) -> Array | None:
        """Of the marker itself."""
        track = self.tracks.get(self.names.landmarks.get(key, ""))
        return track if track is not None and np.isfinite(track).any() else None

    def landmark(self, key: str) -> Array | None:
        """Of its marker, or carried over from the static trial."""
        own = self.marker(key)
        if own is not None or self.static is None:
            return own
        place = self.static.marker(key)
        return None if place is None else self.carried(segment_of(key), place[0])

    # --- segments -----------------------------------------------------------------------------------------------------
    def members(self, segment: str) -> list[str]:
        """Labels of the markers on a segment (``left_thigh``, ``pelvis``, ``trunk``), the often seen ones."""
        labels = self._labels(self.names, segment)
        seen = {x: int(np.isfinite(self.tracks[x][:, 0]).sum()) for x in labels}
        return [x for x in labels if seen[x] >= RARE * max(seen.values())]

    def _labels(self, names: MarkerNames, segment: str) -> list[str]:
        side, _, part = segment.partition("_")
        keys: tuple[str, ...] = {"pelvis": PELVIS, "trunk": TRUNK}.get(segment, ())
        keys = keys or tuple(f"{side}_{name}" for name in MEMBERS.get(part, ()))
        labels = (*(names.landmarks.get(key, "") for key in keys), *names.trackers.get(segment, ()))
        return [label for label in labels if label in self.tracks]

    def motion(self, segment: str, *extra: Array) -> tuple[Array, Array] | None:
        """Rotations and translations of a segment, from the axes of its mean shape; None where too few markers tell.

        extra: further points (frames, 3) on it, such as a joint's centre.
        """
        points = [*(self.tracks[label] for label in self.members(segment)), *extra]
        if len(points) < 3:
            return None
        now = np.stack(points, axis=1)
        shape = mean_shape(now)
        return rigid_motion(shape, now)[:2] if spread_out(shape) else None

    def carried(self, segment: str, place: Array, *joints: tuple[Array, Array]) -> Array | None:
        """A place (3,) of the static trial moved with a segment's markers that are in both trials.

        joints: (its place in the static trial (3,), its track) of joints that help where there are few markers.
        """
        assert self.static is not None
        labels = [label for label in self.members(segment) if label in self.static.tracks]
        then = [self.static.tracks[label][0] for label in labels] + [joint for joint, _ in joints]
        now = [self.tracks[label] for label in labels] + [track for _, track in joints]
        if not spread_out(np.array(then).reshape(-1, 3)):
            return None
        R, p, _ = rigid_motion(np.stack(then), np.stack(now, axis=1))
        return R @ place + p

    # --- sides --------------------------------------------------------------------------------------------------------
    def _with_sides(self, names: MarkerNames) -> tuple[MarkerNames, list[str]]:
        """Names whose left is left of a body that has its feet below and its face in front, and what was exchanged."""
        self.names = names
        places = {key: self.marker(key) for key in names.landmarks}
        back = [p for key in ("left_psis", "right_psis", "sacrum") if (p := places.get(key)) is not None]
        feet = [p for s in SIDES for n in ("heel", "toe", "toe_fifth") if (p := places.get(f"{s}_{n}")) is not None]
        left, right = places.get("left_asis"), places.get("right_asis")
        if left is None or right is None or not back or not feet:
            return names, []
        middle, across = 0.5 * (left + right), left - right
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # frames in which nothing was seen
            up = middle - np.nanmean(feet, axis=0)
            ahead = middle - np.nanmean(back, axis=0)
            upright = np.nanmedian((np.cross(ahead, across) * up).sum(axis=1))
        names = names.swapped() if upright < 0 else names
        landmarks, crossed = self._uncrossed(names)
        said = ["left and right are exchanged: all labels are taken for the other side"] if upright < 0 else []
        said += [f"exchanged over the whole trial: {', '.join(crossed)}"] if crossed else []
        return MarkerNames(landmarks, names.trackers), said

    def _uncrossed(self, names: MarkerNames) -> tuple[dict[str, str], list[str]]:
        """Landmarks with pairs put right whose labels were exchanged: each moves with the other side's markers."""
        landmarks, crossed = dict(names.landmarks), []
        on = {side: [self.tracks[x] for s in TRACKED for x in self._labels(names, f"{side}_{s}")] for side in SIDES}
        for name in (n for part in TRACKED for n in MEMBERS[part]):
            labels = {side: names.landmarks.get(f"{side}_{name}", "") for side in SIDES}
            if any(label not in self.tracks for label in labels.values()):
                continue
            with_own, with_other = (
                [self._steadiest(self.tracks[labels[side]], on[SIDES[(k + turn) % 2]]) for k, side in enumerate(SIDES)]
                for turn in (0, 1)
            )
            if all(a > WANDERS and b < 0.3 * a for a, b in zip(with_own, with_other, strict=True)):
                landmarks |= {f"left_{name}": labels["right"], f"right_{name}": labels["left"]}
                crossed.append(f"{labels['left']} and {labels['right']}")
        return landmarks, crossed

    def _steadiest(self, track: Array, others: list[Array]) -> float:
        """How little the distance to any of the others varies [m]."""
        others = [p for p in others if p is not track]
        if not others:
            return 0.0
        return float(spreads(np.stack([track, *others], axis=1))[1][0, 1:].min())

    def notes(self) -> list[str]:
        """What had to be done to the markers, in sentences."""
        return [*self.exchanged, *self.repairs.sentences()]


def segment_of(key: str) -> str:
    side, _, name = key.partition("_")
    if key in PELVIS or name == "hip":
        return "pelvis"
    return next((f"{side}_{part}" for part, names in MEMBERS.items() if name in names), "trunk")
