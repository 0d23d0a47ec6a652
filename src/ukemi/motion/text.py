"""Text files read word by word, with the line of everything that is wrong."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path

import numpy as np

from ukemi.errors import FileFormatError
from ukemi.model.arrays import Array


def read_bytes(file: Path) -> bytes:
    """What is in a file; that there is none, or a folder, is a FileFormatError."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise FileFormatError(file, None, "no such file") from None
    except IsADirectoryError:
        raise FileFormatError(file, None, "expected a file, this is a folder") from None


def read_text(file: Path) -> str:
    """UTF-8, with or without a mark, or else Latin-1: names may be written in anything, numbers are ASCII."""
    data = read_bytes(file)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


class Lines:
    """A file as words and numbers; it remembers the line it is on."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self._lines = text.splitlines()
        self._row = 0
        self._words: list[str] = []
        self._first_numbers_row = 0

    @property
    def line_number(self) -> int:
        return max(self._row, 1)

    def error(self, message: str) -> FileFormatError:
        return FileFormatError(self.path, self.line_number, message)

    def _fill(self) -> bool:
        while not self._words and self._row < len(self._lines):
            line = self._lines[self._row]
            self._row += 1
            # braces are words even when they touch others
            self._words = re.sub(r"([{}])", r" \1 ", line).split()[::-1]
        return bool(self._words)

    def word(self, wanted: str) -> str:
        if not self._fill():
            raise self.error(f"the file ends here: expected {wanted}")
        return self._words.pop()

    def expect(self, wanted: str) -> None:
        word = self.word(wanted)
        if word.upper() != wanted:
            raise self.error(f"expected {wanted}, got {word[:40]!r}")

    def rest(self, until: str) -> str:
        """What is left of this line, up to a word that stays."""
        taken: list[str] = []
        while self._words and self._words[-1] != until:
            taken.append(self._words.pop())
        return " ".join(taken)

    def as_number(self, what: str, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise self.error(f"{what}: expected a number, got {text[:40]!r}") from None
        if not math.isfinite(value):
            raise self.error(f"{what}: expected a finite number, got {text}")
        return value

    def number(self, what: str) -> float:
        return self.as_number(what, self.word(f"a number of {what}"))

    def integer(self, what: str) -> int:
        text = self.word(f"a number of {what}")
        if not re.fullmatch(r"[+-]?[0-9]{1,12}", text):
            raise self.error(f"{what}: expected a whole number, got {text[:40]!r}")
        return int(text)

    def text_after(self, title: str) -> str:
        """``title: value`` with any spacing and with or without the colon."""
        if not self._fill():
            raise self.error(f"the file ends here: expected '{title}: ...'")
        line = " ".join(self._words[::-1])
        match = re.fullmatch(rf"{title.replace(' ', ' *')} *:? *(\S+)", line, flags=re.IGNORECASE)
        if match is None:
            raise self.error(f"expected '{title}: ...', got {line[:60]!r}")
        self._words = []
        return match[1]

    def integer_after(self, title: str) -> int:
        text = self.text_after(title)
        if not re.fullmatch(r"\+?[0-9]{1,12}", text):
            raise self.error(f"{title}: expected a whole number, got {text[:40]!r}")
        return int(text)

    def numbers(self, per_frame: int) -> Array:
        """All numbers to the end of the file, so many per frame."""
        self._first_numbers_row = self._row
        text = "\n".join(self._lines[self._row :])
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # what is left when a word is no number
            try:
                values = np.fromstring(text, dtype=np.float64, sep=" ") if text.strip() else np.zeros(0)
            except (DeprecationWarning, ValueError):
                raise self._bad_number(per_frame) from None
        if not np.isfinite(values).all():
            raise self._bad_number(per_frame)
        return values

    def _bad_number(self, per_frame: int) -> FileFormatError:
        before = 0
        for row in range(self._first_numbers_row, len(self._lines)):
            for word in self._lines[row].split():
                try:
                    good = math.isfinite(float(word))
                except ValueError:
                    good = False
                if not good:
                    frame, place = divmod(before, per_frame)
                    return FileFormatError(
                        self.path,
                        row + 1,
                        f"frame {frame + 1}, number {place + 1} of {per_frame}: "
                        f"expected a finite number, got {word[:40]!r}",
                    )
                before += 1
        return FileFormatError(self.path, self.line_number, "expected numbers")

    def uneven_line(self, per_frame: int) -> tuple[int, int, int] | None:
        """(line, frame from 1, numbers) of the first line of the motion that does not hold a whole frame; None where
        frames do not stand on lines of their own.
        """
        counts = [(row + 1, len(self._lines[row].split())) for row in range(self._first_numbers_row, len(self._lines))]
        filled = [(line, count) for line, count in counts if count]
        odd = [(line, frame, count) for frame, (line, count) in enumerate(filled, 1) if count != per_frame]
        return odd[0] if odd and 2 * len(odd) < len(filled) else None

    def line_of_number(self, k: int) -> int:
        """The line where number k of `numbers` stands; past the end, the last line that holds any."""
        last = self._first_numbers_row
        for row in range(self._first_numbers_row, len(self._lines)):
            here = len(self._lines[row].split())
            if here:
                last = row
            if k < here:
                return row + 1
            k -= here
        return min(last, max(len(self._lines) - 1, 0)) + 1


def finite_numbers(path: Path, line: int, what: str, words: list[str], count: int | None) -> Array:
    """So many finite numbers from words."""
    try:
        values = np.array(words, dtype=np.float64)
    except ValueError:
        raise FileFormatError(path, line, f"{what}: expected numbers, got {' '.join(words)[:60]!r}") from None
    if count is not None and len(values) != count:
        raise FileFormatError(path, line, f"{what}: expected {count} numbers, got {len(values)}")
    if not np.isfinite(values).all():
        raise FileFormatError(path, line, f"{what}: expected finite numbers, got {' '.join(words)[:60]!r}")
    return values
