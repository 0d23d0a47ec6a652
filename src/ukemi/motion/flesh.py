"""Mass and shape around the bones of a clip's skeleton: de Leva's segments laid along them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ukemi.model.arrays import Array
from ukemi.model.figures.anthropometry import DE_LEVA, Segment, Sex
from ukemi.model.figures.bones import bone
from ukemi.model.inertia import MassProperties
from ukemi.model.pose import Pose
from ukemi.model.shapes import Box, Capsule, ConvexMesh, Shape, Sphere
from ukemi.motion.body import SIDES
from ukemi.motion.proportions import Proportions
from ukemi.motion.soles import HEEL_BEHIND, Sole

TRUNK = ("lower_trunk", "middle_trunk", "upper_trunk")
#: Share of a foot's mass that toes carry when they are a link: 0.22 of 1.57 kg in OpenSim's gait2392 (Delp 1990).
TOES_SHARE = 0.14
#: Depth and width of the trunk's boxes [fraction of height]: loin, waist, ribs.
TRUNK_BOXES = ((0.11, 0.175), (0.11, 0.155), (0.12, 0.18))
#: How far the mass of waist and ribs lies behind the line from the hips to the shoulders [fraction of height]. De Leva
#: places it along that line alone; in OpenSim's gait2392 (Delp 1990) trunk and head lie 36 mm behind it, in Dumas et
#: al. (2007) 17 mm behind a spine that is behind it too. Chosen on force plates (`ukemi bench forces`): the centre of
#: pressure of six subjects is nearest at 0.02 to 0.035, leaving out any one of them at 0.025 to 0.03.
TRUNK_BEHIND = (0.0, 0.03, 0.03)
#: Toes are drawn this far above the sole's plane [m]: the rigid sole touches the floor, they do not.
TOES_ABOVE = 0.004


@dataclass
class LinkFlesh:
    properties: MassProperties = field(default_factory=MassProperties.none)
    shapes: list[Shape] = field(default_factory=list)
    tip: Array = field(default_factory=lambda: np.zeros(3))


def flesh_of(
    shape: Proportions, soles: Mapping[str, Sole], mass: float, scale: float, sex: Sex
) -> dict[str, LinkFlesh]:
    """Link -> mass properties and shapes; together they weigh ``mass`` [kg]. ``scale``: height over the table's."""
    table = DE_LEVA[sex].segments
    paired = set(table) - {"head", *TRUNK}
    whole = sum(row.mass * (2 if name in paired else 1) for name, row in table.items())
    body = _Body(shape, table, mass / whole, scale)
    links = {link: LinkFlesh() for link in shape.mean_poses}
    body.trunk(links)
    body.head(links["head"])
    for side in SIDES:
        for part in ("upper_arm", "forearm", "thigh", "shank"):
            body.limb(links[f"{side}_{part}"], f"{side}_{part}", part)
        body.hand(links[f"{side}_hand"], f"{side}_hand")
        body.foot(links, side, soles[side])
    return links


@dataclass(frozen=True)
class _Body:
    shape: Proportions
    table: Mapping[str, Segment]
    mass: float  # such that the segments add up
    scale: float

    def _axes(self, link: str, z: Array) -> Array:
        """Columns forward, left, up of a segment whose long axis is z, in its link."""
        z = z / np.linalg.norm(z)
        left = self.shape.in_link(link, self.shape.left)
        if abs(left @ z) > 0.9:  # arms held sideways: their left is the body's down
            left = self.shape.in_link(link, -self.shape.up)
        left = left - (left @ z) * z
        left = left / np.linalg.norm(left)
        return np.stack([np.cross(left, z), left, z], axis=1)

    def limb(self, link: LinkFlesh, name: str, part: str) -> None:
        tip = self.shape.tips[name]
        length = float(np.linalg.norm(tip))
        row = self.table[part]
        body = row.properties(self.mass, length / row.length, 0.0, -1.0)
        link.properties = body.moved(Pose.from_rotation(self._axes(name, -tip), np.zeros(3)))
        link.shapes = [bone(body.mass, np.zeros(3), tip)]

    def hand(self, link: LinkFlesh, name: str) -> None:
        tip = self.shape.tips[name]
        body = self.table["hand"].properties(self.mass, self.scale, 0.0, -1.0)
        link.properties = body.moved(Pose.from_rotation(self._axes(name, -tip), np.zeros(3)))
        link.shapes = [bone(body.mass, np.zeros(3), tip)]

    def head(self, link: LinkFlesh) -> None:
        row = self.table["head"]
        length = row.length * self.scale
        up = self.shape.tips["head"] / np.linalg.norm(self.shape.tips["head"])
        body = row.properties(self.mass, self.scale, length, -1.0)
        link.properties = body.moved(Pose.from_rotation(self._axes("head", up), np.zeros(3)))
        link.shapes = [Sphere(0.5 * length, at=Pose(0.5 * length * up))]
        link.tip = length * up

    def trunk(self, links: Mapping[str, LinkFlesh]) -> None:
        """The three trunk segments, one on another from the hips to the neck, stretched or pressed to fit."""
        shape = self.shape
        axes = np.stack([shape.forward, shape.left, shape.up], axis=1)
        span = float((shape.neck - shape.hips) @ shape.up)
        total = sum(self.table[part].length for part in TRUNK)
        carriers = ("pelvis", "abdomen" if "abdomen" in links else "chest", "chest")
        bottom = 0.0
        for part, carrier, (deep, wide), behind in zip(TRUNK, carriers, TRUNK_BOXES, TRUNK_BEHIND, strict=True):
            row = self.table[part]
            thick = row.length / total * span
            body = row.properties(self.mass, self.scale, 0.0, -1.0)
            top = bottom + thick
            # the centre of mass follows the fit, the radii of gyration stay a person's
            com = np.array((-behind * 1.741 * self.scale, 0.0, top - row.com * thick))
            placed = MassProperties(body.mass, com, body.inertia).moved(Pose.from_rotation(axes, shape.hips))
            into = shape.mean_poses[carrier].inverse()
            link = links[carrier]
            link.properties = link.properties + placed.moved(into)
            height = self.scale * 1.741
            middle = shape.hips + 0.5 * (bottom + top) * shape.up
            at = into @ Pose.from_rotation(axes, middle)
            link.shapes.append(Box((deep * height, wide * height, 0.98 * thick), at=at))
            bottom = top
        into = shape.mean_poses["chest"].inverse()
        throat = into.apply(shape.neck), into.apply(shape.mean_poses["head"].position + 0.03 * self.scale * shape.up)
        length = float(np.linalg.norm(throat[1] - throat[0]))
        if length > 0.02 * self.scale:
            links["chest"].shapes.append(Capsule(0.045 * self.scale, length, at=bone(1.0, *throat).at))

    def foot(self, links: Mapping[str, LinkFlesh], side: str, sole: Sole) -> None:
        """The foot lies along the sole, from the heel; toes take their share ahead of the toe joint."""
        row = self.table["foot"]
        length = row.length * self.scale
        height = -float(sole.at.position @ sole.normal)
        sagittal, transverse, longitudinal = np.diag(row.properties(self.mass, self.scale, 0.0, -1.0).inertia)
        com = (row.com * length - HEEL_BEHIND * self.scale, 0.0, 0.5 * height)
        whole = MassProperties(row.mass * self.mass, np.array(com), np.diag((longitudinal, transverse, sagittal)))
        foot = links[f"{side}_foot"]
        share = TOES_SHARE if f"{side}_toes" in links else 0.0
        foot.properties = _scaled(whole, 1.0 - share).moved(sole.at)
        heel_top, ball_top = (sole.points[k : k + 2] + h * height * sole.normal for k, h in ((0, 0.75), (2, 0.35)))
        foot.shapes = [ConvexMesh(np.concatenate([sole.points, heel_top, ball_top]))]
        if share:
            self._toes(links[f"{side}_toes"], f"{side}_toes", sole, share)

    def _toes(self, toes: LinkFlesh, name: str, sole: Sole, share: float) -> None:
        place, tip = self.shape.places[name], self.shape.tips[name]
        reach = float(np.linalg.norm(tip))
        into = (Pose.from_rotation(sole.at.R, place)).inverse()  # foot coordinates to the sole's axes at the toe joint
        turn = self.shape.mean_poses[name].R.T @ self.shape.mean_poses[sole.link].R @ sole.at.R
        ball = into.apply(sole.points[2:])
        low = ball[:, 2].mean() + self.scale * TOES_ABOVE
        width = np.abs(ball[:, 1])
        ahead = ball[:, 0].mean() + 0.002 * self.scale
        flat = [(ahead, width[0], low), (ahead, -width[1], low)]
        flat += [(ahead + 0.6 * reach, 0.6 * width[0], low), (ahead + 0.6 * reach, -0.6 * width[1], low)]
        corners = np.array(flat + [(x, y, z + 0.02 * self.scale) for x, y, z in flat])
        mass = share * self.table["foot"].mass * self.mass
        solid = ConvexMesh(corners).mass_properties(1.0)
        evenly = MassProperties(mass, solid.com, mass / solid.mass * solid.inertia)
        toes.properties = evenly.moved(Pose.from_rotation(turn, np.zeros(3)))
        toes.shapes = [ConvexMesh(corners @ turn.T)]


def _scaled(body: MassProperties, share: float) -> MassProperties:
    return MassProperties(share * body.mass, body.com, share * body.inertia)
