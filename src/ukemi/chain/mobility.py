"""Mobility of closed chains: generalized coordinates chosen automatically [SV00 II].

All joints, those of the tree and those of the virtual links, are the coordinates theta_J. The velocity of every virtual
link must equal that of its real link: J_C theta_J_dot = 0 (eq. 9-12); ties between coordinates are further rows of J_C.
Independent rows and columns are found by QR with pivoting, so that J_S is as well conditioned as the pose allows; H, W
and S follow (eq. 14-17, Fig. 5, 6).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ukemi import _core
from ukemi.chain.freedoms import actuated_freedoms, coordinate_names
from ukemi.chain.virtual import VirtualLink, loop_joint, subspace, subspace_rate
from ukemi.dynamics.kinematics import link_poses
from ukemi.errors import InvalidInputError, SingularError, UnknownNameError
from ukemi.model.arrays import Array
from ukemi.model.joints import Fixed
from ukemi.model.model import Model

WELD = Fixed()
#: singular values below this share of the largest count as zero
RANK = 1e-9
#: a chosen set of dependent columns worse conditioned than this is refused
CONDITION = 1e8
DIRECTIONS = ("along x", "along y", "along z", "about x", "about y", "about z")


@dataclass(frozen=True, eq=False)
class Mobility:
    """What a structure can do in its present pose.

    Attributes:
        dof: N_F, the number of freedoms (eq. 13).
        coordinates: names of theta_J: the tree's freedoms, then those of the connections.
        independent: the chosen generalized coordinates theta_G; `dependent`: the rest, theta_S.
        redundant: constraints that follow from the others, in words.
        H: d theta_S / d theta_G (eq. 17).  W: d theta_O / d theta_G of the tree's freedoms (eq. 4).
        S: d theta_A / d theta_G of the `actuated` freedoms (eq. 6).
        J_C: the constraint matrix (eq. 11).
        bias: accelerations of the tree's freedoms when those of theta_G are zero: H_dot theta_G_dot (eq. 21).
    """

    dof: int
    coordinates: tuple[str, ...]
    independent: tuple[str, ...]
    dependent: tuple[str, ...]
    redundant: tuple[str, ...]
    actuated: tuple[str, ...]
    H: Array
    W: Array
    S: Array
    J_C: Array
    bias: Array

    def summary(self) -> str:
        """In words."""
        joints, rows = len(self.coordinates), len(self.J_C)
        rank = rows - len(self.redundant)
        lines = [
            f"{joints} joint freedoms, {rows} equations of loops and ties, {rank} of them independent:",
            f"{joints} - {rank} = {self.dof} freedoms of the whole.",
        ]
        if self.independent:
            lines.append(f"The motion is described by: {', '.join(self.independent)}.")
        if self.dependent:
            lines.append(f"{len(self.dependent)} coordinates follow from them.")
        if self.redundant:
            lines.append(f"Follow from other constraints: {'; '.join(self.redundant)}.")
        if self.dof == 0:
            lines.append("Nothing can move.")
        drive = np.linalg.matrix_rank(self.S) if self.S.size else 0
        lines.append(
            f"{len(self.actuated)} freedoms are actuated and drive {drive} of the {self.dof}"
            + (": more than needed." if len(self.actuated) > self.dof == drive else ".")
        )
        return "\n".join(lines)


def find_mobility(
    model: Model,
    virtual: Sequence[VirtualLink],
    ties: Mapping[str, _core.Tie],
    q: Array,
    v: Array,
    independent: Sequence[str | int] | None = None,
    actuated: Sequence[str | int] | None = None,
) -> Mobility:
    """Mobility of a model with virtual links and ties at the state (q, v)."""
    weld = loop_joint(WELD)
    welds = [_core.Loop(model.tree, weld, link.a, link.frame_a, link.b, link.frame_b) for link in virtual]
    chain = _core.ClosedChain(model.tree, welds, list(ties.values()))
    H6, rate = chain.jacobian(q, v)
    _, relative = chain.state(q, v)
    poses = {-1: np.eye(4), **dict(enumerate(link_poses(model, q)))}
    columns, labels, drift = [], list(coordinate_names(model)), []
    for k, link in enumerate(virtual):
        name = link.name
        R_AB = (poses[link.a] @ link.frame_a)[:3, :3].T @ (poses[link.b] @ link.frame_b)[:3, :3]
        J_n = subspace(link.joint, R_AB)
        block = np.zeros((len(H6), J_n.shape[1]))
        block[6 * k : 6 * k + 6] = -J_n
        columns.append(block)
        labels += [name] if J_n.shape[1] == 1 else [f"{name}[{i}]" for i in range(J_n.shape[1])]
        drift.append(subspace_rate(link.joint, R_AB, relative[6 * k : 6 * k + 6]))
    J_C = np.concatenate([H6, *columns], axis=1)
    # J_C_dot theta_J_dot: of the tree, less what the virtual joints' own subspaces turn
    J_C_dot_v = rate - np.concatenate([*drift, np.zeros(len(ties))])
    equations = [f"{link.name} {direction}" for link in virtual for direction in DIRECTIONS] + list(ties)

    independent_rows, redundant_rows = _independent_rows(J_C)
    J_Cm = J_C[independent_rows]
    chosen = _dependent_columns(J_Cm, None if independent is None else _indices(independent, labels))
    rest = [i for i in range(len(labels)) if i not in set(chosen)]
    J_S = J_Cm[:, chosen]
    if len(chosen) and np.linalg.cond(J_S) > CONDITION:
        asked = ", ".join(labels[i] for i in rest)
        raise SingularError(
            f"mobility: the coordinates {asked} do not determine the motion in this pose: choose others"
        )
    H = -np.linalg.solve(J_S, J_Cm[:, rest])
    full = np.zeros((len(labels), len(rest)))  # theta_J by theta_G: unit rows for theta_G, rows of H for theta_S
    full[chosen], full[rest] = H, np.eye(len(rest))
    bias = np.zeros(len(labels))
    bias[chosen] = -np.linalg.solve(J_S, J_C_dot_v[independent_rows])
    drives = actuated_freedoms(model, None) if actuated is None else _indices(actuated, labels)
    return Mobility(
        len(rest),
        tuple(labels),
        tuple(labels[i] for i in rest),
        tuple(labels[i] for i in chosen),
        tuple(equations[r] for r in redundant_rows),
        tuple(labels[i] for i in drives),
        H,
        full[: model.nv],
        full[drives],
        J_C,
        bias[: model.nv],
    )


def _independent_rows(J: Array) -> tuple[list[int], list[int]]:
    """Independent rows in their order, and the redundant ones: later rows give way to earlier ones."""
    kept: list[int] = []
    basis = np.zeros((0, J.shape[1]))
    scale = np.abs(J).max(initial=1.0)
    for r, row in enumerate(J):
        left = row - basis.T @ (basis @ row)
        left -= basis.T @ (basis @ left)  # twice is enough
        if np.linalg.norm(left) > RANK * max(scale, float(np.linalg.norm(row))):
            kept.append(r)
            basis = np.concatenate([basis, left[None] / np.linalg.norm(left)])
    return kept, [r for r in range(len(J)) if r not in set(kept)]


def _dependent_columns(J: Array, independent: list[int] | None) -> list[int]:
    """Columns of J_S: by pivoting, or all but the given ones."""
    rank = len(J)
    if independent is not None:
        if len(set(independent)) != J.shape[1] - rank:
            raise InvalidInputError(
                f"mobility: expected {J.shape[1] - rank} independent coordinates, got {len(independent)}"
            )
        return [i for i in range(J.shape[1]) if i not in set(independent)]
    if rank == 0:
        return []
    from scipy.linalg import qr

    pivots = qr(J, mode="r", pivoting=True)[1]
    return sorted(int(i) for i in pivots[:rank])


def _indices(chosen: Sequence[str | int], labels: list[str]) -> list[int]:
    found = []
    for item in chosen:
        if isinstance(item, int | np.integer) and 0 <= item < len(labels):
            found.append(int(item))
        elif isinstance(item, str) and item in labels:
            found.append(labels.index(str(item)))
        else:
            group = [i for i, label in enumerate(labels) if label.startswith(f"{item}[")]
            if not group:
                raise UnknownNameError("coordinate", item, labels)
            found += group
    return found
