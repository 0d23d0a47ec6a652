"""Events of a step: connections that break, rules that fire, at the time where they cross."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ukemi.errors import SimulationError
from ukemi.sim.limits import LimitKeeper
from ukemi.sim.world import Rule, World

#: Share of a step within which an event is located.
LOCATED = 1e-10
#: More events than this within one step are an accumulation that never ends.
MOST_IN_A_STEP = 1000

Advance = Callable[..., object]


@dataclass(eq=False)
class _Watch:
    """A function of the world that triggers when it becomes positive."""

    value: Callable[[], float]
    fire: Callable[[], object]
    label: str


def advance_with_events(
    world: World, advance: Advance, control: Any, dt: float, limits: LimitKeeper | None = None
) -> None:
    """One step; where a watched function crosses zero the step is divided and the event happens there."""
    left = dt
    for _ in range(MOST_IN_A_STEP):
        if limits is not None:
            limits.refresh()
        watches = _watches(world, limits)
        due = next((w for w in watches if w.value() > 0), None)
        if due is not None:
            _happen(world, due)
            continue
        if left <= LOCATED * dt:
            return
        before, told = (world.time, world.q, world.v, world.tau), len(world.events)
        advance(control, left)
        crossed = [w for w in watches if w.value() > 0]
        if not crossed:
            return
        short, long = 0.0, left
        while long - short > LOCATED * dt:
            middle = 0.5 * (short + long)
            world.time, world.q, world.v, world.tau = before
            del world.events[told:]
            advance(control, middle)
            if any(w.value() > 0 for w in watches):
                long = middle
            else:
                short = middle
        world.time, world.q, world.v, world.tau = before
        del world.events[told:]
        advance(control, long)
        left -= long
    raise SimulationError(f"at t = {world.time:g} s events follow each other without end", world.time, world.q, world.v)


def _watches(world: World, limits: LimitKeeper | None) -> list[_Watch]:
    fragile = [c for c in world.connections if c.break_force is not None]
    # limits tell what happened themselves; implicit steps keep them
    stops = [] if limits is None or limits.implicit else [_Watch(limits.value, limits.settle, "")]
    return [
        *stops,
        *(_Watch(c.overload, partial(world.cut, c), f"{c.name} breaks") for c in fragile),
        *(_Watch(partial(rule.condition, world), partial(_fire, world, rule), rule.label) for rule in world.rules),
    ]


def _fire(world: World, rule: Rule) -> None:
    if rule.once:
        world.rules.remove(rule)
    rule.action(world)


def _happen(world: World, watch: _Watch) -> None:
    watch.fire()
    if watch.label:
        world.events.append({"time": world.time, "what": watch.label})
