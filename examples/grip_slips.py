"""A grip gives way: a figure falls into the bar, and a hand holds only so much.

Released with the body level, the figure swings down on both hands. Each grip breaks where its force reaches what a hand
holds; the step is divided there and no energy jumps. You see the forces in both hands and a strip of the fall.
Run: python examples/grip_slips.py [--out DIR]
"""

import numpy as np
from common import arms_up, finish, horizontal_bar, limit_torques, moved_to, output, tell
from matplotlib.figure import Figure

import ukemi as uk

BAR, END = 2.8, 0.9
HOLDS = {"left": 900.0, "right": 700.0}  # [N]: what strong hands hold


def main() -> None:
    out = output(__doc__)
    model = uk.human(28)
    q = arms_up(model)
    q[3:7] = (np.sqrt(0.5), 0, np.sqrt(0.5), 0)
    world = uk.World()
    man = world.add(model, name="man", q=moved_to(model, q, "left_hand", (0, None, BAR)))
    bar = world.add(horizontal_bar(BAR))["bar"]
    pin = uk.Revolute((0, 1, 0))
    with world.at_once():
        grips = [
            world.connect(
                man[f"{side}_hand"], bar, pin, uk.Pose(man[f"{side}_hand"].X_W[:3, 3]), limit, name=f"{side} grip"
            )
            for side, limit in HOLDS.items()
        ]

    recording = uk.Simulation(world, 1e-3, "rk4", limits=False).run(
        END, limit_torques(man, widest=3.2), progress=True, every=5
    )
    tell(recording)
    assert [e["what"] for e in recording.events] == ["right grip breaks", "left grip breaks"]
    assert not any(grip.active for grip in grips)

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    for k, (side, limit) in enumerate(HOLDS.items()):
        force = np.linalg.norm(recording.wrenches[f"{side} grip"][:, :3], axis=1)
        assert np.nanmax(force) <= limit
        axes.plot(recording.time, force, ["-", "--"][k], label=f"{side} hand")
        axes.axhline(limit, ls=":", color=f"C{k}")
    axes.set(xlabel="time [s]", ylabel="force in the grip [N]", title="dotted: what the hand holds")
    axes.legend()
    figure.savefig(out / "grip_forces.png")
    finish(world, recording, out / "grip_slips.png", "the grips give way", poses=8, spread=1.2)


if __name__ == "__main__":
    main()
