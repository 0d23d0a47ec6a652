"""What the commands accept as a model: a file, or the name of a figure."""

from __future__ import annotations

import re
from pathlib import Path

from ukemi.errors import InvalidInputError
from ukemi.model.joints import Free
from ukemi.model.model import Model
from ukemi.model.readers.load import EXTENSIONS, load
from ukemi.motion.convert import CLIPS, MARKERS, TABLES

MOTIONS = (*CLIPS, *MARKERS, *TABLES)


def open_model(name: str, *, free: bool = False) -> Model:
    """The model of a URDF, MJCF or OpenSim file, or the figure human16, human28 or human40.

    free: what hangs on the world goes where it likes; MJCF files say so themselves.
    """
    figure = re.fullmatch(r"human(16|28|40)", name)
    extension = Path(name).suffix.lower()
    if figure is None and extension not in EXTENSIONS:
        what = "a folder" if Path(name).is_dir() else "a motion" if extension in MOTIONS else "none of these"
        raise InvalidInputError(
            f"{name}: expected a model ({', '.join(EXTENSIONS)}) or a figure (human16, human28, human40); it is {what}"
        )
    if figure is None or Path(name).exists():
        return load(name, base=Free() if free and extension in (".urdf", ".osim") else None)
    from ukemi.model.figures.human import human

    return human(dof=int(figure[1]))
