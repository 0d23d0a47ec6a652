"""BVH files: every dialect that is in use.

Read as the file says it, joint by joint: any rotation order, joints with place channels (their channels replace the
offset, as the root's do), zero-length bones, channels in any number. Length unit and up axis are not in the format:
they come from the size and stance of the body (`ukemi.motion.guess`) unless the caller names them. Many converted
captures begin with an added rest pose; it is dropped on request or when it is found.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ukemi.errors import FileFormatError
from ukemi.model.arrays import Array
from ukemi.motion.clip import Clip, Layout, Skeleton
from ukemi.motion.guess import added_rest_pose, guess_unit, guess_up, whole_fps
from ukemi.motion.rotations import of_angles
from ukemi.motion.text import Lines, read_text

CHANNEL = re.compile(r"([xyz])(position|rotation)", re.IGNORECASE)


def read_bvh(
    path: str | Path,
    *,
    unit: float | None = None,
    up: str | None = None,
    rest_pose: str = "auto",
    fps: float | None = None,
) -> Clip:
    """A clip from a BVH file; see `read_motion` for the options."""
    file = Path(path)
    lines = Lines(file, read_text(file))
    tree = _hierarchy(lines)
    frame_time, digits, raw = _motion(lines, sum(map(len, tree.channels)))
    rate = whole_fps(frame_time, digits) if fps is None else fps
    layout = Layout(tuple(tree.channels), 1.0, "z" if up is None else up, frame_time)
    clip = _clip(tree, layout, rate, raw, file.stem)
    if up is None:
        layout = Layout(layout.channels, 1.0, guess_up(clip), frame_time)
        clip = _clip(tree, layout, rate, raw, file.stem)
    scale = guess_unit(clip) if unit is None else unit
    if rest_pose == "drop" or (rest_pose == "auto" and added_rest_pose(clip)):
        if len(raw) == 1:
            raise FileFormatError(file, None, "the only frame is a rest pose: nothing is left when it is dropped")
        raw = raw[1:]
    return _clip(tree, Layout(layout.channels, scale, layout.up, frame_time), rate, raw, file.stem)


@dataclass
class _Tree:
    names: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    offsets: list[list[float]] = field(default_factory=list)
    channels: list[tuple[str, ...]] = field(default_factory=list)
    ends: list[tuple[int, list[float]]] = field(default_factory=list)
    uses: dict[str, int] = field(default_factory=dict)


def _hierarchy(lines: Lines) -> _Tree:
    lines.expect("HIERARCHY")
    tree = _Tree()
    open_joints: list[int] = []  # -1: an end site
    while True:
        word = lines.word("ROOT, JOINT, End Site or }" if open_joints or not tree.names else "MOTION")
        kind = word.upper()
        if kind == "MOTION" and tree.names and not open_joints:
            return tree
        if kind == "}" and open_joints:
            joint = open_joints.pop()
            if joint >= 0 and len(tree.channels) <= joint:
                tree.channels.append(())
            continue
        inside = bool(open_joints) and open_joints[-1] >= 0
        if kind == "ROOT" and tree.names:
            raise lines.error("a second ROOT: expected one skeleton per file")
        if (kind == "ROOT" and not open_joints) or (kind == "JOINT" and inside):
            if open_joints and len(tree.channels) <= open_joints[-1]:
                tree.channels.append(())  # a joint without CHANNELS
            tree.names.append(_unique(lines.rest(until="{") or "joint", tree))
            tree.parents.append(open_joints[-1] if open_joints else -1)
            lines.expect("{")
            tree.offsets.append(_offset(lines))
            open_joints.append(len(tree.names) - 1)
        elif kind == "END" and inside:
            lines.rest(until="{")
            lines.expect("{")
            tree.ends.append((open_joints[-1], _offset(lines)))
            open_joints.append(-1)
        elif kind == "CHANNELS" and inside and len(tree.channels) == open_joints[-1]:
            tree.channels.append(_channels(lines))
        else:
            where = f"in {tree.names[open_joints[-1]]}" if inside else "here"
            raise lines.error(
                f"{word[:40]!r} does not belong {where}: expected ROOT, JOINT, End Site, CHANNELS, }} or MOTION"
            )


def _unique(name: str, tree: _Tree) -> str:
    while name in tree.uses:
        tree.uses[name] += 1
        name = f"{name}_{tree.uses[name]}"
    tree.uses[name] = 1
    return name


def _offset(lines: Lines) -> list[float]:
    lines.expect("OFFSET")
    return [lines.number("OFFSET") for _ in range(3)]


def _channels(lines: Lines) -> tuple[str, ...]:
    count = lines.integer("CHANNELS")
    if not 0 <= count <= 12:
        raise lines.error(f"CHANNELS {count}: expected 0 to 12")
    names = [lines.word("a channel such as Xposition or Zrotation") for _ in range(count)]
    for name in names:
        if not CHANNEL.fullmatch(name):
            raise lines.error(f"channel {name[:40]!r}: expected Xposition, Yposition, ... or Xrotation, ...")
    return tuple(name[0].upper() + name[1:].lower() for name in names)


def _motion(lines: Lines, channels: int) -> tuple[float, int, Array]:
    """Frame time, its decimals, and the numbers (frames, channels)."""
    count = lines.integer_after("Frames")
    text = lines.text_after("Frame Time")
    frame_time = lines.as_number("Frame Time", text)
    if frame_time <= 0:
        raise lines.error(f"Frame Time {text}: expected a positive number of seconds")
    if channels == 0:
        raise lines.error("no joint has channels: nothing moves")
    decimals = len(text.partition(".")[2]) if "e" not in text.lower() else 17
    start = lines.line_number
    values = lines.numbers(channels)
    if count < 1:
        raise FileFormatError(lines.path, start, f"Frames: {count}: expected at least one")
    if len(values) != count * channels:
        odd = lines.uneven_line(channels)
        whole, left = divmod(len(values), channels)
        if odd is not None and odd[1] <= whole:  # a frame in the middle, with others after it
            raise FileFormatError(lines.path, odd[0], f"frame {odd[1]}: expected {channels} numbers, got {odd[2]}")
        line = lines.line_of_number(min(len(values), count * channels))
        had = f"{whole} frames" + (f" and {left} numbers of the next" if left else "")
        raise FileFormatError(
            lines.path,
            line,
            f"expected {count} frames of {channels} numbers, got {had}: the file is cut off or its header is wrong",
        )
    return frame_time, decimals, values.reshape(count, channels)


def _clip(tree: _Tree, layout: Layout, fps: float, raw: Array, name: str) -> Clip:
    offsets = layout.to_clip(np.array(tree.offsets))
    rotations = np.zeros((len(raw), len(tree.names), 4))
    translations: dict[int, Array] = {}
    column = 0
    for j, names in enumerate(layout.channels):
        values = raw[:, column : column + len(names)]
        column += len(names)
        turns = [k for k, n in enumerate(names) if n.endswith("rotation")]
        axes = tuple(layout.axes["XYZ".index(names[k][0])] for k in turns)
        rotations[:, j] = of_angles(np.deg2rad(values[:, turns]), axes)
        places = [k for k, n in enumerate(names) if n.endswith("position")]
        if places or j == 0:
            local = np.tile(np.array(tree.offsets[j]), (len(raw), 1))
            local[:, ["XYZ".index(names[k][0]) for k in places]] = values[:, places]
            translations[j] = layout.to_clip(local)
    ends = tuple((j, layout.to_clip(np.array(p))) for j, p in tree.ends)
    skeleton = Skeleton(tuple(tree.names), tuple(tree.parents), offsets, ends)
    return Clip(skeleton, fps, rotations, translations, layout, raw, name)
