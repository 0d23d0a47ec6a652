"""Equality constraints of a compiled MuJoCo model as loops and couplings, and its sites as landmarks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ukemi.model.description import WORLD, Coupling, Description, Landmark, LoopClosure
from ukemi.model.joints import Fixed, Spherical
from ukemi.model.pose import Pose
from ukemi.model.readers.diagnostics import Diagnostics
from ukemi.model.readers.mjcf_kinds import SITE_OBJECT, EqualityKind
from ukemi.model.readers.mjcf_names import body_names, joint_names, unused


def add_ties(m: Any, description: Description, diagnostics: Diagnostics) -> None:
    """Adds loops and couplings; warns about constraints of other kinds."""
    joints, taken = joint_names(m), {str(m.eq(e).name) for e in range(m.neq)}
    for e in range(m.neq):
        kind = int(m.eq_type[e])
        name = str(m.eq(e).name) or unused(f"equality{e}", taken)
        if not m.eq_active0[e]:
            diagnostics.warn("equality constraints that begin inactive are left out", example=name)
        elif kind in (EqualityKind.CONNECT, EqualityKind.WELD):
            description.loops.append(_loop(m, e, name))
        elif kind == EqualityKind.JOINT:
            description.couplings.append(_coupling(m, e, joints))
        else:
            diagnostics.warn("equalities other than connect, weld and joint are left out", example=name)


def _loop(m: Any, e: int, name: str) -> LoopClosure:
    bodies = [WORLD, *body_names(m)[1:]]
    one, two, data = int(m.eq_obj1id[e]), int(m.eq_obj2id[e]), np.array(m.eq_data[e])
    is_weld = int(m.eq_type[e]) == EqualityKind.WELD
    if int(m.eq_objtype[e]) == SITE_OBJECT:
        at_a, at_b = _site_pose(m, one), _site_pose(m, two)
        one, two = int(m.site_bodyid[one]), int(m.site_bodyid[two])
    elif is_weld:  # anchor in body 2, the same point in body 1, orientation of body 2 in body 1
        at_a, at_b = Pose(data[3:6], data[6:10]), Pose(data[:3])
    else:
        at_a, at_b = Pose(data[:3]), Pose(data[3:6])
    return LoopClosure(name, bodies[one], bodies[two], Fixed() if is_weld else Spherical(), at_a, at_b)


def _coupling(m: Any, e: int, joints: list[str]) -> Coupling:
    """MuJoCo writes q1 - ref1 = c0 + c1 x + c2 x^2 + c3 x^3 + c4 x^4 with x = q2 - ref2, or q1 - ref1 = c0."""
    one, two = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
    ref1, ref2 = (float(m.qpos0[m.jnt_qposadr[j]]) for j in (one, two))
    if two < 0 or not m.eq_data[e, 1:5].any():
        return Coupling(joints[one], None, 0.0, ref1 + float(m.eq_data[e, 0]))
    in_q2 = np.polynomial.Polynomial(m.eq_data[e, :5])(np.polynomial.Polynomial((-ref2, 1.0)))
    offset, multiplier, *higher = (float(x) for x in in_q2.coef)
    return Coupling(joints[one], joints[two], multiplier, ref1 + offset, tuple(higher) if any(higher) else ())


def add_landmarks(m: Any, description: Description) -> None:
    """Adds the named sites on bodies."""
    bodies = body_names(m)
    for s in range(m.nsite):
        name, body = str(m.site(s).name), int(m.site_bodyid[s])
        if name and body:
            description.landmarks[name] = Landmark(bodies[body], _site_pose(m, s))


def _site_pose(m: Any, s: int) -> Pose:
    return Pose(m.site_pos[s], m.site_quat[s])
