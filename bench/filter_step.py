"""Microseconds of one step of the dynamics filter: the 34-DOF figure standing on both feet, called from Python."""

from __future__ import annotations

import numpy as np
from cases.whole_body import filter_step, seconds_of


def main() -> None:
    step = filter_step()
    times = [seconds_of(step) for _ in range(300)]
    print(f"{1e6 * float(np.median(times)):.1f} us a step of the 34-DOF figure (median of {len(times)} rounds)")


if __name__ == "__main__":
    main()
