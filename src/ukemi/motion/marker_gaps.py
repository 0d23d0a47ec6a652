"""Markers as they should have been seen: without jumps, with gaps filled, and with a word about both.

Markers of one segment keep their distances. One that breaks those to most of its neighbours for some frames jumped, or
was taken for another: there it counts as not seen. Gaps up to `SPLINE` are filled by a cubic spline through the
marker's own track (Howarth & Callaghan 2010, Comput. Methods Biomech. Biomed. Eng. 13, 847-855: good up to 0.2 s);
longer ones up to `RIGID` by the rigid motion of the neighbours (Soderkvist & Wedin 1993), joined to the track at both
ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ukemi.model.arrays import Array
from ukemi.motion.footfalls import runs
from ukemi.motion.rigid import mean_shape, rigid_motion, spread_out, spreads

#: Longest gaps that a spline and the neighbours fill [s].
SPLINE, RIGID = 0.2, 1.0
#: Neighbours keep their distance to this [m], one standard deviation: skin moves over bone by 5 to 20 mm (Leardini et
#: al. 2005, Gait & Posture 21, 212-225).
TOGETHER = 0.012
#: So far from its usual distance a marker is out of place: [m], and in standard deviations.
ASTRAY, TIMES = 0.04, 8.0
#: No part of a body is faster than that [m/s^2]; heels that strike reach 200 to 400.
SUDDEN = 2000.0
#: At most so many neighbours are asked, the steadiest ones.
MOST = 6


@dataclass
class Repairs:
    """What was done, in words, a line a marker."""

    jumped: dict[str, float] = field(default_factory=dict)  # label -> [s]
    filled: dict[str, list[tuple[float, float]]] = field(default_factory=dict)  # label -> (start, duration) [s]

    def sentences(self) -> list[str]:
        said = []
        if self.jumped:
            said.append("out of place: " + ", ".join(f"{name} for {s:.2f} s" for name, s in self.jumped.items()))
        if self.filled:
            gaps = [f"{name} {_gaps(times)}" for name, times in self.filled.items()]
            said.append("gaps filled: " + ", ".join(gaps))
        return said


def _gaps(times: list[tuple[float, float]]) -> str:
    start, longest = max(times, key=lambda gap: gap[1])
    more = f" and {len(times) - 1} shorter" if len(times) > 1 else ""
    return f"{longest:.2f} s at {start:.2f} s{more}"


def repaired(p: Array, fps: float, names: Sequence[str], start: float = 0.0) -> tuple[Array, Repairs]:
    """Markers (frames, n, 3) without what was out of place, and with gaps filled that are short enough."""
    out, said = np.array(p), Repairs()
    if len(p) < 5 or p.shape[1] == 0:
        return out, said
    middle, vary = spreads(p)
    near = [_neighbours(k, vary) for k in range(p.shape[1])]
    for k, frames in enumerate(_astray(p, fps, middle, vary, near)):
        if frames.any():
            out[frames, k] = np.nan
            said.jumped[names[k]] = float(frames.sum() / fps)
    whole = np.array(out)  # gaps are filled from what was seen, not from what was filled
    for k, name in enumerate(names):
        seen = np.isfinite(whole[:, k, 0])
        for first, last in runs(~seen) if seen.any() else []:
            inner = first > 0 and last < len(p)
            if inner and last - first <= SPLINE * fps:
                out[first:last, k] = _by_spline(whole[:, k], seen, first, last)
            elif last - first <= RIGID * fps:
                out[first:last, k] = _by_neighbours(whole, k, near[k], first, last)
            if np.isfinite(out[first:last, k]).all():
                said.filled.setdefault(name, []).append((start + first / fps, (last - first) / fps))
    return out, said


def _neighbours(k: int, vary: Array) -> list[int]:
    """Markers of one bone with this one: the steadiest, three or more that are hardly less steady, which keep their
    distances to each other too (a marker at a knee keeps them to the thigh and to the shank)."""
    order = [int(j) for j in np.argsort(vary[k]) if j != k and vary[k, j] < TOGETHER]
    chosen: list[int] = []
    for j in order:
        if len(chosen) < 3 or vary[k, j] <= 1.5 * vary[k, chosen[2]] + 1e-4:
            chosen += [j] if all(vary[j, i] < TOGETHER for i in chosen) else []
    return chosen[:MOST]


def _astray(p: Array, fps: float, middle: Array, vary: Array, near: list[list[int]]) -> list[NDArray[np.bool_]]:
    """Per marker the frames in which it is not where it should be."""
    found = []
    for k, neighbours in enumerate(near):
        wrong = np.zeros(len(p), dtype=bool)
        if len(neighbours) >= 3:
            d = np.linalg.norm(p[:, neighbours] - p[:, [k]], axis=-1)
            limit = np.maximum(ASTRAY, TIMES * vary[k, neighbours])
            asked = np.isfinite(d)
            broken = asked & (np.abs(d - middle[k, neighbours]) > limit)
            wrong = (broken.sum(axis=1) >= 2) & (2 * broken.sum(axis=1) > asked.sum(axis=1))
        # one frame, or two, away from the track and back
        step = np.full(len(p), 0.0)
        step[1:-1] = np.linalg.norm(p[1:-1, k] - 0.5 * (p[:-2, k] + p[2:, k]), axis=1)
        sudden = np.nan_to_num(step) > max(0.5 * SUDDEN / fps**2, ASTRAY)
        # the peak of three frames that a single jump touches
        peak = sudden & (step >= np.roll(step, 1)) & (step >= np.roll(step, -1))
        found.append(wrong | peak)
    return found


def _by_spline(track: Array, seen: NDArray[np.bool_], first: int, last: int) -> Array:
    from scipy.interpolate import CubicSpline

    around = np.flatnonzero(seen)
    at = int(np.searchsorted(around, first))
    knots = around[max(at - 4, 0) : at + 4]
    if len(knots) < 4:
        share = ((np.arange(first, last) - first + 1) / (last - first + 1))[:, None]
        return np.asarray((1 - share) * track[first - 1] + share * track[last])
    return np.asarray(CubicSpline(knots, track[knots])(np.arange(first, last)))


def _by_neighbours(p: Array, k: int, near: list[int], first: int, last: int) -> Array:
    """Where the neighbours say the marker was, shifted so that it meets its track at the ends."""
    there = [j for j in near if np.isfinite(p[first:last, j]).all()]
    group = [k, *there]
    shape = mean_shape(p[:, group])
    if not spread_out(shape[1:]):
        return np.full((last - first, 3), np.nan)
    begin, end = max(first - 1, 0), min(last, len(p) - 1)
    R, move, _ = rigid_motion(shape[1:], p[begin : end + 1, there])
    guess = R @ shape[0] + move
    # how far the marker itself stood from that, in the segment's axes, before and after
    off = np.einsum("fji,fj->fi", R, p[begin : end + 1, k] - guess)
    before, after = off[0], off[-1]
    before, after = (x if np.isfinite(x).all() else y for x, y in ((before, after), (after, before)))
    if not np.isfinite(before).all():
        before = after = np.zeros(3)
    share = np.linspace(0.0, 1.0, len(guess))[:, None]
    found = guess + np.einsum("fij,fj->fi", R, (1 - share) * before + share * after)
    return np.asarray(found[first - begin : first - begin + last - first])
