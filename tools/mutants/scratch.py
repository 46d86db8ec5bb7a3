"""A copy of the project that may be broken, and tests that are run in it, each time in a process of its own."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
_PARTS = ("src", "tests", "cpp", "CMakeLists.txt", "pyproject.toml")
_NO_EDITABLE = """import sys
sys.meta_path[:] = [one for one in sys.meta_path if "editable" not in type(one).__module__]
"""
_WALL = 20  # so many times the processor's seconds: other work may be going on


@dataclass(frozen=True)
class Trial:
    """status   the exit status of pytest, or minus the number of the signal that ended it
    seconds  of processor time
    """

    status: int
    seconds: float


def copied(to: Path) -> Path:
    """The files of the project that git knows."""
    shutil.rmtree(to, ignore_errors=True)
    found = subprocess.run(["git", "ls-files", "-z", *_PARTS], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in filter(None, found.stdout.split("\0")):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, to / name)
    return to


def built_core() -> list[Path]:
    """The compiled modules that this Python imports."""
    asked = "import casimir._native as n; print(n.core.__file__)"
    found = subprocess.run([sys.executable, "-c", asked], cwd="/", check=True, capture_output=True, text=True)
    return sorted(Path(found.stdout.strip()).parent.glob("_c*.so"))


def run(copy: Path, arguments: Sequence[str], seconds: float, log: Path, plugins: Sequence[Any] = ()) -> Trial:
    """pytest in the copy, in a fork of this process: what is imported here need not be imported again."""
    quiet = ["-W", "ignore::pytest.PytestAssertRewriteWarning", "-p", "no:cacheprovider", "-q", "--no-header"]
    return in_fork(lambda: int(pytest.main([*quiet, *arguments], plugins=[*plugins])), copy, seconds, log)


def in_fork(work: Callable[[], int], copy: Path, seconds: float, log: Path) -> Trial:
    assert not any(name.partition(".")[0] == "casimir" for name in sys.modules), "the copy's casimir is to be imported"
    child = os.fork()
    if child == 0:
        status = 70
        try:
            _enter(copy, seconds, log)
            status = work()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    _, ended, usage = os.wait4(child, 0)
    return Trial(os.waitstatus_to_exitcode(ended), usage.ru_utime + usage.ru_stime)


def _enter(copy: Path, seconds: float, log: Path) -> None:
    with open(log, "wb") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    os.setpgid(0, 0)
    os.chdir(copy)
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))  # a mistake may ask for any amount
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(_WALL * (int(seconds) + 1))
    (copy / "sitecustomize.py").write_text(_NO_EDITABLE)  # for processes that tests start
    exec(_NO_EDITABLE)
    sys.path.insert(0, str(copy / "src"))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(copy / "src"), str(copy)])
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
