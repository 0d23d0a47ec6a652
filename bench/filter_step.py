"""Microseconds of one step of the dynamics filter, called from Python: the 34-DOF figure standing on both feet.

The core's step alone, and `DynamicsFilter.step` with its plans every 40 ms and a reference that changes at every step.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.dynamics_filter.figures import standing_reference

from ukemi.dynamics_filter.interactive import DynamicsFilter
from ukemi.dynamics_filter.online import Follower
from ukemi.dynamics_filter.settings import STANDARD


def main() -> None:
    reference = standing_reference(1.0)
    follower = Follower(reference, STANDARD)
    follower.advance(20)
    goal = np.ascontiguousarray(reference.centroid_goal[:1])
    row, shift = slice(0, 1), np.zeros((1, len(reference.points), 6))
    q, v, a, share = reference.q[row], reference.v[row], reference.a[row], follower.window.share[row]
    times = []
    for _ in range(3000):
        start = time.perf_counter()
        follower.core.run(q, v, a, share, shift, goal, None)
        times.append(time.perf_counter() - start)
    print(f"{1e6 * float(np.median(times)):.1f} us a step (median of {len(times)}), {reference.model.nv} freedoms")
    figure, wanted = DynamicsFilter(reference.model), reference.q[0].copy()
    blocks = []
    for _ in range(20):
        start = time.process_time()
        for _ in range(100):
            wanted[0] += 1e-6
            figure.step(wanted)
        blocks.append((time.process_time() - start) / 100)
    best = 1e6 * min(blocks)
    print(
        f"{best:.0f} us of processor time in DynamicsFilter.step, plans included (mean of 100, best of {len(blocks)})"
    )


if __name__ == "__main__":
    main()
