"""Geoms of a compiled MuJoCo model as shapes: those that collide; an ellipsoid as a hull of points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ukemi.errors import FileFormatError
from ukemi.model.arrays import Array
from ukemi.model.pose import Pose
from ukemi.model.readers.diagnostics import Diagnostics
from ukemi.model.readers.meshes import hull_of
from ukemi.model.shapes import Box, Capsule, ConvexMesh, Cylinder, Shape, Sphere

#: MuJoCo's mjtGeom
PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH = range(8)
#: Corners of an ellipsoid: the hull lies within 3 % of the radius.
ELLIPSOID_CORNERS = 200
