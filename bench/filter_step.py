"""Microseconds of one step of the dynamics filter, called from Python: the 34-DOF figure standing on both feet.

The core's step alone, and `DynamicsFilter.step` with its plans every 40 ms and a reference that changes at every step.
"""

from __future__ import annotations

import time

import numpy as np
from cases.whole_body import filter_step, seconds_of
from tests.dynamics_filter.figures import standing_reference

from ukemi.dynamics_filter.interactive import DynamicsFilter


def main(rounds: int = 100) -> None:
    step = filter_step()
    core = [seconds_of(step) for _ in range(rounds)]
    print(f"{1e6 * float(np.median(core)):.1f} us a step of the core (median of {rounds} rounds of 20 steps)")
    reference = standing_reference(1.0)
    figure, wanted = DynamicsFilter(reference.model), reference.q[0].copy()
    blocks = []
    for _ in range(20):
        start = time.process_time()
        for _ in range(100):
            wanted[0] += 1e-6
            figure.step(wanted)
        blocks.append((time.process_time() - start) / 100)
    best = 1e6 * min(blocks)
    print(f"{best:.0f} us of processor time in DynamicsFilter.step, plans included (best of {len(blocks)})")


if __name__ == "__main__":
    main()
