"""Real data for tests: the folder that CASIMIR_DATA points at. Tests that need it are skipped without it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_folder() -> Path:
    folder = os.environ.get("CASIMIR_DATA", "")
    if not folder or not Path(folder, "conll2003").is_dir():
        pytest.skip("CASIMIR_DATA does not point at a folder with conll2003")
    return Path(folder)
