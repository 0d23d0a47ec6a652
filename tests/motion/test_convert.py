"""Files from files: what cannot be is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ukemi as uk
from ukemi.motion.convert import convert
from ukemi.motion.read import write_motion
from ukemi.motion.synthesis import walk


@pytest.mark.parametrize("rate", [0.0, -5.0, np.nan, np.inf, 1e9])
def test_rates_that_cannot_be_are_refused(tmp_path: Path, rate: float) -> None:
    source = write_motion(walk(0.2), tmp_path / "walk.bvh")
    with pytest.raises(uk.InvalidInputError, match="rate"):
        convert(source, tmp_path / "again.bvh", rate=rate)
