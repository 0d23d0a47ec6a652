"""The results as one table."""

from __future__ import annotations

from result import Limit, Race, Results
from rich.table import Table

MARKS = {True: "[green]yes[/]", False: "[red]no[/]", None: "n/a"}


def table(results: Results) -> Table:
    t = Table(title="Times per state in us (medians); ratio: best peer / ukemi")
    for heading in ("case", "ukemi", "best peer", "others", "ratio", "goal", "met"):
        t.add_column(heading, justify="left" if heading in ("case", "best peer", "others") else "right")
    for race in results.races:
        t.add_row(*_race(race))
    t.add_section()
    for limit in results.limits:
        t.add_row(*_limit(limit))
    return t


def _race(race: Race) -> list[str]:
    ratio = "n/a" if race.ratio is None else f"{race.ratio:.2f}x"
    best = "n/a" if race.best is None else f"{race.best[0]} {race.best[1]:.2f}"
    others = ", ".join(f"{n} {us:.2f}" for n, us in race.peers.items() if race.best and n != race.best[0])
    return [race.case, f"{race.ukemi:.3f}", best, others, ratio, f">= {race.goal:g}x", MARKS[race.met]]


def _limit(limit: Limit) -> list[str]:
    parts = ", ".join(f"{name}: {x:.3g}" for name, x in limit.parts.items())
    value = f"{limit.value:.3g} {limit.unit}"
    return [limit.case, value, "", parts, "", f"<= {limit.bound:g} {limit.unit}", MARKS[limit.met]]
