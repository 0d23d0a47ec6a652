"""Quaternions (w, x, y, z) in arrays (..., 4): products, angles about axes, rotation vectors."""

from __future__ import annotations

import numpy as np

from ukemi.model.arrays import Array


def product(a: Array, b: Array) -> Array:
    """a b."""
    aw, ax, ay, az = np.moveaxis(a, -1, 0)
    bw, bx, by, bz = np.moveaxis(b, -1, 0)
    return np.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


def inverse(q: Array) -> Array:
    return q * (1.0, -1.0, -1.0, -1.0)


def rotated(q: Array, p: Array) -> Array:
    """Points p (..., 3) turned by q."""
    w, u = q[..., :1], q[..., 1:]
    t = 2.0 * np.cross(u, p)
    return p + w * t + np.cross(u, t)


def about(axis: int, angle: Array) -> Array:
    """The turn by ``angle`` [rad] about the x, y or z axis (0, 1, 2)."""
    q = np.zeros((*np.shape(angle), 4))
    q[..., 0] = np.cos(0.5 * angle)
    q[..., 1 + axis] = np.sin(0.5 * angle)
    return q


def matrices(q: Array) -> Array:
    """Rotation matrices (..., 3, 3)."""
    return np.stack([rotated(q, np.broadcast_to(e, (*q.shape[:-1], 3))) for e in np.eye(3)], axis=-1)


def of_matrices(R: Array) -> Array:
    """Unit quaternions with w >= 0; the largest of the four components is the divisor, so none is lost to rounding."""
    m = np.moveaxis(np.asarray(R, dtype=np.float64), (-2, -1), (0, 1))
    xx, yy, zz = m[0, 0], m[1, 1], m[2, 2]
    # row k: the quaternion times four times its component k
    rows = np.stack(
        [
            np.stack([1 + xx + yy + zz, m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]], axis=-1),
            np.stack([m[2, 1] - m[1, 2], 1 + xx - yy - zz, m[0, 1] + m[1, 0], m[0, 2] + m[2, 0]], axis=-1),
            np.stack([m[0, 2] - m[2, 0], m[0, 1] + m[1, 0], 1 - xx + yy - zz, m[1, 2] + m[2, 1]], axis=-1),
            np.stack([m[1, 0] - m[0, 1], m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], 1 - xx - yy + zz], axis=-1),
        ],
        axis=-2,
    )
    largest = np.diagonal(rows, axis1=-2, axis2=-1).argmax(axis=-1)
    q = np.take_along_axis(rows, largest[..., None, None], axis=-2)[..., 0, :]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return np.where(q[..., :1] < 0, -q, q)


def rotation_vector(q: Array) -> Array:
    """Axis times angle (..., 3), the shorter way round: the inverse of `exponential`."""
    q = np.where(q[..., :1] < 0, -q, q)
    sine = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    half = np.arctan2(sine, q[..., :1])
    return 2.0 * q[..., 1:] * np.where(sine > 1e-12, half / np.maximum(sine, 1e-300), 1.0)


def exponential(r: Array) -> Array:
    """The turn by |r| about r (..., 3)."""
    half = 0.5 * np.linalg.norm(r, axis=-1, keepdims=True)
    return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * r], axis=-1)


def angle_between(a: Array, b: Array) -> Array:
    """[rad], between 0 and pi."""
    return np.linalg.norm(rotation_vector(product(inverse(a), b)), axis=-1)


def continuous(q: Array) -> Array:
    """The same rotations, with signs such that neighbours along the first axis are close; the first has w >= 0."""
    flips = np.where((q[1:] * q[:-1]).sum(axis=-1) < 0, -1.0, 1.0)
    first = np.where(q[:1, ..., 0] < 0, -1.0, 1.0)
    signs = np.cumprod(np.concatenate([first, flips]), axis=0)
    return q * signs[..., None]


def mean_rotation(q: Array) -> Array:
    """The rotation nearest to all q (n, 4): the largest eigenvector of the sum of q q^T (Markley et al. 2007)."""
    best: Array = np.linalg.eigh(q.T @ q)[1][:, -1]
    return -best if best[0] < 0 else best


def slerp(a: Array, b: Array, share: Array) -> Array:
    """From a to b by ``share`` (...) of the shorter way."""
    step = rotation_vector(product(inverse(a), b))
    return product(a, exponential(np.asarray(share)[..., None] * step))


def of_angles(angles: Array, axes: tuple[int, ...]) -> Array:
    """R = R_axes[0](angles[0]) R_axes[1](angles[1]) ...; angles (..., n) [rad], axes 0, 1, 2 for x, y, z."""
    q = np.zeros((*angles.shape[:-1], 4))
    q[..., 0] = 1.0
    for k, axis in enumerate(axes):
        q = product(q, about(axis, angles[..., k]))
    return q


def angles_of(q: Array, axes: tuple[int, ...], near: Array | None = None) -> Array:
    """The angles (n, len(axes)) of rotations q (n, 4): what `of_angles` takes back.

    ``near``: angles to stay close to (whole turns, and which of the two solutions); by default every row stays close to
    the one before it. With fewer than three axes the rest of the turn is lost.
    """
    if not axes:
        return np.zeros((len(q), 0))
    i = axes[0]
    j = axes[1] if len(axes) > 1 else (i + 1) % 3
    k = axes[2] if len(axes) > 2 else 3 - i - j
    a, b, c = _tait_bryan(matrices(q), i, j, k) if len({i, j, k}) == 3 else _proper(matrices(q), i, j)
    first = np.stack([a, b, c], axis=-1)
    other = np.stack([a + np.pi, (np.pi - b) if len({i, j, k}) == 3 else -b, c + np.pi], axis=-1)
    n = len(axes)
    if near is None:
        return np.unwrap(first[:, :n], axis=0)
    options = [s[:, :n] + 2 * np.pi * np.round((near - s[:, :n]) / (2 * np.pi)) for s in (first, other)]
    closer = np.abs(options[1] - near).sum(axis=1) < np.abs(options[0] - near).sum(axis=1)
    return np.where(closer[:, None], options[1], options[0])


def _tait_bryan(R: Array, i: int, j: int, k: int) -> tuple[Array, Array, Array]:
    s = 1.0 if (j - i) % 3 == 1 else -1.0
    b = np.arctan2(s * R[:, i, k], np.hypot(R[:, i, i], R[:, i, j]))
    locked = np.hypot(R[:, i, i], R[:, i, j]) < 1e-9  # a and c turn about one axis: all of it is a's
    a = np.where(locked, np.arctan2(s * R[:, k, j], R[:, j, j]), np.arctan2(-s * R[:, j, k], R[:, k, k]))
    c = np.where(locked, 0.0, np.arctan2(-s * R[:, i, j], R[:, i, i]))
    return a, b, c


def _proper(R: Array, i: int, j: int) -> tuple[Array, Array, Array]:
    """R_i(a) R_j(b) R_i(c)."""
    if i == j:  # one axis twice: nothing more can be told
        j = (i + 1) % 3
    l = 3 - i - j
    s = 1.0 if (j - i) % 3 == 1 else -1.0
    sine = np.hypot(R[:, i, j], R[:, i, l])
    b = np.arctan2(sine, R[:, i, i])
    locked = sine < 1e-9
    a = np.where(locked, np.arctan2(s * R[:, l, j], R[:, j, j]), np.arctan2(R[:, j, i], -s * R[:, l, i]))
    c = np.where(locked, 0.0, np.arctan2(R[:, i, j], s * R[:, i, l]))
    return a, b, c
