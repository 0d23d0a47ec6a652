"""A frictional contact problem of the corpus: what `ukemi.solve_contact` takes, where it is from, and a file of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ukemi.model.arrays import Array

OPTIONAL = ("last", "reached", "engine_ms")
ROWS = {"contact": 3, "unilateral": 1, "bilateral": 1}


@dataclass(frozen=True, eq=False)
class Problem:
    """W (n, n), q (n,), mu (contacts,), kinds: one per block; rows of a contact are normal, tangent, tangent.

    scene, step: where it is from; ``last``: forces of the step before, where they are known; ``reached``: residual of
    what the engine found and the time of its step [ms], where they are known.
    """

    W: Array
    q: Array
    mu: Array
    kinds: tuple[str, ...]
    scene: str
    step: int = 0
    last: Array | None = None
    reached: float | None = None
    engine_ms: float | None = None
    note: str = ""

    def save(self, path: Path) -> None:
        rows, columns = np.nonzero(np.tril(self.W))
        some = {name: value for name in OPTIONAL if (value := getattr(self, name)) is not None}
        np.savez_compressed(
            path,
            rows=rows.astype(np.uint16),
            columns=columns.astype(np.uint16),
            values=self.W[rows, columns],
            q=self.q,
            mu=self.mu,
            kinds=np.array([kind[0] for kind in self.kinds], dtype="U1"),
            scene=self.scene,
            step=self.step,
            note=self.note,
            **some,
        )

    @classmethod
    def load(cls, path: Path) -> Problem:
        with np.load(path) as file:
            q = file["q"]
            W = np.zeros((len(q), len(q)))
            W[file["rows"], file["columns"]] = W[file["columns"], file["rows"]] = file["values"]
            names = {kind[0]: kind for kind in ROWS}
            return cls(
                W,
                q,
                file["mu"],
                tuple(names[str(k)] for k in file["kinds"]),
                str(file["scene"]),
                int(file["step"]),
                file.get("last"),
                float(file["reached"]) if "reached" in file else None,
                float(file["engine_ms"]) if "engine_ms" in file else None,
                str(file["note"]),
            )


def symmetric(W: Array) -> tuple[Array, float]:
    """(W + W^T) / 2, and how far W was from it: the largest |W - W^T| as a share of the largest |W|."""
    return 0.5 * (W + W.T), float(np.abs(W - W.T).max() / max(np.abs(W).max(), 1e-300))
