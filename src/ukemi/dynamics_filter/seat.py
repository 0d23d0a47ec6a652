"""A seat: a board that a clip shows to be there, because somebody sits where nothing else could hold them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ukemi.contact.terrain import Solids
from ukemi.model.arrays import Array
from ukemi.model.pose import Pose
from ukemi.model.shapes import Box

#: Thickness of the board [m]: feet may be under it.
BOARD = 0.04


@dataclass(frozen=True, eq=False)
class Seat:
    """Something level to sit on, as far as the motion shows it.

    low, high (2,): corners of its top [m]; height: of its top above the floor, 0 for the floor itself; times: (begin,
    end) of every time that somebody sits on it [s].
    """

    low: Array
    high: Array
    height: float
    times: tuple[tuple[float, float], ...]

    @property
    def box(self) -> Array:
        """What the core of the filter knows of it: x0, x1, y0, y1, z; nothing for the floor."""
        if self.height == 0:
            return np.zeros(0)
        return np.array([self.low[0], self.high[0], self.low[1], self.high[1], self.height])

    @property
    def solids(self) -> Solids | None:
        """The board as a piece of terrain; None for the floor."""
        if self.height == 0:
            return None
        size, middle = self.high - self.low, 0.5 * (self.low + self.high)
        at = Pose(np.array([*middle, self.height - 0.5 * BOARD]))
        return Solids([Box((float(size[0]), float(size[1]), BOARD), at=at)])
