"""Joint centres from skin markers: between the markers of a joint, by regression, or by how the segments turn.

A joint's centre is, in this order: what the laboratory computed (HJC, KJC, ...), the middle between its lateral and
medial markers, the same of a static trial carried along by the segment's markers, a step inwards from the lateral
marker along the joint's axis, and where nothing marks the joint the point about which the two segments turn.

Hips are Harrington's (2007, J. Biomech. 40, 595-602): of the regressions it lies nearest to hips seen by ultrasound and
magnetic resonance (Sangeux et al. 2014, Gait & Posture 40, 20-25; Kainz et al. 2015, Clin. Biomech. 30, 319-329: mean
error 15 to 17 mm, that of Bell 1990 and Davis 1991 20 to 30 mm).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ukemi.errors import InvalidInputError, UkemiWarning
from ukemi.model.arrays import Array
from ukemi.motion.marker_capture import Capture
from ukemi.motion.marker_names import SIDED, SIDES
from ukemi.motion.markers import Markers
from ukemi.motion.rigid import joint_between, longest, moved

#: Hip centre from the middle of the ASIS: back by these of the pelvis' depth and [m], outwards and down by these of its
#: width (Harrington et al. 2007, Table 2: x, z, y).
HIP_BACK, HIP_OUT, HIP_DOWN = (0.24, 0.0099), (0.33, 0.0073), (0.30, 0.0109)
#: From a lateral marker inwards to the centre [m], where there is no medial one: half the distance between both, median
#: of nine published standing trials of adults (0.119 and 0.091 m; elbows 0.08 m).
INWARDS = {"knee": 0.060, "ankle": 0.045, "elbow": 0.040}
#: From the acromion down along the trunk and outwards to the shoulder's centre [m]: what two laboratories computed
#: beside their markers, 0.046 to 0.055 and 0.017 to 0.046 m.
SHOULDER_DOWN, SHOULDER_OUT = 0.05, 0.02
#: The ankle's centre in a foot: this share of the way from heel to toe marker, and so far above it [m] (the same nine
#: trials: 0.25 to 0.38, 0.02 to 0.07 m).
ANKLE_AHEAD, ANKLE_UP = 0.32, 0.04
#: Thigh's share of the leg (de Leva 1996: 422 of 856 mm).
THIGH = 0.493
#: A knee's axis is looked for where it is bent by more than this (its sine).
BENT = 0.35
#: Skin moves over bone by about this, and guesses of joints are off by so much [m].
SKIN, ANKLE_GUESS, KNEE_GUESS, KNEE_ACROSS = 0.010, 0.015, 0.100, 0.008
#: Arms and head that were not seen are held or bridged for this share of the time at most.
UNSEEN = 0.3
LEG = ("hip", "knee", "ankle", "heel", "toe")


@dataclass(frozen=True, eq=False)
class JointCentres:
    """Places (frames, 3) by name (`left_hip`, `left_knee`, ..., `left_toe`, `neck`, `head`), and the pelvis' axes.

    across: directions (frames, 3) to the left, of `left_knee` and `right_knee` (the joint's axis), of `left_foot` and
    `right_foot`, and of the `chest`, where markers tell them.
    """

    places: dict[str, Array]
    pelvis: Array  # (frames, 3, 3): forward, left, up
    first: int  # frame of the capture this begins with
    across: dict[str, Array] = field(default_factory=dict)


def joint_centres(
    markers: Markers, static: Markers | None = None, mapping: Mapping[str, str] | None = None
) -> JointCentres:
    """Joint centres over the longest time in which pelvis and legs were seen; a warning says what was done to markers.

    static: a trial in which the person stood still with more markers on; what is missing in the motion is carried over
    by the markers of its segment. mapping: label -> landmark, for labels that are not known
    (`ukemi.motion.marker_names`).

    Raises:
        InvalidInputError: markers of pelvis or legs that are not there under any known name.
    """
    standing = None if static is None else Body(Capture.standing(static, mapping))
    body = Body(Capture(markers, mapping, None if standing is None else standing.capture), standing)
    joints = {f"{side}_{joint}": getattr(body, joint)(side) for side in SIDES for joint in LEG}
    legs = np.stack(list(joints.values()))
    first, last = longest(np.isfinite(legs.sum(axis=(0, 2))))
    if first == last:
        raise InvalidInputError(f"{markers.name}: pelvis and legs are nowhere seen together{_gone(joints)}")
    rest = {name: _bridged(p[first:last]) for name, p in (body.arms() | body.head()).items()}
    cut = {name: p[first:last] for name, p in joints.items()} | {n: p for n, p in rest.items() if p is not None}
    for side in SIDES:  # no elbow without a shoulder
        for above, below in (("shoulder", "elbow"), ("elbow", "wrist")):
            if f"{side}_{above}" not in cut:
                cut.pop(f"{side}_{below}", None)
    across = {name: p[first:last] for name, p in body.across().items()}
    across = {name: p for name, p in across.items() if np.isfinite(p).all()}
    notes = body.capture.notes() + ([f"static trial: {x}" for x in standing.capture.notes()] if standing else [])
    if last - first < len(markers):
        times = markers.time[[first, last - 1]]
        notes.append(f"pelvis and legs were seen from {times[0]:.2f} to {times[1]:.2f} s: the rest is left out")
    if notes:
        warnings.warn(f"{markers.name}: {'; '.join(notes)}", UkemiWarning, stacklevel=3)
    return JointCentres(cut, body.pelvis[first:last], first, across)


def _gone(joints: dict[str, Array]) -> str:
    seen = {name: float(np.isfinite(p[:, 0]).mean()) for name, p in joints.items()}
    least = sorted(seen, key=lambda name: seen[name])[:3]
    return ": least seen " + ", ".join(f"{name.replace('_', ' ')} {100 * seen[name]:.0f} %" for name in least)


def _bridged(p: Array) -> Array | None:
    """Gaps of what is no leg bridged linearly, and held at the ends; None where too little was seen."""
    seen = np.isfinite(p[:, 0])
    if seen.mean() < 1 - UNSEEN:
        return None
    frames = np.arange(len(p))
    return np.stack([np.interp(frames, frames[seen], p[seen, k]) for k in range(3)], axis=1)


class Body:
    """Joints under a capture's markers; every method gives (frames, 3)."""

    def __init__(self, capture: Capture, standing: Body | None = None) -> None:
        self.capture, self.standing = capture, standing
        asis = {side: self._needed(f"{side}_asis") for side in SIDES}
        back = [p for side in SIDES if (p := capture.landmark(f"{side}_psis")) is not None]
        sacrum = capture.landmark("sacrum")
        behind = 0.5 * (back[0] + back[1]) if len(back) == 2 else sacrum
        if behind is None:
            raise self._missing("left_psis")
        left = _unit(asis["left"] - asis["right"])
        self.front = 0.5 * (asis["left"] + asis["right"])
        up = _unit(np.cross(self.front - behind, left))
        self.pelvis = np.stack([np.cross(left, up), left, up], axis=-1)
        self.width = _median(np.linalg.norm(asis["left"] - asis["right"], axis=1))
        self.depth = _median(np.linalg.norm(self.front - behind, axis=1))
        self._known: dict[str, Array] = {}

    # --- legs ---------------------------------------------------------------------------------------------------------
    def hip(self, side: str) -> Array:
        return self._once(f"{side}_hip", lambda: self._hip(side))

    def knee(self, side: str) -> Array:
        return self._once(f"{side}_knee", lambda: self._knee(side))

    def ankle(self, side: str) -> Array:
        return self._once(f"{side}_ankle", lambda: self._ankle(side))

    def heel(self, side: str) -> Array:
        return self._once(f"{side}_heel", lambda: self._heel(side))

    def toe(self, side: str) -> Array:
        return self._once(f"{side}_toe", lambda: self._toe(side))

    def _hip(self, side: str) -> Array:
        sign = 1.0 if side == "left" else -1.0
        back, out, down = (
            share * size + more
            for (share, more), size in ((HIP_BACK, self.depth), (HIP_OUT, self.width), (HIP_DOWN, self.width))
        )
        by_regression = self.front + self.pelvis @ np.array((-back, sign * out, -down))
        found = _best([self.capture.landmark(f"{side}_hip"), by_regression])
        return by_regression if found is None else found

    def _knee(self, side: str) -> Array:
        found = self._marked_knee(side)
        found = self._turning_knee(side) if found is None else found
        if found is None:
            raise self._unmarked(side, "knee")
        return found

    def _marked_knee(self, side: str) -> Array | None:
        own, between = self.capture.marker(f"{side}_knee"), self._between(side, "knee")
        carried = self._carried(side, "knee", "thigh", self.hip)
        lateral = self.capture.landmark(f"{side}_knee_lateral")
        inner = None if lateral is None else lateral + self._inwards(side, "knee", self.knee_axis(side))
        return _best([own, between, self._inside(side, carried, lateral), inner])

    def _ankle(self, side: str) -> Array:
        own, between = self.capture.marker(f"{side}_ankle"), self._between(side, "ankle")
        carried = self._carried(side, "ankle", "shank", self._marked_knee)
        lateral = self.capture.landmark(f"{side}_ankle_lateral")
        inner = None if lateral is None else lateral + self._inwards(side, "ankle", self._malleoli(side, lateral))
        found = _best([own, between, self._inside(side, carried, lateral), inner])
        found = self._turning_ankle(side) if found is None else found
        if found is None:
            raise self._unmarked(side, "ankle")
        return found

    def _between(self, side: str, joint: str) -> Array | None:
        """The middle of the markers on both sides of a joint."""
        lateral, medial = (self.capture.marker(f"{side}_{joint}_{where}") for where in ("lateral", "medial"))
        return None if lateral is None or medial is None else 0.5 * (lateral + medial)

    def _carried(self, side: str, joint: str, part: str, above: Callable[[str], Array | None]) -> Array | None:
        """The static trial's joint; where a segment has few markers the joint above it helps."""
        if self.standing is None or not self.standing.marked(side, joint):
            return None
        place = getattr(self.standing, joint)(side)[0]
        carried = self.capture.carried(f"{side}_{part}", place)
        now = above(side) if carried is None else None
        if now is None:
            return carried
        then: Array = getattr(self.standing, "hip" if part == "thigh" else "knee")(side)[0]
        return self.capture.carried(f"{side}_{part}", place, (then, now))

    def _inside(self, side: str, carried: Array | None, lateral: Array | None) -> Array | None:
        """What was carried over, unless it lies outside of the lateral marker: then the segment's labels are mixed up,
        and a mirror image of them fits nearly as well."""
        if carried is None or lateral is None:
            return carried
        out = ((carried - lateral) * self._inwards(side, "knee", self.pelvis[:, :, 1])).sum(axis=1)
        return carried if np.nanmedian(out) > 0 else None

    def marked(self, side: str, joint: str) -> bool:
        """Whether a joint's own markers are on."""
        return any(self.capture.marker(f"{side}_{joint}{where}") is not None for where in ("", "_lateral"))

    def _inwards(self, side: str, joint: str, left: Array) -> Array:
        return (-INWARDS[joint] if side == "left" else INWARDS[joint]) * left

    def knee_axis(self, side: str) -> Array:
        """To the left along the axis the knee bends about: between its markers, else the normal of the plane of hip,
        knee and ankle while it is bent, fixed in the thigh, else the pelvis' left."""
        return self._once(f"{side}_knee_axis", lambda: self._knee_axis(side))

    def _knee_axis(self, side: str) -> Array:
        sign, capture = (1.0 if side == "left" else -1.0), self.capture
        lateral, medial = (capture.landmark(f"{side}_knee_{where}") for where in ("lateral", "medial"))
        axis = self.pelvis[:, :, 1]
        if lateral is not None and medial is not None:
            between = _unit(sign * (lateral - medial))
            if np.nanmedian((between * axis).sum(axis=1)) > 0:  # else the labels of the segment are mixed up
                return between
        low = self.capture.landmark(f"{side}_ankle_lateral") if lateral is not None else None
        thigh = None if lateral is None else capture.motion(f"{side}_thigh", self.hip(side))
        if lateral is None or low is None or thigh is None:
            return axis
        R, _ = thigh
        for _ in range(3):  # the centre moves with the axis it is found by
            knee = lateral + self._inwards(side, "knee", axis)
            ankle = low + self._inwards(side, "ankle", axis)
            normal = np.cross(_unit(knee - self.hip(side)), _unit(ankle - knee))
            bent = np.linalg.norm(normal, axis=1) > BENT
            if bent.sum() < 3:
                return axis
            mean = np.nanmean(np.einsum("fji,fj->fi", R[bent], normal[bent]), axis=0)
            if not np.isfinite(mean).all():
                return axis
            axis = R @ _unit(mean)
        return axis

    def _malleoli(self, side: str, lateral: Array) -> Array:
        """To the left across the ankle: across the foot, at right angles to the shank."""
        top = self.capture.landmark(f"{side}_knee_lateral")
        up = self.pelvis[:, :, 2] if top is None else top - lateral
        return _unit(np.cross(up, self.toe(side) - self._heel_marker(side)))

    # --- joints that carry no marker ----------------------------------------------------------------------------------
    def _turning_ankle(self, side: str) -> Array | None:
        """Where shank and foot turn about each other, near where a foot has its ankle."""
        shank, foot = (self.capture.motion(f"{side}_{part}") for part in ("shank", "foot"))
        if self.capture.landmark(f"{side}_heel") is None:
            return None
        heel, toe = self._heel_marker(side), self.toe(side)
        up = _unit(np.cross(toe - heel, self._foot_across(side)))
        guess = heel + ANKLE_AHEAD * (toe - heel) + ANKLE_UP * up
        if shank is None or foot is None:
            return guess
        return _turning(shank, foot, guess, ANKLE_GUESS)

    def _turning_knee(self, side: str) -> Array | None:
        """Where thigh and shank turn about each other; across the leg, on the line from hip to ankle."""
        hip, ankle = self.hip(side), self.ankle(side)
        thigh = self.capture.motion(f"{side}_thigh") or self.capture.motion(f"{side}_thigh", hip)
        shank = self.capture.motion(f"{side}_shank") or self.capture.motion(f"{side}_shank", ankle)
        if thigh is None or shank is None:
            return None
        guess = hip + THIGH * (ankle - hip)
        reach = np.linalg.norm(ankle - hip, axis=1)
        straight = reach >= np.nanquantile(reach, 0.9) if np.isfinite(reach).any() else np.zeros(len(reach), bool)
        # a leg that is nearly straight has its knee before the line from hip to ankle, not beside it
        down = _unit(ankle - hip)
        left = self.pelvis[:, :, 1]
        across = _unit(left - (left * down).sum(axis=1, keepdims=True) * down)
        return _turning(thigh, shank, np.where(straight[:, None], guess, np.nan), KNEE_GUESS, (across, KNEE_ACROSS))

    # --- feet ---------------------------------------------------------------------------------------------------------
    def _heel_marker(self, side: str) -> Array:
        heel = self.capture.landmark(f"{side}_heel")
        return np.full_like(self.front, np.nan) if heel is None else heel

    def _heel(self, side: str) -> Array:
        heel = self.capture.landmark(f"{side}_heel")
        if heel is not None:
            return heel
        if not self.marked(side, "ankle") and (self.standing is None or not self.standing.marked(side, "ankle")):
            raise self._missing(f"{side}_heel")
        # below and behind the ankle, as far as a foot's proportions say
        ankle, toe = self.ankle(side), self.toe(side)
        left = _unit(np.cross(self.knee(side) - ankle, toe - ankle))
        way = _unit(toe - ankle)
        length = _median(np.linalg.norm(toe - ankle, axis=1)) / (1.0 - ANKLE_AHEAD)
        tilt = np.arctan2(ANKLE_UP, (1.0 - ANKLE_AHEAD) * length)
        above = np.cross(way, left)
        ahead, up = np.cos(tilt) * way + np.sin(tilt) * above, np.cos(tilt) * above - np.sin(tilt) * way
        return np.asarray(ankle - ANKLE_AHEAD * length * ahead - ANKLE_UP * up)

    def _toe(self, side: str) -> Array:
        toe = self.capture.landmark(f"{side}_toe")
        ends = [p for n in ("first", "fifth") if (p := self.capture.landmark(f"{side}_toe_{n}")) is not None]
        found = _best([toe, np.mean(ends, axis=0) if len(ends) == 2 else None, *ends])
        if found is None:
            raise self._missing(f"{side}_toe")
        return found

    def _foot_across(self, side: str) -> Array:
        """To the left across the foot: between the first and fifth metatarsals' markers, or the toe's and one of these;
        else the pelvis' left."""
        sign = 1.0 if side == "left" else -1.0
        first, toe, fifth = (self.capture.landmark(f"{side}_{name}") for name in ("toe_first", "toe", "toe_fifth"))
        inner, outer = (toe if first is None else first), (toe if fifth is None else fifth)
        if inner is None or outer is None or inner is outer:
            return self.pelvis[:, :, 1]
        return _unit(sign * (outer - inner))

    def across(self) -> dict[str, Array]:
        found = {f"{side}_knee": self.knee_axis(side) for side in SIDES}
        found |= {f"{side}_foot": self._foot_across(side) for side in SIDES}
        trunk = self.capture.motion("trunk")
        if trunk is not None:
            R, _ = trunk
            left = np.nanmean(np.einsum("fji,fj->fi", R, self.pelvis[:, :, 1]), axis=0)
            found["chest"] = R @ _unit(left)
        return found

    # --- trunk, arms, head --------------------------------------------------------------------------------------------
    def arms(self) -> dict[str, Array]:
        """What is there of the arms; a capture of legs alone has none."""
        arms: dict[str, Array] = {}
        acromia = {side: p for side in SIDES if (p := self._acromion(side)) is not None}
        hips = 0.5 * (self.hip("left") + self.hip("right"))
        for side, acromion in acromia.items():
            trunk = np.mean(list(acromia.values()), axis=0) - hips
            out = _unit(acromion - np.mean(list(acromia.values()), axis=0)) if len(acromia) == 2 else 0.0
            arms[f"{side}_shoulder"] = acromion - SHOULDER_DOWN * _unit(trunk) + SHOULDER_OUT * out
        for side in SIDES:
            shoulder = self.capture.landmark(f"{side}_shoulder")
            if shoulder is not None:
                arms[f"{side}_shoulder"] = shoulder
            wrists = [self.capture.landmark(f"{side}_wrist_{where}") for where in ("lateral", "medial")]
            seen = [p for p in wrists if p is not None]
            wrist = _best([self.capture.landmark(f"{side}_wrist"), np.mean(seen, axis=0) if seen else None])
            elbow = self._elbow(side, arms.get(f"{side}_shoulder"), wrist)
            arms |= {f"{side}_{n}": p for n, p in (("elbow", elbow), ("wrist", wrist)) if p is not None}
        return arms

    def _acromion(self, side: str) -> Array | None:
        front, back = (self.capture.landmark(f"{side}_acromion_{where}") for where in ("front", "back"))
        both = None if front is None or back is None else 0.5 * (front + back)
        return _best([self.capture.landmark(f"{side}_acromion"), both, front, back])

    def _elbow(self, side: str, shoulder: Array | None, wrist: Array | None) -> Array | None:
        centre, lateral = self.capture.landmark(f"{side}_elbow"), self.capture.landmark(f"{side}_elbow_lateral")
        if lateral is None:
            return centre
        sign = 1.0 if side == "left" else -1.0
        inwards = -sign * self.pelvis[:, :, 1]
        if shoulder is not None and wrist is not None:  # at right angles to the plane in which the arm is bent
            bend = sign * np.cross(_unit(lateral - shoulder), _unit(wrist - lateral))
            inwards = np.where(np.isfinite(bend), _unit(0.2 * inwards + bend), inwards)
        return _best([centre, self._between(side, "elbow"), lateral + INWARDS["elbow"] * inwards])

    def head(self) -> dict[str, Array]:
        """The head's middle, and the neck between C7 and the clavicles."""
        out: dict[str, Array] = {}
        head = [self.capture.tracks[label] for label in self.capture.members("head")]
        if head:
            out["head"] = np.mean(head, axis=0)
        ends = [p for side in SIDES if (p := self.capture.landmark(f"{side}_clavicle_end")) is not None]
        front = _best([self.capture.landmark("clavicle"), np.mean(ends, axis=0) if len(ends) == 2 else None])
        c7 = self.capture.landmark("c7")
        if c7 is not None and front is not None:
            out["neck"] = 0.5 * (c7 + front)
        return out

    # --- what is missing ----------------------------------------------------------------------------------------------
    def _needed(self, key: str) -> Array:
        found = self.capture.landmark(key)
        if found is None:
            raise self._missing(key)
        return found

    def _missing(self, key: str) -> InvalidInputError:
        labels = ", ".join(f"{key[0].upper()}{alias}" for alias in SIDED[key.partition("_")[2]].split()[:6])
        there = ", ".join(list(self.capture.tracks)[:12]) or "none that is known"
        return InvalidInputError(
            f"{self.capture.name}: no marker for {key.replace('_', ' ')} ({labels}, ...); known are {there}; "
            f"say which it is with markers={{'LABEL': '{key}'}} (--markers map.csv)"
        )

    def _unmarked(self, side: str, joint: str) -> InvalidInputError:
        return InvalidInputError(
            f"{self.capture.name}: no marker tells the {side} {joint}: give a standing trial that has one, "
            f"static='standing.trc' (--static standing.trc), or say which marker is {side}_{joint}_lateral with "
            "markers={'LABEL': ...} (--markers map.csv)"
        )

    def _once(self, key: str, make: Callable[[], Array]) -> Array:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]


def _turning(
    upper: tuple[Array, Array],
    lower: tuple[Array, Array],
    guess: Array,
    sure: float,
    across: tuple[Array, float] | None = None,
) -> Array | None:
    """The joint between two segments.

    guess: (frames, 3), its place as far as it is known, with so much standard deviation [m]; across: a direction
    (frames, 3) in which it is known better, and how well.
    """
    guesses, covariances = [], []
    for R, p in (upper, lower):
        known = np.isfinite(guess).all(axis=1) & np.isfinite(R).all(axis=(1, 2))
        if not known.any():
            return None
        guesses.append(np.median(np.einsum("fji,fj->fi", R[known], guess[known] - p[known]), axis=0))
        covariance = sure**2 * np.eye(3)
        if across is not None:
            u = _unit(np.median(np.einsum("fji,fj->fi", R[known], across[0][known]), axis=0))
            covariance -= (sure**2 - across[1] ** 2) * np.outer(u, u)
        covariances.append(covariance)
    a, b = joint_between(upper, lower, (guesses[0], guesses[1]), SKIN, (covariances[0], covariances[1]))
    return np.asarray(0.5 * (moved(*upper, a) + moved(*lower, b)))


def _best(candidates: list[Array | None]) -> Array | None:
    """The first that was seen nearly as long as any."""
    there = [p for p in candidates if p is not None]
    seen = [int(np.isfinite(p[:, 0]).sum()) for p in there]
    return next((p for p, n in zip(there, seen, strict=True) if n and n >= 0.9 * max(seen)), None)


def _median(x: Array) -> float:
    x = x[np.isfinite(x)]
    return float(np.median(x)) if len(x) else float("nan")


def _unit(v: Array) -> Array:
    return np.asarray(v / np.linalg.norm(v, axis=-1, keepdims=True))
