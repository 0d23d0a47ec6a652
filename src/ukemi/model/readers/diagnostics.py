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


@dataclass
class Diagnostics:
    """Gathers what was left out of a file."""

    path: Path
    _kinds: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def warn(self, kind: str, at: Element | None = None, example: str = "") -> None:
        """Notes that something of this kind was left out or changed; ``example`` names the thing."""
        where = str(self.path) if at is None else f"{at.path}:{at.line}"
        self._kinds.setdefault(kind, []).append((where, example))

    def messages(self) -> Iterator[str]:
        """One message per kind: the first place, how often, some examples."""
        for kind, notes in self._kinds.items():
            names = list(dict.fromkeys(example for _, example in notes if example))
            more = ", ..." if len(names) > EXAMPLES else ""
            named = f": {', '.join(names[:EXAMPLES])}{more}" if names else ""
            times = f" ({len(notes)} times)" if len(notes) > 1 else ""
            yield f"{notes[0][0]}: {kind}{times}{named}"


@contextmanager
def located(at: Element, what: str) -> Iterator[None]:
    """Turns what the model objects to into an error with file and line."""
    try:
        yield
    except (InvalidInputError, ModelError) as error:
        raise at.error(f"{what}: {error}") from error
