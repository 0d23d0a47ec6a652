"""Ties: constraints on joint coordinates, beside the loops.

A tie is sum_i p_i(x_i) + offset = 0 with polynomials p_i without constant, each of a joint coordinate x_i (or of the
angle by which a spherical joint is turned). It is one row of the constraint: sum_i p_i'(x_i) v_i = 0 in velocities,
with one multiplier, a generalized force that acts on freedom i with p_i'. Gears, mimic joints, and joints held at a
limit are ties.
"""

from __future__ import annotations

import numpy as np

from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array, numbers
from ukemi.model.joints import Free, Spherical
from ukemi.model.model import Link

#: highest power in a term
DEGREE = 4


def coefficients_of(name: str, given: object) -> Array:
    """The coefficients (4) of x, x^2, x^3, x^4, from a number or up to four of them."""
    c = np.atleast_1d(numbers(name, given))  # type: ignore[arg-type]
    if c.ndim != 1 or not 1 <= c.size <= DEGREE:
        raise InvalidInputError(f"{name}: expected a factor, or coefficients of x, x^2, x^3, x^4, got {given!r}")
    if not c.any():
        raise InvalidInputError(f"{name}: expected a factor other than zero")
    return np.concatenate([c, np.zeros(DEGREE - c.size)])


def freedom_of(link: Link, freedom: int) -> int:
    """Index into v of a joint's coordinate that a tie may hold."""
    joint = link.joint
    count = 1 if isinstance(joint, Spherical) else 0 if isinstance(joint, Free) else joint.nv
    if not 0 <= freedom < count:
        kind = type(joint).__name__
        what = "its angle, number 0" if isinstance(joint, Spherical) else f"coordinates 0 to {count - 1}"
        can = f"a tie can hold {what}" if count else "a tie cannot hold it"
        raise InvalidInputError(f"tie: joint {link.joint_name!r} ({kind}), coordinate {freedom}: {can}")
    return link.v.start + freedom
