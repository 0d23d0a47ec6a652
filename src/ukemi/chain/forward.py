"""Forward dynamics of closed chains in minimal coordinates [SV00 III-B], beside the core's constraint forces."""

from __future__ import annotations

import numpy as np

from ukemi.chain.mobility import Mobility
from ukemi.model.arrays import Array


def minimal_forward_dynamics(mobility: Mobility, M: Array, bias: Array, tau: Array) -> Array:
    """Accelerations (nv) of the tree's freedoms: A theta_G_dd = tau_G - b (eq. 23-24) with A = W^T M W.

    The unit-vector method of III-B fills A column by column with inverse dynamics; its columns are W^T M W.
    """
    W = mobility.W
    A = W.T @ M @ W
    b = W.T @ (M @ mobility.bias + bias)
    generalized = np.linalg.solve(A, W.T @ tau - b)
    return W @ generalized + mobility.bias
