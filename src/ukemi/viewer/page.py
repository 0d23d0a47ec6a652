"""A page that shows a motion in any browser, by itself: no server, no network, no other files."""

from __future__ import annotations

import base64
import html
import json
import os
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np

from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array
from ukemi.model.kinds import items_of, of_kind, path_of
from ukemi.viewer.stage import Stage

#: Arrows of forces: metres per newton.
ARROW = 1e-3


def write_page(stages: Stage | Sequence[Stage], path: str | os.PathLike[str], *, title: str | None = None) -> Path:
    """Writes a page with one or several motions, which play together; returns the path.

    The mouse turns the view (drag), shifts it (right button) and comes nearer (wheel); space stops and goes on.
    """
    shown = (stages,) if isinstance(stages, Stage) else items_of("write_page", stages, "stages")
    if not shown:
        raise InvalidInputError("write_page: expected at least one stage")
    for stage in shown:
        of_kind("write_page", stage, Stage)
    file = path_of("write_page", path)
    name = title or ", ".join(stage.name for stage in shown)
    content = json.dumps({"title": name, "arrow": ARROW, "stages": [_packed(stage) for stage in shown]})
    template = (files("ukemi.viewer") / "page.html").read_text(encoding="utf-8")
    # "</" could end the script early
    page = template.replace("$TITLE", html.escape(name)).replace("$CONTENT", content.replace("</", "<\\/"))
    file.write_text(page, encoding="utf-8")
    return file


def _packed(stage: Stage) -> dict[str, object]:
    counts = [len(f) for f in stage.forces]
    return {
        "name": stage.name,
        "time": [round(float(t), 5) for t in stage.time - stage.time[0]],
        "parts": [
            {
                "name": part.name,
                "still": part.still,
                "colour": [int(part.colour[k : k + 2], 16) / 255 for k in (1, 3, 5)],
                "corners": _text(part.mesh[0]),
                "normals": _text(part.mesh[1]),
                "poses": _text(part.poses),
            }
            for part in stage.parts
        ],
        "force_counts": counts,
        "forces": _text(np.concatenate(stage.forces)) if counts else "",
    }


def _text(x: Array) -> str:
    """Numbers as base64 of single precision, little-endian."""
    return base64.b64encode(np.ascontiguousarray(x, dtype="<f4").tobytes()).decode("ascii")
