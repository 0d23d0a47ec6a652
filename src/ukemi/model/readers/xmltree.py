"""XML as a small tree that remembers lines, read so that no file can harm: no entities, bounded size and depth."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from ukemi.errors import FileFormatError

#: The largest published descriptions hold a few MB; beyond these numbers a file is a mistake or an attack.
LARGEST_FILE = 32 * 2**20
MOST_ELEMENTS = 500_000
MOST_ATTRIBUTES = 1000
DEEPEST = 200
#: No model has larger numbers; their products stay finite in doubles.
LARGEST_NUMBER = 1e20


@dataclass
class Element:
    """An element, the file and line where it begins, its attributes, its children, and the text between them."""

    tag: str
    attributes: dict[str, str]
    path: Path
    line: int
    children: list[Element] = field(default_factory=list)
    content: str = ""

    def error(self, message: str) -> FileFormatError:
        return FileFormatError(self.path, self.line, message)

    def all(self, tag: str) -> list[Element]:
        """Children with this tag."""
        return [child for child in self.children if child.tag == tag]

    def one(self, tag: str) -> Element | None:
        """The child with this tag; more than one is an error."""
        found = self.all(tag)
        if len(found) > 1:
            raise found[1].error(f"a second <{tag}> in <{self.tag}>: expected at most one")
        return found[0] if found else None

    def walk(self) -> Iterator[Element]:
        """Itself and everything below, in the order of the file."""
        yield self
        for child in self.children:
            yield from child.walk()

    def text(self, attribute: str) -> str:
        """An attribute that must be there and not be empty."""
        value = self.attributes.get(attribute, "").strip()
        if not value:
            raise self.error(f"<{self.tag}>: expected an attribute {attribute!r}")
        return value

    def floats(
        self, attribute: str, count: int, default: tuple[float, ...] | None = None, *, largest: float = LARGEST_NUMBER
    ) -> tuple[float, ...]:
        """``count`` numbers of an attribute; without a default it must be there."""
        if default is not None and attribute not in self.attributes:
            return default
        text = self.text(attribute)
        try:
            values = tuple(map(_number, text.split()))
        except ValueError:
            raise self.error(f"<{self.tag} {attribute}={text[:80]!r}>: expected numbers") from None
        if len(values) != count:
            raise self.error(f"<{self.tag} {attribute}={text[:80]!r}>: expected {count} numbers, got {len(values)}")
        if any(math.isnan(x) or abs(x) > largest for x in values):
            raise self.error(f"<{self.tag} {attribute}={text[:80]!r}>: expected finite numbers")
        return values

    def number(self, attribute: str, default: float | None = None, *, largest: float = LARGEST_NUMBER) -> float:
        """One number of an attribute."""
        return self.floats(attribute, 1, None if default is None else (default,), largest=largest)[0]


def _number(token: str) -> float:
    if "_" in token:  # Python reads 1_000, no other reader does
        raise ValueError(token)
    return float(token)


def read_xml(path: Path) -> Element:
    """The root element of a file.

    Raises:
        FileFormatError: a file that is missing, too large, not XML, nested too deep, or that declares entities.
    """
    data = read_bytes(path)
    if not data.strip():
        raise FileFormatError(path, None, "the file is empty")
    return _Parser(path).parse(data)


def read_bytes(path: Path, largest: int = LARGEST_FILE) -> bytes:
    """The content of a file of bounded size."""
    if not is_file(path):
        raise FileFormatError(path, None, _why_not(path))
    try:
        size = path.stat().st_size
        if size > largest:
            raise FileFormatError(path, None, f"{size / 2**20:.0f} MB: expected at most {largest / 2**20:.0f} MB")
        return path.read_bytes()
    except OSError as cause:
        raise FileFormatError(path, None, f"cannot be read: {cause.strerror}") from cause


def is_file(path: Path) -> bool:
    """Whether there is a regular file; names that no file can have are none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _why_not(path: Path) -> str:
    try:
        if path.is_dir():
            return "expected a file, got a directory"
        return "expected a regular file" if path.exists() else "no such file"
    except (OSError, ValueError) as cause:
        return f"no such file ({cause.__class__.__name__})"


class _Parser:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.open: list[Element] = []
        self.root: Element | None = None
        self.elements = 0
        self.expat = expat.ParserCreate()
        self.expat.buffer_text = True
        self.expat.StartElementHandler = self._start
        self.expat.EndElementHandler = self._end
        self.expat.CharacterDataHandler = self._text
        self.expat.EntityDeclHandler = self._entity

    def parse(self, data: bytes) -> Element:
        try:
            self.expat.Parse(data, True)
        except expat.ExpatError as cause:
            inside = f", inside <{self.open[-1].tag}> of line {self.open[-1].line}" if self.open else ""
            message = f"malformed XML: {expat.ErrorString(cause.code)}{inside}"
            raise FileFormatError(self.path, cause.lineno, message) from cause
        except (LookupError, UnicodeError, ValueError) as cause:  # an encoding that Python cannot give to expat
            if isinstance(cause, FileFormatError):
                raise
            raise FileFormatError(self.path, 1, f"malformed XML: {cause}") from cause
        if self.root is None:
            raise FileFormatError(self.path, 1, "malformed XML: no element")
        return self.root

    def _error(self, message: str) -> FileFormatError:
        return FileFormatError(self.path, self.expat.CurrentLineNumber, message)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.elements += 1
        if self.elements > MOST_ELEMENTS:
            raise self._error(f"expected at most {MOST_ELEMENTS} elements")
        if len(attributes) > MOST_ATTRIBUTES:
            raise self._error(f"<{tag[:80]}>: expected at most {MOST_ATTRIBUTES} attributes, got {len(attributes)}")
        if len(self.open) >= DEEPEST:
            raise self._error(f"<{tag[:80]}>: elements nested deeper than {DEEPEST}")
        element = Element(tag, attributes, self.path, self.expat.CurrentLineNumber)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def _end(self, tag: str) -> None:
        self.open.pop()

    def _text(self, text: str) -> None:
        if self.open and not text.isspace():
            self.open[-1].content += text

    def _entity(self, name: str, *declaration: object) -> None:
        raise self._error(f"entity {name!r}: entities are not read, for safety")
