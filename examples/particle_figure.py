"""A human figure as particles and as rigid links, hanging from a bar by both hands, side by side.

Every link becomes a net of springs with the same mass, centre and inertia. You see both figures in the swing, and how
far their centres of mass are apart for three allowed stretches. Run: python examples/particle_figure.py [--out DIR]
"""

import numpy as np
from common import arms_up, moved_to, output

import ukemi as uk
from ukemi.particles import ParticleSystem
from ukemi.particles.picture import LEFT, MIDDLE, RIGHT, canvas, draw_sticks, ground

BAR, TILT, END = 2.5, 0.5, 1.0  # height [m], start [rad], end [s]
GRIPS = ("left_grip", "right_grip")


def main() -> None:
    out = output(__doc__)
    model = uk.human(16)
    q = arms_up(model)
    q[3:7] = (np.cos(TILT / 2), 0, np.sin(TILT / 2), 0)
    q = moved_to(model, q, GRIPS[0], (0, None, BAR))

    world = uk.World()
    man = world.add(model, name="man", q=q)
    with world.at_once():
        for grip in GRIPS:
            world.connect(world.ground, man[grip], uk.Spherical())
    rigid = uk.Simulation(world, 1e-3, "rk4", limits=False).run(END, every=10)
    com = uk.center_of_mass(model, rigid.q)

    figure, (sticks, apart) = canvas(1, 2, (12, 4.6))
    for stretch, colour in ((1e-2, LEFT), (1e-3, RIGHT), (1e-4, MIDDLE)):
        system = ParticleSystem.from_model(model, q, landmarks=GRIPS, stretch=stretch)
        system.fix(*GRIPS)
        r = system.run(END)
        distance = np.linalg.norm(r.center_of_mass - com, axis=1)
        hanging = np.linalg.norm(com[0] - (0, 0, BAR))  # from the bar to the centre of mass [m]
        print(f"stretch {stretch:g}: {1000 * distance.max():.3f} mm apart, allowed {1000 * stretch * hanging:.3f} mm")
        assert distance.max() < stretch * hanging
        apart.semilogy(r.time[1:], distance[1:] / hanging, color=colour, label=f"stretch {stretch:g}")
        apart.axhline(stretch, color=colour, ls=":")
        if stretch == 1e-3:
            for n, k in enumerate(range(0, len(r.time), 20)):
                draw_sticks(sticks, system.links, r.x[k], shift=1.1 * n)
                links = rigid.poses[k, :, :3, 3]
                sticks.plot(links[:, 0] + 1.1 * n, links[:, 2], "x", color=LEFT, ms=7, zorder=5)
                sticks.text(1.1 * n, BAR + 0.08, f"{r.time[k]:.1f} s", ha="center", fontsize=8)
    ground(sticks)
    sticks.set(title="springs; x: joints of the rigid figure", ylabel="z [m]", xticks=[], ylim=(-0.05, BAR + 0.3))
    apart.set(
        xlabel="time [s]",
        ylabel="distance of the centres of mass, per hanging length",
        title="dotted: the stretch allowed",
    )
    apart.legend()
    figure.savefig(out / "particle_figure.png")
    print(f"look at {out / 'particle_figure.png'}")


if __name__ == "__main__":
    main()
