"""One figure catches another in flight: two chains become one, with the velocity jump solved.

The catcher hangs from a bar by the knees; the flyer comes up from below. When their hands meet, ball joints close between
them at the same instant. Momentum of the two is kept but for what the bar takes; energy is lost once.
Run: python examples/two_people.py [--out DIR]
"""

import numpy as np
from common import Limits, arms_up, finish, horizontal_bar, moved_to, output

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

    limits = Limits(model, widest=3.0, damping=6.0)

    def control(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        tau = np.zeros(len(v))
        for figure in (catcher, flyer):
            tau[figure.v_index] = limits(q[figure.q_index], v[figure.v_index])
        return tau

    def meet(w: uk.World) -> float:
        """Positive when the flyer's hands are as high as the catcher's."""
        return float(flyer["left_hand"].X_W[2, 3] - catcher["left_hand"].X_W[2, 3])

    sim = uk.Simulation(world, 1e-3, "rk4")
    first = []
    while meet(world) < 0:
        first.append(sim.run(0.005, control, every=5))
        assert world.time < 0.6, "the flyer does not reach the catcher"
    before = uk.momentum(world.model, world.q, world.v)[:3]
    with world.at_once():
        hands = [world.connect(catcher[f"{s}_hand"], flyer[f"{s}_hand"], uk.Spherical(), name=f"{s} hands") for s in ("left", "right")]
    jump = uk.momentum(world.model, world.q, world.v)[:3] - before
    print(f"caught at {world.time:.3f} s: {hands[0].energy_lost:.1f} J lost, the bar took {np.linalg.norm(jump):.1f} N s")
    print(world.mobility().summary())
    assert hands[0].energy_lost > 0
    rest = sim.run(END - world.time, control, progress=True, every=5)
    assert max(hand.gap for hand in hands) < 1e-9
    poses = np.concatenate([*(part.poses[:-1] for part in first), rest.poses])
    times = np.concatenate([*(part.time[:-1] for part in first), rest.time])
    both = uk.Recording(times, *[np.zeros((len(times), 1))] * 3, np.zeros(len(times)), poses)
    finish(world, both, out / "two_people.png", "caught in flight", poses=8, spread=1.4)


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
