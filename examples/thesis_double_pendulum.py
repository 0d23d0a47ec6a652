"""[HAND07] 5.2: an inverted double pendulum whose tip and elbow hit the ground, with restitution 1 and 0.5.

You see velocities that jump at every impact (Fig. 5-13, 5-15), the energy that stays with e = 1 and is lost with 0.5,
and how well the speeds keep Newton's law (Fig. 5-16; the thesis had 1.3e-5).
Run: python examples/thesis_double_pendulum.py [--out DIR]
"""

import numpy as np
from common import output
from matplotlib.figure import Figure

import ukemi as uk

UPRIGHT = np.deg2rad((45.0, 112.5 - 45.0))  # both angles of the thesis from the vertical
TOUCHES = {"elbow": ("lower", (0, 0, 1.0)), "tip": ("upper", (0, 0, 1.0))}


def pendulum() -> uk.Model:
    b = uk.Builder("pendulum")
    rod = {"mass": 1.0, "com": (0, 0, 0.5), "inertia": (1 / 12, 1 / 12, 0)}
    b.link("lower", joint=uk.Revolute((0, 1, 0)), **rod)  # type: ignore[arg-type]
    b.link("upper", "lower", uk.Revolute((0, 1, 0)), uk.Pose((0, 0, 1)), **rod)  # type: ignore[arg-type]
    return b.build()


def fall(e: float, duration: float) -> tuple[uk.Recording, list[float]]:
    """The motion, and for each impact the relative error of its rebound speed."""
    world = uk.World()
    world.add(pendulum(), name="p", q=UPRIGHT)
    errors: list[float] = []

    def watch(link: str, point: tuple[float, float, float]) -> None:
        touch = uk.Touch(f"p/{link}", point)

        def depth(w: uk.World) -> float:
            """Positive below the ground and going down."""
            speed = uk.jacobian(w.model, w.q, touch.link, point)[2] @ w.v
            height = (uk.link_poses(w.model, w.q)[w.model.link_index(touch.link)] @ [*point, 1])[2]
            return -float(height) if speed < 0 else -1.0

        def hit(w: uk.World) -> None:
            result = uk.impact(w.model, w.q, w.v, [touch], e)  # eq. 4.23
            errors.append(abs(result.after[0] + e * result.before[0]) / abs(e * result.before[0]))
            w.set_state(v=result.v)

        world.when(depth, hit, f"{link} hits", once=False)

    for link, point in TOUCHES.values():
        watch(link, point)
    return uk.Simulation(world, 1e-3, "rk4").run(duration, progress=True), errors


def main() -> None:
    out = output(__doc__)
    figure = Figure(figsize=(10, 6), layout="constrained")
    axes = figure.subplots(2, 2)
    for row, (e, duration) in enumerate(((1.0, 2.0), (0.5, 0.7))):
        recording, errors = fall(e, duration)
        print(f"e = {e}: {len(errors)} impacts, Newton's law kept within {max(errors):.1g}")
        assert max(errors) < 1e-9
        assert np.diff(recording.energy).max() < 1e-6
        if e == 1:
            assert np.ptp(recording.energy) < 1e-5
        axes[row, 0].plot(recording.time, recording.v, label=["joint 1", "joint 2"])
        axes[row, 0].set(title=f"e = {e}: joint velocities", xlabel="time [s]", ylabel="[rad/s]")
        axes[row, 0].legend()
        axes[row, 1].plot(recording.time, recording.energy)
        axes[row, 1].set(title="energy", xlabel="time [s]", ylabel="[J]")
    figure.savefig(out / "thesis_double_pendulum.png")
    print(f"look at {out / 'thesis_double_pendulum.png'}")


if __name__ == "__main__":
    main()
