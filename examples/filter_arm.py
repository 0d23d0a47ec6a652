"""[DF03] Figs. 5, 6: an arm of two links whose root joint has no motor. Both joints are asked to swing, which no torque
at the elbow alone can do; the filter changes the course of the root and keeps the elbow's.

You will see the two angles asked for and those that are possible.
"""

import numpy as np
from common import output
from matplotlib.figure import Figure

import ukemi as uk
from ukemi.dynamics_filter.paper import PaperFilter, PaperSettings

b = uk.Builder("arm")
for name, parent, z in (("upper", "world", 0.0), ("lower", "upper", -0.5)):
    b.link(
        name,
        parent,
        uk.Revolute((0, 1, 0)),
        uk.Pose((0, 0, z)),
        mass=1.0,
        com=(0, 0, -0.25),
        inertia=(0.02, 0.02, 0.001),
    )
model = b.build()
arm = PaperFilter(model, [False, True], settings=PaperSettings(kp=100, kd=20, root_weight=0.05))

dt, w = 0.002, 3.0
time = dt * np.arange(1500)
asked = np.stack([0.5 * np.sin(w * time), 0.5 * np.sin(w * time + 1.0)], axis=1)
rate = w * np.stack([0.5 * np.cos(w * time), 0.5 * np.cos(w * time + 1.0)], axis=1)
q, v, course = asked[0].copy(), rate[0].copy(), []
for k in range(len(time)):
    wanted = arm.desired(q, v, asked[k], rate[k], -w * w * asked[k])
    answer = arm.solve(q, v, wanted, np.zeros((0, 2)), np.zeros(0))
    residual = uk.inverse_dynamics(model, q, v, answer.a) - answer.tau
    assert np.abs(residual).max() < 1e-9  # the equation of motion holds
    assert answer.tau[0] == 0  # and the root is free
    course.append(q)
    v = v + dt * answer.a
    q = uk.integrate(model, q, v, dt)
done = np.array(course)
error = np.sqrt(((done - asked) ** 2).mean(axis=0))
print(f"root {np.rad2deg(error[0]):.1f} degrees from what was asked, elbow {np.rad2deg(error[1]):.1f}")
assert error[1] < 0.5 * error[0]  # the elbow follows, the root gives way

figure = Figure(figsize=(7, 3), layout="constrained")
axes = figure.add_subplot()
for j, name in enumerate(("root", "elbow")):
    axes.plot(time, asked[:, j], "--", color=f"C{j}", label=f"{name}, asked for")
    axes.plot(time, done[:, j], color=f"C{j}", label=f"{name}, possible")
axes.set_xlabel("time [s]")
axes.set_ylabel("angle [rad]")
axes.legend(frameon=False, ncols=2)
figure.savefig(output(__doc__) / "filter_arm.png")
