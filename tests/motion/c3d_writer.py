"""C3D files as bytes, for tests: every processor, whole numbers and floats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

INTEL, DEC, MIPS = 84, 85, 86


def c3d_bytes(
    points: np.ndarray,
    labels: list[str],
    rate: float = 100.0,
    analog: np.ndarray | None = None,
    parameters: Mapping[str, Any] | None = None,
    *,
    processor: int = INTEL,
    scale: float = -1.0,
    first: int = 1,
) -> bytes:
    """points: (frames, points, 3), NaN where not seen. analog: (samples, channels). scale: negative for floats."""
    order = ">" if processor == MIPS else "<"

    def word(x: float) -> bytes:
        return int(x).to_bytes(2, "big" if processor == MIPS else "little", signed=x < 0)

    def floats(x: Any) -> bytes:
        values = np.asarray(x, dtype=f"{order}f4")
        if processor != DEC:
            return bytes(values.tobytes())
        halves = (4 * values).astype("<f4").view("<u2").reshape(-1, 2)[:, ::-1]
        return bytes(np.ascontiguousarray(halves).tobytes())

    frames, count = points.shape[:2]
    channels = 0 if analog is None else analog.shape[1]
    samples = 0 if analog is None else len(analog) // frames
    given = {
        "POINT:LABELS": labels,
        "POINT:UNITS": ["mm"],
        "POINT:RATE": float(rate),
        "POINT:SCALE": float(scale),
        "POINT:USED": count,
        "ANALOG:USED": channels,
        "ANALOG:RATE": float(rate * samples),
        "ANALOG:GEN_SCALE": 1.0,
        **(parameters or {}),
    }
    groups = list(dict.fromkeys(name.partition(":")[0] for name in given))
    body = b""
    for k, group in enumerate(groups, 1):
        body += bytes([len(group), 256 - k]) + group.encode() + word(3) + b"\0"
    for name, value in given.items():
        group, _, short = name.partition(":")
        if isinstance(value, list):
            width = max(len(text) for text in value)
            kind, shape, data = 255, (width, len(value)), "".join(t.ljust(width) for t in value).encode()
        elif isinstance(value, float) or np.asarray(value).dtype.kind == "f":
            array = np.asarray(value, dtype=float)
            kind, shape, data = 4, array.shape, floats(array.ravel(order="F"))
        else:
            array = np.asarray(value)
            kind, shape, data = 2, array.shape, b"".join(word(x) for x in array.ravel(order="F"))
        content = bytes([kind, len(shape), *shape]) + data + b"\0"
        body += bytes([len(short), groups.index(group) + 1]) + short.encode() + word(len(content) + 2) + content
    blocks = -(-(4 + len(body) + 2) // 512)
    section = (bytes([1, 80, blocks, processor]) + body).ljust(512 * blocks, b"\0")
    words = [0, count, channels * samples, first, first + frames - 1, 10]
    header = bytes([2, 80]) + b"".join(word(x) for x in words[1:]) + floats([scale])
    header += word(2 + blocks) + word(samples) + floats([rate])
    rows = np.zeros((frames, 4 * count + channels * samples))
    seen = np.isfinite(points).all(axis=-1)
    values = np.concatenate([np.where(seen[..., None], points, 0.0), np.where(seen, 0.0, -1.0)[..., None]], axis=-1)
    if scale > 0:
        values[..., :3] = np.round(values[..., :3] / scale)
    rows[:, : 4 * count] = values.reshape(frames, -1)
    if analog is not None:
        rows[:, 4 * count :] = analog.reshape(frames, -1)
    data = floats(rows.ravel()) if scale < 0 else rows.astype(f"{order}i2").tobytes()
    return header.ljust(512, b"\0") + section + data
