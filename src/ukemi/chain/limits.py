"""Joint limits as rows of a closed chain that may be open: x <= 0, of coordinates, of swing and twist, of sums."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ukemi import _core
from ukemi.model.arrays import Array
from ukemi.model.joints import Joint, Spherical
from ukemi.model.model import Link, Model


@dataclass(frozen=True, eq=False)
class Limit:
    """One side of a joint's range, as a row that must not become positive."""

    label: str
    row: _core.Tie
    restitution: float


def joint_limits(model: Model) -> list[Limit]:
    """All limits of a model's joints: of every coordinate, of swing and twist, and those across coordinates."""
    plain = [limit for link in model.links if not isinstance(link.joint, Spherical) for limit in _of_joint(link)]
    return plain + curved_limits(model)


def curved_limits(model: Model) -> list[Limit]:
    """Limits that take several freedoms: of ball joints, and across coordinates."""
    found = [limit for link in model.links if isinstance(link.joint, Spherical) for limit in _of_ball(link, link.joint)]
    for k, across in enumerate(model.joint_limits):
        freedoms = tuple(model.freedom(*where) for where in across.coordinates)
        row = _core.Tie(model.tree, freedoms, across.coefficients, -across.at_most)
        name = "-".join(joint for joint in dict.fromkeys(joint for joint, _ in across.coordinates))
        found.append(Limit(f"{name} (limit {k})", row, across.restitution))
    return found


def _of_joint(link: Link) -> Iterator[Limit]:
    joint: Joint = link.joint
    if joint.limits is not None:
        for k, (lower, upper) in enumerate(np.asarray(joint.limits, dtype=np.float64)):
            name = link.joint_name if joint.nv == 1 else f"{link.joint_name}[{k}]"
            for sign, bound, side in ((-1.0, lower, "lower"), (1.0, upper, "upper")):
                if np.isfinite(bound):
                    yield Limit(f"{name} {side}", _row(link, k, sign, bound), joint.restitution)


def _of_ball(link: Link, joint: Spherical) -> Iterator[Limit]:
    name, e = link.joint_name, joint.restitution
    if joint.limits is not None and np.asarray(joint.limits)[0, 1] < np.pi:
        yield Limit(f"{name} angle", _row(link, 0, 1.0, np.asarray(joint.limits)[0, 1]), e)
    frame = np.concatenate([np.asarray(joint.axis), np.asarray(joint.across)])
    if joint.swing is not None:
        wide = np.abs(np.asarray(joint.swing)).ravel()
        yield Limit(f"{name} swing", _row(link, 0, 1.0, 1.0, np.concatenate([[2], frame, wide])), e)
    if joint.twist is not None:
        lower, upper = np.asarray(joint.twist)
        for sign, bound, side in ((-1.0, lower, "lower"), (1.0, upper, "upper")):
            yield Limit(f"{name} twist {side}", _row(link, 0, sign, bound, np.concatenate([[1], frame, np.ones(4)])), e)


def _row(link: Link, coordinate: int, sign: float, bound: float, measure: Array | None = None) -> _core.Tie:
    """sign (x - bound) <= 0, of a coordinate or of a spherical joint's swing or twist."""
    freedom, measures = link.v.start + coordinate, None if measure is None else measure[None]
    return _core.Tie(link.model.tree, [freedom], [[sign, 0, 0, 0]], -sign * float(bound), measures)


def limit_chain(model: Model) -> tuple[list[Limit], _core.ClosedChain]:
    """All limits of a model, and the chain that knows how far and how fast each is passed."""
    limits = joint_limits(model)
    return limits, _core.ClosedChain(model.tree, [], [limit.row for limit in limits])
