"""[DF03] Fig. 11: two walks in directions 30 degrees apart, joined without a thought for dynamics, then filtered.

You will see the way of the centre of mass from above, and the forces to the side that the turn needs.
"""

import numpy as np
from common import output
from matplotlib.figure import Figure

import ukemi as uk
from ukemi.motion.join import join
from ukemi.motion.synthesis import walk

joined = join(walk(1.7), walk(1.7), overlap=0.4, turn=np.deg2rad(30))
result = uk.filter_motion(joined)
quality = result.quality
print(f"{joined.duration:.1f} s, joints {quality.joint_rms_deg:.1f} deg, centre of mass {quality.com_rms_cm:.1f} cm")
assert quality.verdict == "feasible"
assert quality.residual_bw < 1e-6

way = uk.center_of_mass(result.model, result.q)
heading = np.rad2deg(np.arctan2(*(way[-1] - way[-40])[1::-1]) - np.arctan2(*(way[40] - way[0])[1::-1]))
print(f"turned by {heading:.0f} degrees")
assert 15 < heading < 45

figure = Figure(figsize=(7, 4), layout="constrained")
above, side = figure.subplots(2, 1)
above.plot(way[:, 0], way[:, 1], color="black")
cop = result.cop
for foot in range(2):
    above.plot(cop[:, foot, 0], cop[:, foot, 1], ".", ms=2)
above.set_aspect("equal")
above.set_ylabel("y [m]")
side.plot(result.time, result.ground_forces.total[:, 1])
side.set_xlabel("time [s]")
side.set_ylabel("force to the side [N]")
figure.savefig(output(__doc__) / "filter_turn.png")
