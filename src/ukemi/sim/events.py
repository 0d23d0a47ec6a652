"""Events of a step: limits that are reached or left (located in the core), connections that break, rules that fire."""

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

#: (control, dt, steps, keeper) -> whole steps done, and where a limit stopped the motion after them (-1: nowhere)
Advance = Callable[..., tuple[int, float]]


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
        watches = _watches(world)
        due = next((w for w in watches if w.value() > 0), None)
        if due is not None:
            _happen(world, due)
            continue
        if left <= LOCATED * dt:
            return
        before, told = (world.time, world.q, world.v, world.tau), len(world.events)
        _, stopped = advance(control, left, 1, limits)
        if not any(w.value() > 0 for w in watches):
            if stopped < 0 or limits is None:
                return
            limits.settle()
            left -= stopped
            continue
        short, long = 0.0, left if stopped < 0 else stopped
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
    what = f"at t = {world.time:g} s events follow each other without end"
    hint = "take a smaller dt, or integrator='implicit' for stiff springs and dampers"
    raise SimulationError(f"{what}: {hint}", world.time, world.q, world.v)


def _watches(world: World) -> list[_Watch]:
    fragile = [c for c in world.connections if c.break_force is not None]
    return [
        *(_Watch(c.overload, partial(world.cut, c), f"{c.name} breaks") for c in fragile),
        *(_Watch(partial(rule.condition, world), partial(_fire, world, rule), rule.label) for rule in world.rules),
    ]


def _fire(world: World, rule: Rule) -> None:
    if rule.once:
        world.rules.remove(rule)
    rule.action(world)


def _happen(world: World, watch: _Watch) -> None:
    watch.fire()
    world.events.append({"time": world.time, "what": watch.label})
