"""Recording: what a run leaves behind."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ukemi.contact.conditions import Condition
from ukemi.contact.reports import Contact
from ukemi.errors import FileFormatError
from ukemi.model.arrays import Array
from ukemi.model.kinds import path_of

FORMAT = 1
#: what the names of connection wrenches begin with in the file
WRENCH = "wrench of "
ARRAYS = ("time", "q", "v", "tau", "energy", "poses")
#: contacts of all samples, one row each: sample, number of points, condition, then their numbers; and all points
CONTACTS, POINTS = "contacts", "contact points"


@dataclass(frozen=True, eq=False)
class Recording:
    """States of a run at its sample times.

    Attributes:
        time: (n,) [s].
        q, v, tau: (n, nq), (n, nv), (n, nv): coordinates, velocities, joint torques.
        energy: (n,) kinetic and potential energy [J].
        poses: (n, nlinks, 4, 4) of all links in the world.
        wrenches: {connection: (n, 6)} on its link a, in a's coordinates [N, N m]; NaN while it is not connected.
        contacts: what touched, per sample.
        events: what happened, in order of time.
        link_names, joint_names: of the world that ran.
    """

    time: Array
    q: Array
    v: Array
    tau: Array
    energy: Array
    poses: Array
    wrenches: dict[str, Array] = field(default_factory=dict)
    contacts: list[list[Contact]] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)
    link_names: tuple[str, ...] = ()
    joint_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.time)

    def save(self, path: str | Path) -> Path:
        """Writes a compressed ``.npz``; returns the path written."""
        path = path_of("save", path)
        if path.suffix != ".npz":
            path = path.with_name(path.name + ".npz")
        about = {
            "format": FORMAT,
            "link_names": self.link_names,
            "joint_names": self.joint_names,
            "events": self.events,
            "contact_links": [c.links for sample in self.contacts for c in sample],
        }
        arrays = {name: getattr(self, name) for name in ARRAYS}
        arrays |= {f"{WRENCH}{name}": wrench for name, wrench in self.wrenches.items()}
        arrays[CONTACTS], arrays[POINTS] = _rows(self.contacts)
        np.savez_compressed(path, about=np.array(json.dumps(about)), **arrays)
        return path

    @classmethod
    def load(cls, path: str | Path) -> Recording:
        """Reads what `save` wrote.

        Raises:
            FileFormatError: a file that is no recording, or a damaged one.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                about = json.loads(str(file["about"]))
                arrays = {name: np.asarray(file[name], dtype=np.float64) for name in ARRAYS}
                rows, points = (
                    np.asarray(file[n]) if n in file.files else np.empty((0, 1)) for n in (CONTACTS, POINTS)
                )
                held = {
                    name.removeprefix(WRENCH): np.asarray(file[name], dtype=np.float64)
                    for name in file.files
                    if name.startswith(WRENCH)
                }
        except FileNotFoundError:
            raise FileFormatError(path, None, "no such file") from None
        except Exception as cause:  # on damaged files NumPy raises whatever it meets, tokenize.TokenError among them
            raise FileFormatError(path, None, f"expected a recording written by Recording.save: {cause}") from cause
        if not isinstance(about, dict) or about.get("format") != FORMAT:
            raise FileFormatError(path, None, f"expected recording format {FORMAT}, got {about!r:.80}")
        if any(a.ndim == 0 for a in arrays.values()) or len({len(a) for a in arrays.values()}) != 1:
            raise FileFormatError(path, None, "the arrays have different lengths")
        for key in ("link_names", "joint_names", "events", "contact_links"):
            if not isinstance(about.get(key, []), list):
                raise FileFormatError(path, None, f"{key}: expected a list, got {about[key]!r:.80}")
        time, q, v, tau, energy, poses = (arrays[name] for name in ARRAYS)
        return cls(
            time,
            q,
            v,
            tau,
            energy,
            poses,
            held,
            contacts=_contacts(path, len(time), rows, points, about.get("contact_links", [])),
            events=list(about.get("events", [])),
            link_names=tuple(about.get("link_names", ())),
            joint_names=tuple(about.get("joint_names", ())),
        )


def is_recording(path: str | Path) -> bool:
    """Whether a file says that `Recording.save` wrote it."""
    try:
        with np.load(path, allow_pickle=False) as file:
            about = json.loads(str(file["about"]))
    except Exception:  # see `Recording.load`
        return False
    return isinstance(about, dict) and about.get("format") == FORMAT


def _rows(contacts: list[list[Contact]]) -> tuple[Array, Array]:
    """Numbers of all contacts, one row each, and their points below each other."""
    rows = [
        np.concatenate([(k, len(c.points), c.condition, c.gap), c.wrench, c.cop, c.slip, c.frame.ravel()])
        for k, sample in enumerate(contacts)
        for c in sample
    ]
    points = [c.points for sample in contacts for c in sample]
    return np.array(rows).reshape(-1, WIDTH), np.concatenate([np.empty((0, 3)), *points])


#: of a row: sample, points, condition, gap; wrench, centre of pressure, slip, frame
WIDTH = 4 + 6 + 3 + 3 + 16


def _contacts(path: str | Path, samples: int, rows: Array, points: Array, links: list[Any]) -> list[list[Contact]]:
    """What `_rows` took apart, together again."""
    if not len(rows):
        return []
    if rows.shape[1:] != (WIDTH,) or len(links) != len(rows) or points.shape != (int(rows[:, 1].sum()), 3):
        raise FileFormatError(path, None, f"the contacts do not fit together: {rows.shape}, {points.shape}")
    found: list[list[Contact]] = [[] for _ in range(samples)]
    of_each = np.split(points, np.cumsum(rows[:, 1].astype(int))[:-1])
    for row, own, names in zip(rows, of_each, links, strict=True):
        wrench, cop, slip, frame = np.split(row[4:], (6, 9, 12))
        contact = Contact(
            (names[0], names[1]), wrench, cop, Condition(int(row[2])), slip, frame.reshape(4, 4), own, row[3]
        )
        found[int(row[0])].append(contact)
    return found
