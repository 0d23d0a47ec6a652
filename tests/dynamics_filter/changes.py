"""Clips as another camera, another clock or another body would have given them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ukemi.model.arrays import Array
from ukemi.motion.clip import Clip
from ukemi.motion.rotations import exponential, product
from ukemi.motion.sampling import sample


def _noise(clip: Clip) -> Clip:
    """Half a degree and 5 mm, white."""
    rng = np.random.default_rng(1)
    turns = exponential(np.deg2rad(0.5) / np.sqrt(3) * rng.standard_normal((*clip.rotations.shape[:2], 3)))
    places = {j: p + 0.005 / np.sqrt(3) * rng.standard_normal(p.shape) for j, p in clip.translations.items()}
    return clip.with_motion(product(clip.rotations, turns), places)


def _slow_frames(clip: Clip) -> Clip:
    """25 frames a second."""
    return sample(clip, np.arange(0, clip.duration + 1e-9, 0.04), 25.0)


def _gaps(clip: Clip) -> Clip:
    """Once a second 0.1 s in which the frame before stands still."""
    frames = np.arange(len(clip))
    second = frames % max(round(clip.fps), 1)
    held = frames - np.minimum(second, frames)
    last = np.where(second < round(0.1 * clip.fps), held, frames)
    return clip.with_motion(clip.rotations[last], {j: p[last] for j, p in clip.translations.items()})


def _mirrored(clip: Clip) -> Clip:
    """Left is right."""
    across = np.array((1.0, -1.0, 1.0))
    pairs = str.maketrans({"\0": "Right", "\1": "Left", "\2": "right", "\3": "left", "\4": "R", "\5": "L"})

    def swapped(name: str) -> str:
        for k, side in enumerate(("Left", "Right", "left", "right")):
            name = name.replace(side, chr(k))
        if re.match(r"[LR](?=[A-Z_])", name):
            name = chr(4 if name[0] == "L" else 5) + name[1:]
        return name.translate(pairs)

    bones = replace(
        clip.skeleton,
        names=tuple(swapped(name) for name in clip.skeleton.names),
        offsets=across * np.asarray(clip.skeleton.offsets),
        ends=tuple((j, across * np.asarray(p)) for j, p in clip.skeleton.ends),
    )
    moved = clip.with_motion(
        clip.rotations * np.array((1.0, -1.0, 1.0, -1.0)), {j: across * p for j, p in clip.translations.items()}
    )
    return replace(moved, skeleton=bones)


def _cut(clip: Clip) -> Clip:
    """From a third to two thirds, whatever happens there."""
    return clip[len(clip) // 3 : max(2 * len(clip) // 3, len(clip) // 3 + 1)]


def _scaled(length: float) -> Callable[[Clip], Clip]:
    def change(clip: Clip) -> Clip:
        bones = replace(
            clip.skeleton,
            offsets=length * np.asarray(clip.skeleton.offsets),
            ends=tuple((j, length * np.asarray(p)) for j, p in clip.skeleton.ends),
        )
        places: dict[int, Array] = {j: length * p for j, p in clip.translations.items()}
        moved = clip.with_motion(clip.rotations, places, clip.fps / np.sqrt(length))
        return replace(moved, skeleton=bones)

    return change


CHANGES: dict[str, Callable[[Clip], Clip]] = {
    "none": lambda clip: clip,
    "noise": _noise,
    "25 fps": _slow_frames,
    "faster": lambda clip: clip.with_motion(clip.rotations, clip.translations, 1.1 * clip.fps),
    "gaps": _gaps,
    "mirrored": _mirrored,
    "cut": _cut,
    "slower": lambda clip: clip.with_motion(clip.rotations, clip.translations, clip.fps / 1.1),
    "0.3": _scaled(0.3),
    "0.63": _scaled(0.63),
    "1.5": _scaled(1.5),
}
