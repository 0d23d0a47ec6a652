"""Bodies of a compiled MuJoCo model as links.

MuJoCo's bodies may have several joints, each turning about an anchor in the body; here every joint has its link. The
link of the body's name has the body's own frame. Coordinates q are those of MuJoCo's qpos: a joint's frame is turned or
shifted back by its ``ref``, so that the pose of the file comes out at q = ref.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ukemi.errors import InvalidInputError, ModelError
from ukemi.model.description import WORLD, LinkDescription
from ukemi.model.inertia import MassProperties
from ukemi.model.joints import Fixed, Free, Joint, Prismatic, Revolute, Spherical
from ukemi.model.pose import Pose
from ukemi.model.readers.mjcf_drives import drive_options
from ukemi.model.readers.mjcf_kinds import JointKind
from ukemi.model.readers.mjcf_names import body_names, joint_names, unused
from ukemi.model.shapes import Shape


class Bodies:
    """Makes the links of all bodies."""

    def __init__(self, mj_model: Any, shapes: list[tuple[Shape, ...]]) -> None:
        self.m = mj_model
        self.shapes = shapes
        self.bodies = body_names(mj_model)
        self.joints = joint_names(mj_model)
        self.taken_links = set(self.bodies)
        self.taken_joints = set(self.joints)

    def links(self) -> list[LinkDescription]:
        """In the order of MuJoCo's bodies, so that q and v stand in the order of qpos and qvel.

        Raises:
            ModelError, InvalidInputError: naming the body that cannot be.
        """
        links: list[LinkDescription] = []
        for body in range(1, self.m.nbody):
            try:
                links += self._chain(body)
            except (ModelError, InvalidInputError) as error:
                raise type(error)(f"body {self.bodies[body]!r}: {error}") from error
        return links

    def _chain(self, body: int) -> list[LinkDescription]:
        """One link per joint; the last of them, or one fixed to it, carries the body."""
        m, name = self.m, self.bodies[body]
        content = (_mass_properties(m, body), self.shapes[body])
        joints = range(int(m.body_jntadr[body]), int(m.body_jntadr[body]) + int(m.body_jntnum[body]))
        parent = self.bodies[m.body_parentid[body]] if m.body_parentid[body] else WORLD
        at = Pose(m.body_pos[body], m.body_quat[body])
        anchor = np.zeros(3)
        links: list[LinkDescription] = []
        for j in joints:
            joint = _joint(m, j)
            if isinstance(joint, Free):
                at = Pose()  # qpos holds the pose in the world
            place = anchor if isinstance(joint, Prismatic) else np.array(m.jnt_pos[j])
            frame = at @ Pose(place - anchor) @ _back_by_ref(m, j)
            anchor = place
            if j == joints[-1] and not anchor.any():
                return [*links, LinkDescription(name, parent, joint, self.joints[j], frame, *content)]
            link = unused(f"{name}/{self.joints[j]}", self.taken_links)
            links.append(LinkDescription(link, parent, joint, self.joints[j], frame, MassProperties.none()))
            parent, at = link, Pose()
        fixed = unused(f"{name}_fixed", self.taken_joints)
        return [*links, LinkDescription(name, parent, Fixed(), fixed, at @ Pose(-anchor), *content)]


def _mass_properties(m: Any, body: int) -> MassProperties:
    principal = MassProperties.of(float(m.body_mass[body]), inertia=m.body_inertia[body])
    return principal.moved(Pose(m.body_ipos[body], m.body_iquat[body]))


def _joint(m: Any, j: int) -> Joint:
    kind, options = JointKind(m.jnt_type[j]), drive_options(m, j)
    if kind is JointKind.FREE:
        return Free(**options)
    if kind is JointKind.BALL:
        return Spherical(**options)
    return (Revolute if kind is JointKind.HINGE else Prismatic)(m.jnt_axis[j], **options)


def _back_by_ref(m: Any, j: int) -> Pose:
    """The joint's own motion from q = ref to q = 0."""
    kind, axis = JointKind(m.jnt_type[j]), np.array(m.jnt_axis[j])
    if kind not in (JointKind.SLIDE, JointKind.HINGE):
        return Pose()
    ref = float(m.qpos0[m.jnt_qposadr[j]])
    if kind is JointKind.SLIDE:
        return Pose(-ref * axis)
    return Pose(quaternion=np.array((np.cos(ref / 2), *(-np.sin(ref / 2) * axis))))
