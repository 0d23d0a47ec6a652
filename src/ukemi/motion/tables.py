"""Tables over time, as OpenSim writes them (.mot, .sto), and as CSV."""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ukemi.errors import FileFormatError, InvalidInputError, UkemiWarning, UnknownNameError
from ukemi.model.arrays import Array, frozen
from ukemi.motion.text import finite_numbers, read_text


@dataclass(frozen=True, eq=False)
class Table:
    """Columns over time. time: (rows,) [s]; names: of the columns without time; values: (rows, columns)."""

    time: Array
    names: tuple[str, ...]
    values: Array
    in_degrees: bool = False
    title: str = ""

    def __getitem__(self, name: str) -> Array:
        try:
            return self.values[:, self.names.index(name)]
        except ValueError:
            raise UnknownNameError("column", name, self.names) from None

    def __len__(self) -> int:
        return len(self.time)

    def in_radians(self) -> Table:
        """OpenSim's coordinates with angles in radians; columns that end in tx, ty or tz are lengths and stay."""
        if not self.in_degrees:
            return self
        angles = [not name.endswith(("_tx", "_ty", "_tz")) for name in self.names]
        values = np.where(angles, np.deg2rad(self.values), self.values)
        return replace(self, values=frozen(values), in_degrees=False)

    @property
    def fps(self) -> float:
        """Rows per second."""
        return (len(self) - 1) / float(self.time[-1] - self.time[0]) if len(self) > 1 else 1.0


def read_table(path: str | Path, *, gaps: str | None = None) -> Table:
    """A table from a .mot, .sto or .csv file.

    gaps: pattern of the names of columns in which NaN is read as 0, such as a centre of pressure while nobody is on the
    plate.

    Raises:
        FileFormatError: a file that is no table, or whose numbers are not finite. Fewer rows than it says: a warning.
    """
    file = Path(path)
    lines = read_text(file).splitlines()
    if file.suffix.lower() == ".csv":
        return _rows(file, lines, 0, ",", "", False, gaps)
    title = lines[0].split("\t")[0].strip() if lines else ""
    said: dict[str, str] = {}
    for number, line in enumerate(lines):
        key, _, value = re.sub(r"[\s=:]+", " ", line).strip().partition(" ")
        said.setdefault(key.lower(), value.lower())
        if key.lower() == "endheader":
            # SIMM's files say neither version nor unit and have degrees; those of OpenSim without a unit have radians
            degrees = said.get("indegrees", "no" if "version" in said else "yes") == "yes"
            table = _rows(file, lines, number + 1, None, title, degrees, gaps)
            _check_counts(file, said, table)
            return table
    raise FileFormatError(file, None, "no line 'endheader': expected an OpenSim table (.mot, .sto)")


def _check_counts(file: Path, said: Mapping[str, str], table: Table) -> None:
    """With other columns than the header says, nobody knows which. Rows are another matter: laboratories cut trials and
    leave the header as it was, so fewer rows are a warning (a row that was cut short is an error of its own)."""
    for key in ("ncolumns", "datacolumns"):
        wanted, have = said.get(key, ""), len(table.names) + 1
        if wanted.isdecimal() and have != int(wanted):
            raise FileFormatError(file, None, f"{key}: the header says {wanted}, the file has {have}")
    for key in ("nrows", "datarows"):
        wanted = said.get(key, "")
        if wanted.isdecimal() and len(table) < int(wanted):
            warnings.warn(
                f"{file}: {key}: the header says {wanted}, the file has {len(table)}: "
                f"read from {table.time[0]:g} to {table.time[-1]:g} s",
                UkemiWarning,
                stacklevel=4,
            )


def _rows(
    file: Path, lines: list[str], start: int, separator: str | None, title: str, degrees: bool, gaps: str | None
) -> Table:
    while start < len(lines) and not lines[start].strip():
        start += 1
    if start >= len(lines):
        raise FileFormatError(file, max(1, len(lines)), "the file ends here: expected the names of the columns")
    tabs = "\t" if separator is None and "\t" in lines[start] else separator  # then names may hold spaces
    names = [name.strip() for name in lines[start].split(tabs) if name.strip()]
    if not names or names[0].lower() != "time":
        raise FileFormatError(file, start + 1, f"expected columns that begin with time, got {lines[start][:60]!r}")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise FileFormatError(file, start + 1, f"column {twice!r} stands there twice")
    may_lack = {j for j, name in enumerate(names) if gaps is not None and re.search(gaps, name)}
    rows = [
        finite_numbers(file, k + 1, "row", _filled(lines[k].split(separator), may_lack), len(names))
        for k in range(start + 1, len(lines))
        if lines[k].strip()
    ]
    if not rows:
        raise FileFormatError(file, start + 1, "no rows")
    table = np.array(rows)
    if (np.diff(table[:, 0]) <= 0).any():
        late = int(np.argmax(np.diff(table[:, 0]) <= 0))
        raise FileFormatError(
            file, None, f"time {table[late + 1, 0]:g} s follows {table[late, 0]:g} s: expected growing times"
        )
    return Table(frozen(table[:, 0]), tuple(names[1:]), frozen(table[:, 1:]), degrees, title)


def _filled(cells: list[str], may_lack: set[int]) -> list[str]:
    return ["0" if j in may_lack and cell.strip().lower() == "nan" else cell for j, cell in enumerate(cells)]


def write_table(
    path: str | Path, time: ArrayLike, columns: Mapping[str, ArrayLike], *, in_degrees: bool = False, title: str = ""
) -> Path:
    """Writes columns over time as .csv, or as .mot or .sto for OpenSim; numbers as short as they read back exactly."""
    file = Path(path)
    names: Sequence[str] = ["time", *columns]
    values = np.column_stack([np.asarray(time, dtype=np.float64), *(np.asarray(c) for c in columns.values())])
    if not np.isfinite(values).all():
        bad = names[int(np.argmax(~np.isfinite(values).all(axis=0)))]
        raise InvalidInputError(f"write_table: column {bad!r}: expected finite numbers")
    extension = file.suffix.lower()
    if extension not in (".csv", ".mot", ".sto"):
        raise InvalidInputError(f"{file}: expected a file that ends in .csv, .mot or .sto")
    rows = ([repr(float(x)) for x in row] for row in values)
    with file.open("w", encoding="utf-8", newline="") as stream:
        if extension == ".csv":
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(names)
            writer.writerows(rows)
            return file
        degrees = "yes" if in_degrees else "no"
        stream.write(f"{title or file.stem}\nversion=1\nnRows={len(values)}\nnColumns={len(names)}\n")
        stream.write(f"inDegrees={degrees}\nendheader\n" + "\t".join(names) + "\n")
        stream.writelines("\t".join(row) + "\n" for row in rows)
    return file
