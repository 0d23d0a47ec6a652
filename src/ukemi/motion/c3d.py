"""C3D files: points, analog channels and parameters, as they stand in the file.

The format is that of the C3D user guide (c3d.org): blocks of 512 bytes, a header, parameters in groups, then frame by
frame the points and the analog samples, as whole numbers or as floats of three kinds of processors. Sizes are checked
against the file before anything is read: what was cut short is an error, never zeros.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ukemi.errors import FileFormatError
from ukemi.model.arrays import Array
from ukemi.motion.text import read_bytes

BLOCK = 512  # [bytes]
#: Second byte of every C3D file.
KEY = 0x50
#: What the fourth byte of the parameters says of the processor: its whole numbers and floats are little or big endian;
#: those of DEC have another exponent.
INTEL, DEC, MIPS = 84, 85, 86
#: The largest count that a header holds; longer captures say theirs in parameters.
MOST = 65535


@dataclass(frozen=True, eq=False)
class C3D:
    """What is in a C3D file.

    labels: of the points. rate: frames per second. first: number of the first frame; the clock begins with frame 1.
    points: (frames, points, 3) in the file's unit, NaN where a point was not seen.
    analog: (samples, channels), scaled. analog_rate: samples per second.
    parameters: ``"GROUP:NAME"`` -> texts, or an array with the first index first, as the format counts.
    """

    labels: tuple[str, ...]
    rate: float
    first: int
    points: Array
    analog: Array
    analog_rate: float
    parameters: Mapping[str, Any]

    def texts(self, name: str) -> list[str]:
        """Texts of a parameter; those beyond 255 stand in NAME2, NAME3, ..."""
        found: list[str] = []
        for number in ("", *range(2, 100)):
            part = self.parameters.get(f"{name}{number}")
            if not isinstance(part, list):
                break
            found += part
        return found

    def values(self, name: str) -> Array:
        """Numbers of a parameter, in a row; those beyond 255 stand in NAME2, NAME3, ..."""
        found = []
        for number in ("", *range(2, 100)):
            part = self.parameters.get(f"{name}{number}")
            if not isinstance(part, np.ndarray):
                break
            found.append(part.ravel(order="F"))
        return np.concatenate(found) if found else np.zeros(0)


def read_c3d(file: Path) -> C3D:
    """Everything of a C3D file.

    Raises:
        FileFormatError: no C3D file, or one that was cut short or damaged.
    """
    data = read_bytes(file)
    if len(data) < BLOCK or data[1] != KEY:
        raise FileFormatError(file, None, f"expected a C3D file (second byte {KEY:#x}), got {data[:4]!r}")
    try:
        with np.errstate(invalid="ignore", over="ignore"):  # damaged floats
            return _read(file, data)
    except (ValueError, IndexError, KeyError, OverflowError, TypeError) as cause:
        if isinstance(cause, FileFormatError):
            raise
        raise FileFormatError(file, None, f"damaged C3D file: {cause}") from cause


class _Numbers:
    """How a file writes numbers."""

    def __init__(self, file: Path, data: bytes, start: int) -> None:
        kind = data[start + 3] if start + 4 <= len(data) else 0
        # a few programs leave the processor out: Intel's
        kind = INTEL if kind in (0, 1) else kind
        if kind not in (INTEL, DEC, MIPS):
            raise FileFormatError(file, None, f"processor type {kind}: expected {INTEL}, {DEC} or {MIPS}")
        self.data, self.kind = data, kind
        self.order = ">" if kind == MIPS else "<"

    def whole(self, at: int, count: int = 1, *, signed: bool = False) -> Any:
        kind = f"{self.order}{'i' if signed else 'u'}2"
        return np.frombuffer(self._bytes(at, 2 * count), kind).astype(np.int64)

    def floats(self, at: int, count: int) -> Array:
        if self.kind != DEC:
            return np.frombuffer(self._bytes(at, 4 * count), f"{self.order}f4").astype(np.float64)
        # DEC's F format: halves exchanged, the exponent's bias larger by two
        halves = np.frombuffer(self._bytes(at, 4 * count), "<u2").reshape(-1, 2)[:, ::-1]
        return 0.25 * np.ascontiguousarray(halves).view("<f4").ravel().astype(np.float64)

    def _bytes(self, at: int, count: int) -> bytes:
        if at < 0 or at + count > len(self.data):
            raise ValueError(f"byte {at + count} of {len(self.data)}")
        return self.data[at : at + count]


def _read(file: Path, data: bytes) -> C3D:
    start = BLOCK * (max(data[0], 1) - 1)
    read = _Numbers(file, data, start)
    parameters = dict(_parameters(read, start))
    header = [0, *(int(x) for x in read.whole(0, 12))]  # words, counted from 1 as in the user guide
    points, per_frame, first, last, block, samples = (header[k] for k in (2, 3, 4, 5, 9, 10))
    channels = int(_first(parameters, "ANALOG:USED", per_frame // max(samples, 1))) if samples and per_frame else 0
    scale = float(_first(parameters, "POINT:SCALE", float(read.floats(12, 1)[0])))
    rate = float(_first(parameters, "POINT:RATE", float(read.floats(20, 1)[0])))
    if not (np.isfinite(rate) and rate > 0):
        raise FileFormatError(file, None, f"POINT:RATE: expected frames per second, got {rate:g}")
    first, frames = _frames(parameters, first, last)
    block = block or int(_first(parameters, "POINT:DATA_START", 0))
    size = 4 if scale < 0 else 2
    row = 4 * points + channels * samples
    there = (len(data) - BLOCK * (block - 1)) // (size * row) if row and block > 1 else 0
    if there < frames:
        raise FileFormatError(
            file, None, f"the file was cut short: the header says {frames} frames, {max(there, 0)} are in it"
        )
    begin = BLOCK * (block - 1)
    if size == 4:
        values = read.floats(begin, frames * row)
    else:
        signed = not _unsigned(parameters)
        values = read.whole(begin, frames * row, signed=True).astype(np.float64)
        if not signed:
            values = values.reshape(frames, row)
            values[:, 4 * points :] %= MOST + 1
    values = values.reshape(frames, row)
    seen = values[:, : 4 * points].reshape(frames, points, 4)
    places = seen[..., :3] * (1.0 if size == 4 else scale)
    places[seen[..., 3] < 0] = np.nan  # how the format marks what was not seen
    places[~np.isfinite(places).all(axis=-1)] = np.nan
    raw = values[:, 4 * points :].reshape(frames * samples, channels)
    c3d = C3D((), rate, first, places, raw, rate * samples, parameters)
    labels = [label.strip() for label in c3d.texts("POINT:LABELS")][:points]
    labels += [f"*{k}" for k in range(len(labels), points)]
    return C3D(tuple(labels), rate, first, places, _scaled(c3d, raw), rate * samples, parameters)


def _frames(parameters: Mapping[str, Any], first: int, last: int) -> tuple[int, int]:
    """Number of the first frame, and how many there are: two words a parameter where the header's one is too small."""
    ends = []
    for name, word in (("TRIAL:ACTUAL_START_FIELD", first), ("TRIAL:ACTUAL_END_FIELD", last)):
        words = parameters.get(name)
        if isinstance(words, np.ndarray) and words.size == 2:
            low, high = (int(x) % (MOST + 1) for x in words.ravel())
            word = low + (MOST + 1) * high
        ends.append(word)
    begin, end = ends
    return (begin, end - begin + 1) if end >= begin else (first, max(last - first + 1, 0))


def _unsigned(parameters: Mapping[str, Any]) -> bool:
    said = parameters.get("ANALOG:FORMAT")
    return isinstance(said, list) and bool(said) and said[0].strip().upper() == "UNSIGNED"


def _first(parameters: Mapping[str, Any], name: str, otherwise: float) -> float:
    value = parameters.get(name)
    return float(value.ravel()[0]) if isinstance(value, np.ndarray) and value.size else otherwise


def _scaled(c3d: C3D, raw: Array) -> Array:
    """(sample - offset) scale general scale."""
    channels = raw.shape[1]
    scale, offset = np.ones(channels), np.zeros(channels)
    for given, into in ((c3d.values("ANALOG:SCALE"), scale), (c3d.values("ANALOG:OFFSET"), offset)):
        into[: len(given)] = given[:channels]
    if _unsigned(c3d.parameters):
        offset %= MOST + 1
    return (raw - offset) * scale * _first(c3d.parameters, "ANALOG:GEN_SCALE", 1.0)


def _parameters(read: _Numbers, start: int) -> Iterator[tuple[str, Any]]:
    """Names and values; groups may be named after their parameters."""
    groups: dict[int, str] = {}
    found: list[tuple[int, str, Any]] = []
    at, end = start + 4, start + BLOCK * (read.data[start + 2] or MOST)
    while at + 2 <= min(end, len(read.data)):
        length, group = abs(_signed(read.data[at])), _signed(read.data[at + 1])
        if length == 0:
            break
        name = read.data[at + 2 : at + 2 + length].decode("latin-1").strip().upper()
        at += 2 + length
        step = int(read.whole(at)[0])
        if group < 0:
            groups[-group] = name
        else:
            found.append((group, name, _value(read, at + 2)))
        if step == 0:
            break
        at += step
    for group, name, value in found:
        yield f"{groups.get(group, group)}:{name}", value


def _value(read: _Numbers, at: int) -> Any:
    kind, dimensions = _signed(read.data[at]), read.data[at + 1]
    shape = tuple(read.data[at + 2 : at + 2 + dimensions])
    at += 2 + dimensions
    count = math.prod(shape)
    if at + count > len(read.data):
        raise ValueError(f"a parameter of {count} values")
    if kind == -1:
        text = read.data[at : at + count].decode("latin-1")
        width = shape[0] if shape else 1
        return [text[k : k + width] for k in range(0, count, max(width, 1))]
    if kind == 4:
        values = read.floats(at, count)
    elif kind == 2:
        values = read.whole(at, count, signed=True).astype(np.float64)
    elif kind == 1:
        values = np.frombuffer(read.data[at : at + count], np.int8).astype(np.float64)
    else:
        raise ValueError(f"a parameter of type {kind}")
    return values.reshape(shape or (1,), order="F")


def _signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte
