"""A rope falls across hills: bouncing ground, springy ground, soft ground, with friction [PART05 eq. 30-32].

The three floors are objects with one method; the rope and the hills are the same. You see the rope at four moments on
each. Run: python examples/particle_ground.py [--out DIR]
"""

import numpy as np
from common import output

from ukemi.particles import BouncyFloor, ParticleSystem, SoftFloor, SpringFloor, Uneven
from ukemi.particles.picture import LEFT, RIGHT, canvas, draw_sticks

X = np.linspace(-1.0, 4.0, 101)
HILLS = Uneven(np.tile((0.15 * np.sin(3 * X))[:, None], (1, 2)), origin=(X[0], -1.0), spacing=(X[1] - X[0], 2.0))
FLOORS = {
    "bouncy, restitution 0.5": BouncyFloor(0.5, drag=5.0, friction=0.6, ground=HILLS),
    "spring": SpringFloor(sink=0.02, drag=50.0, friction=0.6, ground=HILLS),
    "soft, hardens with depth": SoftFloor(sink=0.3, drag=50.0, friction=0.6, ground=HILLS),
}
MOMENTS = (0.0, 0.35, 0.6, 3.0)  # [s]


def main() -> None:
    out = output(__doc__)
    figure, axes = canvas(3, 1, (8, 9))
    for panel, (name, floor) in zip(axes, FLOORS.items(), strict=True):
        rope = ParticleSystem(stretch=0.01, ratio=0.3, floor=floor)
        rope.add_many(np.c_[np.linspace(0, 3, 31), np.zeros(31), np.linspace(0.7, 1.0, 31)], 0.1)
        for i in range(30):
            rope.link(i, i + 1)
        r = rope.run(MOMENTS[-1], sample=0.05)
        weight = 9.81 * rope.mass.sum()
        carried = r.floor_force[-20:, :, 2].sum(axis=1).mean()
        print(f"{name}: carries {carried / weight:.3f} of the weight, {np.abs(r.v[-1]).max():.3f} m/s at the end")
        assert abs(carried / weight - 1) < 0.05  # the ground holds it
        assert np.abs(r.v[-1]).max() < 0.3  # and it lies
        depth = 0.15 * np.sin(3 * r.x[-1, :, 0]) - r.x[-1, :, 2]
        assert depth.max() < 0.1
        panel.fill_between(X, 0.15 * np.sin(3 * X), -0.25, color="#e8e2d4", zorder=0)
        for t in MOMENTS:
            draw_sticks(panel, rope.links, r.x[round(t / 0.05)], colours=(RIGHT if t < 3 else LEFT,) * 30)
        panel.set(title=name, xlim=(-0.3, 3.3), ylim=(-0.25, 1.1), aspect="equal", ylabel="z [m]")
    axes[-1].set_xlabel("x [m]")
    figure.savefig(out / "particle_ground.png")
    print(f"look at {out / 'particle_ground.png'}")


if __name__ == "__main__":
    main()
