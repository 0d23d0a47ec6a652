"""[DF03] Figs. 7, 8 and 10: a walk that no body could make, filtered on level ground and down a slope of 4 degrees.

The reference floats and slides on purpose. You will see the vertical ground forces of both, and poses of the walk down.
"""

import numpy as np
from common import output
from matplotlib.figure import Figure

import ukemi as uk
from ukemi.motion.synthesis import walk
from ukemi.report.strip import draw_strip

out = output(__doc__)
clip = walk(2.0)
angle = np.deg2rad(-4)
grounds = {"level": uk.Ground(), "down": uk.Ground(normal=(-np.sin(angle), 0, np.cos(angle)))}
figure = Figure(figsize=(7, 4), layout="constrained")
for k, (name, ground) in enumerate(grounds.items()):
    result = uk.filter_motion(clip, terrain=ground)
    q = result.quality
    print(f"{name}: joints {q.joint_rms_deg:.1f} deg, skate {q.skate_before_cm_s:.1f} -> {q.skate_cm_s:.2f} cm/s")
    assert q.verdict == "feasible"
    assert q.residual_bw < 1e-6  # nothing but the ground pushes
    assert q.skate_cm_s < 0.2 * q.skate_before_cm_s
    assert q.penetration_mm < 2
    axes = figure.add_subplot(2, 1, k + 1)
    forces = result.ground_forces
    for foot in range(2):
        axes.plot(forces.time, forces.force[:, foot, 2] / (result.model.mass * 9.81), label=forces.names[foot])
    axes.set_ylim(0, 1.8)
    axes.set_ylabel(f"{name} [body weights]")
axes.set_xlabel("time [s]")
axes.legend(frameon=False)
figure.savefig(out / "filter_walk.png")
draw_strip(result.model, result.q, out / "filter_down.png", time=result.time, spread=0.0, title="down a slope")
