"""The human hand of [HAND07] 5.4: 17 joints, 22 freedoms (Fig. 5-23).

Link frames are parallel in the zero pose: the hand hangs from its wrist with straight fingers, -z towards the fingers'
tips, x out of the palm, the thumb on the left side (y) of a left hand and on the right side of a right one, as at the
hanging arms of `human`. Each link's frame stands at the joint above it.

Positive angles, on either hand: adduction (first freedom of wrist and knuckles) turns towards the little finger,
flexion bends towards the palm. The thumb's first joint turns it about the second metacarpal in front of the palm
(opposition), its second lifts it off the second metacarpal, its other two bend it back towards the fingers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array, frozen, positive
from ukemi.model.builder import Builder
from ukemi.model.description import WORLD
from ukemi.model.figures.bones import rod
from ukemi.model.figures.hand_data import (
    AAOS,
    ABDUCTION_WHEN_BENT,
    BONES,
    DAMPING,
    FINGERS,
    METACARPAL_BASES,
    PALM,
    RADII,
    REFERENCE_LENGTH,
    REFERENCE_MASS,
    TABLE_5_IV,
    THUMB_BASE,
    THUMB_INSERTION,
)
from ukemi.model.inertia import MassProperties
from ukemi.model.joints import Joint, Revolute, Universal
from ukemi.model.model import Model
from ukemi.model.pose import Pose
from ukemi.model.shapes import Box, Shape

Side = Literal["left", "right"]
Ranges = Literal["thesis", "anatomical"]

_ROWS = {row.name: row for row in TABLE_5_IV}


def hand(
    side: Side = "right",
    length: float = REFERENCE_LENGTH,
    mass: float | None = None,
    *,
    elastic: bool = True,
    damping: float = DAMPING,
    limits: Ranges | None = "thesis",
) -> Model:
    """A human hand of 22 freedoms whose wrist stands at the world's origin.

    side: "left" or "right".
    length: from the wrist to the middle finger's tip [m].
    mass: [kg]; by default that of de Leva's men, scaled with the cube of the length.
    elastic: with the springs of [HAND07] Table 5-IV. The wrist's couples its freedoms one way (flexion pulls towards
        the ulna, not the reverse): no energy belongs to that part of it.
    damping: of every freedom [N m s/rad].
    limits: those of Table 5-IV ("thesis"), normal ranges of motion ("anatomical", AAOS) with knuckles whose abduction
        narrows as they flex, or None.

    Landmarks: ``palm``, ``grip``, ``thumb_tip``, ``index_tip``, ``middle_tip``, ``ring_tip``, ``little_tip``.
    """
    b = Builder(f"{side}_hand")
    kind = HandKind(elastic, _damping(damping), limits)
    add_hand(b, WORLD, Pose(), side, positive("length", length), mass, kind)
    return b.build()


def thesis_pose(model: Model) -> Array:
    """q of [HAND07] Table 5-III: where its simulations of the hand begin."""
    q = model.neutral()
    for row in TABLE_5_IV:
        q[model.joint(row.name).q] = row.initial
    return q


@dataclass(frozen=True)
class HandKind:
    """What the joints of a hand carry."""

    elastic: bool = False
    damping: float = 0.0
    limits: Ranges | None = "anatomical"

    def __post_init__(self) -> None:
        if self.limits not in ("thesis", "anatomical", None):
            raise InvalidInputError(f"hand: limits: expected 'thesis', 'anatomical' or None, got {self.limits!r}")

    def joint(self, name: str, *axes: Array) -> Joint:
        row = _ROWS[name]
        kind = Revolute(axes[0]) if len(axes) == 1 else Universal(axes[0], axes[1])
        spring = {"stiffness": row.stiffness, "rest": row.rest} if self.elastic else {}
        return type(kind)(*axes, limits=self._limits(name), damping=self.damping or None, **spring)  # type: ignore[arg-type]

    def _limits(self, name: str) -> Array | None:
        if self.limits is None:
            return None
        if self.limits == "thesis":
            return np.array(_ROWS[name].limits)
        return np.deg2rad(AAOS.get(name) or AAOS[name.rpartition("_")[2]])


def add_hand(
    b: Builder,
    parent: str,
    at: Pose,
    side: Side,
    length: float,
    mass: float | None,
    kind: HandKind,
    prefix: str = "",
) -> None:
    """Hangs a hand with its wrist at ``at`` on a link of a mechanism that is being built."""
    if side not in ("left", "right"):
        raise InvalidInputError(f"hand: expected side 'left' or 'right', got {side!r}")
    scale = length / REFERENCE_LENGTH
    total = REFERENCE_MASS * scale**3 if mass is None else positive("mass", mass)
    parts = _parts(1.0 if side == "left" else -1.0, scale)
    volume = sum(shape.volume for part in parts for shape in part.shapes)
    for part in parts:
        solid = sum((shape.mass_properties(total / volume) for shape in part.shapes), MassProperties.none())
        b.link(
            f"{prefix}{part.name}",
            parent if part.parent is None else f"{prefix}{part.parent}",
            kind.joint(part.joint, *part.axes),
            at if part.parent is None else Pose(part.at),
            mass=solid.mass,
            com=solid.com,
            inertia=solid.inertia,
            shapes=part.shapes,
            joint_name=f"{prefix}{part.joint}",
        )
        for name, place in part.landmarks.items():
            b.landmark(f"{prefix}{name}", f"{prefix}{part.name}", Pose(place))
    if kind.limits == "anatomical":  # the range of abduction shrinks with flexion
        (_, wide), (_, bent) = AAOS["mcp"]
        slope = (wide - ABDUCTION_WHEN_BENT) / bent
        for finger in FINGERS:
            knuckle = f"{prefix}{finger}_mcp"
            for sign in (1.0, -1.0):
                b.limit({(knuckle, 0): sign, (knuckle, 1): slope}, np.deg2rad(wide))


@dataclass(frozen=True, eq=False)
class _Part:
    name: str
    parent: str | None
    joint: str
    axes: tuple[Array, ...]
    at: Array
    shapes: tuple[Shape, ...]
    landmarks: dict[str, Array]


def _parts(sign: float, scale: float) -> list[_Part]:
    """All links; sign: 1 for a left hand, -1 for a right one."""

    def place(distal: float, radial: float = 0.0, palmar: float = 0.0) -> Array:
        return frozen(scale * np.array((palmar, sign * radial, -distal)))

    adduction, flexion = np.array((-sign, 0.0, 0.0)), np.array((0.0, -1.0, 0.0))
    (near, far), (ulnar, radial), thick = PALM
    box = Box(
        scale * np.array((thick, radial - ulnar, far - near)), at=Pose(place((near + far) / 2, (radial + ulnar) / 2))
    )
    marks = {"palm": place(0.7 * far, 0, thick / 2), "grip": place(0.95 * far, 0, thick / 2 + 10e-3)}
    parts = [_Part("hand", None, "wrist", (adduction, flexion), place(0), (box,), marks)]

    def digit(
        name: str, start: str, at: Array, joints: Sequence[tuple[str, str, tuple[Array, ...]]], along: Array
    ) -> None:
        """A row of segments: (segment, joint, axes), each along the same direction in the zero pose."""
        parent = start
        for k, (segment, joint, axes) in enumerate(joints):
            last = k == len(joints) - 1
            reach = BONES[name][segment] + (BONES[name]["pulp"] if last else 0.0)
            # the tip's round end stays within the pulp
            flesh = rod(
                (0, 0, 0), scale * along * (reach - (RADII[name][k] / 2 if last else 0)), scale * RADII[name][k]
            )
            tip = {f"{name}_tip": frozen(scale * reach * along)} if last else {}
            parts.append(_Part(f"{name}_{segment}", parent, f"{name}_{joint}", axes, at, (flesh,), tip))
            parent, at = f"{name}_{segment}", frozen(scale * reach * along)

    # thumb: CMC split in two [HAND07 Fig. 5-24], about the second metacarpal, then where its own is inserted
    turned = METACARPAL_BASES["index"][2]
    along = place(np.cos(turned), np.sin(turned)) / scale
    insertion = place(*THUMB_INSERTION)
    seat = rod((0, 0, 0), insertion, scale * 6e-3)
    parts.append(_Part("thumb_trapezium", "hand", "thumb_cmc1", (sign * along,), place(*THUMB_BASE), (seat,), {}))
    bends = (np.array((-sign, 0.0, 0.0)),)
    thumb = [("metacarpal", "cmc2", (-bends[0],)), ("proximal", "mcp", bends), ("distal", "ip", bends)]
    digit("thumb", "thumb_trapezium", insertion, thumb, along)
    for finger in FINGERS:
        distal, side, angle = METACARPAL_BASES[finger]
        bone_length = BONES[finger]["metacarpal"]
        knuckle = place(distal + bone_length * np.cos(angle), side + bone_length * np.sin(angle))
        joints = [
            ("proximal", "mcp", (adduction, flexion)),
            ("middle", "pip", (flexion,)),
            ("distal", "dip", (flexion,)),
        ]
        digit(finger, "hand", knuckle, joints, place(1) / scale)
    return parts


def _damping(value: float) -> float:
    return 0.0 if value == 0 else positive("damping", value)
