"""Gait cycles: normalised curves, peaks of stances, symmetry."""

from __future__ import annotations

import numpy as np
import pytest
from tests.forces.made import two_feet

from ukemi.forces.cycles import normalised, stance_peaks, symmetry
from ukemi.forces.plates import stances
from ukemi.motion.ground_forces import GroundForces

TIME = np.arange(0, 4, 0.005)
RIGHT = 800 * np.clip(np.sin(2 * np.pi * (TIME - 0.1)), 0, None)
LEFT = 600 * np.clip(np.sin(2 * np.pi * (TIME - 0.6)), 0, None)


def test_cycles_of_a_periodic_curve_are_alike() -> None:
    found = stances(two_feet(TIME, RIGHT, LEFT))
    rows = normalised(TIME, np.stack([np.cos(2 * np.pi * TIME), TIME], axis=1), "right_foot", found)
    assert rows.shape == (3, 101, 2)
    assert np.abs(rows[:, :, 0] - rows[0, :, 0]).max() < 5e-3
    assert rows[:, -1, 1] - rows[:, 0, 1] == pytest.approx(1.0, abs=1e-9)
    assert normalised(TIME, TIME, "tail", found).shape == (0, 101)


def test_peaks_are_those_of_the_curve() -> None:
    forces = two_feet(TIME, RIGHT, LEFT)
    ahead = 100 * np.sin(4 * np.pi * (TIME - 0.1)) * (RIGHT > 0)
    force = np.array(forces.force)
    force[:, 0, 0] = -ahead
    pushed = GroundForces(TIME, forces.names, force, forces.point, forces.torque)
    peaks = stance_peaks(pushed, stances(pushed), np.array((1.0, 0.0, 0.0)), 1000.0)
    first = peaks[0]
    assert first.foot == "right_foot"
    assert first.vertical == pytest.approx(80, rel=1e-3)
    assert first.braking == pytest.approx(10, rel=1e-2)
    assert first.propulsion == pytest.approx(10, rel=1e-2)
    assert first.duration == pytest.approx(0.5, abs=0.02)
    assert first.impulse == pytest.approx(100 * 0.8 / np.pi, rel=1e-2)


def test_symmetry_is_the_difference_over_the_mean() -> None:
    forces = two_feet(TIME, RIGHT, LEFT)
    peaks = stance_peaks(forces, stances(forces), np.array((1.0, 0.0, 0.0)), 1000.0)
    found = symmetry(peaks, ("right_foot", "left_foot"))
    assert found["vertical"] == pytest.approx(100 * 200 / 700, rel=1e-3)
    assert symmetry([p for p in peaks if p.foot == "right_foot"], ("right_foot", "left_foot")) == {}
