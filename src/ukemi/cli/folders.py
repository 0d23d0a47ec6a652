"""Folders that commands write to."""

from __future__ import annotations

from pathlib import Path

from ukemi.errors import InvalidInputError


def check_folder(out: Path) -> None:
    """Refuses a folder that cannot be, before the work begins rather than after it; makes nothing yet."""
    for place in (out, *out.parents):
        if place.exists() and not place.is_dir():
            raise InvalidInputError(f"--out: expected a folder, but {place} is a file")
