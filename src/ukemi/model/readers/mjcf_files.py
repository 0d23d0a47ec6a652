"""An MJCF file made ready for MuJoCo's compiler: one tree without includes, decoration and absent meshes."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import quoteattr

from ukemi.model.readers.diagnostics import Diagnostics
from ukemi.model.readers.mjcf_meshes import drop_absent_meshes
from ukemi.model.readers.xmltree import MOST_ELEMENTS, Element, is_file, read_xml

#: Sections and elements that say nothing about dynamics; some need files, some much memory.
_SECTIONS = {"visual", "statistic", "keyframe", "sensor", "custom", "size"}
_ELEMENTS = {"texture", "material", "skin", "light", "camera"}


def ready_to_compile(root: Element, diagnostics: Diagnostics) -> Element:
    """The tree with includes in place, and without what dynamics can do without."""
    root = Element(root.tag, dict(root.attributes), root.path, root.line, _included(root, {root.path.resolve()}))
    if sum(1 for _ in root.walk()) > MOST_ELEMENTS:
        raise root.error(f"with its includes the file has more than {MOST_ELEMENTS} elements")
    root.children = [section for section in root.children if section.tag not in _SECTIONS]
    for element in root.walk():
        element.children = [child for child in element.children if child.tag not in _ELEMENTS]
        element.attributes.pop("material", None)
        _check_numbers(element)
    drop_absent_meshes(root, diagnostics)
    return root


def _included(element: Element, seen: set[Path], main: Path | None = None) -> list[Element]:
    """Children of an element, with those of included files instead of every <include>. Paths are relative to the main
    file, and no file may come twice, as in MuJoCo."""
    main = element.path if main is None else main
    children: list[Element] = []
    for child in element.children:
        if child.tag != "include":
            child.children = _included(child, seen, main)
            children.append(child)
            continue
        path = main.parent / child.text("file")
        if not is_file(path):
            raise child.error(f"<include file={child.text('file')!r}>: no such file")
        if path.resolve() in seen:
            raise child.error(f"<include file={child.text('file')!r}>: the file is included already")
        seen.add(path.resolve())
        children += _included(read_xml(path), seen, main)
    return children


def _check_numbers(element: Element) -> None:
    """MuJoCo takes NaN for a number, and logs it to a file where the user stands."""
    for attribute, value in element.attributes.items():
        if attribute not in ("name", "class", "childclass") and "nan" in value.lower().split():
            raise element.error(f"<{element.tag} {attribute}={value[:80]!r}>: expected finite numbers")


def to_xml(root: Element) -> tuple[str, list[Element]]:
    """XML text with one tag per line, and the element that each line comes from."""
    lines: list[str] = []
    origins: list[Element] = []
    _write(root, lines, origins)
    return "\n".join(lines), origins


def _write(element: Element, lines: list[str], origins: list[Element]) -> None:
    attributes = "".join(f" {name}={quoteattr(value)}" for name, value in element.attributes.items())
    lines.append(f"<{element.tag}{attributes}{'' if element.children else '/'}>")
    origins.append(element)
    for child in element.children:
        _write(child, lines, origins)
    if element.children:
        lines.append(f"</{element.tag}>")
        origins.append(element)
