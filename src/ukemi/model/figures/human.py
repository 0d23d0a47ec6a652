"""Human figures of 16, 28 and 40 joint freedoms on a free base.

All link frames are parallel to the world in the zero pose: standing upright, arms hanging, x forward, y to the left,
z up. Each link's frame stands at the joint above it; the pelvis' stands at the middle of the hips.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ukemi.errors import InvalidInputError
from ukemi.model.arrays import frozen, positive
from ukemi.model.builder import Builder
from ukemi.model.figures.anthropometry import (
    BALL_RANGES,
    CC00_HEIGHT,
    CC00_MASS,
    CC00_TABLE_3,
    DE_LEVA,
    HINGE_RANGES,
    PRONATION,
    Sex,
)
from ukemi.model.figures.bones import BODY_DENSITY, bone
from ukemi.model.figures.hand import HandKind, Side, add_hand
from ukemi.model.figures.hand_data import LENGTH_OF_STATURE
from ukemi.model.inertia import MassProperties
from ukemi.model.joints import Free, Joint, Revolute, Spherical
from ukemi.model.kinds import choice, truth
from ukemi.model.model import Model
from ukemi.model.pose import Pose
from ukemi.model.shapes import Box, Capsule, Cylinder, Shape, Sphere

#: Places that de Leva's table does not give, as fractions of stature. Ankle height: Winter, Biomechanics and Motor
#: Control of Human Movement, Fig. 4.1. The others are estimates for joint centres.
ANKLE_HEIGHT = 0.039
HIP_HALF_WIDTH = 0.046
SHOULDER_HALF_WIDTH = 0.1035
SHOULDER_DROP = 0.017  # below the suprasternale
CLAVICLE_HALF_WIDTH = 0.012  # inner end
HEEL_BEHIND_ANKLE = 0.0345
#: A clavicle link carries the shoulder girdle; this share of body mass is taken from the chest (estimate).
CLAVICLE_MASS = 0.012
#: [CC00] section 5: soles of 19 x 12 cm, on a figure of CC00_HEIGHT; their middle stands this far ahead of the ankle.
SOLE = (0.19, 0.12)
SOLE_AHEAD = 0.045
SOLE_THICKNESS = 0.05

SIDES: tuple[tuple[Side, float], ...] = (("left", 1.0), ("right", -1.0))


def human(
    dof: int = 28,
    height: float = 1.75,
    mass: float = 69.0,
    *,
    sex: Sex = "male",
    hands: bool = False,
    ranges: bool = False,
) -> Model:
    """A human figure with ``dof`` joint freedoms on a free base.

    * 16: one trunk with the head; shoulders and hips spherical, elbows and knees hinged [SV00 Fig. 19].
    * 28: waist, neck, shoulders, hips and ankles spherical; elbows and knees hinged [CC00 Fig. 5]. The male figure has
      the masses and inertias of [CC00] Table 3, exactly at 69 kg and 1.75 m, scaled otherwise.
    * 40: adds clavicles and wrists, spherical [SV00 Fig. 16]. With ``hands=True`` the wrists are a hinge along the
      forearm (pronation) and the universal joint of `hand`, with its fingers: 40 + 44 - 4 shared = 80 joint freedoms.

    Lengths, and the masses of 16, 40 and of all female figures, are de Leva's, scaled to height [m] and mass [kg].
    Elbows and knees flex with positive angles. Hinges have normal ranges of motion (AAOS), and with ``ranges=True`` so
    have the ball joints of neck and limbs, as limits of swing and twist. Landmarks: ``left_sole``, ``left_palm``,
    ``left_grip`` (across the palm: y along a bar that is held), the same on the right, and ``vertex``.
    """
    choice("human: dof", dof, (16, 28, 40))
    choice("human: sex", sex, DE_LEVA)
    hands, ranges = truth("human: hands", hands), truth("human: ranges", ranges)
    if hands and dof != 40:
        raise InvalidInputError(f"human: hands need the wrists of dof 40, got {dof!r}")
    body = _Body(dof, positive("height", height), positive("mass", mass), sex, hands, ranges)
    b = Builder(f"human{dof}" + ("_with_hands" if hands else ""))
    _trunk(b, body)
    for side, sign in SIDES:
        _arm(b, body, side, sign)
    for side, sign in SIDES:
        _leg(b, body, side, sign)
    return b.build()


@dataclass(frozen=True)
class _Body:
    """Lengths and mass properties of one person."""

    dof: int
    height: float
    mass: float
    sex: Sex
    hands: bool = False
    ranges: bool = False

    @cached_property
    def scale(self) -> float:
        return self.height / DE_LEVA[self.sex].height

    def length(self, segment: str) -> float:
        return DE_LEVA[self.sex].segments[segment].length * self.scale

    @cached_property
    def trunk_length(self) -> float:
        return sum(self.length(f"{part}_trunk") for part in ("lower", "middle", "upper"))

    @cached_property
    def neck_height(self) -> float:
        """Of the chin (mid-gonion) above the hips: what stature leaves between legs, ankles and head."""
        legs = self.length("thigh") + self.length("shank") + ANKLE_HEIGHT * self.height
        return self.height - legs - self.length("head")

    @cached_property
    def sole_scale(self) -> float:
        return self.height / CC00_HEIGHT

    def de_leva(self, segment: str, end: float, sign: float) -> MassProperties:
        table = DE_LEVA[self.sex].segments
        # the rounded fractions add up to 1 within 1e-4: the figure weighs what was asked for
        single = ("head", "upper_trunk", "middle_trunk", "lower_trunk")
        whole = sum(row.mass * (1 if name in single else 2) for name, row in table.items())
        return table[segment].properties(self.mass / whole, self.scale, end, sign)

    def limb(self, segment: str) -> MassProperties:
        """A segment that hangs from its frame."""
        properties = self.de_leva(segment, 0.0, -1.0)
        if segment == "foot":  # lies along x, from the heel, half an ankle height above the ground
            row = DE_LEVA[self.sex].segments["foot"]
            sagittal, transverse, longitudinal = np.diag(properties.inertia)
            com = row.com * self.length("foot") - HEEL_BEHIND_ANKLE * self.height
            properties = MassProperties.of(
                properties.mass, (com, 0, -0.5 * ANKLE_HEIGHT * self.height), (longitudinal, transverse, sagittal)
            )
        return self._table_3(segment, properties)

    def pelvis(self) -> MassProperties:
        return self._table_3("pelvis", self.de_leva("lower_trunk", self.length("lower_trunk"), -1.0))

    def chest(self) -> MassProperties:
        """Middle and upper trunk, from the waist."""
        middle = self.length("middle_trunk")
        top = middle + self.length("upper_trunk")
        both = self.de_leva("middle_trunk", middle, -1.0) + self.de_leva("upper_trunk", top, -1.0)
        return self._table_3("chest", both)

    def head(self) -> MassProperties:
        return self._table_3("head", self.de_leva("head", self.length("head"), -1.0))

    def _table_3(self, name: str, properties: MassProperties) -> MassProperties:
        """[CC00] Table 3 for the male 28-DOF figure: mass and inertia are its, the centre of mass is de Leva's."""
        if self.dof != 28 or self.sex != "male":
            return properties
        mass, inertia = CC00_TABLE_3[name]
        heavier = self.mass / CC00_MASS
        larger = (self.height / CC00_HEIGHT) ** 2
        return MassProperties.of(mass * heavier, properties.com, np.array(inertia) * heavier * larger)


def _add(
    b: Builder,
    name: str,
    parent: str,
    joint: Joint,
    joint_name: str,
    at: tuple[float, float, float],
    properties: MassProperties,
    shapes: list[Shape],
) -> None:
    b.link(
        name,
        parent,
        joint,
        Pose(at),
        mass=properties.mass,
        com=properties.com,
        inertia=properties.inertia,
        shapes=shapes,
        joint_name=joint_name,
    )


def _ball(body: _Body, name: str, sign: float) -> Spherical:
    """A ball joint with its normal ranges, if wanted; sign: 1 on the left side and in the middle, -1 on the right."""
    if not body.ranges:
        return Spherical()
    (flexion, extension), (away, towards), twist = BALL_RANGES[name]
    up = name == "neck"
    # about y an upright axis flexes with positive angles, a hanging one with negative; about axis x y, which is forward
    # for a hanging limb, positive angles lead to the left
    fore_and_aft = (-extension, flexion) if up else (-flexion, extension)
    sideways = (-towards, away) if sign > 0 else (-away, towards)
    inwards = None if twist is None else ((-twist[1], twist[0]) if sign > 0 else (-twist[0], twist[1]))
    return Spherical(
        swing=np.deg2rad((fore_and_aft, sideways)),
        twist=None if inwards is None else np.deg2rad(inwards),
        axis=(0, 0, 1 if up else -1),
        across=(0, 1, 0),
    )


def _trunk(b: Builder, body: _Body) -> None:
    waist, top, neck = body.length("lower_trunk"), body.trunk_length, body.neck_height
    s = body.height
    pelvis, chest, head = body.pelvis(), body.chest(), body.head()
    skull = body.length("head") / 2
    loin = Box((0.11 * s, 0.175 * s, waist), at=Pose((0, 0, 0.5 * waist)))
    nape = 0.5 * (top + neck)  # middle of the neck
    origin = (0.0, 0.0, 0.0)
    if body.dof == 16:
        up, on = Pose((0, 0, waist)), Pose((0, 0, neck))
        trunk = pelvis + chest.moved(up) + head.moved(on)
        ribs = Box((0.12 * s, 0.18 * s, top - waist), at=Pose((0, 0, 0.5 * (waist + top))))
        skull_shape = Sphere(skull, at=Pose((0, 0, neck + skull)))
        throat = Cylinder(0.03 * s, neck - top + skull, at=Pose((0, 0, nape)))
        _add(b, "trunk", "world", Free(), "root", origin, trunk, [loin, ribs, throat, skull_shape])
        b.landmark("vertex", "trunk", Pose((0, 0, neck + 2 * skull)))
        return
    ribs = Box((0.12 * s, 0.18 * s, top - waist), at=Pose((0, 0, 0.5 * (top - waist))))
    if body.dof == 40:  # the girdle's share moves from the chest to the clavicle links
        for _, sign in SIDES:
            chest = chest - _clavicle(body, sign).moved(Pose(_clavicle_place(body, sign)))
    _add(b, "pelvis", "world", Free(), "root", origin, pelvis, [loin])
    throat = Cylinder(0.03 * s, neck - top + skull, at=Pose((0, 0, nape - waist)))
    _add(b, "chest", "pelvis", Spherical(), "waist", (0, 0, waist), chest, [ribs, throat])
    _add(
        b,
        "head",
        "chest",
        _ball(body, "neck", 1.0),
        "neck",
        (0, 0, neck - waist),
        head,
        [Sphere(skull, at=Pose((0, 0, skull)))],
    )
    b.landmark("vertex", "head", Pose((0, 0, 2 * skull)))


def _clavicle_place(body: _Body, sign: float) -> tuple[float, float, float]:
    """Inner end, in the chest."""
    return (0.0, sign * CLAVICLE_HALF_WIDTH * body.height, body.trunk_length - body.length("lower_trunk"))


def _clavicle_end(body: _Body, sign: float) -> tuple[float, float, float]:
    """The shoulder's centre, in the clavicle."""
    return (0.0, sign * (SHOULDER_HALF_WIDTH - CLAVICLE_HALF_WIDTH) * body.height, -SHOULDER_DROP * body.height)


def _clavicle(body: _Body, sign: float) -> MassProperties:
    mass = CLAVICLE_MASS * body.mass
    solid = bone(mass, (0, 0, 0), _clavicle_end(body, sign)).mass_properties(BODY_DENSITY)
    return MassProperties(mass, solid.com, frozen(mass / solid.mass * solid.inertia))


def _arm(b: Builder, body: _Body, side: Side, sign: float) -> None:
    trunk = "trunk" if body.dof == 16 else "chest"
    base = 0.0 if body.dof == 16 else body.length("lower_trunk")
    shoulder = (0.0, sign * SHOULDER_HALF_WIDTH * body.height, body.trunk_length - base - SHOULDER_DROP * body.height)
    parent = trunk
    if body.dof == 40:
        clavicle, shoulder = _clavicle(body, sign), _clavicle_end(body, sign)
        collar = bone(clavicle.mass, (0, 0, 0), shoulder)
        place = _clavicle_place(body, sign)
        parent = f"{side}_clavicle"
        _add(b, parent, trunk, Spherical(), f"{side}_sternoclavicular", place, clavicle, [collar])
    upper, lower, grip = body.length("upper_arm"), body.length("forearm"), body.length("hand")
    arm, forearm, hand = body.limb("upper_arm"), body.limb("forearm"), None
    hand_bone = bone(body.de_leva("hand", 0, -1).mass, (0, 0, 0), (0, 0, -2 * grip))
    _add(
        b,
        f"{side}_upper_arm",
        parent,
        _ball(body, "shoulder", sign),
        f"{side}_shoulder",
        shoulder,
        arm,
        [bone(arm.mass, (0, 0, 0), (0, 0, -upper))],
    )
    shapes: list[Shape] = [bone(body.de_leva("forearm", 0, -1).mass, (0, 0, 0), (0, 0, -lower))]
    at_wrist = Pose((0, 0, -lower))
    if body.dof == 40:
        hand = body.limb("hand")
    else:
        shapes.append(Capsule(hand_bone.radius, hand_bone.length, at=at_wrist @ hand_bone.at))
        # [CC00] Table 3 counts the hand with the forearm; in de Leva's data it is added
        if body.dof == 16 or body.sex != "male":
            forearm = forearm + body.limb("hand").moved(at_wrist)
    elbow = Revolute((0, -1, 0), limits=np.deg2rad(HINGE_RANGES["elbow"]))
    _add(b, f"{side}_forearm", f"{side}_upper_arm", elbow, f"{side}_elbow", (0, 0, -upper), forearm, shapes)
    palm_link, palm_at = f"{side}_forearm", at_wrist
    if hand is not None and body.hands:
        pronation = Revolute((0, 0, sign), limits=np.deg2rad(PRONATION))
        b.link(f"{side}_radius", f"{side}_forearm", pronation, at_wrist, joint_name=f"{side}_pronation")
        length = LENGTH_OF_STATURE * body.height
        add_hand(b, f"{side}_radius", Pose(), side, length, hand.mass, HandKind(), f"{side}_")
        return
    if hand is None:
        b.landmark(f"{side}_hand", palm_link, at_wrist)
    else:
        _add(
            b,
            f"{side}_hand",
            f"{side}_forearm",
            _ball(body, "wrist", sign),
            f"{side}_wrist",
            (0, 0, -lower),
            hand,
            [hand_bone],
        )
        palm_link, palm_at = f"{side}_hand", Pose()
    palm = palm_at @ Pose((0, 0, -0.8 * grip))
    b.landmark(f"{side}_palm", palm_link, palm)
    b.landmark(f"{side}_grip", palm_link, palm_at @ Pose((0.02 * body.sole_scale, 0, -grip)))


def _leg(b: Builder, body: _Body, side: str, sign: float) -> None:
    base = "trunk" if body.dof == 16 else "pelvis"
    thigh, shank, foot = body.limb("thigh"), body.limb("shank"), body.limb("foot")
    upper, lower, ankle = body.length("thigh"), body.length("shank"), ANKLE_HEIGHT * body.height
    hip = (0.0, sign * HIP_HALF_WIDTH * body.height, 0.0)
    s = body.sole_scale
    thick = SOLE_THICKNESS * s
    sole = Box((SOLE[0] * s, SOLE[1] * s, thick), at=Pose((SOLE_AHEAD * s, 0, 0.5 * thick - ankle)))
    at_ankle = Pose((0, 0, -lower))
    at_sole = Pose((SOLE_AHEAD * s, 0, -ankle))
    _add(
        b,
        f"{side}_thigh",
        base,
        _ball(body, "hip", sign),
        f"{side}_hip",
        hip,
        thigh,
        [bone(thigh.mass, (0, 0, 0), (0, 0, -upper))],
    )
    shapes: list[Shape] = [bone(shank.mass, (0, 0, 0), (0, 0, -lower))]
    if body.dof == 16:
        shank = shank + foot.moved(at_ankle)
        shapes.append(Box(sole.size, at=at_ankle @ sole.at))
    knee = Revolute((0, 1, 0), limits=np.deg2rad(HINGE_RANGES["knee"]))
    _add(b, f"{side}_shank", f"{side}_thigh", knee, f"{side}_knee", (0, 0, -upper), shank, shapes)
    if body.dof == 16:
        b.landmark(f"{side}_sole", f"{side}_shank", at_ankle @ at_sole)
        return
    _add(b, f"{side}_foot", f"{side}_shank", _ball(body, "ankle", sign), f"{side}_ankle", (0, 0, -lower), foot, [sole])
    b.landmark(f"{side}_sole", f"{side}_foot", at_sole)
