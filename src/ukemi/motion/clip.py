"""Clip: a skeleton and how it moved, as a motion file tells it; z up, metres, quaternions (w, x, y, z)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from ukemi.errors import InvalidInputError, UnknownNameError
from ukemi.model.arrays import Array, frozen, numbers, positive
from ukemi.model.kinds import of_kind
from ukemi.motion.rotations import product, rotated


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Joints from the root outwards: ``parents[i] < i``, the root's parent is -1.

    offsets: (joints, 3), place of each joint in its parent [m]; in the zero pose all frames are parallel.
    ends: tips of chains, as (joint, offset) pairs: where fingers, toes and the head end.
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    offsets: Array
    ends: tuple[tuple[int, Array], ...] = ()

    def __post_init__(self) -> None:
        n = len(self.names)
        if n == 0 or len(self.parents) != n:
            raise InvalidInputError(f"Skeleton: expected as many parents as names, got {len(self.parents)} and {n}")
        if self.parents[0] != -1 or any(not 0 <= p < i for i, p in enumerate(self.parents) if i):
            raise InvalidInputError("Skeleton.parents: expected -1 for the root, then a joint before each joint")
        if len(set(self.names)) < n:
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise InvalidInputError(f"Skeleton.names: {twice!r} stands there twice")
        object.__setattr__(self, "offsets", numbers("Skeleton.offsets", self.offsets, (n, 3)))
        object.__setattr__(self, "ends", tuple((j, numbers("Skeleton.ends", p, (3,))) for j, p in self.ends))

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int:
        """Of the joint of this name."""
        try:
            return self._indices[name]
        except (KeyError, TypeError):
            raise UnknownNameError("joint", name, self.names) from None

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        lists: list[list[int]] = [[] for _ in self.parents]
        for j, parent in enumerate(self.parents):
            if parent >= 0:
                lists[parent].append(j)
        return tuple(map(tuple, lists))

    @cached_property
    def depth_first(self) -> tuple[int, ...]:
        """All joints in the order in which a BVH file names them."""
        order, pending = [], [0]
        while pending:
            order.append(pending.pop())
            pending.extend(self.children[order[-1]][::-1])
        return tuple(order)

    def path(self, joint: int) -> list[int]:
        """From the root to the joint, both included."""
        way = [joint]
        while self.parents[way[-1]] >= 0:
            way.append(self.parents[way[-1]])
        return way[::-1]


@dataclass(frozen=True)
class Layout:
    """How a clip stands in its file: what a writer needs to give the file's own form back.

    channels: per joint, names such as ``"Xposition"`` and ``"Zrotation"``, in the order of the file.
    unit: metres per unit of length. up: ``"y"`` or ``"z"``. frame_time: [s], as the file has it.
    """

    channels: tuple[tuple[str, ...], ...]
    unit: float = 0.01
    up: str = "y"
    frame_time: float = 0.01

    @classmethod
    def standard(cls, joints: int, moving: Collection[int], fps: float) -> Layout:
        """Six channels for joints that change place, three for others; centimetres, y up: what most programs read."""
        turn = ("Zrotation", "Yrotation", "Xrotation")
        place = ("Xposition", "Yposition", "Zposition")
        return cls(tuple((*place, *turn) if j in moving else turn for j in range(joints)), frame_time=1.0 / fps)

    @property
    def axes(self) -> tuple[int, int, int]:
        """Which axis of the clip the file's x, y and z are. With y up, z becomes x: who looks along z looks along x."""
        return (1, 2, 0) if self.up == "y" else (0, 1, 2)

    def to_clip(self, p: Array) -> Array:
        """Places (..., 3) of the file, in the clip's axes and metres."""
        out = np.empty_like(p)
        out[..., list(self.axes)] = p
        return self.unit * out

    def to_file(self, p: Array) -> Array:
        """The inverse of `to_clip`."""
        return p[..., list(self.axes)] / self.unit


@dataclass(frozen=True, eq=False)
class Clip:
    """A motion. Make one with `read_motion`, or from arrays.

    skeleton: whose motion it is.
    fps: frames per second.
    rotations: (frames, joints, 4), each joint's turn in its parent.
    translations: joint -> (frames, 3), place in the parent [m], of joints whose place changes; the root (0) always.
    layout: how the file was written. raw: its numbers (frames, channels), None once the motion has been changed.
    start: time of the first frame on the file's clock [s]; `time` counts from the first frame.
    on_skin: whether it was made from markers on the skin, which wobbles where the body is shaken.
    """

    skeleton: Skeleton
    fps: float
    rotations: Array
    translations: Mapping[int, Array]
    layout: Layout = field(default=None)  # type: ignore[assignment]
    raw: Array | None = None
    name: str = ""
    start: float = 0.0
    on_skin: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "fps", positive("Clip.fps", self.fps))
        of_kind("Clip.skeleton", self.skeleton, Skeleton)
        of_kind("Clip.translations", self.translations, Mapping, "{joint: places}")  # type: ignore[type-abstract]
        if self.layout is None:
            object.__setattr__(self, "layout", Layout.standard(len(self.skeleton), self.translations, self.fps))
        try:
            q = np.asarray(self.rotations, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as cause:
            raise InvalidInputError(f"Clip.rotations: expected numbers, got {self.rotations!r:.100}") from cause
        joints = len(self.skeleton)
        if q.ndim != 3 or q.shape[1:] != (joints, 4) or len(q) == 0:
            raise InvalidInputError(f"Clip.rotations: expected (frames, {joints}, 4), got shape {q.shape}")
        if not np.isfinite(q).all() or np.abs((q * q).sum(axis=-1) - 1).max() > 1e-6:
            frame = int(np.argmax(~(np.abs((q * q).sum(axis=-1) - 1) <= 1e-6).all(axis=1)))
            raise InvalidInputError(f"Clip.rotations: expected unit quaternions (w, x, y, z); frame {frame} has others")
        object.__setattr__(self, "rotations", frozen(q))
        for j in self.translations:
            of_kind("Clip.translations", j, int, "numbers of joints")
        places = {j: numbers(f"Clip.translations[{j}]", p, (len(q), 3)) for j, p in self.translations.items()}
        if 0 not in places or not set(places) <= set(range(joints)):
            raise InvalidInputError(f"Clip.translations: expected the root (0) and other joints, got {sorted(places)}")
        object.__setattr__(self, "translations", MappingProxyType(dict(sorted(places.items()))))

    def __reduce__(self) -> tuple[type[Clip], tuple[object, ...]]:
        """Mapping proxies cannot be pickled."""
        parts = (self.skeleton, self.fps, self.rotations, dict(self.translations), self.layout, self.raw)
        return (Clip, (*parts, self.name, self.start, self.on_skin))

    def __len__(self) -> int:
        """Frames."""
        return len(self.rotations)

    def __repr__(self) -> str:
        return (
            f"<clip {self.name!r}: {len(self)} frames at {self.fps:g} fps, {self.duration:.3g} s, "
            f"{len(self.skeleton)} joints>"
        )

    def __getitem__(self, frames: slice) -> Clip:
        """Some of the frames: ``clip[10:200]``."""
        if not isinstance(frames, slice) or frames.step not in (None, 1):
            raise InvalidInputError(f"Clip: expected a slice of frames such as clip[10:200], got {frames!r}")
        return replace(
            self,
            rotations=self.rotations[frames],
            translations={j: p[frames] for j, p in self.translations.items()},
            raw=None if self.raw is None else self.raw[frames],
            start=self.start + range(len(self))[frames].start / self.fps,
        )

    @property
    def root(self) -> Array:
        """Places of the root (frames, 3) [m]."""
        return self.translations[0]

    @property
    def duration(self) -> float:
        """From the first frame to the last [s]."""
        return (len(self) - 1) / self.fps

    @property
    def time(self) -> Array:
        """(frames,) [s], from 0 at the first frame."""
        return np.arange(len(self)) / self.fps

    def with_motion(self, rotations: ArrayLike, translations: Mapping[int, Array], fps: float | None = None) -> Clip:
        """The same skeleton and file layout with another motion."""
        rate = self.fps if fps is None else fps
        layout = self.layout if rate == self.fps else replace(self.layout, frame_time=1.0 / rate)
        return replace(
            self, rotations=np.asarray(rotations), translations=translations, fps=rate, layout=layout, raw=None
        )

    @cached_property
    def world_rotations(self) -> Array:
        """(frames, joints, 4): each joint's turn in the world."""
        q = np.array(self.rotations)
        for j, parent in enumerate(self.skeleton.parents):
            if parent >= 0:
                q[:, j] = product(q[:, parent], self.rotations[:, j])
        return frozen(q)

    @cached_property
    def positions(self) -> Array:
        """(frames, joints, 3): where each joint is in the world [m]."""
        p = np.empty((len(self), len(self.skeleton), 3))
        for j, parent in enumerate(self.skeleton.parents):
            local = self.translations.get(j, self.skeleton.offsets[j])
            if parent < 0:
                p[:, j] = local
            else:
                step = np.broadcast_to(local, (len(self), 3))
                p[:, j] = p[:, parent] + rotated(self.world_rotations[:, parent], step)
        return frozen(p)

    @cached_property
    def end_positions(self) -> Array:
        """(frames, ends, 3): where the tips are in the world [m]."""
        tips = [
            self.positions[:, j] + rotated(self.world_rotations[:, j], np.broadcast_to(p, (len(self), 3)))
            for j, p in self.skeleton.ends
        ]
        return frozen(np.stack(tips, axis=1)) if tips else np.zeros((len(self), 0, 3))
