"""Problems with verified answers, kept beside the repository; absent ones skip."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ukemi.model.arrays import Array


@dataclass(frozen=True)
class Problem:
    data: dict[str, Any]

    @property
    def given(self) -> dict[str, Any]:
        """Parameters and initial conditions."""
        return {**self.data["parameters"], **self.data.get("initial_conditions", {})}

    def answers(self, quantity: str) -> list[tuple[float, Array]]:
        """(time, value) of every answer whose name begins so; at least one."""
        found = [
            (r.get("t", 0.0), np.array(r["value"], dtype=float))
            for r in self.data["reference"]
            if r["quantity"].startswith(quantity)
        ]
        assert found, f"no answer begins with {quantity!r}"
        return found

    def answer(self, quantity: str) -> Array:
        return self.answers(quantity)[0][1]


@pytest.fixture
def problem(shared: Path) -> Callable[[str], Problem]:
    def load(name: str) -> Problem:
        path = shared / "benchmarks" / f"{name}.json"
        if not path.exists():
            pytest.skip(f"no reference problem {name}")
        return Problem(json.loads(path.read_text()))

    return load
