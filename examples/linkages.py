"""Linkages: closed loops that a count of freedoms gets wrong, and that pass singular poses.

Bricard's mechanism has six hinges in one loop, no freedom by Gruebler's count, and yet moves: one constraint is
redundant. A row of four-bars passes poses in which all its bars lie in one line. You see how well both keep energy and
closure.
Run: python examples/linkages.py [--out DIR]
"""

import numpy as np
from common import output
from matplotlib.figure import Figure

import ukemi as uk


def bricard() -> uk.World:
    """Five square rods of 1 m and 1 kg between six hinges; the first and the last stand on the ground."""
    places = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], dtype=float)
    axes = np.eye(3)[[1, 2, 0, 1, 2, 0]]
    b = uk.Builder("bricard")
    for k in range(5):
        d = places[k + 1] - places[k]
        at = uk.Pose(places[k] - (places[k - 1] if k else 0))
        inertia = (1.01 * (np.eye(3) - np.outer(d, d)) + 0.02 * np.outer(d, d)) / 12
        b.link(f"rod{k}", f"rod{k - 1}" if k else "world", uk.Revolute(axes[k]), at, mass=1, com=d / 2, inertia=inertia)
    world = uk.World((0, -9.81, 0))
    figure = world.add(b.build(), name="bricard")
    world.connect(world.ground, figure["rod4"], uk.Revolute(axes[5]), at=uk.Pose(places[5]))
    return world


def four_bars(windows: int) -> uk.World:
    """Uprights on the ground joined by couplers, all of 1 m and 1 kg, pushed over from upright."""
    turn, top, end = uk.Revolute((0, 0, -1)), uk.Pose((0, 1, 0)), uk.Pose((1, 0, 0))
    rod = {"mass": 1.0, "inertia": np.eye(3) / 12}
    b = uk.Builder("windows")
    for i in range(windows + 1):
        b.link(f"upright{i}", "world", turn, uk.Pose((i, 0, 0)), com=(0, 0.5, 0), **rod)  # type: ignore[arg-type]
        if i < windows:
            b.link(f"coupler{i}", f"upright{i}", turn, top, com=(0.5, 0, 0), **rod)  # type: ignore[arg-type]
    model = b.build()
    world = uk.World((0, -9.81, 0))
    rates = [1.0 if name.startswith("upright") else -1.0 for name in model.link_names]
    figure = world.add(model, name="windows", v=rates)
    with world.at_once():
        for i in range(windows):
            pin = uk.Revolute((0, 0, 1))
            world.connect(figure[f"coupler{i}"].at(end), figure[f"upright{i + 1}"].at(top), pin, at="frames")
    return world


def main() -> None:
    out = output(__doc__)
    figure = Figure(figsize=(9, 6), layout="constrained")
    for row, (title, world) in enumerate({"Bricard": bricard(), "four-bars": four_bars(3)}.items()):
        print(f"{title}: {world.mobility().summary()}\n")
        assert world.mobility().dof == 1
        recording = uk.Simulation(world, 1e-3, "rk4").run(10.0, progress=True, every=10)
        gaps = [np.abs(world.closed.state(q, v)[0]).max() for q, v in zip(recording.q, recording.v, strict=True)]
        drift = np.abs(recording.energy - recording.energy[0])
        assert max(gaps) < 1e-9
        assert drift.max() < 1e-6
        left, right = figure.add_subplot(2, 2, 2 * row + 1), figure.add_subplot(2, 2, 2 * row + 2)
        left.plot(recording.time, recording.q)
        left.set(title=f"{title}: joint angles", xlabel="time [s]", ylabel="[rad]")
        right.semilogy(recording.time, np.maximum(gaps, 1e-18), label="largest gap [m]")
        right.semilogy(recording.time, np.maximum(drift, 1e-18), label="energy drift [J]")
        right.set(title="RK4, 1 ms", xlabel="time [s]")
        right.legend()
    figure.savefig(out / "linkages.png")
    print(f"look at {out / 'linkages.png'}")


if __name__ == "__main__":
    main()
