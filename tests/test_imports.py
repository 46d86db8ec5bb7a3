"""Heavy libraries are loaded when they are needed, and every public name is there when it is asked for."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import casimir
from casimir.estimators.chain_tagger import ChainTagger

HEAVY = {"cv2", "dask", "distributed", "matplotlib", "rich", "scipy", "sklearn", "torch"}
SCRIPT = """
import sys
{code}
sys.stderr.write(" ".join(sorted({{name.partition(".")[0] for name in sys.modules}} & {heavy!r})))
"""
GOLDEN = Path(__file__).parent / "golden" / "tasks-1" / "ner"


def loaded(code: str, *arguments: str) -> set[str]:
    """The heavy libraries that a fresh process has loaded in the end."""
    command = [sys.executable, "-c", SCRIPT.format(code=code, heavy=HEAVY), *arguments]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stderr.split())


def test_importing_casimir_loads_nothing_heavy() -> None:
    assert loaded("import casimir") == set()


def test_the_version_is_told_without_anything_heavy() -> None:
    assert loaded("from casimir.cli import main; main()", "--version") == set()


def test_structures_and_solvers_need_numpy_alone() -> None:
    assert loaded("import casimir as cs; cs.Chain(3), cs.SVRG(), cs.minimize, cs.pack([[['a']]])") == set()


def test_the_commands_are_put_together_without_anything_heavy() -> None:
    assert loaded("from casimir.cli import app") <= {"rich"}  # some versions of typer load it


def test_prediction_of_a_saved_tagger_does_not_wait_for_scikit_learn(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("Paris NNP\nis VBZ\nnice JJ\n")
    code = "from casimir.cli import app; app(sys.argv[1:], standalone_mode=False)"
    assert loaded(code, "predict", str(GOLDEN), str(tmp_path / "words.txt")) <= {"rich"}  # typer's own


def test_a_plain_prediction_waits_for_no_other_task_and_no_command_line_library(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("Paris NNP\nis VBZ\nnice JJ\n")
    code = "from casimir.cli import main; main(); print(*sys.modules)"
    script = SCRIPT.format(code=code, heavy={*HEAVY, "typer"})
    command = [sys.executable, "-c", script, "predict", str(GOLDEN), str(tmp_path / "words.txt")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "casimir.tasks.tag.task" in done.stdout
    assert "casimir.tasks.align" not in done.stdout


def test_training_of_a_tagger_does_not_wait_for_scikit_learn(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("Ada NNP B-PER\nslept VBD O\n\nLeeds NNP B-LOC\nran VBD O\n\n" * 6)
    code = "from casimir.cli import app; app(sys.argv[1:], standalone_mode=False)"
    file, model = str(tmp_path / "train.txt"), str(tmp_path / "model")
    assert "sklearn" not in loaded(code, "train", "ner", "-q", "--train", file, "--dev", file, "--model", model)
    assert Path(model, "model.json").exists()


def test_a_tagger_trained_without_scikit_learn_becomes_an_estimator_that_knows_the_same() -> None:
    X, y = [[["a"], ["b"]], [["b"]]], [["A", "B"], ["B"]]
    tagger = ChainTagger(n_features=None, tol=1e-4).fit(X, y)
    estimator = casimir.SequenceTagger.of(tagger)
    assert estimator.predictor_ is tagger.predictor_
    assert estimator.get_params(deep=False) == tagger.get_params()
    assert estimator.score(X, y) == tagger.score(X, y) == 1.0
    assert clone(estimator).get_params() == casimir.SequenceTagger(n_features=None, tol=1e-4).get_params()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        tagger.unfitted().predict(X)


def test_estimators_load_scikit_learn() -> None:
    assert "sklearn" in loaded("import casimir; casimir.SequenceTagger")


def test_every_name_of_the_stub_is_there_and_no_other() -> None:
    tree = ast.parse(Path(casimir.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    listed = next(ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign))
    assert sorted(imports) == sorted(listed) == sorted(casimir.__all__)
    for name in listed:
        assert getattr(casimir, name) is not None
