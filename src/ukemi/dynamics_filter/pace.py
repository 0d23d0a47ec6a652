"""Clips that are played too fast: the pace at which the footholds of a clip come nearest to possible.

Frame rates of files are not always true: a good many CMU captures were taken at 60 frames a second and are labelled
120. Forces grow with the square of the pace, so the plan of the whole clip shows it: slowed down, a jump gets farther
from possible and so do walks, but not one that was labelled with too many frames a second.
"""

from __future__ import annotations

from ukemi.contact.terrain import Ground
from ukemi.dynamics_filter.prepare import make_reference
from ukemi.dynamics_filter.settings import Settings
from ukemi.dynamics_filter.whole import whole_plan
from ukemi.model.arrays import Array
from ukemi.motion.footfalls import Footed

#: Paces that are looked at, as shares of the clip's own.
PACES = (0.8, 0.65, 0.5)
#: Another pace counts when the clip is so many times nearer to possible at it.
NEARER = 3.0
#: Shifts that differ by less than this factor are the same.
ALIKE = 1.1


def likely_pace(figure: Footed, q: Array, fps: float, settings: Settings, ground: Ground | None, shift: float) -> float:
    """The pace at which the motion q (frames, nq) is nearest to possible; 1 if its own is not clearly worse.

    shift: how far the centre of mass has to move at the clip's own pace [m].
    """
    shifts = {
        pace: whole_plan(make_reference(figure, q, pace * fps, settings.dt, ground), settings, ground).shift
        for pace in PACES
    }
    # of paces that are as good the slowest: files that are wrong are mostly wrong by a factor of two
    best = min(pace for pace in PACES if shifts[pace] <= ALIKE * min(shifts.values()))
    return best if NEARER * shifts[best] < shift else 1.0
