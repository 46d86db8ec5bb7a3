"""Every code block of the README and the guides runs, and so do the examples.

```python blocks of one page share a namespace, from top to bottom, in an empty folder. Of ```sh blocks the lines that
call `casimir` are run, in a folder with small files train.conll, dev.conll and new.conll. Commands in sentences and in
help texts must have names and options that there are.
"""

from __future__ import annotations

import importlib.util
import re
import runpy
import shlex
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from casimir.cli import app
from casimir.cli.commands import EVALUATE_EXAMPLES, PREDICT_EXAMPLES
from casimir.cli.experiment import RUN_EXAMPLES
from casimir.datasets import load_news
from casimir.tasks.ner import read_conll, write_conll
from casimir.tasks.registry import tasks
from casimir.testing import StructureContract

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("experiments/*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
HAS_TORCH = importlib.util.find_spec("torch") is not None
HAS_DASK = importlib.util.find_spec("distributed") is not None
NEED_TORCH = {"torch.md", "bilstm_chain.py"}
SMOKE = "casimir experiment run smoke"  # the tests of experiments run all of it, here a part will do
QUICK = {"bilstm_chain.py": ["--epochs", "1", "--sentences", "64"]}  # arguments of examples that take long

pytestmark = pytest.mark.skipif(not (ROOT / "README.md").exists(), reason="needs the source tree")


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """(line number of its first line, text) of every block in that language."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, match.start(1)) + 1, match[1]) for match in found]


def run_python(page: Path) -> dict[str, Any]:
    """The namespace that the page's blocks leave; errors point to the line of the page.

    A block that imports casimir.torch or casimir.dask is left out where there is no PyTorch, or no Dask.
    """
    namespace: dict[str, Any] = {"__name__": page.stem.replace("-", "_")}
    for line, text in blocks(page, "python"):
        if ("casimir.torch" in text and not HAS_TORCH) or ("casimir.dask" in text and not HAS_DASK):
            continue
        exec(compile("\n" * (line - 1) + text, str(page), "exec", dont_inherit=True), namespace)
    return namespace


def run_command(line: str) -> None:
    """One line for a shell, run without one."""
    command, _, target = line.partition(" > ")
    _, *arguments = shlex.split(command)
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, f"{line}\n{done.output}"
    if target:
        Path(target.strip()).write_bytes(done.stdout_bytes)


def contract_tests(namespace: dict[str, Any]) -> list[Any]:
    """The tests of the contract that a page's own structure inherits."""
    kinds = [kind for kind in namespace.values() if isinstance(kind, type) and issubclass(kind, StructureContract)]
    return [getattr(k(), name) for k in kinds if k is not StructureContract for name in dir(k) if name[:5] == "test_"]


def with_torch(paths: list[Path]) -> list[Any]:
    """The paths, those that need PyTorch marked to be skipped without it."""
    missing = pytest.mark.skipif(not HAS_TORCH, reason="needs PyTorch")
    return [pytest.param(p, marks=missing if p.name in NEED_TORCH else ()) for p in paths]


@pytest.fixture
def corpus_folder(tmp_path: Path) -> Path:
    for part, name, count in (("train", "train", 60), ("heldout", "dev", 30), ("heldout", "new", 20)):
        corpus = read_conll(load_news().train if part == "train" else load_news().heldout)
        corpus = replace(corpus, sentences=corpus.sentences[:count])
        write_conll(tmp_path / f"{name}.conll", corpus)
    (tmp_path / "letter.txt").write_text("Dear Ada, I am in Leeds. Write soon!\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("page", with_torch([p for p in PAGES if blocks(p, "python")]), ids=lambda p: p.name)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace = run_python(page)
    for test in contract_tests(namespace):
        with suppress(pytest.skip.Exception):  # what the structure does not have; the page is not skipped for it
            test()


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "sh")], ids=lambda p: p.name)
def test_commands_run(page: Path, corpus_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(corpus_folder)
    for _, text in blocks(page, "sh"):
        for line in text.replace("\\\n", " ").splitlines():
            if line.startswith("casimir "):
                run_command(f"{line} --only method=bcfw,data=news --seeds 1" if line.startswith(SMOKE) else line)


def documented() -> list[tuple[str, str]]:
    """(where, command) of every `casimir ...` in the pages, in blocks or in a sentence, and in the help of commands."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        lines = re.findall(r"^casimir [a-z].*$", "".join(block for _, block in blocks(page, "sh")), re.MULTILINE)
        lines += [" ".join(line.split()) for line in re.findall(r"(?<!`)`(casimir [a-z][^`]*)`(?!`)", text)]
        found += [(page.name, line) for line in lines]
    for task in tasks().values():
        found += [(f"casimir train {task.name} --help", line) for line in task.examples]
    texts = EVALUATE_EXAMPLES, PREDICT_EXAMPLES, RUN_EXAMPLES
    found += [("--help", line) for text in texts for line in text.splitlines() if line.startswith("casimir ")]
    return [(where, line) for where, line in found if "pick" not in line.split()]  # which docs/extending.md declares


@pytest.mark.parametrize(("where", "line"), documented())
def test_documented_commands_are_understood(where: str, line: str) -> None:
    """The command is there, and its options too: nothing is run."""
    command: Any = typer.main.get_command(app)
    words = shlex.split(re.split(r" [<>|] ", line)[0])[1:]
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        assert words[0] in command.commands, f"{where}: {line}"
        command = command.commands[words.pop(0)]
    options = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    for word in words:
        assert not word.startswith("--") or word in options or word == "--help", f"{where}: {line} has no {word}"


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("script", with_torch(EXAMPLES), ids=lambda p: p.name)
def test_examples_run(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(script), *QUICK.get(script.name, [])])
    runpy.run_path(str(script), run_name="__main__")


def test_tests_that_the_page_on_reliability_names_are_there() -> None:
    page = (DOCS / "reliability.md").read_text(encoding="utf-8")
    tests = ROOT / "tests"
    there = {name for file in tests.rglob("test_*.py") for name in re.findall(r"def (test_\w+)", file.read_text())}
    named = set(re.findall(r"\b(test_\w+)`", page))
    assert len(named) > 30
    assert named - there == set()
    files = set(re.findall(r"`(tests/[\w/.]+)`", page))
    files |= {f"tests/{name}" for name in re.findall(r"`([\w/]*test_\w+\.py)(?:::|`)", page) if name[:6] != "tests/"}
    assert [name for name in files if not (ROOT / name).exists()] == []
