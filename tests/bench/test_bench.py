"""The benchmark runs, its engines agree, and its results say where they come from."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.oracle
RUN = Path(__file__).parents[2] / "bench" / "run.py"
#: The engines do the same sums in another order.
AGREEMENT = 1e-9


def test_python_cases_agree_and_leave_a_record(tmp_path: Path) -> None:
    pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    path = tmp_path / "result.json"
    done = subprocess.run(
        [sys.executable, str(RUN), "--quick", "--python-only", "--json", str(path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "forward dynamics, one call from Python" in done.stdout
    result = json.loads(path.read_text())
    assert set(result) >= {"date", "commit", "machine", "versions", "rounds", "races", "limits", "accuracy", "missing"}
    assert set(result["machine"]) >= {"cpu", "cores", "compiler", "python"}
    placo = {"PlaCo"} - set(result["missing"])
    assert {name for case in result["accuracy"].values() for name in case} == {"Pinocchio", "MuJoCo", "NumPy"} | placo
    assert all(x < AGREEMENT for case in result["accuracy"].values() for x in case.values())
    # forward dynamics, hanging by balls and by welds, two contact steps, particles, and the filter's step
    assert len(result["races"]) == 6 + len(placo)
    assert set(result["races"][0]["peers_us"]) == {"Pinocchio", "MuJoCo"}
    for race in result["races"]:
        assert race["ukemi_us"] > 0
        assert all(low <= high for low, high in race["quartiles_us"].values())
        assert race["ratio"] == pytest.approx(min(race["peers_us"].values()) / race["ukemi_us"])
    assert str(Path.home()) not in path.read_text()
