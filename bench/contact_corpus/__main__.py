"""Contact problems and what solvers make of them: residual, iterations and time by scene.

    python -m bench.contact_corpus dump FOLDER [--only tumble --seeds 100]  our scenes, as they are simulated now
    python -m bench.contact_corpus siconos FOLDER FILES                     the public ones (needs h5py for some)
    python -m bench.contact_corpus FOLDER --solver ukemi --solver pin       tables

The first row of a table is the engine as it was when the problems were written: the worst of approach and
complementarity of its certificate over max |q| (its rows differ, so that only orders compare), and its time for
the whole step.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from tests.oracles.natural_map import residual

from .dump import dump
from .problem import Problem
from .siconos import NotOursError, read
from .solvers import SOLVERS

LEVELS = (1e-4, 1e-6, 1e-8)
HEAD = f"{'scene':28}  rows count  1e-4  1e-6  1e-8 [%]  worst     {'iterations p50/p90/max':24} ms p50/p90/p99/max"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", help="dump, siconos, or a folder of problems")
    parser.add_argument("where", nargs="*", type=Path)
    parser.add_argument("--only", default="", help="scenes whose name begins so")
    parser.add_argument("--seeds", type=int, default=0, help="first seed of the scenes that are dumped")
    parser.add_argument("--solver", action="append", choices=sorted(SOLVERS))
    parser.add_argument("--tolerance", type=float, default=1e-6)
    parser.add_argument("--largest", type=int, default=100_000, help="leave out problems with more rows")
    given = parser.parse_args()
    if given.what == "dump":
        print(dump(given.where[0], given.only, given.seeds), "problems")
    elif given.what == "siconos":
        convert(given.where[0], given.where[1])
    else:
        problems = [Problem.load(path) for path in sorted(Path(given.what).glob("*.npz"))]
        chosen = [p for p in problems if p.scene.startswith(given.only) and len(p.q) <= given.largest]
        show_engine(chosen)
        for name in given.solver or ["ukemi"]:
            show(name, chosen, given.tolerance)


def convert(folder: Path, files: Path) -> None:
    """Problems of a folder of Siconos's files."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(p for p in files.iterdir() if p.suffix in (".dat", ".hdf5")):
        try:
            problem = read(path)
        except NotOursError as error:
            print(f"left out: {error}"[:150], file=sys.stderr)
            continue
        print(problem.scene, len(problem.q), problem.note)
        problem.save(folder / f"siconos-{path.stem}.npz")


def show_engine(problems: list[Problem]) -> None:
    known = [p for p in problems if p.reached is not None]
    if known:
        print("the engine, when these were written\n" + HEAD)
        table([(p, p.reached or 0.0, 0, p.engine_ms or 0.0) for p in known])


def show(name: str, problems: list[Problem], tolerance: float) -> None:
    print(f"\n{name}\n{HEAD}")
    outcomes = []
    for problem in problems:
        begun = time.thread_time()
        try:
            r, iterations = SOLVERS[name](problem, tolerance)
        except NotImplementedError:
            continue
        took = 1e3 * (time.thread_time() - begun)
        e = residual(problem.W, problem.q, problem.mu.tolist(), problem.kinds, r)
        outcomes.append((problem, e, iterations, took))
    table(outcomes)
    for problem, e, iterations, took in outcomes:
        if not e <= tolerance:
            cost = f"{iterations} iterations, {took:.0f} ms"
            print(f"  not solved: {problem.scene} step {problem.step} rows {len(problem.q)}: {e:.1e} ({cost})")


def table(outcomes: list[tuple[Problem, float, int, float]]) -> None:
    groups = defaultdict(list)
    for outcome in outcomes:
        groups[outcome[0].scene.split("/")[0]].append(outcome)
    for scene, members in [*sorted(groups.items()), ("all", outcomes)]:
        e, n, ms = (np.array([m[k] for m in members]) for k in (1, 2, 3))
        rows = max(len(m[0].q) for m in members)
        shares = " ".join(f"{100 * np.mean(e <= level):5.1f}" for level in LEVELS)
        steps = "/".join(f"{x:.0f}" for x in (*np.percentile(n, (50, 90)), n.max()))
        times = "/".join(f"{x:.2g}" for x in (*np.percentile(ms, (50, 90, 99)), ms.max()))
        print(f"{scene:28} {rows:5d} {len(members):5d} {shares}      {e.max():.1e}   {steps:24} {times}")


if __name__ == "__main__":
    main()
