"""High bar [SV00 Fig. 20]: a figure swings on the bar, lets go with the right hand, then with the left.

Both hands turn about the bar; one virtual link each holds them. Torques act only at the joints' limits. You see a strip
of the swing; the freedoms at the start and what happened are printed. Run: python examples/high_bar.py [--out DIR]
"""

import numpy as np
from common import arms_up, finish, horizontal_bar, limit_torques, moved_to, output, tell

import ukemi as uk

BAR = 2.6  # height [m]
RELEASE_RIGHT, RELEASE_LEFT, END = 0.75, 1.1, 1.6  # [s]


def main() -> None:
    out = output(__doc__)
    model = uk.human(16)
    q = arms_up(model)
    q[3:7] = (np.sqrt(0.5), 0, np.sqrt(0.5), 0)  # a right angle about y: the body lies behind the bar
    q = moved_to(model, q, "left_hand", (0, None, BAR))

    world = uk.World()
    man = world.add(model, name="man", q=q)
    bar = world.add(horizontal_bar(BAR))["bar"]
    with world.at_once():
        grips = {}
        for side in ("left", "right"):
            hand = man[f"{side}_hand"]
            at = uk.Pose(hand.X_W[:3, 3])
            grips[side] = world.connect(bar, hand, uk.Revolute((0, 1, 0)), at=at, name=f"{side} grip")
    mobility = world.mobility()
    print(mobility.summary())
    assert len(mobility.coordinates) == 24  # as the paper counts: 16 joints, 6 of the base, 2 at the hands
    world.cut(grips["right"], when=lambda w: w.time - RELEASE_RIGHT)
    world.cut(grips["left"], when=lambda w: w.time - RELEASE_LEFT)

    recording = uk.Simulation(world, 1e-3, "rk4", limits=False).run(
        END, limit_torques(man, widest=3.2), progress=True, every=10
    )
    tell(recording)
    assert [round(e["time"], 6) for e in recording.events] == [RELEASE_RIGHT, RELEASE_LEFT]
    assert world.mobility().dof == 22
    # free flight after the second release: the centre of mass falls as it must
    com = uk.center_of_mass(world.model, recording.q[-20:])
    dt = recording.time[-1] - recording.time[-2]
    assert np.allclose(np.diff(com, 2, axis=0) / dt**2, (0, 0, -9.81), atol=1e-3)
    finish(world, recording, out / "high_bar.png", "high bar", poses=9, spread=1.3)


if __name__ == "__main__":
    main()
