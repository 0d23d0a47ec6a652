"""The JSON form of a particle system: one line per particle, link and hinge."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from ukemi.errors import FileFormatError, UkemiError
from ukemi.particles import floors
from ukemi.particles.system import ParticleSystem

FORMAT = "ukemi particles 1"
FLOORS = {"bouncy": floors.BouncyFloor, "spring": floors.SpringFloor, "soft": floors.SoftFloor}
GROUNDS = {"flat": floors.Flat, "uneven": floors.Uneven}
LINK = ("length", "stretch", "ratio", "stiffness", "damping")
HINGE = ("normal", "held", "friction", "kp", "kd")


def to_json(system: ParticleSystem) -> str:
    """Everything but time, forces, torques and targets."""
    names = {number: name for name, number in system.names.items()}

    def name(i: int) -> str:
        return names.get(i, f"p{i}")

    particles = []
    for i, (x, v, m, extra, fixed) in enumerate(
        zip(system.x, system.v, system.mass, system.added_mass, system.fixed, strict=True)
    ):
        row: dict[str, Any] = {"name": name(i), "mass": float(m), "at": x.tolist()}
        row |= {"velocity": v.tolist()} if v.any() else {}
        row |= {"added_mass": float(extra)} if extra else {}
        particles.append(row | ({"fixed": True} if fixed else {}))
    links = [
        {"between": [name(e.a), name(e.b)]} | {k: getattr(e, k) for k in LINK if getattr(e, k) is not None}
        for e in system.links
    ]
    hinges = [
        {"of": [name(p) for p in (h.a, h.b, h.c, *(() if h.b == h.d else (h.d,)))]}
        | {k: getattr(h, k) for k in HINGE if getattr(h, k) not in (0.0, None) or k == "held"}
        for h in system.hinges
    ]
    planes = [{"normal": p.normal, "through": [name(i) for i in sorted(p.particles)]} for p in system.planes]
    head: dict[str, Any] = {"format": FORMAT, "gravity": system.gravity.tolist(), "stretch": system.stretch}
    head |= {"ratio": system.ratio} | ({} if system.given_load is None else {"load": system.given_load})
    if system.floor is not None:
        head["floor"] = _floor_row(system.floor)
    parts = [f'  "{key}": {json.dumps(value)}' for key, value in head.items()]
    for key, rows in (("particles", particles), ("links", links), ("planes", planes), ("hinges", hinges)):
        lines = ",\n".join(f"    {json.dumps(row)}" for row in rows)
        parts.append(f'  "{key}": [\n{lines}\n  ]' if rows else f'  "{key}": []')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def load_json(path: str | Path) -> ParticleSystem:
    """Reads a system.

    Raises:
        FileFormatError: with file and line, or the row that is wrong.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        document = json.loads(text)
    except json.JSONDecodeError as cause:
        raise FileFormatError(path, cause.lineno, cause.msg) from cause
    except (OSError, UnicodeDecodeError) as cause:
        raise FileFormatError(path, None, str(cause)) from cause
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FileFormatError(path, 1, f'expected an object with "format": "{FORMAT}"')
    where = "the head"
    try:
        settings = {k: document[k] for k in ("stretch", "ratio", "load") if k in document}
        system = ParticleSystem(document.get("gravity", (0, 0, -9.81)), **settings)
        if "floor" in document:
            where = "floor"
            system.floor = _floor(document["floor"])
        for i, row in enumerate(document.get("particles", ())):
            where = f"particles[{i}]"
            row = dict(row)
            extra = row.pop("added_mass", 0.0)
            number = system.add(row.pop("at"), **row)
            system.added_mass[number] = extra
        for i, row in enumerate(document.get("links", ())):
            where = f"links[{i}]"
            row = dict(row)
            system.link(*row.pop("between"), **row)
        for i, row in enumerate(document.get("planes", ())):
            where = f"planes[{i}]"
            system.plane(row["normal"], *row["through"])
        for i, row in enumerate(document.get("hinges", ())):
            where = f"hinges[{i}]"
            row = dict(row)
            system.hinge(*row.pop("of"), **row)
        where = "the whole"
        system.core  # noqa: B018  compiled once: a floor or planes that cannot be are found here
    except (UkemiError, TypeError, ValueError, KeyError) as cause:
        what = f"{cause} is missing" if type(cause) is KeyError else str(cause)
        raise FileFormatError(path, None, f"{where}: {what}") from cause
    return system


def _floor_row(floor: Any) -> dict[str, Any]:
    kind = next(name for name, cls in FLOORS.items() if type(floor) is cls)
    row: dict[str, Any] = {"kind": kind}
    for f in fields(floor):
        value = getattr(floor, f.name)
        if f.name != "ground" and value is not None and value != math.inf:
            row[f.name] = value
    ground = floor.ground
    shape = next(name for name, cls in GROUNDS.items() if isinstance(ground, cls))
    row["ground"] = {"kind": shape} | {f.name: np.asarray(getattr(ground, f.name)).tolist() for f in fields(ground)}
    return row


def _floor(row: dict[str, Any]) -> Any:
    row = dict(row)
    if isinstance(row.get("ground"), dict):
        ground = dict(row["ground"])
        row["ground"] = _of_kind(GROUNDS, ground)(**ground)
    return _of_kind(FLOORS, row)(**row)


def _of_kind(kinds: dict[str, Any], row: dict[str, Any]) -> Any:
    kind = row.pop("kind", None)
    if kind not in kinds:
        raise ValueError(f"kind: expected one of {', '.join(kinds)}, got {kind!r}")
    return kinds[kind]
