"""A swing breaks [SV00 Fig. 21]: what happens to the person who sits on it?

The hands hold the rods by ball joints, the thighs slide on the plate and are free once they leave it; then the swing's
hinge breaks. Run: python examples/swing_breaks.py [--out DIR]
"""

import numpy as np
from common import finish, limit_torques, output, tell

import ukemi as uk
from ukemi.sim.connection import LinkHandle

TOP, ROPE, PLATE = 3.0, 2.4, (0.25, 0.5)  # height of the hinge, length to the plate, its depth and width [m]
BREAK, END = 0.9, 1.2  # [s]


def swing() -> uk.Model:
    """Two rods and a plate, hinged at the top."""
    rods = [uk.Capsule(0.015, ROPE, at=uk.Pose((0, y, -ROPE / 2))) for y in (-0.24, 0.24)]
    plate = uk.Box((*PLATE, 0.03), at=uk.Pose((0, 0, -ROPE)))
    hinge = {"joint": uk.Revolute((0, 1, 0)), "at": uk.Pose((0, 0, TOP)), "joint_name": "hinge"}
    return uk.Builder("swing").link("swing", mass=8.0, shapes=[*rods, plate], **hinge).build()


def seated(model: uk.Model) -> np.ndarray:
    """Thighs on the plate, knees bent, forearms up at the rods."""
    q = model.neutral()
    for side in ("left", "right"):
        q[model.joint(f"{side}_hip").q] = (np.sqrt(0.5), 0, -np.sqrt(0.5), 0)
        q[model.joint(f"{side}_knee").q] = 1.3
        q[model.joint(f"{side}_shoulder").q] = (np.cos(0.25), 0, -np.sin(0.25), 0)
        q[model.joint(f"{side}_elbow").q] = 2.45
    q[:3] = (-0.18, 0, TOP - ROPE + 0.1)
    return q


def main() -> None:
    out = output(__doc__)
    model = uk.human(16)
    world = uk.World()
    frame = world.add(swing(), name="swing")
    man = world.add(model, name="man", q=seated(model))
    plate = frame["swing"].at(uk.Pose((0, 0, -ROPE)))
    with world.at_once():
        for side in ("left", "right"):
            world.connect(man[f"{side}_hand"], frame["swing"], uk.Spherical(), name=f"{side} hand")
            middle = man[f"{side}_thigh"].at(uk.Pose((0, 0, -0.2)))
            slide = uk.Pose(middle.X_W[:3, 3])
            seat = world.connect(plate, man[f"{side}_thigh"], uk.Prismatic((1, 0, 0)), at=slide, name=f"{side} thigh")
            world.cut(seat, when=lambda w, m=middle: off_the_plate(m, plate))
    start = world.mobility()
    print(start.summary())
    # pushed: everything turns about the hinge, as far as the joints allow
    world.set_state(v=start.W @ np.linalg.lstsq(start.W, turning(world, -2.2), rcond=None)[0])
    world.cut(frame.joint("hinge"), when=lambda w: w.time - BREAK)

    recording = uk.Simulation(world, 1e-3, "rk4", limits=False).run(END, limit_torques(man), progress=True, every=10)
    tell(recording)
    assert [e["what"].split()[-1] for e in recording.events] == ["thigh", "thigh", "swing/hinge"]
    # two fewer for the thighs, as the paper counts; the hinge's one becomes the six of a free joint
    assert len(world.mobility().coordinates) == len(start.coordinates) - 2 + 5
    finish(world, recording, out / "swing_breaks.png", "a swing breaks", poses=8, spread=1.5)


def off_the_plate(middle: LinkHandle, plate: LinkHandle) -> float:
    """Positive when the middle of the thigh is beyond the plate's edge."""
    return abs((np.linalg.inv(plate.X_W) @ middle.X_W)[0, 3]) - PLATE[0] / 2


def turning(world: uk.World, rate: float) -> np.ndarray:
    """Velocities of swing and trunk turning together about the hinge."""
    v, X, w = np.zeros(world.model.nv), world.link_pose("man/trunk"), np.array((0, rate, 0))
    v[world.model.link("swing/swing").v] = rate
    v[world.model.link("man/trunk").v] = np.ravel([np.cross(w, X[:3, 3] - (0, 0, TOP)), w] @ X[:3, :3])
    return v


if __name__ == "__main__":
    main()
