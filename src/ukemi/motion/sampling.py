"""A clip at other times: linear between frames, rotations along the shorter way."""

from __future__ import annotations

import numpy as np

from ukemi.model.arrays import Array
from ukemi.motion.clip import Clip
from ukemi.motion.rotations import slerp


def sample(clip: Clip, times: Array, fps: float) -> Clip:
    """The clip at ``times`` [s] after its start; before the first and after the last frame it stands still."""
    at = np.clip(np.asarray(times) * clip.fps, 0, len(clip) - 1)
    before = np.minimum(at.astype(int), max(len(clip) - 2, 0))
    after = np.minimum(before + 1, len(clip) - 1)
    share = at - before
    rotations = slerp(clip.rotations[before], clip.rotations[after], share[:, None])
    rotations /= np.linalg.norm(rotations, axis=-1, keepdims=True)
    translations = {
        j: (1 - share)[:, None] * p[before] + share[:, None] * p[after] for j, p in clip.translations.items()
    }
    return clip.with_motion(rotations, translations, fps)
