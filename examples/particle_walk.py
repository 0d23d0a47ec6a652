"""The eight-particle human falls, stands, and walks [PART05 Fig. 12-15, Table 1].

Free fall from 10 cm until it stands (Fig. 12, 0 to 1 s); six steps planned so that the zero moment point is under the
foot, realised by PD torques (Fig. 13 and 14, the left leg swings first); the torques (Fig. 15). You see the poses,
the planned ZMP and the measured centre of pressure inside the support, and the torques of both legs. Run: python
examples/particle_walk.py [--out DIR]
"""

import numpy as np
from common import output

from ukemi.particles.picture import LEFT, MIDDLE, RIGHT, canvas, draw_sticks, ground
from ukemi.particles.walker import HIP_HEIGHT, JOINTS, MASS, eight_particle_human, plan_walk, walk, zmp

STAND, MARGIN = 1.0, 0.01  # [s], [m]


def main() -> None:
    out = output(__doc__)
    plan = plan_walk(steps=6)
    low, high = plan.support(MARGIN)
    inner = slice(3, -3)  # differences at the ends have no neighbours
    assert ((zmp(MASS, plan.x, plan.dt) > low) & (zmp(MASS, plan.x, plan.dt) < high))[inner].all()

    system = eight_particle_human(height=0.1)
    r = walk(system, plan)
    after = r.time >= STAND
    stands = int(np.argmax(after))
    assert np.abs(r.v[stands]).max() < 0.01  # Fig. 12 b: it stands still
    assert np.abs(r.x[stands] - plan.x[0]).max() < 0.02

    pressure = r.center_of_pressure[:, 0]
    assert ((pressure > low) & (pressure < high))[after].all()  # under the support at every moment
    lag = np.abs(r.x - plan.x)[after].max()
    assert lag < 0.03
    assert r.x[after, 3:5, 2].min() > HIP_HEIGHT - 0.03  # never falls
    way = r.x[-1, 3:5, 0].mean() - r.x[stands, 3:5, 0].mean()
    assert abs(way - 1.0) < 0.03  # five steps of 20 cm; the sixth closes the feet
    print(f"walked {way:.3f} m in 6 steps, at most {100 * lag:.1f} cm from the plan")

    figure, axes = canvas(4, 1, (11, 13))
    sides = (LEFT,) * 3 + (MIDDLE,) + (RIGHT,) * 3
    fall, steps, points, torques = axes
    for n, t in enumerate((0, 0.1, 0.14, 0.17, 0.2, 0.3, 0.5, 1.0)):
        draw_sticks(fall, system.links, r.x[round(t / plan.dt)], shift=0.45 * n, colours=sides, depth=0.6)
        fall.text(0.45 * n + 0.05, -0.13, f"{t:g} s", ha="center", fontsize=8)
    ground(fall)
    fall.set(ylim=(-0.2, 1.0), ylabel="z [m]", xticks=[], title="free fall to standing (Fig. 12), seen obliquely")
    for n, t in enumerate(np.arange(1.0, 5.2, 0.4)):
        draw_sticks(steps, system.links, r.x[round(t / plan.dt)], shift=0.5 * n, colours=sides, depth=0.6)
        steps.text(r.x[round(t / plan.dt), 3, 0] + 0.5 * n, -0.16, f"{t:.1f} s", ha="center", fontsize=8)
    ground(steps)
    steps.set(ylim=(-0.2, 1.0), ylabel="z [m]", xticks=[], title="two steps, drawn apart (Fig. 13, 14); left leg red")
    heel, toe = plan.support()
    points.fill_between(plan.time, heel, toe, color="#dfe7ee", label="planned support")
    points.plot(r.time, pressure, color=LEFT, label="centre of pressure")
    points.plot(plan.time, plan.zmp, "k:", label="planned ZMP")
    points.set(ylabel="x [m]", xlim=(0, r.time[-1]))
    points.legend(loc="upper left")
    for j, name in enumerate(JOINTS):
        colour = LEFT if "left" in name else RIGHT if "right" in name else MIDDLE
        torques.plot(r.time, r.torque[:, j], color=colour, ls="--" if "ankle" in name else "-", label=name)
    torques.set(ylim=(-70, 40), xlim=(0, r.time[-1]), xlabel="time [s]", ylabel="torque [N m]", title="Fig. 15")
    torques.legend(loc="upper right", ncols=5)
    figure.savefig(out / "particle_walk.png")
    print(f"look at {out / 'particle_walk.png'}")


if __name__ == "__main__":
    main()
