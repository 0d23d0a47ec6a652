"""DeepMimic's motions (JSON, on its figure humanoid3d): what many learning projects retarget to and publish.

A frame is a duration, the root's place and quaternion, then a quaternion per ball joint and an angle per hinge, in the
order of the figure; x forward, y up, z right; metres. The figure's lengths are those of its model file (Peng et al.
2018, xbpeng/DeepMimic, data/characters/humanoid3d.txt).
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ukemi.errors import FileFormatError
from ukemi.motion.clip import Clip, Skeleton
from ukemi.motion.ground_forces import from_opensim
from ukemi.motion.rotations import about, continuous
from ukemi.motion.soles import TOE_HEIGHT
from ukemi.motion.text import read_text

#: Joint, parent, numbers in a frame (4: ball, 1: hinge, 0: fixed), place in the parent [m] in the file's axes.
JOINTS = (
    ("root", -1, 4, (0.0, 0.0, 0.0)),
    ("chest", 0, 4, (0.0, 0.236151, 0.0)),
    ("neck", 1, 4, (0.0, 0.223894, 0.0)),
    ("right_hip", 0, 4, (0.0, 0.0, 0.084887)),
    ("right_knee", 3, 1, (0.0, -0.421546, 0.0)),
    ("right_ankle", 4, 4, (0.0, -0.40987, 0.0)),
    ("right_shoulder", 1, 4, (-0.02405, 0.24350, 0.18311)),
    ("right_elbow", 6, 1, (0.0, -0.274788, 0.0)),
    ("right_wrist", 7, 0, (0.0, -0.258947, 0.0)),
    ("left_hip", 0, 4, (0.0, 0.0, -0.084887)),
    ("left_knee", 9, 1, (0.0, -0.421546, 0.0)),
    ("left_ankle", 10, 4, (0.0, -0.40987, 0.0)),
    ("left_shoulder", 1, 4, (-0.02405, 0.24350, -0.18311)),
    ("left_elbow", 12, 1, (0.0, -0.274788, 0.0)),
    ("left_wrist", 13, 0, (0.0, -0.258947, 0.0)),
)
NUMBERS = 4 + sum(count for _, _, count, _ in JOINTS)
#: Published quaternions are blends of others, and up to so much off unit length (its jump: 0.017, its kick: 0.42); they
#: are made unit.
UNEVEN = 0.5
#: Front and bottom of the foot's box, from the ankle [m].
TOE, SOLE = 0.1335, -0.05


def read_deepmimic(path: str | Path, fps: float | None = None) -> Clip:
    """A clip from a DeepMimic motion file.

    Raises:
        FileFormatError: no JSON, or frames that are not humanoid3d's.
    """
    file = Path(path)
    text = read_text(file)
    try:
        content = json.loads(text)
        frames = [[float(x) for x in frame] for frame in content["Frames"]]
    except json.JSONDecodeError as cause:
        raise FileFormatError(file, cause.lineno, f"expected JSON: {cause.msg}") from cause
    except (KeyError, TypeError, ValueError, RecursionError) as cause:
        raise FileFormatError(file, None, "expected a DeepMimic motion: an object with Frames of numbers") from cause
    for k, frame in enumerate(frames):
        if len(frame) != NUMBERS or not np.isfinite(frame).all():
            raise FileFormatError(file, None, f"frame {k}: expected {NUMBERS} finite numbers, got {len(frame)}")
    if not frames:
        raise FileFormatError(file, None, "no frames")
    values = np.array(frames)
    duration = float(np.median(values[:, 0]))
    if fps is None and duration <= 0:
        raise FileFormatError(file, None, f"frames of {duration:g} s: expected a positive duration")
    rate = 1.0 / duration if fps is None else fps
    turns = np.zeros((len(values), len(JOINTS), 4))
    turns[..., 0] = 1.0
    column = 4
    for j, (name, _, count, _) in enumerate(JOINTS):
        part = values[:, column : column + count]
        column += count
        if count == 4:
            length = np.linalg.norm(part, axis=1, keepdims=True)
            off = np.abs(length[:, 0] - 1)
            if off.max() > UNEVEN:
                where = f"frame {int(off.argmax())}: {name}"
                raise FileFormatError(file, None, f"{where}: expected unit quaternions (w, x, y, z)")
            turns[:, j, :1], turns[:, j, 1:] = part[:, :1] / length, from_opensim(part[:, 1:] / length)
        elif count == 1:  # about z, which points right
            turns[:, j] = about(1, -part[:, 0])
    offsets = from_opensim(np.array([place for _, _, _, place in JOINTS]))
    ends = [(2, (0.0, 0.0, 0.24)), *((j, (0.0, 0.0, -0.08)) for j in (8, 14))]
    ends += [(j, (TOE, 0.0, SOLE + TOE_HEIGHT)) for j in (5, 11)]
    skeleton = Skeleton(
        tuple(name for name, _, _, _ in JOINTS),
        tuple(parent for _, parent, _, _ in JOINTS),
        offsets,
        tuple((j, np.array(p)) for j, p in ends),
    )
    # durations are written with six digits: 0.033332 is 30 frames a second
    whole = round(rate)
    rate = float(whole) if abs(whole - rate) < 1e-3 * rate else rate
    return Clip(skeleton, rate, continuous(turns), {0: from_opensim(values[:, 1:4])}, name=file.stem)
