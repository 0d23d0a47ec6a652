"""Forward and inverse dynamics and the inertia matrix in compiled code, all engines in one process."""

from __future__ import annotations

from inside.session import Session
from result import Results

STATES = 128
#: name of the case, the harness's name for the work, how many times faster than the best peer is wanted
WORKS = (
    ("forward dynamics inside", "forward", 2.0),
    ("inverse dynamics inside", "inverse", 1.5),
    ("inertia matrix inside", "inertia", 1.5),
)


def run(session: Session, rounds: int, results: Results) -> None:
    for case, work, goal in WORKS:
        differences = session.check(work)
        results.accuracy[case] = {name: differences[name] for name in session.engines[1:]}
        results.add_race(case, session.engines, session.rounds(work, rounds), goal)
