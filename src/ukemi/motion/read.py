"""read_motion and write_motion: a motion from a file and back, whatever its format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ukemi.errors import InvalidInputError
from ukemi.model.arrays import positive

if TYPE_CHECKING:
    from ukemi.motion.clip import Clip

REST_POSES = ("auto", "keep", "drop")


def read_motion(
    path: str | os.PathLike[str],
    *,
    unit: str | float | None = None,
    up: str | None = None,
    rest_pose: str = "auto",
    fps: float | None = None,
) -> Clip:
    """A clip from a motion file: .bvh.

    Args:
        path: the file.
        unit: ``"m"``, ``"cm"``, ``"mm"``, ``"inch"``, ``"foot"``, ``"cmu"`` (1/0.45 inch) or metres per unit; by
            default what makes the body most like an adult's in size.
        up: ``"y"`` or ``"z"``; by default the axis along which the body is longest.
        rest_pose: whether frame 0 is an added rest pose: ``"drop"`` it, ``"keep"`` it, or find out (``"auto"``).
        fps: frames per second, where the file does not say it or says it wrongly.

    Raises:
        FileFormatError: a file that cannot be read; the message begins with file:line.
        InvalidInputError: an extension that no reader takes, or an impossible option.
    """
    if not isinstance(path, str | os.PathLike):
        raise InvalidInputError(f"read_motion: expected a path, got {path!r}")
    file = Path(path)
    scale = _unit(unit)
    if up not in (None, "y", "z"):
        raise InvalidInputError(f"up: expected 'y' or 'z', got {up!r}")
    if rest_pose not in REST_POSES:
        raise InvalidInputError(f"rest_pose: expected one of {', '.join(REST_POSES)}, got {rest_pose!r}")
    rate = None if fps is None else positive("fps", fps)
    extension = file.suffix.lower()
    if extension == ".bvh":
        from ukemi.motion.bvh import read_bvh

        return read_bvh(file, unit=scale, up=up, rest_pose=rest_pose, fps=rate)
    raise InvalidInputError(f"{file}: expected a motion file that ends in .bvh")


def _unit(unit: str | float | None) -> float | None:
    from ukemi.motion.guess import UNITS

    if unit is None:
        return None
    if isinstance(unit, str):
        if unit not in UNITS:
            raise InvalidInputError(f"unit: expected one of {', '.join(UNITS)} or metres per unit, got {unit!r}")
        return UNITS[unit]
    return positive("unit", unit)


def write_motion(clip: Clip, path: str | os.PathLike[str]) -> Path:
    """Writes a clip as .bvh; returns the path."""
    file = Path(path)
    if file.suffix.lower() == ".bvh":
        from ukemi.motion.bvh_writer import write_bvh

        return write_bvh(clip, file)
    raise InvalidInputError(f"{file}: expected a file that ends in .bvh")
