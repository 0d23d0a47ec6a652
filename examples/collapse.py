"""A figure goes limp and collapses on its feet.

Joints only resist a little; knees and elbows stop at their limits, and every part may touch every other and the ground.
You see the figure sink, a plot of the load under feet and body, and of the energy, which never rises.
Run: python examples/collapse.py [--out DIR]
"""

import numpy as np
from common import finish, limp, output, stand
from matplotlib.figure import Figure

import ukemi as uk
from ukemi.contact.reports import Contact


def main() -> None:
    out = output(__doc__)
    model = limp(uk.human(28))
    q = model.neutral()
    for side in ("left", "right"):  # the knees give way forwards, the soles are level
        q[model.joint(f"{side}_knee").q] = 0.4
        for joint in ("hip", "ankle"):
            q[model.joint(f"{side}_{joint}").q] = (np.cos(0.1), 0, -np.sin(0.1), 0)
    world = uk.World()
    world.terrain = uk.Ground()
    world.add(model, name="man", q=stand(model, q))
    world.separate()
    simulation = uk.Simulation(world, 2e-3)
    recording = simulation.run(1.2, progress=True)

    def load(names: tuple[str, ...], sample: list[Contact]) -> float:
        return sum(c.normal_force for c in sample if c.links[1] == "ground" and c.links[0].split("/")[1] in names)

    feet = ("left_foot", "right_foot")
    others = tuple(name for name in model.link_names if name not in feet)
    lowest = np.minimum.accumulate(recording.energy)
    depth = -min((c.gap for sample in recording.contacts for c in sample), default=0.0)
    rise = float((recording.energy - lowest).max())
    hip = recording.poses[:, 0, 2, 3]
    print(f"hips fall from {hip[0]:.2f} to {hip[-1]:.2f} m; depth {1e3 * depth:.3f} mm")
    print(f"energy rises by at most {rise:.1e} J")
    assert hip[-1] < 0.5 * hip[0]
    assert rise < 0.1
    assert depth < 1e-3

    figure = Figure(figsize=(7, 5), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    for names, label in ((feet, "feet"), (others, "all else")):
        above.plot(recording.time, [load(names, sample) for sample in recording.contacts], label=label)
    above.set(ylabel="load [N]", ylim=(0, 1500), title="what the ground carries")
    above.legend()
    below.plot(recording.time, recording.energy)
    below.set(xlabel="time [s]", ylabel="energy [J]")
    figure.savefig(out / "collapse_forces.png")
    finish(world, recording, out / "collapse.png", "limp on its feet", poses=9)


if __name__ == "__main__":
    main()
