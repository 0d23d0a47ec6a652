"""Steps without spikes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.dynamics_filter.figures import standing_figure
from ukemi.dynamics_filter.prepare import contact_points
from ukemi.dynamics_filter.reference import Reference
from ukemi.dynamics_filter.softening import PUSH, SLOWEST, STEP, _least_change, soft_steps
from ukemi.model.arrays import Array
from ukemi.motion.humanoid import model_soles

DT = 0.01


def bouncing(height: Array, flies: slice | None = None) -> Reference:
    """A figure that goes up and down as a whole; heights (n,) [m]."""
    model, stance = standing_figure()
    q = np.tile(stance, (len(height), 1))
    q[:, 2] += height
    v = np.zeros((len(height), model.nv))
    v[:, 2] = np.gradient(height, DT)
    points = contact_points(model, model_soles(model))
    contact = np.ones((len(height), len(points)), dtype=bool)
    if flies is not None:
        contact[flies] = False
    return Reference(model, DT, q, v, np.zeros_like(v), points, contact)


def asked(reference: Reference) -> Array:
    return np.asarray(1 + np.gradient(reference.centroid[:, 5], DT) / 9.81)


def bounce(weight: float, hz: float = 2.0) -> Array:
    """Heights that ask for so much at their lowest [body weights]."""
    t = DT * np.arange(400)
    return np.asarray(-(weight - 1) * 9.81 / (2 * np.pi * hz) ** 2 * np.cos(2 * np.pi * hz * t))


def test_spikes_go_and_the_height_hardly_changes() -> None:
    reference = bouncing(bounce(1.6))
    before = reference.centroid.copy()
    assert asked(reference)[20:-20].max() > 1.55
    soft = soft_steps(reference)
    assert asked(soft)[20:-20].max() < STEP + 0.05
    change = soft.centroid - before
    assert np.abs(change[:, 2]).max() < 0.015  # of a bounce of 7.5 cm
    np.testing.assert_array_equal(change[:, [0, 1, 3, 4, 6, 7, 8]], 0.0)
    np.testing.assert_allclose(np.gradient(change[:, 2], DT), change[:, 5], atol=1e-12)


@pytest.mark.parametrize(
    ("weight", "flies"), [(0.98 * STEP, None), (PUSH + 0.3, None), (1.6, slice(0, 400, 50))], ids=str
)
def test_what_is_no_spike_of_a_walker_stays(weight: float, flies: slice | None) -> None:
    reference = bouncing(bounce(weight), flies)
    before = reference.centroid.copy()
    np.testing.assert_array_equal(soft_steps(reference).centroid, before)


def test_the_least_change_is_that_of_dense_least_squares() -> None:
    n, wish = 50, np.random.default_rng(0).normal(size=50)
    second = (np.eye(n, k=0) - 2 * np.eye(n, k=1) + np.eye(n, k=2))[: n - 2] / DT**2
    rows = np.vstack([second, (2 * np.pi * SLOWEST) ** 2 * np.eye(n)])
    dense = np.linalg.lstsq(rows, np.concatenate([wish[1:-1], np.zeros(n)]), rcond=None)[0]
    np.testing.assert_allclose(_least_change(wish, DT), dense, atol=1e-12)
