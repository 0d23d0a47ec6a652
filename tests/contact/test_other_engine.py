"""MuJoCo in the limit of stiff contact: the same forces and accelerations within its softness."""

from __future__ import annotations

from pathlib import Path

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


#: a foot, shank, thigh and trunk that collapse; the floor is added for MuJoCo alone
LEG = """
<body name="foot" pos="0 0 {z}"><freejoint/><geom type="box" size="0.12 0.05 0.03" mass="1.2"/>
<body name="shank" pos="-0.05 0 0.03"><joint name="ankle" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0.04 0 0 0.36" size="0.04" mass="3.5" contype="0" conaffinity="0"/>
<body name="thigh" pos="0 0 0.4"><joint name="knee" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0.04 0 0 0.36" size="0.06" mass="8" contype="0" conaffinity="0"/>
<body name="trunk" pos="0 0 0.4"><joint name="hip" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0.1 0 0 0.5" size="0.1" mass="30" contype="0" conaffinity="0"/>
</body></body></body></body>
"""


@pytest.mark.parametrize("mu", [0.1, 0.8])
def test_a_leg_that_collapses(mu: float, tmp_path: Path) -> None:
    """Ground force and joint angles of a limp leg on its foot, which slides (mu 0.1) or stands."""
    mujoco = pytest.importorskip("mujoco")
    dt, steps, z = 1e-4, 1000, 0.03
    body = LEG.format(z=z)
    option = f'<option timestep="{dt}" cone="elliptic" solver="Newton" tolerance="1e-12" impratio="1000"/>'
    ground = (
        f'<default><geom friction="{mu} 0.0001 0.0001" solref="{2 * dt} 1" solimp="0.9999 0.9999 0.001"/></default>'
    )
    floor = '<geom type="plane" size="5 5 1"/>'
    text = f"<mujoco>{option}<compiler angle='radian'/>{ground}<worldbody>{{}}{body}</worldbody></mujoco>"
    model = mujoco.MjModel.from_xml_string(text.format(floor))
    data = mujoco.MjData(model)
    bent = np.array((0.3, -0.6, 0.5))
    data.qpos[7:] = bent
    mean, wrench = np.zeros(3), np.zeros(6)
    for _ in range(steps):
        mujoco.mj_step(model, data)
        for k in range(data.ncon):
            mujoco.mj_contactForce(model, data, k, wrench)
            mean += data.contact[k].frame.reshape(3, 3).T @ wrench[:3] / steps

    path = tmp_path / "leg.xml"
    path.write_text(text.format(""))
    leg = uk.load(path)
    world = uk.World()
    world.terrain = uk.Ground(friction=mu)
    world.collisions = False
    world.add(leg, "leg", q=np.concatenate([(0, 0, z, 1, 0, 0, 0), bent]))
    sim = uk.Simulation(world, dt)
    ours = np.zeros(3)
    for _ in range(steps):
        sim.step()
        ours += pushed(sim.contacts)[0] / steps
        assert sim.report.certificate.valid
    weight = 9.81 * world.model.mass
    assert np.abs(mean - ours).max() < SOFT * weight
    turned = world.q[7:] - bent  # angles, not rates: its foot chatters by 0.6 rad/s
    assert np.abs(data.qpos[7:] - bent - turned).max() < SOFT * np.abs(turned).max()
    assert abs(data.qpos[0] - world.q[0]) < SOFT * 0.1
    assert (abs(world.v[0]) > 0.05) == (mu == 0.1)


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
