"""Every clip of a folder through the filter as other captures would show it: how many stay up, and how near.

`python bench/filter_variants.py FOLDER`: mirrored, trembling, of another size, at another frame rate, cut.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

import ukemi as uk
from ukemi.motion.clip import Skeleton
from ukemi.motion.rotations import continuous, product

SIDES = (("Left", "Right"), ("left", "right"), ("_L", "_R"))


def mirrored(clip: uk.Clip) -> uk.Clip:
    """Left for right."""
    s, flip = clip.skeleton, np.array([1.0, -1.0, 1.0])
    names = tuple(_other_side(name) for name in s.names)
    skeleton = Skeleton(names, s.parents, s.offsets * flip, tuple((j, p * flip) for j, p in s.ends))
    places = {j: p * flip for j, p in clip.translations.items()}
    return uk.Clip(skeleton, clip.fps, clip.rotations * (1, -1, 1, -1), places, name=clip.name)


def _other_side(name: str) -> str:
    if len(name) > 1 and name[0] in "LR" and name[1].isupper():
        return ("R" if name[0] == "L" else "L") + name[1:]
    for left, right in SIDES:
        if left in name or right in name:
            return name.replace(left, right) if left in name else name.replace(right, left)
    return name


def trembling(clip: uk.Clip) -> uk.Clip:
    """The root by 2 mm, every other joint by half a degree, in each frame anew."""
    rng = np.random.default_rng(zlib.crc32(clip.name.encode()))
    half = 0.5 * rng.normal(0.0, np.deg2rad(0.5), (*clip.rotations.shape[:2], 3))
    half[:, 0] = 0.0
    shake = np.concatenate([np.ones((*half.shape[:2], 1)), half], axis=2)
    shake /= np.linalg.norm(shake, axis=2, keepdims=True)
    places = {j: p + rng.normal(0.0, 0.002, p.shape) if j == 0 else p for j, p in clip.translations.items()}
    return uk.Clip(clip.skeleton, clip.fps, product(clip.rotations, shake), places, name=clip.name)


def sized(clip: uk.Clip, size: float) -> uk.Clip:
    """So many times as tall, and as slow as taller people are."""
    s = clip.skeleton
    skeleton = Skeleton(s.names, s.parents, size * s.offsets, tuple((j, size * p) for j, p in s.ends))
    places = {j: size * p for j, p in clip.translations.items()}
    return uk.Clip(skeleton, clip.fps / np.sqrt(size), clip.rotations, places, name=clip.name)


def resampled(clip: uk.Clip, fps: float) -> uk.Clip:
    """On lines between the frames."""
    at = np.arange(int(clip.duration * fps) + 1) / fps * clip.fps
    k = np.clip(at.astype(int), 0, len(clip) - 2)
    share = (at - k)[:, None]
    turns = continuous(np.array(clip.rotations))
    turns = turns[k] + share[..., None] * (turns[k + 1] - turns[k])
    turns /= np.linalg.norm(turns, axis=2, keepdims=True)
    places = {j: p[k] + share * (p[k + 1] - p[k]) for j, p in clip.translations.items()}
    return uk.Clip(clip.skeleton, fps, turns, places, name=clip.name)


CASES: dict[str, Callable[[uk.Clip], uk.Clip]] = {
    "mirrored": mirrored,
    "trembling": trembling,
    "1.2 times as tall": lambda clip: sized(clip, 1.2),
    "0.63 times as tall": lambda clip: sized(clip, 0.63),
    "25 frames a second": lambda clip: resampled(clip, 25.0),
    "from 0.37 to 0.91": lambda clip: clip[int(0.37 * len(clip)) : int(0.91 * len(clip))],
}


def main() -> None:
    files = sorted([*Path(sys.argv[1]).rglob("*.bvh"), *Path(sys.argv[1]).rglob("humanoid3d_*.txt")])
    print("| variant | up | standard | joints deg, mean | com cm, mean |\n|---|---|---|---|---|")
    for name, change in CASES.items():
        all_of = []
        for file in files:
            quality = uk.filter_motion(change(uk.read_motion(file))).quality
            all_of.append(quality)
            if quality.fell:
                print(f"{file.stem}, {name}: falls at {quality.fell_at:.2f} s", file=sys.stderr, flush=True)
        up = [q for q in all_of if not q.fell]
        standard = sum(q.preset == "standard" for q in up)
        joints, com = (np.mean([getattr(q, n) for q in up]) for n in ("joint_rms_deg", "com_rms_cm"))
        print(f"| {name} | {len(up)} of {len(files)} | {standard} | {joints:.1f} | {com:.1f} |", flush=True)


if __name__ == "__main__":
    main()
