"""Import time: a fresh interpreter that imports, minus one that does nothing."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
from result import Limit, Results

GOAL = 0.3


def run(rounds: int, results: Results) -> None:
    codes = {"bare": "pass", "numpy": "import numpy", "ukemi": "import ukemi"}
    for code in codes.values():
        _seconds(code)  # the files are read from disk once
    times = np.array([[_seconds(code) for code in codes.values()] for _ in range(rounds)])
    median = dict(zip(codes, np.median(times, axis=0).tolist(), strict=True))
    parts = {"bare interpreter": median["bare"], "numpy alone": median["numpy"] - median["bare"]}
    results.limits.append(Limit("import of ukemi, numpy included", median["ukemi"] - median["bare"], GOAL, "s", parts))


def _seconds(code: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start
