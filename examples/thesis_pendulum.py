"""[HAND07] 5.1: a cylinder that swings from the horizontal, and five damped links that fall from near the upright.

You see the pendulum beside its closed form (elliptic functions) with their difference, and the five joint angles of
Fig. 5-10 coming to rest.
Run: python examples/thesis_pendulum.py [--out DIR]
"""

import numpy as np
from common import output
from matplotlib.figure import Figure
from scipy.special import ellipj, ellipk

import ukemi as uk

LENGTH, RADIUS, MASS, G = 1.0, 0.1, 1.0, 9.81
#: Table 5-I [rad], from the upright
START = np.pi * np.array((0.1, -0.2, 0.0, 0.2, -0.1))


def chain(links: int, damping: float = 0.0) -> uk.Model:
    """Cylinders one above the other on hinges about y."""
    b = uk.Builder("chain")
    cylinder = uk.Cylinder(RADIUS, LENGTH, at=uk.Pose((0, 0, LENGTH / 2)))
    for k in range(links):
        at = uk.Pose((0, 0, LENGTH if k else 0))
        hinge = uk.Revolute((0, 1, 0), damping=damping)
        b.link(f"link{k + 1}", f"link{k}" if k else "world", hinge, at, mass=MASS, shapes=[cylinder])
    return b.build()


def swing(t: np.ndarray) -> np.ndarray:
    """Angle from the upright of the cylinder released at pi/2 (eq. 5.1, corrected: inertia about the hinge)."""
    inertia = MASS * (LENGTH**2 / 3 + RADIUS**2 / 4)
    rate, k = np.sqrt(MASS * G * LENGTH / 2 / inertia), np.sin(np.pi / 4)
    from_hanging = 2 * np.arcsin(k * ellipj(ellipk(k**2) - rate * t, k**2)[0])
    return np.pi - from_hanging


def main() -> None:
    out = output(__doc__)
    figure = Figure(figsize=(10, 6), layout="constrained")
    axes = figure.subplots(2, 2)

    world = uk.World()
    world.add(chain(1), q=[np.pi / 2])
    pendulum = uk.Simulation(world, 1e-3, "rk4").run(10.0, progress=True, every=10)
    error = pendulum.q[:, 0] - swing(pendulum.time)
    print(f"pendulum: {np.abs(error).max():.2g} rad from the closed form after 10 s")
    assert np.abs(error).max() < 1e-7
    axes[0, 0].plot(pendulum.time, pendulum.q)
    axes[0, 0].set(title="pendulum: angle", xlabel="time [s]", ylabel="[rad]")
    axes[0, 1].plot(pendulum.time, error)
    axes[0, 1].set(title="less the closed form (RK4, 1 ms)", xlabel="time [s]", ylabel="[rad]")

    world = uk.World()
    world.add(chain(5, damping=3.0), q=START)
    fall = uk.Simulation(world, 1e-3, "implicit").run(40.0, progress=True, every=20)
    lowest = -MASS * G * LENGTH * (0.5 + 1.5 + 2.5 + 3.5 + 4.5)
    print(f"five links: energy {fall.energy[0]:.1f} J to {fall.energy[-1]:.2f} J, hanging still {lowest:.2f} J")
    assert (np.diff(fall.energy) < 1e-9).all()
    assert fall.energy[-1] - lowest < 0.02 * (fall.energy[0] - lowest)  # all but at rest
    axes[1, 0].plot(fall.time, fall.q, label=[f"joint {k + 1}" for k in range(5)])
    axes[1, 0].set(title="five links, damping 3 N m s: angles", xlabel="time [s]", ylabel="[rad]")
    axes[1, 0].legend()
    axes[1, 1].plot(fall.time, fall.energy)
    axes[1, 1].set(title="energy", xlabel="time [s]", ylabel="[J]")
    figure.savefig(out / "thesis_pendulum.png")
    print(f"look at {out / 'thesis_pendulum.png'}")


if __name__ == "__main__":
    main()
