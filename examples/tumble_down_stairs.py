"""A figure tumbles down a flight of stairs.

Put at the top with a push, its joints limp: shins, hips, back and hands meet the edges. No energy comes out of nothing,
and steps whose forces are not certified are counted. You see where it goes.
Run: python examples/tumble_down_stairs.py [--out DIR]
"""

import numpy as np
from common import limp, output, stand, with_scenery

import ukemi as uk
from ukemi.report.strip import draw_strip

STEPS, RISE, GOING = 8, 0.17, 0.29
END, DT = 2.2, 2e-3


def main() -> None:
    out = output(__doc__)
    model = limp(uk.human(28), 3.0)
    stairs = uk.stairs(STEPS, RISE, GOING, width=3.0)
    top = uk.Box((1.2, 3.0, RISE * STEPS), at=uk.Pose((GOING * STEPS + 0.6, 0, RISE * STEPS / 2)))
    flight = uk.Solids([*stairs.shapes, top])
    q = stand(model)
    q[:3] += (GOING * STEPS + 0.2, 0, RISE * STEPS)
    v = np.zeros(model.nv)
    v[0] = -1.5  # a push backwards, towards the steps
    world = uk.World()
    world.terrain = [uk.Ground(), flight]
    world.add(model, name="man", q=q, v=v)
    world.separate()
    simulation = uk.Simulation(world, DT)

    poses, times, lowest = [uk.link_poses(world.model, world.q)], [0.0], world.energy()
    invalid = met = 0
    rise = depth = 0.0
    for k in range(round(END / DT)):
        simulation.step()
        report = simulation.report
        invalid += not report.certificate.valid
        met += report.impacts
        rise, lowest = max(rise, world.energy() - lowest), min(lowest, world.energy())
        depth = max(depth, report.penetration)
        if k % 10 == 9:
            poses.append(uk.link_poses(world.model, world.q))
            times.append(world.time)
    hips = [float(X[0, 2, 3]) for X in (poses[0], poses[-1])]
    print(f"{met} impacts; hips from {hips[0]:.2f} to {hips[1]:.2f} m; {invalid} steps without certificate")
    assert invalid == 0
    print(f"energy never rises by more than {rise:.1e} J; deepest contact {1e3 * depth:.2f} mm")
    assert hips[1] < hips[0] - 1.0
    assert rise < 0.1
    assert depth < 1e-3

    drawn, shown = with_scenery(world.model, np.array(poses), flight)
    path = draw_strip(drawn, shown, out / "tumble.png", poses=10, spread=0.0, title="down the stairs")
    print(f"look at {path}")


if __name__ == "__main__":
    main()
