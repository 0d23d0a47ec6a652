"""Joints of a URDF: their kinds, limits and dampers, and which of them mimic others."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from ukemi.errors import UnknownNameError
from ukemi.model.description import Coupling
from ukemi.model.joints import Fixed, Free, Joint, Planar, Prismatic, Revolute, Spherical
from ukemi.model.readers.diagnostics import Diagnostics, located
from ukemi.model.readers.xmltree import Element

TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical")


def read_joint(element: Element, name: str, diagnostics: Diagnostics) -> Joint:
    """The joint of a <joint>, with its limits, damping, largest effort and speed."""
    kind = element.text("type")
    if kind not in TYPES:
        raise element.error(f"joint {name!r}: type {kind!r}: expected one of {', '.join(TYPES)}")
    if kind == "fixed":
        return Fixed()
    options = _drive(element, name, diagnostics)
    with located(element, f"joint {name!r}"):
        if kind == "floating":
            return Free(**options)
        if kind == "spherical":
            return Spherical(**options)
        axis = element.one("axis")
        direction = (1.0, 0.0, 0.0) if axis is None else axis.floats("xyz", 3)
        if not any(direction):
            raise (axis or element).error(f"joint {name!r}: <axis xyz>: expected a direction, got the zero vector")
        if kind == "planar":
            return Planar(direction, **options)
        if kind == "continuous":
            return Revolute(direction, **options)
        limits = _limits(element, name, diagnostics)
        return (Revolute if kind == "revolute" else Prismatic)(direction, limits=limits, **options)


def _drive(element: Element, name: str, diagnostics: Diagnostics) -> dict[str, Any]:
    """Damping, effort and speed, as far as they are given."""
    options: dict[str, Any] = {}
    dynamics, limit = element.one("dynamics"), element.one("limit")
    if dynamics is not None:
        options["damping"] = dynamics.number("damping", 0.0)
        if dynamics.number("friction", 0.0) != 0:
            diagnostics.warn("joint friction is not modelled", dynamics, name)
    for attribute, option in (("effort", "effort"), ("velocity", "speed")):
        if limit is not None and attribute in limit.attributes:
            options[option] = limit.number(attribute, largest=inf)
    return options


def _limits(element: Element, name: str, diagnostics: Diagnostics) -> tuple[float, float] | None:
    limit = element.one("limit")
    if limit is None or not {"lower", "upper"} & set(limit.attributes):
        kind = element.attributes["type"]
        diagnostics.warn(f"{kind} joints without lower and upper limit are left unlimited", element, name)
        return None
    lower, upper = (limit.number(side, 0.0, largest=inf) for side in ("lower", "upper"))
    if lower > upper:
        raise limit.error(f"joint {name!r}: lower {lower:g}, upper {upper:g}: expected lower <= upper")
    return lower, upper


def read_couplings(
    elements: Mapping[str, Element], joints: Mapping[str, Joint], diagnostics: Diagnostics
) -> list[Coupling]:
    """What the <mimic> elements say; joints that mimic stay joints of the tree."""
    couplings: dict[str, Coupling] = {}
    for name, element in elements.items():
        mimic = element.one("mimic")
        if mimic is None:
            continue
        master = mimic.text("joint")
        if master not in elements:
            raise mimic.error(f"joint {name!r}, <mimic>: {UnknownNameError('joint', master, elements)}")
        multiplier, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
        if joints[name].nq != 1 or joints[master].nq != 1:
            diagnostics.warn("only joints with one coordinate can mimic: <mimic> is ignored", mimic, name)
            continue
        couplings[name] = Coupling(name, master, multiplier, offset)
    _check_no_cycle(couplings, elements)
    return list(couplings.values())


def _check_no_cycle(couplings: Mapping[str, Coupling], elements: Mapping[str, Element]) -> None:
    led: set[str] = set()  # joints whose masters end at a joint that mimics none
    for start in couplings:
        chain: dict[str, None] = {}
        name = start
        while name in couplings and name not in led:
            if name in chain:
                cycle = list(chain)[list(chain).index(name) :]
                around = " -> ".join([*cycle[:8], "..."] if len(cycle) > 8 else [*cycle, name])
                raise elements[name].error(f"joints mimic each other in a cycle: {around}")
            chain[name] = None
            name = couplings[name].master or ""  # a URDF names one
        led.update(chain)
