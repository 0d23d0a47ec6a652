"""Damaged motion files end in FileFormatError or InvalidInputError, whatever was done to them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ukemi as uk
from ukemi.motion.markers import read_markers
from ukemi.motion.synthesis import walk
from ukemi.motion.tables import read_table, write_table

SECONDS = 4.0
PIECES = [
    b"{",
    b"}",
    b"\n",
    b" 1e999 ",
    b"nan",
    b"-",
    b"ROOT x",
    b"End Site",
    b"CHANNELS 6",
    b"Frames: 7",
    b"\x00",
    b"\xff\xfe",
]


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    out = bytearray(data)
    for _ in range(rng.integers(1, 6)):
        at = int(rng.integers(len(out) + 1))
        choice = rng.integers(4)
        if choice == 0:
            del out[at : at + int(rng.integers(200))]
        elif choice == 1:
            out[at:at] = PIECES[rng.integers(len(PIECES))]
        elif choice == 2 and at < len(out):
            out[at] = int(rng.integers(256))
        else:
            out = out[:at]
    return bytes(out)


@pytest.mark.fuzz
@pytest.mark.parametrize("extension", ["bvh", "npz", "trc", "mot", "amc"])
def test_damage_is_refused_in_good_order(tmp_path: Path, extension: str) -> None:
    clip = walk(0.1)
    path = tmp_path / f"a.{extension}"
    if extension == "mot":
        write_table(path, [0, 1, 2], {"a": [1, 2, 3], "b": [4, 5, 6]})
    elif extension == "amc":
        asf = ":root\norder TX TY TZ RX RY RZ\n:bonedata\nbegin\nname b\ndirection 0 1 0\nlength 2\ndof rx\nend\n"
        (tmp_path / "a.asf").write_text(asf + ":hierarchy\nbegin\nroot b\nend\n")
        path.write_text("1\nroot 1 2 3 4 5 6\nb 7\n2\nroot 1 2 3 4 5 6\nb 8\n")
    else:
        uk.write_motion(clip, path)
    data, rng, end = path.read_bytes(), np.random.default_rng(7), time.monotonic() + SECONDS
    readers: dict[str, Callable[[Path], object]] = {"trc": read_markers, "mot": read_table}
    read = readers.get(extension, uk.read_motion)
    while time.monotonic() < end:
        path.write_bytes(damaged(data, rng))
        with contextlib.suppress(uk.FileFormatError, uk.InvalidInputError):
            read(path)
