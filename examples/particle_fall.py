"""A link of three particles falls, touches the floor and bounces [PART05 Fig. 10].

Three phases: free fall; the third particle meets the floor and leaves it with 0.8 of its speed (eq. 30); the springs
carry the shock to the others, and the middle one is pushed to the side. You see the link at some moments, and heights
and energy over time. Run: python examples/particle_fall.py [--out DIR]
"""

import numpy as np
from common import output

from ukemi.particles import BouncyFloor, ParticleSystem
from ukemi.particles.picture import LEFT, MIDDLE, RIGHT, canvas, draw_sticks, ground

PLACES = ((0.0, 0, 1.5), (-0.15, 0, 1.0), (0.1, 0, 0.5))  # [m]
END, SAMPLE, G = 1.5, 0.005, 9.81


def main() -> None:
    out = output(__doc__)
    system = ParticleSystem(floor=BouncyFloor(0.8), ratio=0.2)
    for place in PLACES:
        system.add(place)
    system.link(0, 1), system.link(1, 2)
    system.hinge(0, 1, 2, normal=(0, 1, 0), friction=0.1)
    start = system.energy()
    r = system.run(END, sample=SAMPLE)

    touch = float(np.sqrt(2 * PLACES[2][2] / G))
    before, after = int(touch / SAMPLE), int(touch / SAMPLE) + 1
    assert np.allclose(r.x[: before + 1], r.x[0] - np.array((0, 0, 0.5 * G)) * r.time[: before + 1, None, None] ** 2)
    # the bounce itself; within a sample the springs have not yet taken much of it back
    bounced = r.v[after, 2, 2] / (G * touch)
    assert 0.6 < bounced < 0.81, bounced
    side = r.x[after + 20, 1, 0] - r.x[0, 1, 0]
    print(f"touches at {touch:.3f} s, leaves with {bounced:.2f} of its speed; the middle then moves by {side:.3f} m")
    assert abs(side) > 0.01
    assert np.diff(r.energy).max() < 1e-6 * start  # nothing on the way gives energy
    assert r.x[:, :, 2].min() > -0.02

    figure, (sticks, height, energy) = canvas(1, 3, (13, 4.2))
    for n, k in enumerate((0, before, after + 4, after + 20, after + 50, after + 100, len(r.time) - 1)):
        draw_sticks(sticks, system.links, r.x[k], shift=0.55 * n, colours=(LEFT, RIGHT))
        sticks.text(0.55 * n, -0.16, f"{r.time[k]:.2f} s", ha="center", fontsize=8)
    ground(sticks)
    sticks.set(ylim=(-0.25, 1.6), ylabel="z [m]", xticks=[])
    for i, colour in enumerate((LEFT, MIDDLE, RIGHT)):
        height.plot(r.time, r.x[:, i, 2], color=colour, label=f"particle {i + 1}")
    height.set(xlabel="time [s]", ylabel="height [m]")
    height.legend()
    energy.plot(r.time, r.energy, color=RIGHT)
    energy.set(xlabel="time [s]", ylabel="energy [J]", ylim=(0, None))
    figure.savefig(out / "particle_fall.png")
    print(f"look at {out / 'particle_fall.png'}")


if __name__ == "__main__":
    main()
