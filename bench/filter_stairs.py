"""Our walk on stairs, up and down: whether it stays up, how closely, how deep feet sink."""

from __future__ import annotations

import numpy as np

import ukemi as uk
from ukemi.contact.terrain import Solids, stairs
from ukemi.model.pose import Pose
from ukemi.model.shapes import Box
from ukemi.motion.synthesis import walk

#: Rise and going [m], where the first edge is [m], speed of the walk [m/s], time of a step [s].
CASES = (
    (0.05, 0.62, 1.0, 1.1, 0.56),
    (0.10, 0.40, 0.7, 0.7, 0.6),
    (0.12, 0.35, 0.5, 0.6, 0.6),
    (0.15, 0.35, 0.5, 0.6, 0.6),
    (0.17, 0.35, 0.5, 0.6, 0.6),
    (0.17, 0.29, 0.5, 0.48, 0.6),
    (0.17, 0.29, 0.63, 0.5, 0.6),
)


def descent(steps: int, rise: float, going: float, start: float) -> Solids:
    """Stairs that go down along x, from a landing that ends at ``start``."""
    boxes = [Box((start + 2, 2, steps * rise), at=Pose(np.array([start / 2 - 1, 0, 0.5 * steps * rise])))]
    for k in range(1, steps):
        z = (steps - k) * rise
        boxes.append(Box((going, 2, z), at=Pose(np.array([start + going * (k - 0.5), 0, 0.5 * z]))))
    return Solids(boxes)


def main() -> None:
    print("| rise m | going m | way | end | joints deg | com cm | sink mm | peak BW |")
    print("|---|---|---|---|---|---|---|---|")
    for rise, going, start, speed, step_time in CASES:
        clip = walk(4.0, speed=speed, step_time=step_time)
        for way, terrain in (
            ("up", stairs(8, rise, going, start=(start, 0, 0))),
            ("down", descent(6, rise, going, start)),
        ):
            q = uk.filter_motion(clip, terrain=terrain).quality
            end = f"falls at {q.fell_at:.2f} s" if q.fell_at is not None else "up"
            cells = f"{q.joint_rms_deg:.1f} | {q.com_rms_cm:.1f} | {q.penetration_mm:.2f} | {q.peak_bw:.2f}"
            print(f"| {rise:.2f} | {going:.2f} | {way} | {end} ({q.preset}) | {cells} |", flush=True)


if __name__ == "__main__":
    main()
