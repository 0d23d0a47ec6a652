"""One figure catches another in flight: two chains become one, with the velocity jump solved.

The catcher hangs from a bar by the knees; the flyer comes up from below. Where their hands meet, ball joints close
between them; the velocities jump so that they fit, and energy is lost once.
Run: python examples/two_people.py [--out DIR]
"""

import numpy as np
from common import arms_up, finish, horizontal_bar, limit_torques, moved_to, output, tell

import ukemi as uk

BAR, END = 4.6, 1.1  # [m], [s]


def main() -> None:
    out = output(__doc__)
    model = uk.human(16)
    world = uk.World()
    bar = world.add(horizontal_bar(BAR))["bar"]
    catcher = world.add(model, name="catcher", q=upside_down(model))
    for side in ("left", "right"):
        knee = catcher[f"{side}_shank"]
        world.connect(bar, knee, uk.Revolute((0, 1, 0)), at=uk.Pose(knee.X_W[:3, 3]), name=f"{side} knee")
    reach = catcher["left_hand"].X_W[2, 3]
    q = moved_to(model, arms_up(model), "left_hand", (0.13, None, reach - 0.75))
    v = np.zeros(model.nv)
    v[:6] = (-0.55, 0, 4.2, 0, 0.6, 0)  # upwards and towards the catcher, turning a little
    flyer = world.add(model, name="flyer", q=q, v=v)

    def meet(w: uk.World) -> float:
        """Positive when the flyer's hands are as high as the catcher's."""
        return float(flyer["left_hand"].X_W[2, 3] - catcher["left_hand"].X_W[2, 3])

    hands = [
        world.connect(catcher[f"{s}_hand"], flyer[f"{s}_hand"], uk.Spherical(), name=f"{s} hands", when=meet)
        for s in ("left", "right")
    ]
    recording = uk.Simulation(world, 1e-3, "rk4", limits=False).run(
        END, limit_torques(catcher, flyer, widest=3.0, damping=6.0), progress=True, every=5
    )
    tell(recording)
    lost = sum(hand.energy_lost for hand in hands)
    pull = np.nanmax(np.linalg.norm(recording.wrenches["left hands"][:, :3], axis=1))
    print(f"{lost:.1f} J lost; each pair of hands then pulls with up to {pull:.0f} N")
    print(world.mobility().summary())
    assert len(recording.events) == 2
    assert lost > 0
    assert max(hand.gap for hand in hands) < 1e-9
    finish(world, recording, out / "two_people.png", "caught in flight", poses=8, spread=1.4)


def upside_down(model: uk.Model) -> np.ndarray:
    """Knees bent over the bar, head and arms down."""
    q = arms_up(model)
    q[3:7] = (0, 0, 1, 0)
    for side in ("left", "right"):
        q[model.joint(f"{side}_knee").q] = 1.9
    knee = uk.link_poses(model, q)[model.link_index("left_shank"), :3, 3]
    q[:3] += (-knee[0], 0, BAR - knee[2])
    return q


if __name__ == "__main__":
    main()
