"""ASF/AMC files: a skeleton (.asf) and motions on it (.amc), as the CMU captures are published.

A bone's frame has axes C (``axis``, in the given order about fixed axes); its degrees of freedom turn it by M in that
frame, the first named first. With frames that are parallel in the zero pose the turn in the parent is C M C^-1. A bone
stands at the end of its parent; here that place is the joint of its name, as in BVH.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ukemi.errors import FileFormatError
from ukemi.model.arrays import Array
from ukemi.motion.clip import Clip, Layout, Skeleton
from ukemi.motion.guess import guess_unit, guess_up
from ukemi.motion.rotations import inverse, of_angles, product
from ukemi.motion.text import finite_numbers, read_text

#: AMC files do not say their rate; the CMU captures have 120 frames a second.
FPS = 120.0


@dataclass
class _Bone:
    name: str
    line: int
    direction: Array = field(default_factory=lambda: np.zeros(3))
    length: float = 0.0
    axis: Array = field(default_factory=lambda: np.zeros(3))
    axis_order: str = "xyz"
    dof: tuple[str, ...] = ()

    def turns(self, angles: Array, unit: float) -> Array:
        """C M C^-1 of angles (frames, dof)."""
        C = _fixed_axes(unit * self.axis, self.axis_order)
        turning = [k for k, name in enumerate(self.dof) if name[0] == "r"]
        M = _fixed_axes(unit * angles[:, turning], "".join(self.dof[k][1] for k in turning))
        return product(product(np.broadcast_to(C, M.shape), M), np.broadcast_to(inverse(C), M.shape))


def _fixed_axes(angles: Array, order: str) -> Array:
    """Turns about fixed axes, one after another: the last stands on the left."""
    return of_angles(angles[..., ::-1], tuple("xyz".index(axis) for axis in reversed(order)))


@dataclass
class _Asf:
    path: Path
    bones: dict[str, _Bone]
    parents: dict[str, str]
    length: float = 1.0
    angle: float = np.deg2rad(1.0)


def read_amc(
    path: str | Path,
    skeleton: str | Path | None = None,
    *,
    unit: float | None = None,
    up: str | None = None,
    fps: float | None = None,
) -> Clip:
    """A clip from an AMC file and its ASF (by default one of the same name, subject or folder)."""
    file = Path(path)
    text = read_text(file)
    asf = _read_asf(_asf_of(file) if skeleton is None else Path(skeleton))
    values = _read_frames(file, text, asf)
    frames = len(values["root"])
    names = ["root", *asf.parents]
    offsets = [np.zeros(3)]
    offsets += [asf.bones[p].direction * asf.bones[p].length for p in asf.parents.values()]
    parents = (-1, *(names.index(p) for p in asf.parents.values()))
    parts = {name: asf.bones[name] for name in names}
    turns = np.zeros((frames, len(names), 4))
    for j, (name, bone) in enumerate(parts.items()):
        turns[:, j] = bone.turns(values.get(name, np.zeros((frames, 0))), asf.angle)
    root = parts["root"]
    place = np.tile(root.direction, (frames, 1))
    for k, dof in enumerate(root.dof):
        if dof[0] == "t":
            place[:, "xyz".index(dof[1])] += values["root"][:, k]
    leaves = [j for j in range(len(names)) if j not in parents]
    tips = [(j, parts[names[j]].direction * parts[names[j]].length) for j in leaves if j]

    def clip(layout: Layout) -> Clip:
        # axes of the file become those of the clip by a cyclic change of names
        back = np.argsort(layout.axes)
        rotations = turns[..., [0, *(1 + back)]]
        bones = Skeleton(
            tuple(names),
            parents,
            layout.to_clip(np.array(offsets)),
            tuple((j, layout.to_clip(p)) for j, p in tips),
        )
        rate = FPS if fps is None else fps
        return Clip(bones, rate, rotations, {0: layout.to_clip(place)}, name=file.stem)

    axes = guess_up(clip(Layout((), 1.0, "z"))) if up is None else up
    scale = unit
    if scale is None:  # `length 0.45`: a unit is 1 / 0.45 inch
        scale = 0.0254 / asf.length if asf.length != 1.0 else guess_unit(clip(Layout((), 1.0, axes)))
    return clip(Layout((), scale, axes))


def _asf_of(file: Path) -> Path:
    """02_01.amc: 02_01.asf, else 02.asf, else the only .asf in the folder."""
    for name in (file.stem, file.stem.split("_")[0]):
        for candidate in (file.with_name(f"{name}.asf"), file.with_name(f"{name}.ASF")):
            if candidate.is_file():
                return candidate
    there = sorted(p for p in file.parent.iterdir() if p.suffix.lower() == ".asf")
    if len(there) == 1:
        return there[0]
    raise FileFormatError(
        file, None, "no skeleton beside it: expected an .asf file of this name, or skeleton='subject.asf' (--skeleton)"
    )


def _read_asf(path: Path) -> _Asf:
    asf = _Asf(path, {"root": _Bone("root", 1)}, {})
    section, bone = "", None
    for number, raw in enumerate(read_text(path).splitlines(), 1):
        line = raw.split("#")[0].strip()
        if line.startswith(":"):
            section, bone = line[1:].split()[0].lower() if line[1:].split() else "", None
            continue
        words = line.replace("(", " ").replace(")", " ").split()
        if not words:
            continue
        key, rest = words[0].lower(), words[1:]
        if section == "units" and key == "length":
            asf.length = float(finite_numbers(path, number, "length", rest, 1)[0])
            if asf.length <= 0:
                raise FileFormatError(path, number, f"length {asf.length:g}: expected a positive number")
        elif section == "units" and key == "angle":
            asf.angle = 1.0 if rest and rest[0].lower().startswith("rad") else np.deg2rad(1.0)
        elif section == "root":
            _root_line(asf.bones["root"], path, number, key, rest)
        elif section == "bonedata":
            if key == "begin":
                bone = _Bone("", number)
            elif key == "end" and bone is not None:
                if not bone.name or bone.name in asf.bones:
                    raise FileFormatError(path, bone.line, f"bone {bone.name!r}: expected a name of its own")
                asf.bones[bone.name], bone = bone, None
            elif bone is not None:
                _bone_line(bone, path, number, key, rest)
        elif section == "hierarchy" and key not in ("begin", "end"):
            _children(asf, path, number, words)
    if not asf.parents:
        raise FileFormatError(path, None, "no :hierarchy with bones: expected an ASF skeleton")
    return asf


def _root_line(root: _Bone, path: Path, number: int, key: str, rest: list[str]) -> None:
    if key == "order":
        root.dof = _freedoms(path, number, rest)
    elif key == "axis" and rest:
        root.axis_order = _order(path, number, rest[0])
    elif key == "position":
        root.direction = finite_numbers(path, number, "position", rest, 3)
    elif key == "orientation":
        root.axis = finite_numbers(path, number, "orientation", rest, 3)


def _bone_line(bone: _Bone, path: Path, number: int, key: str, rest: list[str]) -> None:
    if key == "name" and rest:
        bone.name = rest[0]
    elif key == "direction":
        bone.direction = finite_numbers(path, number, "direction", rest, 3)
    elif key == "length":
        bone.length = float(finite_numbers(path, number, "length", rest, 1)[0])
    elif key == "axis":
        bone.axis = finite_numbers(path, number, "axis", rest[:3], 3)
        bone.axis_order = _order(path, number, rest[3] if len(rest) > 3 else "xyz")
    elif key == "dof":
        bone.dof = _freedoms(path, number, rest)


def _freedoms(path: Path, number: int, words: list[str]) -> tuple[str, ...]:
    names = tuple(word.lower() for word in words)
    for name in names:
        if not re.fullmatch(r"[rt][xyz]|l", name):
            raise FileFormatError(path, number, f"degree of freedom {name[:20]!r}: expected rx, ry, rz, tx, ty or tz")
    return names


def _order(path: Path, number: int, text: str) -> str:
    if not re.fullmatch(r"[xyz]{1,3}", text.lower()):
        raise FileFormatError(path, number, f"axis order {text[:20]!r}: expected letters such as XYZ")
    return text.lower()


def _children(asf: _Asf, path: Path, number: int, words: list[str]) -> None:
    parent = words[0]
    if parent != "root" and parent not in asf.parents:
        raise FileFormatError(path, number, f"{parent!r} has children before it has a parent")
    for child in words[1:]:
        if child not in asf.bones or child in asf.parents or child == "root":
            raise FileFormatError(path, number, f"{child!r}: expected a bone of :bonedata that has no parent yet")
        asf.parents[child] = parent


def _read_frames(file: Path, text: str, asf: _Asf) -> dict[str, Array]:
    """Bone -> values (frames, dof)."""
    moving = {name: len(bone.dof) for name, bone in asf.bones.items() if bone.dof}
    frames: list[dict[str, Array]] = []
    where = 0
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if words[0].startswith(":"):
            if words[0].lower() == ":radians":
                asf.angle = 1.0
            continue
        if len(words) == 1 and words[0].isdigit():
            _whole(file, number, frames, moving)
            frames.append({})
            where = number
        elif not frames:
            raise FileFormatError(file, number, f"expected a frame number, got {words[0][:40]!r}")
        elif words[0] not in moving:
            raise FileFormatError(file, number, f"{words[0][:40]!r} is no bone of {asf.path.name} that moves")
        else:
            frames[-1][words[0]] = finite_numbers(
                file, number, f"frame {len(frames)}, {words[0]}", words[1:], moving[words[0]]
            )
    if not frames:
        raise FileFormatError(file, None, "no frames")
    _whole(file, where, frames, moving)
    return {name: np.array([frame[name] for frame in frames]) for name in moving}


def _whole(file: Path, line: int, frames: list[dict[str, Array]], moving: dict[str, int]) -> None:
    if frames and len(frames[-1]) < len(moving):
        missing = next(name for name in moving if name not in frames[-1])
        raise FileFormatError(file, line, f"frame {len(frames)} ends without {missing!r}: the file is cut off")
