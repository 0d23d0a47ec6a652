"""BVH files written: a clip that was not changed gives its file's numbers back to the last digit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array
from ukemi.motion.clip import Clip
from ukemi.motion.rotations import angles_of

#: Decimals of changed motions: a millionth of a degree is far below what is seen or felt.
DECIMALS = 6


def write_bvh(clip: Clip, path: str | Path) -> Path:
    """Writes the clip in its own layout: channels, unit and up axis of the file it came from.

    Raises:
        InvalidInputError: a joint moves that the layout has no place channels for.
    """
    values = channel_values(clip)
    exact = clip.raw is not None
    rows = ([_shortest(x) for x in row] if exact else [f"{x:.{DECIMALS}f}" for x in row] for row in values)
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        file.write("HIERARCHY\n")
        file.writelines(f"{line}\n" for line in _joint(clip, 0, 0))
        file.write(f"MOTION\nFrames: {len(clip)}\nFrame Time: {_shortest(clip.layout.frame_time)}\n")
        file.writelines(" ".join(row) + "\n" for row in rows)
    return Path(path)


def channel_values(clip: Clip) -> Array:
    """(frames, channels): what stands in the MOTION section; angles in degrees."""
    if clip.raw is not None:
        return clip.raw
    layout = clip.layout
    columns: list[Array] = []
    for j in clip.skeleton.depth_first:
        names = layout.channels[j]
        local = clip.translations.get(j)
        places = [n for n in names if n.endswith("position")]
        if local is not None and len(places) < 3:
            rest = layout.to_file(local - clip.skeleton.offsets[j])
            fixed = [k for k, axis in enumerate("XYZ") if f"{axis}position" not in places]
            if np.abs(rest[:, fixed]).max() > 10.0**-DECIMALS:
                raise InvalidInputError(
                    f"joint {clip.skeleton.names[j]!r} changes its place: its layout has no channels for it"
                )
        if local is None:
            local = np.broadcast_to(clip.skeleton.offsets[j], (len(clip), 3))
        axes = tuple(layout.axes["XYZ".index(n[0])] for n in names if n.endswith("rotation"))
        angles = np.rad2deg(angles_of(clip.rotations[:, j], axes))
        place = layout.to_file(np.asarray(local))
        turn = 0
        for name in names:
            if name.endswith("position"):
                columns.append(place[:, "XYZ".index(name[0])])
            else:
                columns.append(angles[:, turn])
                turn += 1
    return np.stack(columns, axis=1)


def _shortest(x: float) -> str:
    """The fewest digits that read back as the same number."""
    return repr(float(x)).removesuffix(".0")


def _joint(clip: Clip, joint: int, depth: int) -> Iterator[str]:
    """The lines of the hierarchy, walked without recursion: chains may be thousands of joints long."""
    skeleton, layout = clip.skeleton, clip.layout
    ends: dict[int, list[Array]] = {}
    for end, place in skeleton.ends:
        ends.setdefault(end, []).append(place)
    # what is still to be written: a joint, or closing braces
    pending: list[tuple[int, int]] = [(joint, depth)]
    while pending:
        j, level = pending.pop()
        pad = "  " * level
        if j < 0:
            yield f"{pad}}}"
            continue
        yield f"{pad}{'ROOT' if skeleton.parents[j] < 0 else 'JOINT'} {skeleton.names[j]}"
        yield f"{pad}{{"
        yield f"{pad}  OFFSET {_triple(clip, skeleton.offsets[j])}"
        names = layout.channels[j]
        yield f"{pad}  CHANNELS {len(names)} {' '.join(names)}".rstrip()
        for place in ends.get(j, ()):
            yield f"{pad}  End Site"
            yield f"{pad}  {{"
            yield f"{pad}    OFFSET {_triple(clip, place)}"
            yield f"{pad}  }}"
        pending.append((-1, level))
        pending.extend((child, level + 1) for child in skeleton.children[j][::-1])


def _triple(clip: Clip, p: Array) -> str:
    # 15 digits: scaling to metres and back costs the sixteenth
    return " ".join(f"{x + 0.0:.15g}" for x in clip.layout.to_file(p))
