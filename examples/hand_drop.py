"""[HAND07] 5.4: the human hand, upright on its wrist, falls: damped alone, then with elastic joints and limits.

The thesis gives no masses. With published ones (0.45 kg) its springs of 2 N m/rad carry the hand; you see a hand of
8 kg, which comes to rest with the wrist at its stops in flexion and adduction, as the thesis reports (Fig. 5-33).
Run: python examples/hand_drop.py [--out DIR]
"""

import numpy as np
from common import output, tell
from matplotlib.figure import Figure

import ukemi as uk
from ukemi.model.figures.hand import thesis_pose
from ukemi.report.strip import draw_strip

HEAVY = 8.0  # kg


def drop(model: uk.Model, duration: float) -> tuple[uk.World, uk.Recording]:
    # the hand's zero pose hangs from the wrist: gravity is turned instead of the hand
    world = uk.World(gravity=(0, 0, 9.81))
    world.add(model, name="hand", q=thesis_pose(model))
    return world, uk.Simulation(world, 1e-3, "implicit").run(duration, progress=True, every=10)


def main() -> None:
    out = output(__doc__)
    figure = Figure(figsize=(10, 7), layout="constrained")
    axes = figure.subplots(2, 2)
    _, damped = drop(uk.hand(mass=HEAVY, elastic=False, limits=None), 10.0)  # 5.4.1
    assert (np.diff(damped.energy) < 1e-9).all()

    model = uk.hand(mass=HEAVY)  # 5.4.2
    world, stopped = drop(model, 10.0)
    tell(stopped)
    lower, upper = model.limits().T
    assert ((stopped.q < upper + 1e-9) & (stopped.q > lower - 1e-9)).all()
    wrist = stopped.q[-1, model.joint("wrist").q]
    print(f"the wrist rests at {np.rad2deg(wrist).round(1)} degrees, held by {[s.limit.label for s in world.stops]}")
    assert np.allclose(wrist, (np.pi / 4, np.pi / 2), atol=1e-9)
    assert np.abs(stopped.v[-1]).max() < 0.02

    light = uk.hand()
    _, carried = drop(light, 10.0)
    assert np.abs(carried.q[-1, :2]).max() < 0.2  # published mass: the springs carry it

    runs = {"damped alone": damped, f"elastic, with limits, {HEAVY:g} kg": stopped, "0.45 kg": carried}
    for ax, (name, recording) in zip(axes.flat, runs.items(), strict=False):
        ax.plot(recording.time, recording.q[:, :2], label=["adduction", "flexion"])
        ax.set(title=f"wrist: {name}", xlabel="time [s]", ylabel="[rad]")
        ax.legend()
    fingers = [k for k, link in enumerate(model.links) if link.name.startswith(("index", "thumb"))]
    for k in fingers:
        axes[1, 1].plot(stopped.time, stopped.q[:, model.links[k].q], label=model.joint_names[k])
    axes[1, 1].set(title=f"index and thumb, {HEAVY:g} kg", xlabel="time [s]", ylabel="[rad]")
    axes[1, 1].legend(fontsize=7)
    figure.savefig(out / "hand_drop.png")
    shown = [np.searchsorted(stopped.time, t) for t in (0.0, 1.0, 1.5, 2.5, 10.0 - 1e-9)]
    upright = np.diag((1.0, -1.0, -1.0, 1.0)) @ stopped.poses[shown]
    draw_strip(world.model, upright, out / "hand_strip.png", time=stopped.time[shown], title="hand")
    print(f"look at {out / 'hand_drop.png'} and {out / 'hand_strip.png'}")


if __name__ == "__main__":
    main()
