"""The frictional contact problem itself: impulses in Coulomb cones for given responses and free motions.

Find r in K with u = W r + q such that, contact by contact, u^ = u + mu |u_t| e_n lies in the dual cone and r . u^ = 0
(De Saxce and Feng 1998). K is a product of Coulomb cones |r_t| <= mu r_n, of half-lines r >= 0 and of lines.

The method is a proximal-point loop around the last forces; each pass is solved by Newton's method on the labels off,
stick and slip (Alart and Curnier 1991), by a primal-dual interior-point method where that fails, and by ADMM where
that fails too. Blocks that W does not join are solved apart. core/contact/ncp_data.hpp lists every number of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ukemi import _core
from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array, frozen, numbers, positive
from ukemi.model.kinds import choice, items_of

#: Kinds of blocks and their rows.
ROWS = {"contact": 3, "unilateral": 1, "bilateral": 1}
LABELS = ("off", "stick", "slip")
METHODS = ("newton", "interior", "admm")
#: W may differ from its transpose by rounding, as a share of its largest entry.
ASYMMETRIC = 1e-9
#: A coefficient of friction above this slips at 89.99 degrees: the engine counts it as infinite.
MOST_FRICTION = 1e4
#: An iteration limit above this is a slip of the pen.
MOST_ITERATIONS = 1_000_000


@dataclass(frozen=True, eq=False)
class ContactSolution:
    """Impulses and motions of a frictional contact problem, and how exactly they meet it.

    Attributes:
        r: (n,) impulses, in the rows of W; always those of the best iterate.
        u: (n,) motions W r + q.
        residual: max over the blocks of D |r - P_K(r - u^ / D)| / max |q|, D the mean diagonal of the block of W, P_K
            the projection onto its cone: zero exactly at solutions.
        bilateral: max |u| of the bilateral rows / max |q|: what loops lack.
        growth: max D |r| / max(max |q|, max D |start|). A few for piles, more for heavy on light; rows that contradict
            each other show here, as forces far above what asks for them, and not in the residual.
        iterations: of all methods, passes and islands together.
        passes: of the proximal loop, the most of an island.
        islands: blocks that W joins count as one.
        method: the last resort that an island needed: "newton", "interior" or "admm".
        labels: of each block "off" (no force), "stick" or "slip"; bilateral rows stick.
        valid: the residual is within the tolerance.
    """

    r: Array
    u: Array
    residual: float
    bilateral: float
    growth: float
    iterations: int
    passes: int
    islands: int
    method: str
    labels: tuple[str, ...]
    valid: bool


def solve_contact(
    W: Any,
    q: ArrayLike,
    mu: ArrayLike,
    *,
    kinds: Sequence[str] | None = None,
    start: ArrayLike | None = None,
    tolerance: float = 1e-6,
    passes: int = 30,
    newton: int = 16,
    interior: int = 40,
    admm: int = 200,
) -> ContactSolution:
    """The impulses of a frictional contact problem, with their residual; never an exception where there are none.

    W: (n, n) response of motions to impulses, symmetric positive semidefinite; an array or a SciPy sparse matrix.
    q: (n,) motions without impulses [m/s]. mu: friction of each contact, or of all.
    kinds: what the rows are, block by block: "contact" (three rows: normal, tangent, tangent), "unilateral" (one row,
        r >= 0: a joint limit) or "bilateral" (one row, u = 0: a loop). None: contacts.
    start: (n,) impulses of the last step. What the motion leaves open (a table on four legs) stays near them.
    tolerance: of the residual, a share of max |q|.
    passes, newton, interior, admm: limits of the proximal passes, and in each of them of Newton's steps (three times at
        most), interior-point steps and ADMM iterations.

    Raises:
        InvalidInputError: shapes that do not fit, numbers that are not finite, W that is not symmetric, mu below zero.
    """
    q = numbers("q", q)
    if q.ndim != 1:
        raise InvalidInputError(f"q: expected shape (n,), got {q.shape}")
    n = len(q)
    blocks = _blocks(kinds, n)
    friction = np.zeros(len(blocks))
    contacts = np.array([kind == "contact" for kind in blocks], dtype=bool)
    friction[contacts] = _friction(mu, int(contacts.sum()))
    found = _core.solve_contact(
        _response(W, n),
        q,
        friction,
        [list(ROWS).index(kind) for kind in blocks],
        None if start is None else numbers("start", start, (n,)),
        positive("tolerance", tolerance),
        _limit("passes", passes, least=1),
        _limit("newton", newton),
        _limit("interior", interior),
        _limit("admm", admm),
    )
    return ContactSolution(
        frozen(found["r"]),
        frozen(found["u"]),
        found["residual"],
        found["bilateral"],
        found["growth"],
        found["iterations"],
        found["passes"],
        found["islands"],
        METHODS[found["method"]],
        tuple(LABELS[label] for label in found["labels"]),
        bool(found["residual"] <= tolerance),
    )


def _blocks(kinds: Sequence[str] | None, n: int) -> tuple[str, ...]:
    if kinds is None:
        if n % 3:
            raise InvalidInputError(f"q: expected three rows of each contact, got {n} rows; kinds= tells of other rows")
        return ("contact",) * (n // 3)
    if isinstance(kinds, str | bytes):
        raise InvalidInputError(f"kinds: expected one word of each block, got {kinds!r:.100}")
    blocks = items_of("kinds", kinds, "one word of each block")
    for kind in blocks:
        choice("kinds", kind, ROWS)
    rows = sum(ROWS[kind] for kind in blocks)
    if rows != n:
        raise InvalidInputError(f"kinds: {len(blocks)} blocks have {rows} rows, but q has {n}")
    return blocks


def _friction(mu: ArrayLike, contacts: int) -> Array:
    values = numbers("mu", mu, (), (contacts,))
    if (values < 0).any() or (values > MOST_FRICTION).any():
        raise InvalidInputError(f"mu: expected 0 to {MOST_FRICTION:g}, got {values.tolist()!r:.100}")
    return values


def _response(W: Any, n: int) -> Array:
    dense = numbers("W", W.toarray() if sparse.issparse(W) else W, (n, n))
    if n == 0:
        return dense
    largest, off = float(np.abs(dense).max()), float(np.abs(dense - dense.T).max())
    if off > ASYMMETRIC * largest:
        raise InvalidInputError(
            f"W: expected a symmetric matrix, got one that differs from its transpose by {off:.3g} (largest entry "
            f"{largest:.3g}); if that is noise, give (W + W.T) / 2"
        )
    if (low := float(np.diag(dense).min())) < 0:
        raise InvalidInputError(f"W: expected a positive semidefinite matrix, got {low:.3g} on its diagonal")
    return 0.5 * (dense + dense.T)


def _limit(name: str, value: int, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= MOST_ITERATIONS:
        raise InvalidInputError(
            f"{name}: expected a whole number from {least} to {MOST_ITERATIONS}, got {value!r:.100}"
        )
    return int(value)
