"""States in the layouts of other engines: MuJoCo's qpos and qvel, Pinocchio's q and v. Joints are matched by name.

==========  ============================================  =====================================================
joint       MuJoCo                                        Pinocchio
==========  ============================================  =====================================================
Free        linear velocity in world axes                 quaternion (x, y, z, w)
Spherical   as here                                       quaternion (x, y, z, w)
Revolute    as here                                       as here; cos, sin of the angle when it is continuous
Prismatic   as here                                       as here
Planar      -                                             x, y, cos, sin; velocity in the link's axes
==========  ============================================  =====================================================

The other engine's model is only looked at; neither engine is imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array, numbers
from ukemi.model.joints import Free, Joint, Planar, Revolute, Spherical, Universal
from ukemi.model.model import Model
from ukemi.model.pose import rotation_matrix
from ukemi.model.readers.mjcf_kinds import JointKind
from ukemi.model.readers.mjcf_names import joint_names


class _Pair(NamedTuple):
    """A joint, and where its coordinates and velocities stand here and there."""

    name: str
    joint: Joint
    q: slice
    v: slice
    other_q: slice
    other_v: slice


def to_mujoco(model: Model, mj_model: Any, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
    """qpos (nq) and qvel (nv) of an ``MjModel`` whose joints have the same names, from q (nq) and v (nv).

    Raises:
        UnknownNameError: a joint that the model does not have.
        InvalidInputError: a joint of another kind, or one that the MjModel does not have.
    """
    q, v = numbers("q", q, (model.nq,)), numbers("v", v, (model.nv,))
    qpos, qvel = np.zeros(mj_model.nq), np.zeros(mj_model.nv)
    for pair in _mujoco_pairs(model, mj_model):
        qpos[pair.other_q], qvel[pair.other_v] = q[pair.q], v[pair.v]
        if isinstance(pair.joint, Free):
            qvel[pair.other_v][:3] = rotation_matrix(q[pair.q][3:]) @ v[pair.v][:3]
    return qpos, qvel


def from_mujoco(model: Model, mj_model: Any, qpos: ArrayLike, qvel: ArrayLike) -> tuple[Array, Array]:
    """q (nq) and v (nv) from qpos and qvel: the inverse of `to_mujoco`."""
    qpos, qvel = numbers("qpos", qpos, (mj_model.nq,)), numbers("qvel", qvel, (mj_model.nv,))
    q, v = np.zeros(model.nq), np.zeros(model.nv)
    for pair in _mujoco_pairs(model, mj_model):
        q[pair.q], v[pair.v] = qpos[pair.other_q], qvel[pair.other_v]
        if isinstance(pair.joint, Free):
            v[pair.v][:3] = rotation_matrix(q[pair.q][3:]).T @ v[pair.v][:3]
    return q, v


def to_pinocchio(model: Model, pin_model: Any, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
    """q and v of a ``pinocchio.Model`` whose joints have the same names, from q (nq) and v (nv).

    Raises:
        UnknownNameError: a joint that the model does not have.
        InvalidInputError: a joint of another kind, or one that the Pinocchio model does not have.
    """
    q, v = numbers("q", q, (model.nq,)), numbers("v", v, (model.nv,))
    pin_q, pin_v = np.zeros(pin_model.nq), np.zeros(pin_model.nv)
    for pair in _pinocchio_pairs(model, pin_model):
        there, here = pin_q[pair.other_q], q[pair.q]
        pin_v[pair.other_v] = v[pair.v]
        if isinstance(pair.joint, Free | Spherical):
            there[:-4], there[-4:] = here[:-4], here[[-3, -2, -1, -4]]
        elif len(there) == len(here):
            there[:] = here
        else:
            there[:-2], there[-2:] = here[:-1], (np.cos(here[-1]), np.sin(here[-1]))
        if isinstance(pair.joint, Planar):
            pin_v[pair.other_v][:2] = _turn(-here[2]) @ v[pair.v][:2]
    return pin_q, pin_v


def from_pinocchio(model: Model, pin_model: Any, pin_q: ArrayLike, pin_v: ArrayLike) -> tuple[Array, Array]:
    """q (nq) and v (nv) from Pinocchio's: the inverse of `to_pinocchio`; continuous angles come out in (-pi, pi]."""
    pin_q, pin_v = numbers("pin_q", pin_q, (pin_model.nq,)), numbers("pin_v", pin_v, (pin_model.nv,))
    q, v = np.zeros(model.nq), np.zeros(model.nv)
    for pair in _pinocchio_pairs(model, pin_model):
        there, here = pin_q[pair.other_q], q[pair.q]
        v[pair.v] = pin_v[pair.other_v]
        if isinstance(pair.joint, Free | Spherical):
            here[:-4], here[-4:] = there[:-4], there[[-1, -4, -3, -2]]
        elif len(there) == len(here):
            here[:] = there
        else:
            here[:-1], here[-1] = there[:-2], np.arctan2(there[-1], there[-2])
        if isinstance(pair.joint, Planar):
            v[pair.v][:2] = _turn(here[2]) @ pin_v[pair.other_v][:2]
    return q, v


def _turn(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array(((c, -s), (s, c)))


def _mujoco_pairs(model: Model, mj_model: Any) -> Iterator[_Pair]:
    _check_same_freedoms(model, mj_model.nv, "MuJoCo")
    for j, name in enumerate(joint_names(mj_model)):
        kind = JointKind(mj_model.jnt_type[j])
        q, v = int(mj_model.jnt_qposadr[j]), int(mj_model.jnt_dofadr[j])
        pair = _pair(model, name, slice(q, q + kind.nq), slice(v, v + kind.nv))
        if pair.joint.nq != kind.nq:
            raise _other_kind(pair, kind.name.lower())
        yield pair


def _pinocchio_pairs(model: Model, pin_model: Any) -> Iterator[_Pair]:
    _check_same_freedoms(model, pin_model.nv, "Pinocchio")
    for name, joint in zip(list(pin_model.names)[1:], list(pin_model.joints)[1:], strict=True):
        q, v = joint.idx_q, joint.idx_v
        pair = _pair(model, name, slice(q, q + joint.nq), slice(v, v + joint.nv))
        angle_as_two = isinstance(pair.joint, Planar) or (isinstance(pair.joint, Revolute) and joint.nq == 2)
        if (joint.nq, joint.nv) != (pair.joint.nq + angle_as_two, pair.joint.nv) or isinstance(pair.joint, Universal):
            raise _other_kind(pair, joint.shortname())
        yield pair


def _check_same_freedoms(model: Model, nv: int, engine: str) -> None:
    if model.nv != nv:
        raise InvalidInputError(f"model {model.name!r} has nv {model.nv}, {engine}'s {nv}: expected the same joints")


def _pair(model: Model, name: str, other_q: slice, other_v: slice) -> _Pair:
    link = model.joint(name)
    return _Pair(name, link.joint, link.q, link.v, other_q, other_v)


def _other_kind(pair: _Pair, other: str) -> InvalidInputError:
    return InvalidInputError(f"joint {pair.name!r} is {type(pair.joint).__name__} here and {other} there")
