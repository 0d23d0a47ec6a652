"""Clips as another camera, another clock or another body would have given them."""

from __future__ import annotations

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
    "slower": lambda clip: clip.with_motion(clip.rotations, clip.translations, clip.fps / 1.1),
    "0.3": _scaled(0.3),
    "0.63": _scaled(0.63),
    "1.5": _scaled(1.5),
}
