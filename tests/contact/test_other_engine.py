"""MuJoCo in the limit of stiff contact: the same forces and accelerations within its softness."""

from __future__ import annotations

import numpy as np
import pytest
from tests.problems.bodies import loose, pushed

import ukemi as uk

pytestmark = pytest.mark.oracle
#: impedance near one and a time constant of two steps leave this share of softness
SOFT = 1e-2

SCENE = """
<mujoco><option timestep="{dt}" cone="elliptic" solver="Newton" tolerance="1e-12" impratio="1000" gravity="{g}"/>
<default><geom friction="{mu} 0.0001 0.0001" solref="{ref} 1" solimp="0.9999 0.9999 0.001" condim="3"/></default>
<worldbody><geom type="plane" size="5 5 1"/>
<body pos="0 0 0.05"><freejoint/><geom type="box" size="0.2 0.1 0.05" mass="2"/></body></worldbody></mujoco>
"""


@pytest.mark.parametrize("slope", [0.3, 0.6])
def test_a_box_on_a_slope(slope: float) -> None:
    """Below and above the threshold atan 0.5 = 0.46."""
    mujoco = pytest.importorskip("mujoco")
    g = 9.81 * np.array((np.sin(slope), 0, -np.cos(slope)))
    dt, mu, steps = 1e-4, 0.5, 2000
    text = SCENE.format(dt=dt, g=" ".join(map(str, g)), mu=mu, ref=2 * dt)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mean, wrench = np.zeros(3), np.zeros(6)
    for _ in range(steps):  # its contacts chatter: the mean over the run is what carries the box
        mujoco.mj_step(model, data)
        for k in range(data.ncon):
            mujoco.mj_contactForce(model, data, k, wrench)
            mean += data.contact[k].frame.reshape(3, 3).T @ wrench[:3] / steps

    world = loose([uk.Box((0.4, 0.2, 0.1))], uk.Ground(friction=mu), mass=2.0, q=(0, 0, 0.05, 1, 0, 0, 0), gravity=g)
    sim = uk.Simulation(world, dt)
    sim.step(steps=steps)
    force, _ = pushed(sim.contacts)
    assert np.abs(np.abs(mean) - np.abs(force)).max() < SOFT * 20  # of a weight of 20 N
    assert abs(data.qvel[0] - world.v[0]) < SOFT * max(1.0, abs(world.v[0]))
