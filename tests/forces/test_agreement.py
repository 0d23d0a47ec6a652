"""How far estimated forces are from measured ones: by hand, and beside the metric that was agreed on."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.forces.made import two_feet

import ukemi as uk
from ukemi.forces.agreement import GRAVITY, agreement
from ukemi.motion.ground_forces import GroundForces


def steps(seed: int) -> tuple[GroundForces, GroundForces, np.ndarray[Any, Any]]:
    """Two records of two feet that step in turn, the second a disturbed copy of the first, and what counts."""
    rng = np.random.default_rng(seed)
    time = np.arange(0, 3, 0.005)
    force, point, torque = np.zeros((3, len(time), 2, 3))
    for k in (0, 1):
        phase = (time + 0.55 * k) % 1.1
        on = phase < 0.65
        hill = np.where(on, np.sin(np.pi * phase / 0.65), 0)
        force[:, k] = np.stack([120 * np.sin(2 * np.pi * phase / 0.65) * on, 40 * hill * (-1) ** k, 800 * hill], axis=1)
        point[:, k] = np.stack([1.3 * time, np.full_like(time, 0.1 * (-1) ** k), np.zeros_like(time)], axis=1)
        torque[:, k, 2] = 5 * hill
    measured = GroundForces(time, ("r", "l"), force, point, torque)
    on = force[..., 2:] > 0
    noisy = GroundForces(
        time,
        ("r", "l"),
        (force + rng.normal(0, 25, force.shape)) * on,
        point + rng.normal(0, 0.02, point.shape) * [1, 1, 0],
        torque + rng.normal(0, 1, torque.shape) * on,
    )
    return noisy, measured, time > 0.4


def test_a_constant_error_is_the_rmse_and_nothing_else() -> None:
    time = np.arange(0, 1, 0.01)
    hill = 700 * np.sin(np.pi * time)
    measured = two_feet(time, hill, hill)
    found = agreement(two_feet(time, hill + 35, hill + 35), measured, 70.0)
    vertical = found.foot["vertical"]
    assert vertical.rmse == pytest.approx(0.5)
    assert vertical.bias == pytest.approx(0.5)
    assert vertical.rmse_bw == pytest.approx(100 * 35 / (70 * GRAVITY))
    assert vertical.rrmse == pytest.approx(5.0, rel=0.06)  # of a range of 700, less what is below 20 N
    assert vertical.r == pytest.approx(1.0)
    assert found.total["vertical"].rmse == pytest.approx(1.0)
    assert found.cop is not None
    assert found.cop.rms == 0


def test_a_shifted_centre_of_pressure_is_that_far() -> None:
    time = np.arange(0, 1, 0.01)
    force = np.full_like(time, 400.0)
    there = (np.array((0.03, -0.14, 0.0)), np.array((0.03, 0.06, 0.0)))
    found = agreement(two_feet(time, force, force, there), two_feet(time, force, force), 80.0)
    assert found.cop is not None
    assert found.cop.median == pytest.approx(50.0)
    assert found.cop.anterior == pytest.approx(30.0)
    assert found.cop.lateral == pytest.approx(40.0)


def test_records_without_a_common_time_are_refused() -> None:
    time = np.arange(0, 1, 0.01)
    a, b = two_feet(time, time, time), two_feet(time + 5, time, time)
    with pytest.raises(uk.InvalidInputError, match="no time in common"):
        agreement(a, b, 70.0)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_numbers_are_those_of_the_agreed_metric(shared: Path, seed: int) -> None:
    spec = importlib.util.spec_from_file_location("grf_metrics", shared / "tools" / "grf_metrics.py")
    if spec is None or spec.loader is None or not (shared / "tools" / "grf_metrics.py").exists():
        pytest.skip("needs ../shared/tools/grf_metrics.py")
    theirs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(theirs)
    estimate, measured, valid = steps(seed)
    forward = (0.8, 0.6, 0.0)
    found = agreement(estimate, measured, 72.0, forward=forward, valid=valid)
    sides = (estimate.force, measured.force, estimate.point, measured.point)
    wanted = theirs.evaluate(
        *(measured.time, *sides, estimate.torque[..., 2], measured.torque[..., 2], 72.0, valid), up="z", forward=forward
    )
    for part, curves in (("total", found.total), ("foot", found.foot)):
        for name, curve in curves.items():
            for number in ("n", "rmse", "rmse_bw", "rrmse", "nrmse", "r", "bias"):
                assert getattr(curve, number) == pytest.approx(wanted[part][name][number], rel=1e-9), (part, name)
    for name, peak in found.peak.items():
        assert peak.n == wanted["peak"][name]["n"]
        assert peak.mae == pytest.approx(wanted["peak"][name]["mae"], rel=1e-9)
    assert found.cop is not None
    for number in ("n", "coverage", "rms", "mean", "median", "anterior", "lateral"):
        assert getattr(found.cop, number) == pytest.approx(wanted["cop"][number], rel=1e-9)
