"""What `ukemi info` says of a recording of a simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape

from ukemi.model.arrays import Array
from ukemi.sim.recording import Recording

#: So many pairs of contacts and events are shown; JSON has all.
SHOWN = 8


def recording_summary(path: str) -> dict[str, Any]:
    """What `ukemi info --json` prints of a recording."""
    recording = Recording.load(path)
    time, energy = recording.time, recording.energy
    duration = float(time[-1] - time[0]) if len(time) else 0.0
    return {
        "name": Path(path).stem,
        "kind": "recording of a simulation",
        "samples": len(recording),
        "rate": (len(recording) - 1) / duration if duration > 0 else None,
        "start": float(time[0]) if len(time) else None,
        "end": float(time[-1]) if len(time) else None,
        "figures": sorted({name.partition("/")[0] for name in recording.link_names if "/" in name}),
        "links": list(recording.link_names),
        "nq": recording.q.shape[-1],
        "nv": recording.v.shape[-1],
        "energy": _range(energy) if len(energy) else None,
        "largest_torque": float(np.abs(recording.tau).max(initial=0.0)),
        "contacts": _contacts(recording),
        "connections": {name: _largest_force(w[:, :3]) for name, w in recording.wrenches.items()},
        "events": recording.events,
    }


def _range(x: Array) -> dict[str, float]:
    return {"start": float(x[0]), "end": float(x[-1]), "least": float(x.min()), "most": float(x.max())}


def _contacts(recording: Recording) -> dict[str, Any]:
    """Pairs that touched, with the number of samples and the largest normal force [N]; the longest first."""
    pairs: dict[str, dict[str, Any]] = {}
    for sample in recording.contacts:
        seen = set()
        for contact in sample:
            key = " on ".join(contact.links)
            found = pairs.setdefault(key, {"samples": 0, "largest_normal_force": 0.0})
            found["samples"] += key not in seen
            found["largest_normal_force"] = max(found["largest_normal_force"], contact.normal_force)
            seen.add(key)
    longest = dict(sorted(pairs.items(), key=lambda item: -item[1]["samples"]))
    return {"samples": sum(1 for sample in recording.contacts if sample), "pairs": longest}


def _largest_force(force: Array) -> float:
    """Of a connection, where it was there."""
    size = np.linalg.norm(force, axis=1)
    return float(size[np.isfinite(size)].max(initial=0.0))


def show_recording(console: Console, summary: dict[str, Any]) -> None:
    rate = "" if summary["rate"] is None else f" at {summary['rate']:g} a second"
    console.print(
        f"[bold]{escape(summary['name'])}[/bold]: recording of a simulation, {summary['samples']} samples{rate}"
    )
    if not summary["samples"]:
        return
    figures = f": {', '.join(summary['figures'])}" if summary["figures"] else ""
    energy, touching = summary["energy"], summary["contacts"]
    lines = [
        f"{summary['start']:g} to {summary['end']:g} s; {len(summary['links'])} links, nq {summary['nq']}, "
        f"nv {summary['nv']}{figures}",
        f"energy {energy['start']:.6g} J at the start, {energy['end']:.6g} J at the end, between {energy['least']:.6g} "
        f"and {energy['most']:.6g} J; torques up to {summary['largest_torque']:.4g} N m",
        f"contacts in {touching['samples']} samples" if touching["pairs"] else "no contacts",
    ]
    pairs = touching["pairs"].items()
    lines += _some([f"  {k}: {p['samples']} samples, up to {p['largest_normal_force']:.4g} N" for k, p in pairs])
    lines += [f"connection {name}: up to {force:.4g} N" for name, force in summary["connections"].items()]
    lines.append(f"{len(summary['events'])} events" if summary["events"] else "no events")
    lines += _some([f"  {_event(event)}" for event in summary["events"]])
    lines.append("ukemi view FILE --model MODEL shows it; Recording.load reads it")
    for line in lines:
        console.print(line, markup=False)


def _event(event: Any) -> str:
    if isinstance(event, dict) and isinstance(event.get("time"), float) and "what" in event:
        return f"{event['time']:.4f} s: {event['what']}"
    return str(event)


def _some(lines: list[str]) -> list[str]:
    return [*lines[:SHOWN], f"  ... {len(lines) - SHOWN} more"] if len(lines) > SHOWN else lines
