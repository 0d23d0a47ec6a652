"""The numbers that a compiled MuJoCo model gives its kinds of things (mjtJoint, mjtGeom, mjtEq, mjtTrn)."""

from __future__ import annotations

from enum import IntEnum


class JointKind(IntEnum):
    FREE = 0
    BALL = 1
    SLIDE = 2
    HINGE = 3

    @property
    def nq(self) -> int:
        return (7, 4, 1, 1)[self]

    @property
    def nv(self) -> int:
        return (6, 3, 1, 1)[self]


class GeomKind(IntEnum):
    PLANE = 0
    HFIELD = 1
    SPHERE = 2
    CAPSULE = 3
    ELLIPSOID = 4
    CYLINDER = 5
    BOX = 6
    MESH = 7
    SDF = 8


class EqualityKind(IntEnum):
    CONNECT = 0
    WELD = 1
    JOINT = 2


#: Transmissions that act on one joint.
ON_JOINT = (0, 1)
#: mjtObj of a site
SITE_OBJECT = 6
