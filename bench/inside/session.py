"""A running harness: asked for rounds of work, it answers with times."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import IO

import numpy as np

from ukemi.model.arrays import Array

NAMES = {"ukemi": "ukemi", "pinocchio": "Pinocchio", "mujoco": "MuJoCo"}


class Session:
    """One process with several engines that work on the same random states.

    Args:
        program: the compiled harness.
        figure: text of the bodies.
        states: how many states one sweep goes through.
        spread: 1 for poses all over the joint space, less for poses near zero.
        engines: as the harness names them.
    """

    def __init__(self, program: Path, figure: Path, states: int, spread: float, engines: list[str]) -> None:
        command = [str(program), str(figure), str(states), str(spread), *engines]
        self.engines = [NAMES[engine.partition("=")[0]] for engine in engines]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def check(self, work: str) -> dict[str, float]:
        """Largest relative difference of each engine from the first."""
        return dict(zip(self.engines, self._ask(f"check {work}", 1)[0].tolist(), strict=True))

    def rounds(self, work: str, count: int) -> Array:
        """Seconds per state (count, engines)."""
        return self._ask(f"rounds {work} {count}", count)

    def _ask(self, command: str, lines: int) -> Array:
        to, answers = self._pipes()
        print(command, file=to, flush=True)
        rows = [answers.readline().split() for _ in range(lines)]
        if not all(len(row) == len(self.engines) for row in rows):
            raise RuntimeError(f"harness: no answer to {command!r}")
        return np.array(rows, dtype=np.float64)

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in self._pipes():
            pipe.close()
        self._process.wait()
