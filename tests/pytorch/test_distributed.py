"""StructuredLoss under torch.distributed: two processes make the steps of one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
    pytest.skip("this PyTorch has no gloo", allow_module_level=True)

SCRIPT = Path(__file__).parent / "two_processes.py"


def test_two_processes_make_the_steps_of_one(tmp_path: Path) -> None:
    import importlib.util

    spec = importlib.util.spec_from_file_location("two_processes", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    alone = script.train(0, 1, lambda model: model)
    names = [str(tmp_path / "meeting"), str(tmp_path / "found")]
    running = [subprocess.Popen([sys.executable, str(SCRIPT), str(rank), "2", *names]) for rank in range(2)]
    try:
        assert [process.wait(timeout=150) for process in running] == [0, 0]
    finally:
        for process in running:
            process.kill()
            process.wait()
    found = [torch.load(f"{names[1]}{rank}") for rank in range(2)]
    assert not torch.equal(alone[0], torch.zeros_like(alone[0]))
    for one, first, second in zip(alone, *found, strict=True):
        assert torch.equal(first, second)
        torch.testing.assert_close(first, one, atol=1e-12, rtol=0.0)
