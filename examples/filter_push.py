"""[DF03] Fig. 12: a standing figure is pushed at the chest, lightly (25 N s, it stays) and harder (40 N s, it steps).

You will see both as strips of poses.
"""

import numpy as np
from common import output

import ukemi as uk
from ukemi.motion.humanoid import model_soles
from ukemi.report.strip import draw_strip

out = output(__doc__)
model = uk.human(28)
q = model.neutral()
for side in ("left", "right"):  # knees a little bent
    q[model.joint(f"{side}_knee").q] = 0.3
    for joint in ("hip", "ankle"):
        q[model.joint(f"{side}_{joint}").q] = (np.cos(0.075), 0, -np.sin(0.075), 0)
sole = model_soles(model)["left"]
foot = uk.link_poses(model, q)[model.link_index(sole.link)]
q[2] -= (sole.points @ foot[:3, :3].T + foot[:3, 3])[:, 2].min()

chest = model.link_index("chest")
for impulse in (25.0, 40.0):
    figure = uk.DynamicsFilter(model)
    course, lifted = [], False
    for k in range(1500):
        push = None
        if 100 <= k < 150:  # 0.1 s
            push = np.zeros((model.nlinks, 6))
            push[chest, :3] = uk.link_poses(model, figure.q)[chest, :3, :3].T @ (impulse / 0.1, 0, 0)
        step = figure.step(q, push)
        lifted |= not step.contact.all()
        course.append(step.q)
    moved = course[-1][0] - q[0]
    print(f"{impulse:.0f} N s: {'took a step' if lifted else 'stayed'}, stands {100 * moved:.0f} cm further")
    assert not step.fell
    assert np.linalg.norm(step.v[:3]) < 0.1  # at rest again
    assert lifted == (impulse > 30)
    draw_strip(model, np.array(course), out / f"filter_push_{impulse:.0f}.png", time=0.002 * np.arange(1500), poses=9)
