"""Published body data.

de Leva, P. (1996), Adjustments to Zatsiorsky-Seluyanov's segment inertia parameters, J. Biomech. 29, 1223-1230,
Table 4: averages of young adult men (73 kg, 1.741 m) and women (61.9 kg, 1.735 m). Shank: knee to lateral malleolus.

Winter, D. A., Biomechanics and Motor Control of Human Movement, Table 4.1 (after Dempster): fractions of body mass and
of segment length, the older set that many still use.

[CC00] Table 3: masses and inertias of the 28-DOF figure, with z along the link (the print has y along the trunk and x
along the limbs; see docs/errata.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ukemi.model.inertia import MassProperties

Sex = Literal["male", "female"]


@dataclass(frozen=True)
class Segment:
    """One row: lengths in metres, the rest as fractions (of body mass, of the segment's length)."""

    length: float
    mass: float
    #: distance of the centre of mass from the cranial or proximal end (head: from the vertex; foot: from the heel)
    com: float
    #: radii of gyration about the antero-posterior, medio-lateral and long axis
    k_sagittal: float
    k_transverse: float
    k_longitudinal: float

    def properties(self, body_mass: float, scale: float, end: float, sign: float) -> MassProperties:
        """Of a segment along z: its first end stands at z = ``end``, the second lies towards ``sign`` z.

        x points forward, so sagittal is about x, transverse about y.
        """
        mass, length = self.mass * body_mass, self.length * scale
        k = np.array((self.k_sagittal, self.k_transverse, self.k_longitudinal)) * length
        return MassProperties.of(mass, (0, 0, end + sign * self.com * length), mass * k**2)


@dataclass(frozen=True)
class Body:
    """A whole table with the stature it was measured at."""

    height: float
    segments: dict[str, Segment]


DE_LEVA: dict[Sex, Body] = {
    "male": Body(
        1.741,
        {
            "head": Segment(0.2033, 0.0694, 0.5976, 0.362, 0.376, 0.312),
            "upper_trunk": Segment(0.1707, 0.1596, 0.2999, 0.716, 0.454, 0.659),
            "middle_trunk": Segment(0.2155, 0.1633, 0.4502, 0.482, 0.383, 0.468),
            "lower_trunk": Segment(0.1457, 0.1117, 0.6115, 0.615, 0.551, 0.587),
            "upper_arm": Segment(0.2817, 0.0271, 0.5772, 0.285, 0.269, 0.158),
            "forearm": Segment(0.2689, 0.0162, 0.4574, 0.276, 0.265, 0.121),
            "hand": Segment(0.0862, 0.0061, 0.7900, 0.628, 0.513, 0.401),
            "thigh": Segment(0.4222, 0.1416, 0.4095, 0.329, 0.329, 0.149),
            "shank": Segment(0.4340, 0.0433, 0.4459, 0.255, 0.249, 0.103),
            "foot": Segment(0.2581, 0.0137, 0.4415, 0.257, 0.245, 0.124),
        },
    ),
    "female": Body(
        1.735,
        {
            "head": Segment(0.2002, 0.0668, 0.5894, 0.330, 0.359, 0.318),
            "upper_trunk": Segment(0.1425, 0.1545, 0.2077, 0.746, 0.502, 0.718),
            "middle_trunk": Segment(0.2053, 0.1465, 0.4512, 0.433, 0.354, 0.415),
            "lower_trunk": Segment(0.1815, 0.1247, 0.4920, 0.433, 0.402, 0.444),
            "upper_arm": Segment(0.2751, 0.0255, 0.5754, 0.278, 0.260, 0.148),
            "forearm": Segment(0.2643, 0.0138, 0.4559, 0.261, 0.257, 0.094),
            "hand": Segment(0.0780, 0.0056, 0.7474, 0.531, 0.454, 0.335),
            "thigh": Segment(0.3685, 0.1478, 0.3612, 0.369, 0.364, 0.162),
            "shank": Segment(0.4323, 0.0481, 0.4416, 0.271, 0.267, 0.093),
            "foot": Segment(0.2283, 0.0129, 0.4014, 0.299, 0.279, 0.139),
        },
    ),
}

#: mass, centre of mass from the proximal end, radius of gyration about it, as fractions; None: not given.
WINTER: dict[str, tuple[float, float, float | None]] = {
    "hand": (0.006, 0.506, 0.297),
    "forearm": (0.016, 0.430, 0.303),
    "upper_arm": (0.028, 0.436, 0.322),
    "forearm_hand": (0.022, 0.682, 0.468),
    "total_arm": (0.050, 0.530, 0.368),
    "foot": (0.0145, 0.50, 0.475),
    "leg": (0.0465, 0.433, 0.302),
    "thigh": (0.100, 0.433, 0.323),
    "foot_leg": (0.061, 0.606, 0.416),
    "total_leg": (0.161, 0.447, 0.326),
    "head_neck": (0.081, 1.000, 0.495),
    "trunk": (0.497, 0.500, None),
    "hat": (0.678, 0.626, 0.496),
}

#: [CC00] Table 3: mass [kg] and principal inertias [kg m^2], of one side for limbs; 69 kg in all.
CC00_TABLE_3: dict[str, tuple[float, tuple[float, float, float]]] = {
    "pelvis": (15.0, (0.4, 0.4, 0.2)),
    "chest": (16.0, (0.8, 0.8, 0.4)),
    "head": (4.0, (0.1, 0.1, 0.1)),
    "thigh": (5.0, (0.2, 0.2, 0.1)),
    "shank": (4.0, (0.2, 0.2, 0.1)),
    "foot": (2.0, (0.02, 0.02, 0.02)),
    "upper_arm": (4.0, (0.2, 0.2, 0.1)),
    "forearm": (2.0, (0.2, 0.2, 0.1)),
}
CC00_MASS = 69.0
CC00_HEIGHT = 1.75  # not printed: the paper took the lengths of its subject

#: Normal ranges of hinges [deg] (American Academy of Orthopaedic Surgeons, 1965): extension, flexion.
HINGE_RANGES = {"elbow": (0.0, 150.0), "knee": (0.0, 135.0)}
#: Normal ranges of ball joints [deg] (the same source), as swing of the long axis (flexion, extension, then away from
#: the middle and towards it) and twist (inwards, outwards). Shoulder: the source has 180 of flexion and abduction, but
#: there a swing has no direction. Its adduction is an estimate; the neck's twist is not in the source and has no limit.
BALL_RANGES: dict[str, tuple[tuple[float, float], tuple[float, float], tuple[float, float] | None]] = {
    "shoulder": ((175.0, 60.0), (175.0, 30.0), (70.0, 90.0)),
    "wrist": ((80.0, 70.0), (20.0, 30.0), (80.0, 80.0)),  # radial, ulnar; pronation, supination
    "hip": ((120.0, 30.0), (45.0, 30.0), (45.0, 45.0)),
    "ankle": ((20.0, 50.0), (15.0, 35.0), None),  # dorsiflexion, plantarflexion; eversion, inversion
    "neck": ((45.0, 45.0), (45.0, 45.0), None),
}
#: Turning of the forearm [deg] (AAOS, 1965): supination to pronation from the middle position.
PRONATION = (-80.0, 80.0)
