"""Clips as .npz: everything that is in a clip, exactly."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ukemi.errors import FileFormatError
from ukemi.model.arrays import Array
from ukemi.motion.clip import Clip, Layout, Skeleton

FORMAT = "ukemi clip 1"


def write_npz(clip: Clip, path: str | Path) -> Path:
    file = Path(path)
    about = {
        "format": FORMAT,
        "name": clip.name,
        "fps": clip.fps,
        "start": clip.start,
        "on_skin": clip.on_skin,
        "names": clip.skeleton.names,
        "parents": clip.skeleton.parents,
        "end_joints": [j for j, _ in clip.skeleton.ends],
        "moving": list(clip.translations),
        "layout": vars(clip.layout),
    }
    arrays: dict[str, Array] = {"offsets": clip.skeleton.offsets, "rotations": clip.rotations}
    arrays["ends"] = np.array([p for _, p in clip.skeleton.ends]).reshape(-1, 3)
    arrays["translations"] = np.stack(list(clip.translations.values()), axis=1)
    if clip.raw is not None:
        arrays["raw"] = clip.raw
    with file.open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, about=np.array(json.dumps(about)), **arrays)
    return file


def read_npz(path: str | Path) -> Clip:
    """What `write_npz` wrote.

    Raises:
        FileFormatError: a file that is no clip, or a damaged one.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            if "about" not in file.files:
                raise FileFormatError(path, None, f"no clip that ukemi wrote: it holds {', '.join(file.files)[:200]}")
            about = json.loads(str(file["about"]))
            arrays = {name: np.asarray(file[name], dtype=np.float64) for name in file.files if name != "about"}
        if about["format"] != FORMAT:
            if "link_names" in about:
                how = "`ukemi info` and `ukemi view --model` show it, Recording.load reads it"
                raise FileFormatError(path, None, f"a recording of a simulation, no clip: {how}")
            raise FileFormatError(path, None, f"expected {FORMAT!r}, got {about['format']!r:.80}")
        layout = about["layout"]
        layout["channels"] = tuple(tuple(names) for names in layout["channels"])
        ends = tuple(zip(about["end_joints"], arrays["ends"], strict=True))
        skeleton = Skeleton(tuple(about["names"]), tuple(about["parents"]), arrays["offsets"], ends)
        moving = {int(j): arrays["translations"][:, k] for k, j in enumerate(about["moving"])}
        return Clip(
            *(skeleton, about["fps"], arrays["rotations"], moving, Layout(**layout)),
            *(arrays.get("raw"), str(about["name"]), float(about.get("start", 0.0)), bool(about.get("on_skin"))),
        )
    except FileNotFoundError:
        raise FileFormatError(path, None, "no such file") from None
    except FileFormatError:
        raise
    except Exception as cause:  # on damaged files NumPy raises whatever it meets, tokenize.TokenError among them
        raise FileFormatError(path, None, f"expected a clip written by ukemi: {cause}") from cause
