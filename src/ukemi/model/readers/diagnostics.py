"""What readers say about a file: errors with file and line at once, warnings gathered and said once per kind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ukemi.errors import InvalidInputError, ModelError
from ukemi.model.readers.xmltree import Element

#: A warning names this many examples.
EXAMPLES = 3
#: A file with more kinds of strange things is no model; the rest is counted.
MOST_KINDS = 50


@dataclass
class Diagnostics:
    """Gathers what was left out of a file."""

    path: Path
    _kinds: dict[str, list[_Note]] = field(default_factory=dict)

    def warn(self, kind: str, at: Element | None = None, example: str = "") -> None:
        """Notes that something of this kind was left out or changed; ``example`` names the thing."""
        note = _Note(str(self.path), 0, example) if at is None else _Note(str(at.path), at.line, example)
        self._kinds.setdefault(kind, []).append(note)

    def messages(self) -> Iterator[str]:
        """One message per kind: the first place, how often, some examples."""
        for kind, notes in list(self._kinds.items())[:MOST_KINDS]:
            notes.sort(key=lambda note: (note.path != str(self.path), note.path, note.line))
            where = f"{notes[0].path}:{notes[0].line}" if notes[0].line else notes[0].path
            names = list(dict.fromkeys(note.example for note in notes if note.example))
            more = ", ..." if len(names) > EXAMPLES else ""
            named = f": {', '.join(names[:EXAMPLES])}{more}" if names else ""
            times = f" ({len(notes)} times)" if len(notes) > 1 else ""
            yield f"{where}: {kind}{times}{named}"
        if len(self._kinds) > MOST_KINDS:
            yield f"{self.path}: {len(self._kinds) - MOST_KINDS} more kinds of things were left out"


@dataclass(frozen=True)
class _Note:
    path: str
    line: int
    example: str


@contextmanager
def located(at: Element, what: str) -> Iterator[None]:
    """Turns what the model objects to into an error with file and line."""
    try:
        yield
    except (InvalidInputError, ModelError) as error:
        raise at.error(f"{what}: {error}") from error
