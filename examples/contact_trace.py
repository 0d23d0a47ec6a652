"""The hypotheses of one difficult step, in words.

A crate is pushed high on its side while it stands on two blocks: it might stick, slip, or tip about an edge. The solver
assumes, solves and checks, and says which check failed, until all conditions hold; the certificate says how exactly.
Run: python examples/contact_trace.py [--out DIR]
"""

import numpy as np
from common import output
from matplotlib.figure import Figure

import ukemi as uk
from ukemi.contact.conditions import Check

SIZE = (0.6, 0.4, 1.0)


def main() -> None:
    out = output(__doc__)
    b = uk.Builder("crate")
    b.link("crate", joint=uk.Free(), mass=20.0, shapes=[uk.Box(SIZE)])
    world = uk.World()
    blocks = [uk.Box((0.1, 0.4, 0.1), at=uk.Pose((x, 0, 0.05))) for x in (-0.25, 0.25)]
    world.terrain = uk.Solids(blocks, uk.Surface(0.45))
    world.add(b.build(), name="c", q=(0, 0, 0.1 + SIZE[2] / 2, 1, 0, 0, 0))
    simulation = uk.Simulation(world, 1e-3, trace=True)

    pushes, used, tilts = np.linspace(0, 150, 31), [], []
    for push in pushes:
        world.set_state((0, 0, 0.1 + SIZE[2] / 2, 1, 0, 0, 0), np.zeros(6))
        simulation = uk.Simulation(world, 1e-3, trace=True)
        simulation.external = {"c/crate": [push, 5.0, 0, 0, 0.3 * push, 2.0]}  # off the middle, 0.3 m above it
        simulation.step()
        report = simulation.report
        assert report.certificate.valid
        used.append(report.trials)
        tilts.append(1e3 * world.v[4])

    print(f"a push of {push:.0f} N took {report.trials} hypotheses for {report.solves} problems:")
    for trial in report.trace:
        print(" ", trial)
    print("then:")
    for contact in simulation.contacts:
        print(f"  {contact.links[0]} on {contact.links[1]}: {contact.condition.words}, {contact.normal_force:.1f} N")
    print(report.certificate)
    assert report.trace[-1].failed is Check.NONE
    assert any(trial.failed is not Check.NONE for trial in report.trace)
    assert tilts[0] < 1e-3 < tilts[-1]  # it stands, and it tips

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    axes.step(pushes, used, where="mid", label="hypotheses in the step")
    axes.plot(pushes, np.array(tilts), "--", label="turning after it [mrad/s]")
    axes.set(xlabel="push [N]")
    axes.legend()
    path = out / "contact_trace.png"
    figure.savefig(path)
    print(f"look at {path}")


if __name__ == "__main__":
    main()
