"""Microseconds of one step of the dynamics filter: the 34-DOF figure standing on both feet, called from Python.

The step in the core, which solves for accelerations, forces and torques and integrates; and a step of the online
filter, with its plan of 0.8 s every 20 steps and its foot placement.
"""

from __future__ import annotations

import time

import numpy as np
from cases.whole_body import filter_step, seconds_of
from tests.dynamics_filter.figures import standing_reference

from ukemi.dynamics_filter.online import CHUNK, Follower
from ukemi.dynamics_filter.settings import STANDARD


def main(rounds: int = 100) -> None:
    step = filter_step()
    core = [seconds_of(step) for _ in range(rounds)]
    print(f"{1e6 * float(np.median(core)):.1f} us a step of the core (median of {rounds} rounds of 20 steps)")
    chunks = round(STANDARD.plan_every / STANDARD.dt / CHUNK)
    follower = Follower(standing_reference((rounds + 2) * STANDARD.plan_every), STANDARD)
    whole = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(chunks):
            follower.advance()
        whole.append((time.perf_counter() - start) / (chunks * CHUNK))
    print(f"{1e6 * float(np.median(whole)):.1f} us a step with its share of the plan")


if __name__ == "__main__":
    main()
