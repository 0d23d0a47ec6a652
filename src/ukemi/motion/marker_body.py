"""Joint centres from skin markers: names in use, a static trial for what was taken off, hips by regression."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array
from ukemi.motion.footfalls import runs
from ukemi.motion.markers import Markers

#: Landmark -> labels, S for L or R, without dots, underscores and prefixes; the first that is there is taken.
LANDMARKS: dict[str, tuple[str, ...]] = {
    "asis": ("SASI", "SASIS", "SFWT"),
    "psis": ("SPSI", "SPSIS", "SBWT", "VSACRAL", "SACR", "SACRUM"),
    "hip": ("SHJC",),
    "knee": ("SKJC",),
    "knee_lateral": ("SKNE", "SLFC", "SKNEELAT"),
    "knee_medial": ("SKNM", "SMFC", "SKNEEMED"),
    "ankle": ("SAJC",),
    "ankle_lateral": ("SANK", "SLMAL", "SANKLELAT"),
    "ankle_medial": ("SANM", "SMMAL", "SANKLEMED"),
    "heel": ("SHEE", "SCAL", "SHEEL"),
    "toe": ("STOE", "STOETIP", "SMT2"),
    "shoulder": ("SSJC",),
    "acromion": ("SSHO", "SACR", "SACROMIUM", "SACROMION"),
    "elbow": ("SEJC",),
    "elbow_lateral": ("SELB", "SLEL", "SELBOW"),
    "elbow_medial": ("SMEL",),
    "wrist_lateral": ("SWRA", "SFARADIUS", "SWRISTLAT"),
    "wrist_medial": ("SWRB", "SFAULNA", "SWRISTMED"),
}
#: Landmarks that a limb's own markers carry along, with the labels of those markers.
CLUSTERS = {
    r"S(THI|TH\d|THIGH\w*)": ("knee", "knee_lateral", "knee_medial"),
    r"S(TIB|TB\d|SHN|SHANK\w*)": ("ankle", "ankle_lateral", "ankle_medial"),
    r"S(UPA|UA\d|BICEP)": ("elbow", "elbow_lateral", "elbow_medial"),
}
#: Hip centres from the middle of the ASIS, as shares of their distance: back, outwards, down (Bell et al. 1990).
HIP = (0.19, 0.36, 0.30)
#: From a lateral marker inwards to the centre [m], where there is no medial one: half a joint's width and the marker.
INWARDS = {"knee": 0.055, "ankle": 0.04, "elbow": 0.04}
#: From the acromion down to the shoulder's centre [m].
SHOULDER_DOWN = 0.05
#: Markers that vanish for less than this are interpolated [s].
GAP = 0.15


@dataclass(frozen=True, eq=False)
class JointCentres:
    """Places (frames, 3) by name (`left_hip`, `left_knee`, ..., `left_toe`, `neck`, `head`), and the pelvis' axes."""

    places: dict[str, Array]
    pelvis: Array  # (frames, 3, 3): forward, left, up
    first: int  # frame of the capture this begins with


def plain(label: str) -> str:
    return re.sub(r"[^A-Z0-9]", "", label.split(":")[-1].upper())


def joint_centres(markers: Markers, static: Markers | None = None) -> JointCentres:
    """Joint centres over the longest time in which pelvis and legs were seen.

    static: a trial in which the person stood still with more markers on; what is missing in the motion is carried over
    by the markers of its segment.

    Raises:
        InvalidInputError: markers of pelvis or legs that are not there under any known name.
    """
    found = _Found(markers, static)
    needed = {f"{side}_{name}" for side in ("left", "right") for name in ("asis", "psis", "heel", "toe")}
    places: dict[str, Array] = {}
    for key in sorted(needed):
        place = found.landmark(key)
        if place is None:
            labels = ", ".join(LANDMARKS[key.partition("_")[2]])
            raise InvalidInputError(f"{markers.name}: no marker for {key.replace('_', ' ')} ({labels}; S: L or R)")
        places[key] = place
    pelvis = _pelvis_axes(places)
    joints: dict[str, Array] = {}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        joints[f"{side}_hip"] = _or(found.landmark(f"{side}_hip"), _hip(places, pelvis, sign))
        inwards = -sign * pelvis[:, :, 1]
        for joint in ("knee", "ankle"):
            centre = _centre(found, side, joint, inwards)
            if centre is None:
                raise InvalidInputError(
                    f"{markers.name}: no marker tells the {side} {joint}: give a standing trial that has one, "
                    "static='standing.trc' (--static standing.trc)"
                )
            joints[f"{side}_{joint}"] = centre
        joints[f"{side}_heel"], joints[f"{side}_toe"] = places[f"{side}_heel"], places[f"{side}_toe"]
        joints |= _arm(found, side, inwards)
    joints |= _head(found)
    legs = np.stack([p for name, p in joints.items() if name.split("_")[-1] in ("hip", "knee", "ankle", "heel", "toe")])
    first, last = _longest(np.isfinite(legs.sum(axis=(0, 2))))
    if last - first < 3:
        raise InvalidInputError(f"{markers.name}: pelvis and legs are nowhere seen together")
    cut = {name: p[first:last] for name, p in joints.items()}
    whole = {name: p for name, p in cut.items() if np.isfinite(p).all()}
    return JointCentres(whole, pelvis[first:last], first)


class _Found:
    """Landmarks by name, from the motion or carried over from the static trial."""

    def __init__(self, markers: Markers, static: Markers | None) -> None:
        self.labels = {
            plain(name): _filled(markers.positions[:, k], markers.fps) for k, name in enumerate(markers.names)
        }
        self.static: dict[str, Array] = {}
        if static is not None:
            for k, name in enumerate(static.names):
                seen = static.positions[:, k]
                seen = seen[np.isfinite(seen).all(axis=1)]
                if len(seen):
                    self.static[plain(name)] = np.median(seen, axis=0)

    def landmark(self, key: str) -> Array | None:
        side, _, name = key.partition("_")
        letter = side[0].upper()
        for pattern in LANDMARKS[name]:
            label = pattern.replace("S", letter, 1) if pattern.startswith("S") and pattern != "SACRUM" else pattern
            if label in self.labels and np.isfinite(self.labels[label]).any():
                return self.labels[label]
            if pattern in ("SACR", "SACRUM") and name == "psis" and pattern in self.labels:
                return self.labels[pattern]
        for pattern in LANDMARKS[name]:
            label = pattern.replace("S", letter, 1)
            if label in self.static:
                carried = self._carried(name, letter, self.static[label])
                if carried is not None:
                    return carried
        return None

    def _carried(self, name: str, letter: str, place: Array) -> Array | None:
        """A place of the static trial, moved with the markers of its segment."""
        for pattern, names in CLUSTERS.items():
            if name not in names:
                continue
            cluster = [
                label
                for label in self.labels
                if label in self.static and re.fullmatch(pattern.replace("S", letter, 1), label)
            ]
            if len(cluster) >= 3:
                then = np.stack([self.static[label] for label in cluster])
                now = np.stack([self.labels[label] for label in cluster], axis=1)
                return _moved(then, now, place)
        return None


def _moved(then: Array, now: Array, place: Array) -> Array:
    """Where a point goes with markers (n, 3) that are now at (frames, n, 3): the best rigid motion (Kabsch 1976)."""
    seen = np.isfinite(now).all(axis=(1, 2))
    out = np.full((len(now), 3), np.nan)
    a, b = then.mean(axis=0), now[seen].mean(axis=1)
    U, _, Vt = np.linalg.svd(np.einsum("ni,fnj->fij", then - a, now[seen] - b[:, None]))
    flip = np.linalg.det(U @ Vt)
    Vt[:, 2] *= np.sign(flip)[:, None]
    R = np.einsum("fji,fkj->fik", Vt, U)
    out[seen] = b + np.einsum("fij,j->fi", R, place - a)
    return out


def _filled(p: Array, fps: float) -> Array:
    """Short gaps interpolated."""
    out = np.array(p)
    seen = np.isfinite(p.sum(axis=1))
    for first, last in runs(~seen):
        if first > 0 and last < len(p) and last - first <= GAP * fps:
            share = (np.arange(first, last) - first + 1)[:, None] / (last - first + 1)
            out[first:last] = (1 - share) * p[first - 1] + share * p[last]
    return out


def _longest(flags: NDArray[np.bool_]) -> tuple[int, int]:
    return max(runs(flags), key=lambda run: run[1] - run[0], default=(0, 0))


def _or(a: Array | None, b: Array) -> Array:
    return b if a is None else a


def _unit(v: Array) -> Array:
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def _pelvis_axes(places: dict[str, Array]) -> Array:
    back = 0.5 * (places["left_psis"] + places["right_psis"])
    left = _unit(places["left_asis"] - places["right_asis"])
    ahead = 0.5 * (places["left_asis"] + places["right_asis"]) - back
    up = _unit(np.cross(ahead, left))
    return np.stack([np.cross(left, up), left, up], axis=-1)


def _hip(places: dict[str, Array], pelvis: Array, sign: float) -> Array:
    a, b = places["left_asis"], places["right_asis"]
    apart = np.nanmedian(np.linalg.norm(a - b, axis=1))
    back, out, down = HIP
    return 0.5 * (a + b) + np.einsum("fij,j->fi", pelvis, apart * np.array((-back, sign * out, -down)))


def _centre(found: _Found, side: str, joint: str, inwards: Array) -> Array | None:
    centre = found.landmark(f"{side}_{joint}")
    if centre is not None:
        return centre
    lateral, medial = (found.landmark(f"{side}_{joint}_{where}") for where in ("lateral", "medial"))
    if lateral is None:
        return None
    return lateral + INWARDS[joint] * inwards if medial is None else 0.5 * (lateral + medial)


def _arm(found: _Found, side: str, inwards: Array) -> dict[str, Array]:
    """What is there of the arm; a capture of legs alone has none."""
    arm: dict[str, Array] = {}
    shoulder, acromion = found.landmark(f"{side}_shoulder"), found.landmark(f"{side}_acromion")
    if shoulder is None and acromion is not None:
        shoulder = acromion - (0.0, 0.0, SHOULDER_DOWN)
    if shoulder is not None:
        arm[f"{side}_shoulder"] = shoulder
    elbow = _centre(found, side, "elbow", inwards)
    if elbow is not None:
        arm[f"{side}_elbow"] = elbow
    wrists = [w for w in (found.landmark(f"{side}_wrist_{where}") for where in ("lateral", "medial")) if w is not None]
    if wrists:
        arm[f"{side}_wrist"] = np.mean(wrists, axis=0)
    return arm


def _head(found: _Found) -> dict[str, Array]:
    out: dict[str, Array] = {}
    head = [
        found.labels[k] for k in ("LFHD", "RFHD", "LBHD", "RBHD", "TOPHEAD", "LTEMPLE", "RTEMPLE") if k in found.labels
    ]
    if head:
        out["head"] = np.mean(head, axis=0)
    neck = [found.labels[k] for k in ("C7", "CLAV") if k in found.labels]
    if len(neck) == 2:
        out["neck"] = np.mean(neck, axis=0)
    return out
