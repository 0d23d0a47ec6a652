"""A step on purpose: when a push sends the capture point out of the feet, one of them goes there.

The capture point is where a pendulum of the body's height comes to rest (Pratt et al. 2006): xi = c + v / omega. It
runs away
from the foot that stands, xi(t) = p + (xi - p) exp(omega t); the other foot is put where it will be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ukemi.dynamics_filter.reference import ContactPoints
from ukemi.model.arrays import Array

SWING = 0.30  # of a step [s]
COMMIT = 0.08  # so long before it lands a foot keeps its aim [s]
LOOK = 5  # steps of the filter between two looks
PAUSE = 0.12  # between two steps [s]
MARGIN = 0.005  # the capture point may come so near to the edge of the support [m]
FARTHEST = 0.75  # a step [m]
APART = 0.10  # feet stay so far apart, centre to centre, across their heading [m]
LIFT = 0.06  # of a stepping foot [m]
GRAVITY = 9.81


@dataclass
class Step:
    """A foot on its way: from one shift of its place to another."""

    foot: int
    start: float
    before: Array
    after: Array

    def shift(self, t: float) -> Array:
        s = float(np.clip((t - self.start) / SWING, 0, 1))
        smooth = s**3 * (10 - 15 * s + 6 * s * s)
        return self.before + smooth * (self.after - self.before) + np.array([0, 0, 4 * LIFT * s * (1 - s)])

    def rate(self, t: float) -> Array:
        """How fast the shift changes [m/s]."""
        s = float(np.clip((t - self.start) / SWING, 0, 1))
        speed = 30 * s * s * (1 - s) ** 2
        return (speed * (self.after - self.before) + np.array([0, 0, 4 * LIFT * (1 - 2 * s) * (0 < s < 1)])) / SWING


def outside(points: Array, xi: Array) -> float:
    """How far xi (2,) is outside of the hull of points (n, 2); negative inside. Infinite if they span no area."""
    x, y = float(xi[0]), float(xi[1])
    corners = hull([(float(px), float(py)) for px, py in points])
    if len(corners) < 3:
        return np.inf
    far = -np.inf
    for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1], strict=True):
        nx, ny = by - ay, ax - bx  # outwards: the corners run anticlockwise
        far = max(far, ((x - ax) * nx + (y - ay) * ny) / (nx * nx + ny * ny) ** 0.5)
    return far


def hull(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Corners of the convex hull, anticlockwise (Andrew's monotone chain)."""

    def chain(ordered: list[tuple[float, float]]) -> list[tuple[float, float]]:
        out: list[tuple[float, float]] = []
        for x, y in ordered:
            while len(out) > 1 and (
                (out[-1][0] - out[-2][0]) * (y - out[-2][1]) <= (out[-1][1] - out[-2][1]) * (x - out[-2][0])
            ):
                out.pop()
            out.append((x, y))
        return out[:-1]

    ordered = sorted(set(points))
    return chain(ordered) + chain(ordered[::-1])


def plan_step(
    points: ContactPoints,
    places: Array,
    c: Array,
    v: Array,
    t: float,
    shifts: Array,
    ahead: Array,
    under_way: Step | None = None,
) -> Step:
    """The better of two steps: the one that comes nearer to where the capture point will be.

    places: (points, 3) of all points, those of a foot under way as if it had not left; c: centre of mass (its height
    above the ground) and v its velocity; shifts: (feet, 3), of the feet from the reference; ahead: (2,), where the
    figure looks. under_way: a step whose aim is to be found again.
    """
    omega = np.sqrt(GRAVITY / max(c[2], 0.3))
    xi = c[:2] + v[:2] / omega
    centres = np.stack([places[points.group == g].mean(axis=0)[:2] for g in range(points.groups)])
    left = np.array([-ahead[1], ahead[0]])
    best: tuple[float, Step] | None = None
    left_over = SWING if under_way is None else max(under_way.start + SWING - t, 0.0)
    for foot in range(points.groups) if under_way is None else (under_way.foot,):
        stand = 1 - foot
        corners = places[(points.group == stand) & ~points.tip][:, :2]
        low, high = corners.min(axis=0), corners.max(axis=0)
        p = np.clip(xi, low, high)
        goal = p + (xi - p) * np.exp(omega * left_over)
        # stay on the own side of the other foot
        side = np.sign((centres[foot] - centres[stand]) @ left) or 1.0
        across = side * float((goal - centres[stand]) @ left)
        target = goal + max(0.0, APART - across) * side * left
        way = target - centres[foot]
        length = float(np.linalg.norm(way))
        way *= min(1.0, FARTHEST / max(length, 1e-9))
        missed = float(np.linalg.norm(centres[foot] + way - goal))
        after = shifts[foot] + np.append(way, 0.0)
        if best is None or missed < best[0]:
            best = (missed, Step(foot, t if under_way is None else under_way.start, shifts[foot].copy(), after))
    assert best is not None
    return best[1]
