"""Fixtures shared by all tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# The same examples every time: a run says something about the code, not about chance.
settings.register_profile("same", derandomize=True)
settings.load_profile("same")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Third-party models, motions and reference problems kept beside the repository; tests skip where it is absent."""
    folder = Path(__file__).resolve().parents[1].parent / "shared"
    if not folder.is_dir():
        pytest.skip("needs ../shared (third-party data), which is not here")
    return folder
