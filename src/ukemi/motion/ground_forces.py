"""Ground reaction forces over time: from plates, or computed; in OpenSim's files and back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ukemi.errors import FileFormatError
from ukemi.model.arrays import Array, numbers
from ukemi.motion.tables import Table, read_table, write_table


@dataclass(frozen=True, eq=False)
class GroundForces:
    """What the ground does to the feet, z up.

    time: (n,) [s]. names: of the plates or feet. force: (n, feet, 3) [N]. point: (n, feet, 3), centre of pressure [m].
    torque: (n, feet, 3), free moment there [N m].
    """

    time: Array
    names: tuple[str, ...]
    force: Array
    point: Array
    torque: Array

    def __post_init__(self) -> None:
        shape = (len(self.time), len(self.names), 3)
        for field in ("force", "point", "torque"):
            object.__setattr__(self, field, numbers(f"GroundForces.{field}", getattr(self, field), shape))

    def __len__(self) -> int:
        return len(self.time)

    @property
    def total(self) -> Array:
        """(n, 3): the sum of all forces [N]."""
        return self.force.sum(axis=1)


def from_opensim(v: Array) -> Array:
    """Vectors of OpenSim's axes (x forward, y up, z right), with z up: x stays, z is -y."""
    return np.stack([v[..., 0], -v[..., 2], v[..., 1]], axis=-1)


def to_opensim(v: Array) -> Array:
    """The inverse of `from_opensim`."""
    return np.stack([v[..., 0], v[..., 2], -v[..., 1]], axis=-1)


def read_ground_forces(path: str | Path) -> GroundForces:
    """From a .mot or .sto file of OpenSim (y up), whatever its columns are called: `ground_force_vx`,
    `1_ground_force_vx`, `R_ground_force_vx`, `ground_force_1_vx` or `force_r_vx`, with torques beside them or without.
    A centre of pressure that is NaN, as of a plate without load, is 0.
    """
    table = read_table(path, gaps=r"_p[xyz]$")
    prefixes = [name.removesuffix("vx") for name in table.names if re.search(r"force.*vx$", name)]
    if not prefixes:
        raise FileFormatError(
            path, None, f"no ground forces (... force ... vx); columns are {', '.join(table.names[:12])}"
        )
    force, point, torque = (
        np.stack([from_opensim(_vector(Path(path), table, choices(prefix))) for prefix in prefixes], axis=1)
        for choices in (_force_names, _point_names, _torque_names)
    )
    names = tuple(_short(prefix) or "0" for prefix in prefixes)
    return GroundForces(table.time, names, force, point, torque)


def _force_names(prefix: str) -> list[str]:
    return [f"{prefix}v"]


def _point_names(prefix: str) -> list[str]:
    return [f"{prefix}p"]


def _torque_names(prefix: str) -> list[str]:
    return [prefix.replace("force", "torque"), f"{prefix}m", prefix.replace("force", "moment"), ""]


def _vector(file: Path, table: Table, names: list[str]) -> Array:
    for name in names:
        columns = [f"{name}{axis}" for axis in "xyz"]
        if name and all(column in table.names for column in columns):
            return np.stack([table[column] for column in columns], axis=-1)
        if not name:  # no torques in the file
            return np.zeros((len(table), 3))
    raise FileFormatError(file, None, f"no columns {names[0]}x, {names[0]}y, {names[0]}z")


def _short(prefix: str) -> str:
    return re.sub(r"_*(ground_)?force_*", "", prefix).strip("_")


def write_ground_forces(forces: GroundForces, path: str | Path) -> Path:
    """Writes .mot or .sto for OpenSim (y up), or .csv with the same columns: per foot ``ground_force_<name>_vx`` ...,
    ``_px`` ..., and ``ground_torque_<name>_x`` ...; name these prefixes in OpenSim's external loads."""
    columns: dict[str, Array] = {}
    for k, name in enumerate(forces.names):
        for title, values in ((f"ground_force_{name}_v", forces.force), (f"ground_force_{name}_p", forces.point)):
            columns |= {f"{title}{axis}": to_opensim(values[:, k])[:, i] for i, axis in enumerate("xyz")}
    for k, name in enumerate(forces.names):
        turned = to_opensim(forces.torque[:, k])
        columns |= {f"ground_torque_{name}_{axis}": turned[:, i] for i, axis in enumerate("xyz")}
    return write_table(path, forces.time, columns, title=Path(path).name)
