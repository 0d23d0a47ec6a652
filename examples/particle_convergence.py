"""A pendulum and a double pendulum of particles against the rigid engine: the error falls with the allowed stretch.

You see the places of the bobs over time for three stretches with the rigid solution, and the error against the
stretch; its rate (slope) is printed and asserted. Run: python examples/particle_convergence.py [--out DIR]
"""

import numpy as np
from common import output

import ukemi as uk
from ukemi.particles import ParticleSystem

STRETCHES = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5)
END, SAMPLE = 1.0, 0.01  # [s]


def rigid(bobs: int) -> np.ndarray:
    """(k, bobs, 3): point masses of 1 kg on rods of 1 m, let go from the horizontal; y is the axis of all hinges."""
    b = uk.Builder("pendulum")
    for i in range(bobs):
        at = uk.Pose((1.0 if i else 0.0, 0, 0))
        b.link(f"rod{i}", f"rod{i - 1}" if i else "world", uk.Revolute((0, 1, 0)), at, mass=1.0, com=(1, 0, 0))
    world = uk.World()
    world.add(b.build())
    recording = uk.Simulation(world, 1e-4, "rk4").run(END, every=100)
    return recording.poses[:, :, :3, 3] + recording.poses[:, :, :3, 0]  # the end of each rod


def particles(bobs: int, stretch: float) -> np.ndarray:
    system = ParticleSystem(stretch=stretch)
    system.add((0, 0, 0), fixed=True)
    for i in range(bobs):
        system.add((i + 1, 0, 0))
        system.link(i, i + 1)
    return system.run(END, sample=SAMPLE).x[:, 1:]


def main() -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    out = output(__doc__)
    figure = Figure(figsize=(11, 4.2), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    path, rate = figure.subplots(1, 2)
    for bobs, name in ((1, "pendulum"), (2, "double pendulum")):
        exact = rigid(bobs)
        errors = [np.abs(particles(bobs, stretch) - exact).max() for stretch in STRETCHES]
        slope = np.polyfit(np.log(STRETCHES), np.log(errors), 1)[0]
        print(f"{name}: errors {', '.join(f'{e:.1e}' for e in errors)} m, rate {slope:.2f}")
        assert 0.9 < slope < 1.1  # halving the stretch halves the error
        rate.loglog(STRETCHES, errors, "o-", label=f"{name}, rate {slope:.2f}")
    rate.loglog(STRETCHES, STRETCHES, "k:", label="stretch x 1 m")
    rate.set(xlabel="allowed stretch", ylabel="largest error within 1 s [m]")
    rate.legend()
    time = np.arange(len(exact)) * SAMPLE
    for stretch, colour in ((3e-2, "#d1603d"), (1e-2, "#e0a458"), (1e-3, "#2f6690")):
        path.plot(time, particles(2, stretch)[:, 1, 2], color=colour, label=f"stretch {stretch:g}")
    path.plot(time, exact[:, 1, 2], "k:", label="rigid")
    path.set(xlabel="time [s]", ylabel="height of the second bob [m]", title="double pendulum")
    path.legend()
    figure.savefig(out / "particle_convergence.png")
    print(f"look at {out / 'particle_convergence.png'}")


if __name__ == "__main__":
    main()
