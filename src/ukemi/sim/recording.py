"""Recording: what a run leaves behind."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from ukemi.errors import FileFormatError
from ukemi.model.arrays import Array

FORMAT = 1
#: what the names of connection wrenches begin with in the file
WRENCH = "wrench of "
ARRAYS = ("time", "q", "v", "tau", "energy", "poses")


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
    contacts: list[Any] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)
    link_names: tuple[str, ...] = ()
    joint_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.time)

    def save(self, path: str | Path) -> Path:
        """Writes a compressed ``.npz``; returns the path written."""
        path = Path(path)
        if path.suffix != ".npz":
            path = path.with_name(path.name + ".npz")
        about = {
            "format": FORMAT,
            "link_names": self.link_names,
            "joint_names": self.joint_names,
            "events": self.events,
        }
        arrays = {name: getattr(self, name) for name in ARRAYS}
        arrays |= {f"{WRENCH}{name}": wrench for name, wrench in self.wrenches.items()}
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
                held = {
                    name.removeprefix(WRENCH): np.asarray(file[name], dtype=np.float64)
                    for name in file.files
                    if name.startswith(WRENCH)
                }
        except FileNotFoundError:
            raise FileFormatError(path, None, "no such file") from None
        except (
            OSError,
            KeyError,
            ValueError,
            TypeError,
            NotImplementedError,
            BadZipFile,
            EOFError,
            zlib.error,
        ) as cause:
            raise FileFormatError(path, None, f"expected a recording written by Recording.save: {cause}") from cause
        if not isinstance(about, dict) or about.get("format") != FORMAT:
            raise FileFormatError(path, None, f"expected recording format {FORMAT}, got {about!r:.80}")
        if any(a.ndim == 0 for a in arrays.values()) or len({len(a) for a in arrays.values()}) != 1:
            raise FileFormatError(path, None, "the arrays have different lengths")
        for key in ("link_names", "joint_names", "events"):
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
            events=list(about.get("events", [])),
            link_names=tuple(about.get("link_names", ())),
            joint_names=tuple(about.get("joint_names", ())),
        )
