"""A whole clip, window by window: memory and time per second of motion do not grow with its length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits

from ukemi.dynamics_filter.trajectory.problem import Problem
from ukemi.dynamics_filter.trajectory.state import Iteration, State
from ukemi.dynamics_filter.trajectory.window import RESIDUAL, Window
from ukemi.model.arrays import Array

#: Length of a window and of what neighbours share [tau]: 6 s and 0.9 s for an adult. Corrections die out within 0.5 s.
LENGTH, SHARED = 20.0, 3.0


@dataclass(eq=False)
class Solution:
    """state: motion and forces; trace: iterations of every window; interrupted: whether Ctrl-C ended it."""

    state: State
    trace: list[list[Iteration]] = field(default_factory=list)
    interrupted: bool = False

    @property
    def iterations(self) -> int:
        return sum(len(rows) for rows in self.trace)

    @property
    def leftover(self) -> float:
        """Largest residual of the root where nothing else holds the body [BW]."""
        return float(np.abs(self.state.residual[~self.state.supported]).max(initial=0.0))

    @property
    def supported(self) -> float:
        """Share of the time in which something besides the ground holds the body."""
        return float(self.state.supported.mean())

    @property
    def converged(self) -> bool:
        return not self.interrupted and self.leftover < RESIDUAL


def windows(intervals: int, length: int, shared: int) -> list[tuple[int, int]]:
    """First and last interval of each; the last window is at most one and a half long."""
    found, first = [], 0
    while True:
        last = intervals if intervals - first <= 1.5 * length else first + length
        found.append((first, last))
        if last == intervals:
            return found
        first = last - shared


def solve(problem: Problem, frame_times: Array, bar: Callable[[float, float], None] | None = None) -> Solution:
    """bar: is told the share that is done, and the residual of the window that is solved [BW].

    Ctrl-C gives what there is: windows not reached stay as captured.
    """
    solution = Solution(State.start(problem, frame_times))
    step = problem.knots.step / problem.tau
    shared = max(round(SHARED / step), 8)
    parts = windows(problem.knots.intervals, max(round(LENGTH / step), 2 * shared), shared)
    for k, (first, last) in enumerate(parts):
        window = Window(problem, solution.state, first, last, shared if k else 0)
        solution.trace.append(window.trace)
        try:
            with threadpool_limits(1):  # blocks are small: threads would wait for each other
                for share in window.run():
                    if bar is not None:
                        bar((k + share) / len(parts), window.trace[-1].residual)
        except KeyboardInterrupt:
            solution.interrupted = True
            break
    np.clip(solution.state.residual, -1e9, 1e9, out=solution.state.residual)
    return solution
