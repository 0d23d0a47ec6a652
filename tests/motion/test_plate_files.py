"""Ground forces in the files of laboratories: their headers, their names of columns, what they leave out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ukemi as uk
from ukemi.motion.ground_forces import read_ground_forces

#: Column names of a right and a left foot as (force, point, torque): of OpenSim's examples, Hamner's and OpenCap's
#: laboratories, AddBiomechanics and GaitDynamics.
DIALECTS: dict[str, list[tuple[str, ...]]] = {
    "opensim": [(f"{foot}ground_force_v", f"{foot}ground_force_p", f"{foot}ground_torque_") for foot in ("", "1_")],
    "hamner": [(f"{foot}_ground_force_v", f"{foot}_ground_force_p", f"{foot}_ground_torque_") for foot in "RL"],
    "addbiomechanics": [tuple(f"ground_force_{foot}_{kind}" for kind in "vpm") for foot in "rl"],
    "gaitdynamics": [(f"force_{foot}_v", f"force_{foot}_p", f"torque_{foot}_") for foot in "rl"],
}
NAMES = {"opensim": ("0", "1"), "hamner": ("R", "L"), "addbiomechanics": ("r", "l"), "gaitdynamics": ("r", "l")}


def plate_file(path: Path, dialect: str, rows: int = 3, header: str = "") -> Path:
    """Force (1, 2, 3), point (4, 5, 6), torque (7, 8, 9) of OpenSim on the first foot, a hundred more on the second."""
    labels = [f"{prefix}{axis}" for foot in DIALECTS[dialect] for prefix in foot for axis in "xyz"]
    values = [*range(1, 10), *range(101, 110)]
    lines = ["forces", "version=1", header or f"nRows={rows}", f"nColumns={len(labels) + 1}", "endheader"]
    lines.append("\t".join(["time", *labels]))
    lines += ["\t".join(map(str, [0.5 + 0.01 * k, *values])) for k in range(rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_of_columns_is_read(tmp_path: Path, dialect: str) -> None:
    forces = read_ground_forces(plate_file(tmp_path / "a.mot", dialect))
    assert forces.names == NAMES[dialect]
    assert forces.time[0] == 0.5  # the file's clock
    # y up becomes z up: x stays, z is -y
    for field, right in (("force", (1, -3, 2)), ("point", (4, -6, 5)), ("torque", (7, -9, 8))):
        got = getattr(forces, field)[0]
        assert got[0].tolist() == list(right), field
        assert (got[1] - got[0]).tolist() == [100, -100, 100], field


def test_fewer_rows_than_the_header_says_are_read_with_a_warning(tmp_path: Path) -> None:
    path = plate_file(tmp_path / "a.mot", "hamner", header="datarows 5461")
    with pytest.warns(uk.UkemiWarning, match=r"header says 5461, the file has 3: read from 0\.5 to 0\.52 s"):
        assert len(read_ground_forces(path)) == 3
    cut = tmp_path / "b.mot"
    cut.write_text(path.read_text()[:-20])  # in the middle of a row
    with pytest.raises(uk.FileFormatError, match="expected 19 numbers"):
        read_ground_forces(cut)


def test_a_plate_without_load_may_have_no_centre_of_pressure(tmp_path: Path) -> None:
    path = plate_file(tmp_path / "a.mot", "hamner")
    text = path.read_text()
    path.write_text(text.replace("\t4\t5\t6\t", "\tnan\tNaN\tnan\t"))
    assert not read_ground_forces(path).point[:, 0].any()
    path.write_text(text.replace("\t1\t2\t3\t", "\tnan\t2\t3\t"))
    with pytest.raises(uk.FileFormatError, match="finite"):  # but a force has to be there
        read_ground_forces(path)


@pytest.mark.filterwarnings("ignore::ukemi.errors.UkemiWarning")
def test_every_plate_file_of_the_laboratories_is_read(shared: Path) -> None:
    files = sorted((shared / "motions" / "forceplate").rglob("*grf*.mot"))
    assert files
    for file in files:
        forces = read_ground_forces(file)
        # a person of 50 to 120 kg presses on the plates; drop jumps begin on a box beside them
        assert 400 < np.median(forces.total[forces.total[:, 2] > 200, 2]) < 2500, file.name
