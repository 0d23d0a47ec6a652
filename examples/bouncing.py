"""A ball bounces infinitely often in finite time, and rests.

Each impact keeps 0.8 of the speed; touch-downs are located to rounding. The bounces accumulate at 4.06 s; those that
would last less than two steps end in contact, and the ball then carries its weight without jitter.
You see its height and its energy. Run: python examples/bouncing.py [--out DIR]
"""

import numpy as np
from common import output
from matplotlib.figure import Figure

import ukemi as uk

E, HEIGHT, RADIUS = 0.8, 1.0, 0.05


def main() -> None:
    out = output(__doc__)
    b = uk.Builder("ball")
    b.link("ball", joint=uk.Free(), mass=0.5, shapes=[uk.Sphere(RADIUS)])
    world = uk.World()
    world.terrain = uk.Ground(restitution=E)
    world.add(b.build(), q=(0, 0, HEIGHT + RADIUS, 1, 0, 0, 0))
    simulation = uk.Simulation(world, 1e-3, events=True)
    recording = simulation.run(5.0)

    # closed form: the impact speeds are e^n sqrt(2 g h)
    speed = np.sqrt(2 * 9.81 * HEIGHT)
    flights = 2 * speed / 9.81 * E ** np.arange(1, 5)
    expected = speed / 9.81 + np.concatenate([[0], np.cumsum(flights)])
    times = np.array([event["time"] for event in recording.events])
    print(
        "impacts at",
        ", ".join(f"{t:.6f}" for t in times[:5]),
        f"and {len(times) - 5} more, the last at {times[-1]:.4f} s",
    )
    assert np.abs(times[:5] - expected).max() < 1e-9
    (contact,) = simulation.contacts
    print(f"at rest: {contact.normal_force:.6f} N, speed {np.abs(world.v).max():.1e} m/s")
    assert abs(contact.normal_force - 0.5 * 9.81) < 1e-6
    assert np.abs(world.v).max() < 1e-9

    figure = Figure(figsize=(7, 5), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    above.plot(recording.time, recording.q[:, 2] - RADIUS)
    above.set(ylabel="height [m]", title=f"restitution {E}")
    below.plot(recording.time, recording.energy - 0.5 * 9.81 * RADIUS)
    below.set(xlabel="time [s]", ylabel="energy [J]")
    for axes in (above, below):
        axes.axvline(expected[0] + 2 * E * speed / 9.81 / (1 - E), ls=":", color="black")
    path = out / "bouncing.png"
    figure.savefig(path)
    print(f"look at {path}")


if __name__ == "__main__":
    main()
