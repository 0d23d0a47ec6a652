"""[HAND07] 5.3: a trunk with two branches of four links, damped: in free fall, and driven by torques that swing.

The branches stand side by side along the hinges' axis, so that they are equal and the tree still falls. You see their
joint angles lie on each other (Fig. 5-19, 5-22), the fall come to rest, the driven tree go on.
Run: python examples/thesis_tree.py [--out DIR]
"""

import numpy as np
from common import output
from matplotlib.figure import Figure

import ukemi as uk

LEVELS = 5
#: Table 5-II [rad]: joints 2 to 5 of either branch
BRANCH = np.pi * np.array((-0.1, 0.2, 0.0, -0.1))


def tree() -> uk.Model:
    b = uk.Builder("tree")
    hinge = uk.Revolute((0, 1, 0), damping=3.0)
    rod = {"mass": 1.0, "shapes": [uk.Cylinder(0.05, 1.0, at=uk.Pose((0, 0, 0.5)))]}
    b.link("trunk", joint=hinge, **rod)  # type: ignore[arg-type]
    for name, side in (("left", 0.5), ("right", -0.5)):
        for k in range(2, LEVELS + 1):
            parent = f"{name}{k - 1}" if k > 2 else "trunk"
            b.link(f"{name}{k}", parent, hinge, uk.Pose((0, side if k == 2 else 0, 1)), **rod)  # type: ignore[arg-type]
    return b.build()


def main() -> None:
    out = output(__doc__)
    model = tree()
    start = np.concatenate([[0.0], BRANCH, BRANCH])
    level = np.array([1, 2, 3, 4, 5, 2, 3, 4, 5])
    runs = {
        "free fall": None,
        "driven": lambda t, q, v: 20.0 * (LEVELS - level) * np.sin(t),  # eq. 5.2
    }
    figure = Figure(figsize=(10, 4), layout="constrained")
    for axes, (name, control) in zip(figure.subplots(1, 2), runs.items(), strict=True):
        world = uk.World()
        world.add(model, q=start)
        recording = uk.Simulation(world, 1e-3, "implicit").run(10.0, control, progress=True, every=10)
        left, right = recording.q[:, 1:5], recording.q[:, 5:]
        print(f"{name}: branches differ by {np.abs(left - right).max():.1g} rad")
        assert np.abs(left - right).max() < 1e-9
        if control is None:
            assert (np.diff(recording.energy) < 1e-9).all()
            assert abs(np.cos(recording.q[-1, 0]) + 1) < 0.05  # the trunk hangs
        else:
            assert np.abs(recording.v[-200:]).max() > 0.3  # it goes on
        axes.plot(recording.time, recording.q[:, 0], "k", label="trunk")
        axes.plot(recording.time, left, "--")
        axes.set_prop_cycle(None)
        axes.plot(recording.time, right, lw=0.7, label=[f"level {k}" for k in range(2, LEVELS + 1)])
        axes.set(title=name, xlabel="time [s]", ylabel="[rad]")
        axes.legend()
    figure.savefig(out / "thesis_tree.png")
    print(f"look at {out / 'thesis_tree.png'}")


if __name__ == "__main__":
    main()
