"""How the links of a URDF hang together: names, ends of joints, the one root."""

from __future__ import annotations

from ukemi.errors import UnknownNameError
from ukemi.model.description import WORLD
from ukemi.model.readers.xmltree import Element


def named(robot: Element, tag: str) -> dict[str, Element]:
    """All links or joints by name, in the order of the file."""
    found: dict[str, Element] = {}
    for element in robot.all(tag):
        name = element.text("name")
        if name in found:
            raise element.error(f"{tag} {name!r}: the name is taken by line {found[name].line}")
        found[name] = element
    return found


def ends(joint: Element, links: dict[str, Element]) -> tuple[str, str]:
    """Names of the parent and the child link of a joint."""
    parent, child = (_end(joint, tag, links) for tag in ("parent", "child"))
    return parent, child


def _end(joint: Element, tag: str, links: dict[str, Element]) -> str:
    name = joint.attributes["name"]
    end = joint.one(tag)
    if end is None:
        raise joint.error(f"joint {name!r}: expected <{tag} link=...>")
    link = end.text("link")
    if link not in links:
        raise end.error(f"joint {name!r}, <{tag}>: {UnknownNameError('link', link, links)}")
    return link


def root_of(robot: Element, links: dict[str, Element], joints: dict[str, Element]) -> str:
    """The one link without a parent, from which all others are reached."""
    if not links:
        raise robot.error("a robot without links")
    parents: dict[str, str] = {}
    by_child: dict[str, Element] = {}
    for name, joint in joints.items():
        parent, child = ends(joint, links)
        if child in by_child:
            first = by_child[child]
            raise joint.error(
                f"link {child!r} is the child of joint {name!r} and of joint {first.attributes['name']!r} "
                f"(line {first.line}): expected one parent"
            )
        parents[child], by_child[child] = parent, joint
    roots = [name for name in links if name not in parents]
    _check_no_cycle(links, parents)
    if len(roots) > 1:
        places = ", ".join(f"{name!r} (line {links[name].line})" for name in roots[:8])
        more = ", ..." if len(roots) > 8 else ""
        raise links[roots[1]].error(f"{len(roots)} links without a parent: {places}{more}: expected one root")
    if WORLD in parents:
        raise links[WORLD].error(f"link {WORLD!r} has a parent: the name is the ground's, expected another one")
    return roots[0]


def _check_no_cycle(links: dict[str, Element], parents: dict[str, str]) -> None:
    grounded: set[str] = set()
    for start in links:
        chain: dict[str, None] = {}
        link = start
        while link in parents and link not in grounded:
            if link in chain:
                cycle = list(chain)[list(chain).index(link) :]
                around = " -> ".join([*cycle[:8], "..."] if len(cycle) > 8 else [*cycle, link])
                raise links[link].error(f"links hang on each other in a cycle: {around}")
            chain[link] = None
            link = parents[link]
        grounded.update(chain)
