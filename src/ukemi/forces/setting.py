"""The setting of force estimation: one for all motions and bodies, in units of the body itself.

Lengths are in leg lengths l, times in tau = sqrt(l / g), speeds in c = sqrt(g l), forces in body weights, moments in
body weights times l / 3. docs/forces.md states the problem that they enter and how they were chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

from ukemi.errors import InvalidInputError


@dataclass(frozen=True)
class ForceSettings:
    """Prices are relative to that of a force on a sure contact, which is 1.

    cutoff: of the motion [1/tau]; skin: of one made from markers on the skin.
    height, speed: by which a point's force costs e times as much [l, c].
    lowest: share of the frames in which a point of a sole is taken to be on the ground at the latest.
    line: price of a force off the line to the base of its limb. force, moment: price of what the root lacks.
    spread: time over which a force prefers to change [tau]. rows: where points stand along a sole, from heel to ball.
    """

    cutoff: float = 3.6
    skin: float = 2.4
    height: float = 0.025
    speed: float = 0.19
    lowest: float = 0.08
    line: float = 5.0
    force: float = 100.0
    moment: float = 15.0
    spread: float = 0.12
    rows: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not all(0 <= x < float("inf") for x in (value if isinstance(value, tuple) else (value,))):
                raise InvalidInputError(f"ForceSettings.{name}: expected positive numbers, got {value!r}")


STANDARD = ForceSettings()
