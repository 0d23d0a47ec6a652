"""Reads the frictional contact problems of the Siconos repository: text files (.dat) and those of fclib (.hdf5).

Only what `ukemi.solve_contact` can be asked: three-dimensional, local (W, q, mu), no rolling friction. Matrices that
are not symmetric are symmetrised, and the problem's note says so: it is then a neighbour of the published one.
The files are at https://github.com/siconos/siconos, numerics/src/FrictionContact/test/data.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix, csc_matrix, csr_matrix

from ukemi.model.arrays import Array

from .problem import Problem, symmetric

#: Contact problems have symmetric W; what is further from it (share of the largest entry) is something else.
ASYMMETRIC = 0.01


class NotOursError(ValueError):
    """A file that holds another kind of problem."""


def read(path: Path) -> Problem:
    """The problem of a file.

    Raises:
        NotOursError: two-dimensional, rolling, global, or no problem at all.
    """
    if path.suffix == ".hdf5":
        W, q, mu = _fclib(path)
    else:
        W, q, mu = _text(path)
    if W.shape != (len(q), len(q)) or len(q) != 3 * len(mu) or not np.isfinite(W).all():
        raise NotOursError(f"{path.name}: W {W.shape}, q {q.shape}, mu {mu.shape}")
    W, off = symmetric(W)
    if off > ASYMMETRIC:
        raise NotOursError(f"{path.name}: W differs from W^T by {off:.2g} of its largest entry")
    note = f"symmetrised ({off:.1e})" if off > 1e-9 else ""
    return Problem(W, q, mu, ("contact",) * len(mu), f"siconos/{path.stem}", note=note)


def _text(path: Path) -> tuple[Array, Array, Array]:
    numbers = path.read_text(errors="replace").split()
    try:
        at = iter(numbers)
        dimension, contacts, storage = (int(next(at)) for _ in range(3))
        if dimension != 3 or storage not in (0, 1):
            raise NotOursError(f"{path.name}: dimension {dimension}, storage {storage}")
        rows, columns = int(next(at)), int(next(at))
        if rows != columns or rows != 3 * contacts:
            raise NotOursError(f"{path.name}: {contacts} contacts and a matrix {rows} x {columns}")
        W = _dense(at) if storage == 0 else _blocks(at)
        q, mu = _take(at, rows), _take(at, contacts)
        if len(list(at)) > 1:  # the constraints of a global problem follow
            raise NotOursError(f"{path.name}: more than W, q and mu")
        return W, q, mu
    except (ValueError, StopIteration, RuntimeError) as error:
        if isinstance(error, NotOursError):
            raise
        raise NotOursError(f"{path.name}: {error!r}") from error


def _take(at: Iterator[str], count: int) -> Array:
    return np.array([float(next(at)) for _ in range(count)])


def _dense(at: Iterator[str]) -> Array:
    rows, columns = int(next(at)), int(next(at))
    return _take(at, rows * columns).reshape(rows, columns)


def _blocks(at: Iterator[str]) -> Array:
    """A sparse matrix of blocks, each of them column by column."""
    count, down, across = (int(next(at)) for _ in range(3))
    ends = [[int(next(at)) for _ in range(n)] for n in (down, across)]
    filled, entries = int(next(at)), int(next(at))
    first = [int(next(at)) for _ in range(filled)]
    column = [int(next(at)) for _ in range(entries)]
    W = np.zeros((ends[0][-1], ends[1][-1]))
    begin = [[0, *e[:-1]] for e in ends]
    for i in range(filled - 1):
        for k in range(first[i], first[i + 1]):
            if int(next(at)) != k or k >= count:
                raise NotOursError("blocks out of order")
            j = column[k]
            shape = (ends[1][j] - begin[1][j], ends[0][i] - begin[0][i])
            W[begin[0][i] : ends[0][i], begin[1][j] : ends[1][j]] = _take(at, shape[0] * shape[1]).reshape(shape).T
    return W


def _fclib(path: Path) -> tuple[Array, Array, Array]:
    """Local problems as they are; of global ones (M v = H r + f, u = H^T v + w) W = H^T M^-1 H."""
    import h5py

    with h5py.File(path) as file:
        kinds = [kind for kind in ("fclib_local", "fclib_global") if kind in file]
        if not kinds:
            raise NotOursError(f"{path.name}: no problem of fclib")
        group = file[kinds[0]]
        if int(np.ravel(group["spacedim"][()])[0]) != 3:
            raise NotOursError(f"{path.name}: not three-dimensional")
        vectors = {name: np.ravel(value[()]) for name, value in group["vectors"].items()}
        if kinds[0] == "fclib_local":
            return _matrix(group["W"]), vectors["q"], vectors["mu"]
        M, H = _matrix(group["M"]), _matrix(group["H"])
        solved = np.linalg.solve(M, np.column_stack([H, vectors["f"]]))
        return H.T @ solved[:, :-1], H.T @ solved[:, -1] + vectors["w"], vectors["mu"]


def _matrix(group: Any) -> Array:
    """nz >= 0: entries one by one; -1: compressed columns; -2: compressed rows."""
    m, n, nz = (int(np.ravel(group[k][()])[0]) for k in ("m", "n", "nz"))
    p, i, x = (np.asarray(group[k][()]) for k in ("p", "i", "x"))
    if nz >= 0:
        return np.asarray(coo_matrix((x[:nz], (i[:nz], p[:nz])), (m, n)).toarray())
    compressed = csc_matrix if nz == -1 else csr_matrix
    return np.asarray(compressed((x, i, p), (m, n)).toarray())
