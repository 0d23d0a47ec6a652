"""What OpenSim needs to repeat the inverse dynamics of a trial: forces, loads, coordinates, moments, a setup file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from ukemi.forces.inverse import JointMoments
from ukemi.motion.ground_forces import GroundForces
from ukemi.motion.tables import Table, write_table


def write_loads(forces: GroundForces, bodies: Mapping[str, str], datafile: Path, path: Path) -> Path:
    """Writes an ExternalLoads file. bodies: foot of ``forces`` -> body of the model; datafile: the forces, as
    `write_ground_forces` writes them, beside it."""
    root, loads = _document("ExternalLoads", "ground_forces")
    objects = ElementTree.SubElement(loads, "objects")
    for foot in forces.names:
        load = ElementTree.SubElement(objects, "ExternalForce", name=foot)
        for tag, text in (
            ("appliesForce", "true"),
            ("applied_to_body", bodies[foot]),
            ("force_expressed_in_body", "ground"),
            ("point_expressed_in_body", "ground"),
            ("force_identifier", f"ground_force_{foot}_v"),
            ("point_identifier", f"ground_force_{foot}_p"),
            ("torque_identifier", f"ground_torque_{foot}_"),
        ):
            ElementTree.SubElement(load, tag).text = text
    ElementTree.SubElement(loads, "datafile").text = datafile.name
    return _write(root, path)


def write_id_setup(
    model: Path, coordinates: Path, loads: Path, times: tuple[float, float], cutoff: float, path: Path
) -> Path:
    """Writes a setup of OpenSim's InverseDynamicsTool: `opensim-cmd run-tool id_setup.xml` beside it. Files in its
    folder are named without one; the model keeps its own."""
    root, tool = _document("InverseDynamicsTool", "inverse_dynamics")
    for tag, text in (
        ("results_directory", "."),
        ("model_file", str(model)),
        ("time_range", f"{times[0]:.9g} {times[1]:.9g}"),
        ("forces_to_exclude", "All"),
        ("external_loads_file", loads.name),
        ("coordinates_file", coordinates.name),
        ("lowpass_cutoff_frequency_for_coordinates", f"{cutoff:.6g}"),
        ("output_gen_force_file", "id_opensim.sto"),
    ):
        ElementTree.SubElement(tool, tag).text = text
    return _write(root, path)


def write_moments(moments: JointMoments, path: Path) -> Path:
    """Writes joint moments as .sto (OpenSim's names where they are a model's) or .csv."""
    columns = dict(zip(moments.names, moments.moments.T, strict=True))
    return write_table(path, moments.time, columns, title="Inverse Dynamics Generalized Forces")


def write_coordinates(table: Table, path: Path) -> Path:
    """Writes coordinates as they were read, for OpenSim."""
    columns = {name: table.values[:, k] for k, name in enumerate(table.names)}
    return write_table(path, table.time, columns, in_degrees=table.in_degrees, title="Coordinates")


def _document(tag: str, name: str) -> tuple[ElementTree.Element, ElementTree.Element]:
    root = ElementTree.Element("OpenSimDocument", Version="40000")
    return root, ElementTree.SubElement(root, tag, name=name)


def _write(root: ElementTree.Element, path: Path) -> Path:
    ElementTree.indent(root)
    ElementTree.ElementTree(root).write(path, encoding="UTF-8", xml_declaration=True)
    return path


def finite(x: float) -> float | None:
    """For JSON: None instead of NaN."""
    return float(x) if np.isfinite(x) else None
