"""What else than the ground holds a body."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Support:
    """Something besides the ground that the motion needs: a seat, a bar, a partner.

    start, end: when [s]. link: the part of the body that it most likely acts on; place (3,): where that is, on average
    [m]. force (3,): mean [N]; peak: largest [share of body weight]. kind: ``"step"`` or ``"seat"`` where the motion
    shows one: it is then a piece of the result's terrain; otherwise ``"wrench"``, what the motion lacks.
    """

    start: float
    end: float
    link: str
    place: tuple[float, float, float]
    force: tuple[float, float, float]
    peak: float
    kind: str = "wrench"

    def __str__(self) -> str:
        up = "up" if abs(self.force[2]) >= np.hypot(*self.force[:2]) else "sideways"
        size = float(np.linalg.norm(self.force))
        what = "" if self.kind == "wrench" else f" by a {self.kind} {self.place[2]:.2f} m high"
        return f"{self.start:.2f} to {self.end:.2f} s: {size:.0f} N {up} on the {self.link.replace('_', ' ')}{what}"
