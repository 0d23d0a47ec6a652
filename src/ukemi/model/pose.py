"""Poses: where a frame is, and how it is turned."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array, frozen, numbers


def rotation_matrix(quaternion: ArrayLike) -> Array:
    """R of a unit quaternion (w, x, y, z)."""
    w, x, y, z = np.asarray(quaternion, dtype=np.float64)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_of(R: ArrayLike) -> Array:
    """Unit quaternion (w, x, y, z) of a rotation matrix, w >= 0 (Bar-Itzhack: the largest eigenvector is exact)."""
    m = np.asarray(R, dtype=np.float64)
    K = np.array(
        [
            [m[0, 0] + m[1, 1] + m[2, 2], m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]],
            [m[2, 1] - m[1, 2], m[0, 0] - m[1, 1] - m[2, 2], m[0, 1] + m[1, 0], m[0, 2] + m[2, 0]],
            [m[0, 2] - m[2, 0], m[0, 1] + m[1, 0], m[1, 1] - m[0, 0] - m[2, 2], m[1, 2] + m[2, 1]],
            [m[1, 0] - m[0, 1], m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], m[2, 2] - m[0, 0] - m[1, 1]],
        ]
    )
    q: Array = np.linalg.eigh(K)[1][:, -1]
    return -q if q[0] < 0 else q


def quaternion_product(a: ArrayLike, b: ArrayLike) -> Array:
    """a b, both (w, x, y, z)."""
    aw, ax, ay, az = np.asarray(a, dtype=np.float64)
    bw, bx, by, bz = np.asarray(b, dtype=np.float64)
    return np.array(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ]
    )


class Pose:
    """Pose X_AB of a frame B in a frame A: the place of B's origin [m] and a quaternion (w, x, y, z).

    ``X_AC = X_AB @ X_BC``; ``X_AB.apply(p_B)`` gives points in A. A pose never changes.
    """

    __slots__ = ("_R", "_quaternion", "position")
    position: Array
    _R: Array | None
    _quaternion: Array | None

    def __init__(self, position: ArrayLike = (0, 0, 0), quaternion: ArrayLike = (1, 0, 0, 0)) -> None:
        q = numbers("Pose.quaternion", quaternion, (4,))
        length = float(np.linalg.norm(q))
        if length < 1e-12:
            raise InvalidInputError("Pose.quaternion: expected (w, x, y, z) of length 1, got zero")
        object.__setattr__(self, "position", numbers("Pose.position", position, (3,)))
        object.__setattr__(self, "_quaternion", q if abs(length - 1) < 1e-15 else frozen(q / length))
        object.__setattr__(self, "_R", None)

    @classmethod
    def from_rotation(cls, R: Array, position: Array) -> Pose:
        """From a rotation matrix that is known to be one."""
        pose = cls.__new__(cls)
        object.__setattr__(pose, "position", position)
        object.__setattr__(pose, "_quaternion", None)
        object.__setattr__(pose, "_R", R)
        return pose

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Pose never changes: cannot set {name}")

    def __reduce__(self) -> tuple[type[Pose], tuple[Array, Array]]:
        return Pose, (self.position, self.quaternion)

    def __repr__(self) -> str:
        return f"Pose({self.position.tolist()}, {self.quaternion.tolist()})"

    @classmethod
    def from_matrix(cls, X: ArrayLike) -> Pose:
        """From a 3x3 rotation or a 4x4 homogeneous matrix."""
        m = numbers("Pose.from_matrix", X, (3, 3), (4, 4))
        R = m[:3, :3]
        if np.abs(R @ R.T - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0:
            raise InvalidInputError("Pose.from_matrix: expected a rotation (orthonormal, right-handed)")
        return cls(m[:3, 3] if m.shape == (4, 4) else np.zeros(3), quaternion_of(R))

    @classmethod
    def from_rpy(cls, position: ArrayLike, rpy: ArrayLike) -> Pose:
        """From roll, pitch and yaw [rad]: R = Rz(yaw) Ry(pitch) Rx(roll), as in URDF."""
        roll, pitch, yaw = 0.5 * numbers("rpy", rpy, (3,))
        turned = quaternion_product((np.cos(yaw), 0, 0, np.sin(yaw)), (np.cos(pitch), 0, np.sin(pitch), 0))
        return cls(position, quaternion_product(turned, (np.cos(roll), np.sin(roll), 0, 0)))

    @property
    def is_identity(self) -> bool:
        return self is IDENTITY or (not self.position.any() and bool((self.R == IDENTITY.R).all()))

    @property
    def quaternion(self) -> Array:
        """(w, x, y, z)."""
        if self._quaternion is None:
            assert self._R is not None
            object.__setattr__(self, "_quaternion", frozen(quaternion_of(self._R)))
        assert self._quaternion is not None
        return self._quaternion

    @property
    def R(self) -> Array:
        """Rotation matrix R_AB."""
        if self._R is None:
            object.__setattr__(self, "_R", frozen(rotation_matrix(self.quaternion)))
        assert self._R is not None
        return self._R

    @property
    def matrix(self) -> Array:
        """4x4 homogeneous matrix X_AB."""
        X = np.eye(4)
        X[:3, :3] = self.R
        X[:3, 3] = self.position
        return X

    def __matmul__(self, other: Pose) -> Pose:
        return Pose.from_rotation(self.R @ other.R, self.position + self.R @ other.position)

    def inverse(self) -> Pose:
        """X_BA."""
        return Pose.from_rotation(self.R.T, -self.R.T @ self.position)

    def apply(self, points: ArrayLike) -> Array:
        """Points (..., 3) of B, in A."""
        try:
            p = np.asarray(points, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as cause:
            raise InvalidInputError(f"Pose.apply: expected points (..., 3), got {points!r:.100}") from cause
        if p.shape[-1:] != (3,):
            raise InvalidInputError(f"Pose.apply: expected points (..., 3), got shape {p.shape}")
        moved: Array = p @ self.R.T + self.position
        return moved


#: No shift, no turn.
IDENTITY = Pose()
