"""Tendons: the published finger, power, sides that anatomy gives, and the way back."""

from __future__ import annotations

import numpy as np
import pytest

import ukemi as uk
from ukemi.model.figures.hand_data import FINGERS, REFERENCE_LENGTH
from ukemi.model.figures.muscles import MUSCLES, TENDONS


def finger(model: uk.Model, name: str) -> list[int]:
    """Flexion of MCP, PIP and DIP."""
    return [model.joint(f"{name}_{joint}").v.stop - 1 for joint in ("mcp", "pip", "dip")]


def test_the_tables_have_all_rows() -> None:
    assert [m.group for m in MUSCLES].count("extrinsic") == 14  # Table 2-I
    assert [m.group for m in MUSCLES].count("intrinsic") == 10  # Table 2-II, which prints one of them twice
    shorts = [m.short for m in MUSCLES]
    assert len(set(shorts)) == len(shorts)
    assert {tendon.muscle for tendon in TENDONS} == set(shorts) - {"ODM"}
    assert len({tendon.name for tendon in TENDONS}) == len(TENDONS)
    assert {tendon.muscle for tendon in TENDONS if not tendon.estimated} == {"FDP", "FDS"}


def test_torques_and_excursions_of_the_published_finger() -> None:
    """hand_data.json: FDP 5 N and FDS 3 N on the index; excursions at 30, 45 and 20 degrees."""
    model = uk.hand()
    tendons = uk.Tendons(model)
    tau = tendons.torques({"FDP_index": 5.0, "FDS_index": 3.0})
    assert tau[finger(model, "index")] == pytest.approx([86.8e-3, 73.9e-3, 32.5e-3], abs=1e-15)
    q = np.zeros(22)
    q[finger(model, "index")] = np.deg2rad((30, 45, 20))
    pulled = tendons.excursions(q)
    expected = {"FDP_index": 15.25417766243044e-3, "FDS_index": 12.854349940938237e-3, "FDP_ring": 0.0}
    for name, value in expected.items():
        assert pulled[tendons.names.index(name)] == pytest.approx(value, abs=1e-15)


def test_tendons_do_the_work_that_joints_receive() -> None:
    rng = np.random.default_rng(1)
    tendons = uk.Tendons(uk.hand())
    force, v = rng.uniform(0, 10, (5, len(TENDONS))), rng.standard_normal((5, 22))
    assert np.allclose((force * tendons.excursions(v)).sum(-1), (tendons.torques(force) * v).sum(-1), rtol=1e-13)


def test_each_muscle_acts_as_its_row_says() -> None:
    model = uk.hand()
    tendons = uk.Tendons(model)

    def torque(name: str, joint: str, freedom: int) -> float:
        return float(tendons.torques({name: 1.0})[model.joint(joint).v][freedom])

    for name in FINGERS:
        assert torque(f"FDP_{name}", f"{name}_dip", 0) > 0
        assert torque(f"FDS_{name}", f"{name}_dip", 0) == 0
        assert torque(f"EDC_{name}", f"{name}_pip", 0) < 0
        assert torque(f"LU_{name}", f"{name}_mcp", 1) > 0 > torque(f"LU_{name}", f"{name}_pip", 0)
    # palmar interossei draw the fingers to the middle one, dorsal ones and the little finger's abductor spread them
    assert torque("PI1", "index_mcp", 0) > 0 > torque("DI1", "index_mcp", 0)
    assert torque("PI2", "ring_mcp", 0) < 0 < torque("DI4", "ring_mcp", 0)
    assert torque("PI3", "little_mcp", 0) < 0 < torque("ADM", "little_mcp", 0)
    assert torque("DI2", "middle_mcp", 0) < 0 < torque("DI3", "middle_mcp", 0)
    for flexor, side in (("FCR", -1), ("FCU", 1)):
        assert torque(flexor, "wrist", 1) > 0
        assert side * torque(flexor, "wrist", 0) > 0
    for extensor, side in (("ECR", -1), ("ECU", 1)):
        assert torque(extensor, "wrist", 1) < 0
        assert side * torque(extensor, "wrist", 0) > 0
    assert torque("OP", "thumb_cmc1", 0) > 0 > torque("AdP", "thumb_cmc2", 0)


def test_forces_come_back_from_torques() -> None:
    """Torques that some pulls give are given again, by pulls of no more effort; the optimality conditions hold."""
    rng = np.random.default_rng(2)
    tendons = uk.Tendons(uk.hand())
    force = rng.uniform(0, 0.6, (4, len(TENDONS))) * tendons.largest
    pulls = tendons.forces(tendons.torques(force))
    assert np.abs(pulls.missing).max() < 1e-8
    assert ((pulls.forces >= 0) & (pulls.forces <= tendons.largest)).all()
    assert ((pulls.activation**2).sum(-1) <= ((force / tendons.largest) ** 2).sum(-1) + 1e-9).all()


def test_torques_out_of_reach_are_said_to_be_missing() -> None:
    model = uk.hand()
    tendons = uk.Tendons(model)
    wanted = np.zeros(22)
    wanted[model.joint("index_dip").v] = 5.0
    pulls = tendons.forces(wanted)
    assert pulls.missing[model.joint("index_dip").v] > 4
    # no bounded change of the pulls lowers the sum of squares: gradients point out of the box
    gradient = -(pulls.missing @ tendons.arms.T) * tendons.largest
    assert (gradient[pulls.activation < 1e-9] >= -1e-6).all()
    assert (gradient[pulls.activation > 1 - 1e-9] <= 1e-6).all()
    inside = (pulls.activation > 1e-9) & (pulls.activation < 1 - 1e-9)
    assert np.abs(gradient[inside]).max(initial=0.0) < 1e-6


def test_arms_grow_with_the_hand_and_hang_on_figures() -> None:
    small, large = uk.Tendons(uk.hand()), uk.Tendons(uk.hand(length=1.2 * REFERENCE_LENGTH))
    assert np.allclose(large.arms, 1.2 * small.arms, rtol=1e-13)
    figure = uk.human(40, hands=True)
    tendons = uk.Tendons(figure, prefix="left_")
    assert tendons.torques({"FDP_index": 1.0})[figure.joint("left_index_dip").v] > 0


def test_bad_pulls_are_named() -> None:
    tendons = uk.Tendons(uk.hand())
    with pytest.raises(uk.InvalidInputError, match="only pull"):
        tendons.torques({"FDP_index": -1.0})
    with pytest.raises(uk.UnknownNameError, match="FDP_indx"):
        tendons.torques({"FDP_indx": 1.0})
    with pytest.raises(uk.InvalidInputError, match="torques"):
        tendons.forces(np.zeros(3))
    with pytest.raises(uk.UnknownNameError, match="joint"):
        uk.Tendons(uk.human(28))
