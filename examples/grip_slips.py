"""A grip gives way: a figure falls into the bar, and a hand holds only so much.

Released with the body level, the figure swings down on both hands. Each grip breaks where its force reaches what a hand
holds; the step is divided there and no energy jumps. You see the forces in both hands and a strip of the fall.
Run: python examples/grip_slips.py [--out DIR]
"""

import numpy as np
from common import Limits, arms_up, finish, horizontal_bar, moved_to, output
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
    grips = {}
    with world.at_once():
        for side, limit in HOLDS.items():
            hand = man[f"{side}_hand"]
            grips[side] = world.connect(hand, bar, uk.Revolute((0, 1, 0)), break_force=limit, name=f"{side} grip")

    limits = Limits(model, widest=3.2)
    sim = uk.Simulation(world, 1e-3, "rk4")
    times, forces, parts = [], [], []
    while world.time < END:
        parts.append(sim.run(0.01, lambda t, q, v: limits(q, v), every=10))
        times.append(world.time)
        forces.append([np.linalg.norm(grip.wrench[:3]) for grip in grips.values()])
    events = [e for part in parts for e in part.events]
    for event in events:
        print(f"{event['time']:.6f} s: {event['what']}")
    assert [e["what"] for e in events] == ["right grip breaks", "left grip breaks"]
    assert not any(grip.active for grip in grips.values())

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    for k, (side, limit) in enumerate(HOLDS.items()):
        axes.plot(times, np.array(forces)[:, k], label=f"{side} hand")
        axes.axhline(limit, ls=":", color=f"C{k}")
    axes.set(xlabel="time [s]", ylabel="force in the grip [N]", title="dotted: what the hand holds")
    axes.legend()
    figure.savefig(out / "grip_forces.png")
    poses = np.concatenate([part.poses[1:] for part in parts])
    whole = parts[-1].__class__(np.array(times), *[np.zeros((len(times), 1))] * 3, np.zeros(len(times)), poses)
    finish(world, whole, out / "grip_slips.png", "the grips give way", poses=8, spread=1.2)


if __name__ == "__main__":
    main()
