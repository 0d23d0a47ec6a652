"""A compass walks down a slope by itself: two legs on a hip, no motor.

Legs of 1 m with 5 kg each, 10 kg at the hip, a slope of 3 degrees (Goswami, Thuilot and Espiau 1998). The feet are
points on rough stepping stones, one row for each: the swing foot scuffs in the middle of a step, and there is nothing
to scuff. Every strike loses what the slope gives back.
Run: python examples/passive_walker.py [--out DIR]
"""

import numpy as np
from common import output, tell, with_scenery

import ukemi as uk
from ukemi.report.strip import draw_strip

SLOPE, MASS, HIP, LENGTH, LOW = np.deg2rad(3.0), 5.0, 10.0, 1.0, 0.5
STEP, PERIOD, ROW = 0.5354454, 0.7343464, 0.2
#: after a strike: angles of stance and swing leg from the vertical, counter-clockwise [rad], and their rates
START = (0.2186688, -0.3233886, -1.0923836, -0.3773739)
STRIDES = 8


def walker() -> uk.Model:
    b = uk.Builder("compass")
    hip_shape = uk.Capsule(0.05, 2 * ROW, at=uk.Pose((0, 0, 0), (np.sqrt(0.5), np.sqrt(0.5), 0, 0)))
    b.link("hip", joint=uk.Planar((0, -1, 0)), mass=HIP, inertia=np.full(3, 1e-8), com=(0, 0, 0), shapes=[hip_shape])
    for side, y in (("left", ROW), ("right", -ROW)):
        foot = uk.Sphere(1e-9, at=uk.Pose((0, y, -LENGTH)))
        bone = uk.Capsule(0.02, 0.9, at=uk.Pose((0, y, -LENGTH / 2)))  # ends above the foot
        place = (0, y, LOW - LENGTH)
        hinge = uk.Revolute((0, -1, 0))
        b.link(side, "hip", hinge, mass=MASS, com=place, inertia=np.full(3, 1e-8), shapes=[foot, bone])
    return b.build()


def main() -> None:
    out = output(__doc__)
    stance, swing = (angle + SLOPE for angle in START[:2])  # from the slope's normal
    q = (-LENGTH * np.sin(stance), LENGTH * np.cos(stance), 0, stance, swing)
    v = (-LENGTH * np.cos(stance) * START[2], -LENGTH * np.sin(stance) * START[2], 0, *START[2:])
    world = uk.World(9.81 * np.array((np.sin(SLOPE), 0, -np.cos(SLOPE))))  # x down the slope
    size = np.array((0.12, 0.1, 0.1))
    rows = [ROW, -ROW]
    stones = uk.Solids(
        [uk.Box(size, at=uk.Pose((k * STEP, rows[k % 2], -0.05))) for k in range(-1, STRIDES + 1)], uk.Surface(np.inf)
    )
    world.terrain = stones
    world.collisions = False  # the legs pass each other
    world.add(walker(), name="w", q=q, v=v)
    recording = uk.Simulation(world, 1e-3, events=True).run((STRIDES - 0.5) * PERIOD)
    tell(recording)
    times = np.array([event["time"] for event in recording.events])
    strikes = times[np.diff([-1.0, *times]) > 0.1]
    periods = np.diff([0.0, *strikes])
    print(f"{len(strikes)} steps, periods {periods.min():.5f} to {periods.max():.5f} s; published {PERIOD:.5f} s")
    assert len(strikes) == STRIDES - 1
    assert np.abs(periods - PERIOD).max() < 2e-3
    speed = (recording.q[-1, 0] - recording.q[0, 0]) / recording.time[-1]
    assert abs(speed - STEP / PERIOD) < 0.05

    drawn, poses = with_scenery(world.model, recording.poses, stones)
    path = draw_strip(
        drawn, poses, out / "passive_walker.png", poses=24, spread=0.0, title="no motor: seen along the slope"
    )
    print(f"look at {path}")


if __name__ == "__main__":
    main()
