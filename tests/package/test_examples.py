"""Every example runs, asserts what it shows, and writes its pictures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LONGEST = 80  # lines


@pytest.mark.parametrize(
    "path", sorted(p for p in EXAMPLES.glob("*.py") if p.name != "common.py"), ids=lambda p: p.stem
)
def test_example(path: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, path, "--out", tmp_path], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("*.png"))
    text = path.read_text()
    assert "assert" in text
    assert len(text.splitlines()) <= LONGEST
