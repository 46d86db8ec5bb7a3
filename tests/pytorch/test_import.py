"""torch is imported only when asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_casimir_and_its_commands_do_not_import_torch() -> None:
    done = run("import sys, casimir, casimir.cli; casimir.SequenceTagger; sys.exit('torch' in sys.modules)")
    assert done.returncode == 0, done.stderr


def test_without_torch_the_error_says_what_to_install() -> None:
    done = run("import sys; sys.modules['torch'] = None; import casimir; import casimir.torch")
    assert done.returncode == 1
    assert 'pip install "casimir[torch]"' in done.stderr


def test_public_names_are_there() -> None:
    pytest.importorskip("torch")
    import casimir.torch

    assert all(hasattr(casimir.torch, name) for name in casimir.torch.__all__)
