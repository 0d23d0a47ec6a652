"""Tendons close a hand around a ball. Friction holds it against gravity; when it is lowered the ball slips.

Thumb up, as one holds a glass. Flexors of the middle and ring finger and of the thumb pull with a few newtons,
extensors keep index and little finger at their stops. Weight acts once the ball is gripped. With the friction of
rubber it stays; with that of soap the pinch shoots it out.
Run: python examples/hand_grasps_ball.py [--out DIR]
"""

import numpy as np
from common import output
from matplotlib.figure import Figure

import ukemi as uk
from ukemi.report.strip import draw_strip

RADIUS, MASS = 0.033, 0.06  # a tennis ball
RUBBER, SOAP = 1.0, 0.1
PULLS = {"FDS_middle": 8, "FDP_middle": 5, "FDS_ring": 8, "FDP_ring": 5, "EDC_index": 4, "EDC_little": 4}  # [N]
THUMB = {"FPL": 8, "OP": 5, "AdP": 3, "FPB": 3}
BENT = {"mcp": (0, 0.3), "pip": 0.3, "dip": 0.2}
OPEN = {f"{f}_{joint}": angle for f in ("index", "middle", "ring", "little") for joint, angle in BENT.items()}


def main() -> None:
    out = output(__doc__)
    hand = uk.hand(elastic=False, damping=0.05, limits="anatomical")
    q = hand.neutral()
    for name, angle in (OPEN | {"thumb_cmc1": 1.0, "thumb_cmc2": 0.6}).items():
        q[hand.joint(name).q] = angle
    inertia = np.full(3, 0.4 * MASS * RADIUS**2)
    b = uk.Builder("ball").link("ball", joint=uk.Free(), mass=MASS, inertia=inertia, shapes=[uk.Sphere(RADIUS)])

    world = uk.World(gravity=(0, 0, 0))
    figure = world.add(hand, name="hand", q=q)
    ball = world.add(b.build(), q=[0.05, 0, -0.092, 1, 0, 0, 0])
    world.hold(figure.joint("wrist")[0]), world.hold(figure.joint("wrist")[1])
    world.collisions = True
    tau = np.zeros(world.model.nv)
    tau[figure.v_index] = uk.Tendons(hand).torques(PULLS | THUMB)
    simulation = uk.Simulation(world, 2e-3)

    def run(friction: float, gravity: float, duration: float) -> uk.Recording:
        for name in hand.link_names:
            world.set_surface(figure[name], ball["ball"], uk.Surface(friction=friction))
        world.gravity = (0, gravity, 0)  # the right hand's thumb points to -y: up
        return simulation.run(duration, tau, every=5)

    closing = run(RUBBER, 0.0, 1.2)
    start = ball.q[:3].copy()
    held = run(RUBBER, 9.81, 0.5)
    touching = [c for c in simulation.contacts if "ball/ball" in c.links]
    carried = sum(c.force[1] * (1 if c.links[0] == "ball/ball" else -1) for c in touching)
    print(f"held by {len(touching)} contacts that carry {-carried:.3f} N; moved {np.ptp(held.q[:, -7:-4], axis=0)} m")
    assert np.linalg.norm(ball.q[:3] - start) < 1e-3
    assert np.isclose(-carried, 9.81 * MASS, rtol=0.02)
    assert simulation.report.certificate.valid
    slipping = run(SOAP, 9.81, 0.4)
    print(f"soaped: fallen {ball.q[1] - start[1]:.2f} m in 0.4 s")
    assert ball.q[1] - start[1] > 0.05

    parts = (closing, held, slipping)
    time, place = np.concatenate([r.time for r in parts]), np.concatenate([r.q[:, -7:-4] for r in parts])
    axes = (chart := Figure(figsize=(7, 4), layout="constrained")).add_subplot()
    axes.plot(time, 100 * (place - place[0]) * (1, -1, 1), label=["out of the palm", "up", "towards the wrist"])
    for r, what in ((held, "weight"), (slipping, "soap")):
        axes.axvline(r.time[0], ls=":", color="gray")
        axes.text(r.time[0] + 0.02, 7, what)
    axes.set(xlabel="time [s]", ylabel="the ball moves [cm]", ylim=(-8, 8))
    axes.legend(loc="lower left")
    chart.savefig(out / "hand_grasps_ball.png")
    seen = np.eye(4)
    seen[:3, :3] = [[0, 0, 1], [-1, 0, 0], [0, -1, 0]]  # thumb up, from the side of the palm
    shown = seen @ np.stack([closing.poses[0], closing.poses[-1], held.poses[-1], slipping.poses[-11]])
    draw_strip(world.model, shown, out / "hand_grasps_ball_strip.png", title="open, closed, held, soaped")
    print(f"look at {out / 'hand_grasps_ball.png'} and {out / 'hand_grasps_ball_strip.png'}")


if __name__ == "__main__":
    main()
