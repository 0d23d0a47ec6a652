"""Meshes of an MJCF file: those that exist get absolute paths, absent ones go, with the geoms that use them.

A geom may only go when no mass goes with it: its body has an <inertial>, or the geom weighs nothing, or the body
cannot move.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ukemi.model.readers.diagnostics import Diagnostics
from ukemi.model.readers.xmltree import Element, is_file

ABSENT = "meshes that do not exist here are left out, with the shapes that use them"


@dataclass(frozen=True)
class _Place:
    """Where in the tree of bodies an element stands."""

    body: Element
    childclass: str = "main"
    moves: bool = False
    has_inertial: bool = False


def drop_absent_meshes(root: Element, diagnostics: Diagnostics) -> None:
    """Changes the tree in place; height fields, which only the ground can be, go too."""
    compiler: dict[str, str] = {}
    for element in root.all("compiler"):
        compiler.update(element.attributes)
        for directory in ("meshdir", "texturedir", "assetdir", "strippath"):
            element.attributes.pop(directory, None)
    absent = _absent_meshes(root, compiler, diagnostics)
    pruner = _Pruner(absent, _geom_defaults(root), compiler.get("inertiafromgeom", "auto"), diagnostics)
    for world in root.all("worldbody"):
        pruner.prune(world, _Place(world))
    for contact in root.all("contact"):
        contact.children = [pair for pair in contact.children if not pruner.dropped & set(pair.attributes.values())]


def _absent_meshes(root: Element, compiler: dict[str, str], diagnostics: Diagnostics) -> set[str]:
    """Names of the meshes whose file is absent; they go, the paths of the others become absolute."""
    here = root.path.parent
    folders = {"mesh": here / compiler.get("meshdir", compiler.get("assetdir", "")), "model": here}
    absent: set[str] = set()
    for asset in root.all("asset"):
        kept: list[Element] = []
        for element in asset.children:
            if element.tag in folders and "file" in element.attributes:
                file = Path(element.text("file").replace("\\", "/"))
                path = folders[element.tag] / (file.name if compiler.get("strippath") == "true" else file)
                if element.tag == "mesh" and not is_file(path):
                    absent.add(element.attributes.get("name") or file.stem)
                    diagnostics.warn(ABSENT, element, file.name)
                    continue
                element.attributes["file"] = str(path.resolve())
            if element.tag != "hfield":
                kept.append(element)
        asset.children = kept
    return absent


def _geom_defaults(root: Element) -> dict[str, dict[str, str]]:
    """Attributes that geoms of every default class begin with."""
    table: dict[str, dict[str, str]] = {}

    def visit(default: Element, name: str, inherited: dict[str, str]) -> None:
        attributes = {**inherited, **table.get(name, {})}
        for geom in default.all("geom"):
            attributes.update(geom.attributes)
        table[name] = attributes
        for child in default.all("default"):
            visit(child, child.attributes.get("class", ""), attributes)

    for top in root.all("default"):
        visit(top, top.attributes.get("class", "main"), {})
    return table


class _Pruner:
    def __init__(
        self, absent: set[str], defaults: dict[str, dict[str, str]], from_geom: str, diagnostics: Diagnostics
    ) -> None:
        self.absent = absent
        self.defaults = defaults
        self.from_geom = from_geom
        self.diagnostics = diagnostics
        #: names of the geoms that went
        self.dropped: set[str] = set()

    def prune(self, element: Element, place: _Place) -> None:
        kept: list[Element] = []
        for child in element.children:
            if child.tag == "geom" and self._drops(child, place):
                if "name" in child.attributes:
                    self.dropped.add(child.attributes["name"])
                continue
            kept.append(child)
            if child.tag in ("body", "frame", "replicate"):
                self.prune(child, self._inside(child, place))
        element.children = kept

    def _inside(self, element: Element, place: _Place) -> _Place:
        place = replace(place, childclass=element.attributes.get("childclass", place.childclass))
        if element.tag != "body":
            return place
        return replace(
            place,
            body=element,
            moves=place.moves or any(e.tag in ("joint", "freejoint") for e in element.children),
            has_inertial=bool(element.all("inertial")),
        )

    def _drops(self, geom: Element, place: _Place) -> bool:
        defaults = self.defaults.get(geom.attributes.get("class", place.childclass), {})
        attributes = {**defaults, **geom.attributes}
        if attributes.get("type") == "hfield":
            self.diagnostics.warn("height fields are left out", geom)
            return True
        if attributes.get("mesh") not in self.absent:
            return False
        weightless = _is_zero(attributes.get("mass", attributes.get("density", "1000")))
        given = self.from_geom == "false" or (self.from_geom == "auto" and place.has_inertial)
        if place.moves and not weightless and not given:
            name = place.body.attributes.get("name", "")
            raise place.body.error(
                f"body {name!r} takes its mass from mesh {attributes['mesh']!r}, which does not exist here: "
                "expected the mesh or an <inertial>"
            )
        return True


def _is_zero(text: str) -> bool:
    try:
        return float(text) == 0
    except ValueError:  # MuJoCo's compiler will say so
        return False
