"""Rigid motions from markers: the best fit, markers that move together, and the joint between two bodies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ukemi.model.arrays import Array


def rigid_motion(then: Array, now: Array) -> tuple[Array, Array, Array]:
    """Rotations (frames, 3, 3), translations (frames, 3) and residuals (frames,) that take points ``then`` (n, 3) to
    ``now`` (frames, n, 3): least squares by singular values (Soderkvist & Wedin 1993, J. Biomech. 26, 1473-1477).

    residuals: root mean squares [m]. NaN in frames in which a point is missing.
    """
    seen = np.isfinite(now).all(axis=(1, 2))
    R, p = np.full((len(now), 3, 3), np.nan), np.full((len(now), 3), np.nan)
    a, b = then.mean(axis=0), now[seen].mean(axis=1)
    U, _, Vt = np.linalg.svd(np.einsum("fni,nj->fij", now[seen] - b[:, None], then - a))
    U[:, :, 2] *= np.sign(np.linalg.det(U @ Vt))[:, None]  # no mirror images
    R[seen] = U @ Vt
    p[seen] = b - R[seen] @ a
    misfit = now - (np.einsum("fij,nj->fni", R, then) + p[:, None])
    return R, p, np.sqrt((misfit**2).sum(axis=2).mean(axis=1))


def mean_shape(now: Array, rounds: int = 3) -> Array:
    """(n, 3): the shape of points (frames, n, 3) that move nearly as one body, in the axes of a frame that has them
    all; NaN where there is none."""
    seen = np.flatnonzero(np.isfinite(now).all(axis=(1, 2)))
    if len(seen) == 0:
        return np.full(now.shape[1:], np.nan)
    some = now[seen[:: max(len(seen) // 200, 1)]]
    shape: Array = some[0]
    for _ in range(rounds):
        R, p, _ = rigid_motion(shape, some)
        shape = np.median(np.einsum("fji,fnj->fni", R, some - p[:, None]), axis=0)
    return shape


#: Share of the frames whose distances count for how much they vary: a foot swings for 40 % of a walk, and markers that
#: jump do so for less than the rest.
COUNTED = 0.8
#: So many standard deviations is that quantile of a normal distribution's sizes.
QUANTILE = 1.2816


def spreads(p: Array, frames: int = 200) -> tuple[Array, Array]:
    """(n, n): median distances of markers (frames, n, 3), and how much they vary, as the standard deviation of the best
    `COUNTED` of the frames; infinite where a pair was hardly seen together."""
    some = p[:: max(len(p) // frames, 1)]
    d = np.linalg.norm(some[:, :, None] - some[:, None], axis=-1)
    together = np.isfinite(d).sum(axis=0) >= max(3, 0.1 * len(some))
    d = np.where(together, d, 0.0)
    middle = np.nanmedian(d, axis=0)
    vary = np.nanquantile(np.abs(d - middle), COUNTED, axis=0) / QUANTILE
    return middle, np.where(together, vary, np.inf)


def spread_out(shape: Array) -> bool:
    """Whether points (n, 3) fix a rotation: at least three, not on a line."""
    if len(shape) < 3 or not np.isfinite(shape).all():
        return False
    return bool(np.linalg.svd(shape - shape.mean(axis=0), compute_uv=False)[1] > WIDTH)


#: Points whose second principal extent is smaller lie on a line [m].
WIDTH = 0.02


def joint_between(
    upper: tuple[Array, Array],
    lower: tuple[Array, Array],
    guess: tuple[Array, Array],
    skin: float,
    sure: tuple[Array, Array],
) -> tuple[Array, Array]:
    """Where two bodies turn about each other: a point (3,) in each of their frames.

    The point that both agree on best over all frames (the symmetrical centre of rotation, Ehrig et al. 2006, J.
    Biomech. 39, 2798-2809), drawn to a guess with the weight of its uncertainty: along the axis of a hinge, or where
    hardly anything turns, the motion says nothing.

    upper, lower: rotations (frames, 3, 3) and translations. guess: points in both frames; sure: their covariances
    (3, 3) [m^2]. skin: how much markers move over bone [m].
    """
    (A, a), (B, b) = upper, lower
    seen = np.isfinite(A).all(axis=(1, 2)) & np.isfinite(B).all(axis=(1, 2))
    A, a, B, b = A[seen], a[seen], B[seen], b[seen]
    n = max(len(A), 1)
    rows = np.concatenate([A, -B], axis=2)  # A x + a = B y + b
    prior = np.zeros((6, 6))
    prior[:3, :3], prior[3:, 3:] = (np.linalg.inv(covariance) for covariance in sure)
    normal = np.einsum("fki,fkj->ij", rows, rows) / n / skin**2 + prior
    right = np.einsum("fki,fk->i", rows, b - a) / n / skin**2 + prior @ np.concatenate(guess)
    both = np.linalg.solve(normal, right)
    return both[:3], both[3:]


def moved(R: Array, p: Array, point: Array) -> Array:
    """(frames, 3): a body's point in the world."""
    return R @ point + p


def longest(flags: NDArray[np.bool_]) -> tuple[int, int]:
    """(first, one past the last) of the longest run of true values."""
    from ukemi.motion.footfalls import runs

    return max(runs(flags), key=lambda run: run[1] - run[0], default=(0, 0))
