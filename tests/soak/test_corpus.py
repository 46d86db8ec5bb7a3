"""What fuzzers have found and kept is tried again: the corpora of the Python readers. Those of the core are replayed by
the C++ tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from soak.readers import READERS, tried

CORPUS = Path(__file__).with_name("corpus")
CORE = Path(__file__).resolve().parents[2] / "cpp" / "fuzz" / "corpus"


@pytest.mark.parametrize("name", READERS)
def test_inputs_of_fuzzers_are_read_or_refused(name: str, tmp_path: Path) -> None:
    lines = (CORPUS / f"{name}.txt").read_text(encoding="ascii").splitlines()
    inputs = [bytes.fromhex(line) for line in lines if not line.startswith("#")]
    assert inputs
    for data in inputs:
        assert "\n" not in tried(name, data, tmp_path), data.hex()


def test_corpora_stay_small() -> None:
    sizes = {file: file.stat().st_size for folder in (CORPUS, CORE) for file in folder.glob("*.txt")}
    assert len(sizes) > len(READERS)
    assert sum(sizes.values()) < 200_000, sizes
