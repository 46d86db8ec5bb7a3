"""The task of dependency relations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from casimir.datasets.treebank import treebank_text
from casimir.tasks.deprel.conllu import Treebank, format_conllu, parse_conllu, read_conllu
from casimir.tasks.deprel.metrics import LabelScores
from casimir.tasks.task import Given, Opt, Table, Task, later

if TYPE_CHECKING:  # training loads SciPy, which --help need not wait for
    from casimir.tasks.deprel.model import DeprelModel

ALONE = "independent nodes"
_SHOWN = 15  # labels in the table


@dataclass(frozen=True)
class Options:
    loss: Annotated[str, Opt("Structural SVM or CRF.", choices=("hinge", "crf"))] = "hinge"
    subtypes: Annotated[bool, Opt("Keep subtypes of labels, as in nsubj:pass.")] = False


def read(path: Path, labelled: bool, given: Given) -> Treebank:
    return read_conllu(path, encoding=given.encoding)


def made_up() -> tuple[Treebank, Treebank]:
    parts = [parse_conllu(treebank_text(name), name=f"made-up {name}") for name in ("train", "dev")]
    return parts[0], parts[1]


def train(trees: Treebank, given: Given, callbacks: tuple[Any, ...], edges: bool = True) -> DeprelModel:
    from casimir.tasks.deprel import model

    o, arguments = given.options, given.fit.arguments(len(trees))
    return model.train(trees, loss=o.loss, subtypes=o.subtypes, edges=edges, callbacks=callbacks, **arguments)


def baselines(trees: Treebank, given: Given) -> dict[str, DeprelModel]:
    return {ALONE: train(trees, given, (), edges=False)}


def watch(dev: Treebank, trees: Treebank, given: Given) -> Mapping[str, Any]:
    from casimir.tasks.deprel.model import N_FEATURES, HeldOut, classes_of, known_labels

    classes = classes_of(known_labels(trees, given.options.subtypes))
    return {"dev accuracy": HeldOut(dev, classes, given.options.subtypes, N_FEATURES, True).accuracy}


def score(model: DeprelModel, trees: Treebank, given: Given) -> LabelScores:
    return model.evaluate(trees)


def details(scores: LabelScores) -> list[Table]:
    counts = list(scores.by_label.items())
    rows = [(name, c.precision, c.recall, c.f1, c.support) for name, c in counts[:_SHOWN]]
    note = f"and {len(counts) - _SHOWN} labels more" if len(counts) > _SHOWN else ""
    return [Table(["label", "precision", "recall", "F1", "nodes"], rows, note)]


def write(model: DeprelModel, trees: Treebank, given: Given, output: Path | None) -> str:
    return "".join(format_conllu(trees, model.predict(trees)))


TASK = Task(
    name="deprel",
    title="Dependency relations",
    about="""Train a labeller of dependency trees until its distance to the best possible objective is certified.

    It learns the relation of every word to its head, given the tree. Files are in the CoNLL-U format of Universal
    Dependencies; parts of speech are read, labels beyond ":" are cut off.""",
    data="Labelled CoNLL-U file.",
    scores="accuracy, and precision, recall and F1 of the labels.",
    writes="the CoNLL-U file with predicted labels in its column DEPREL.",
    units="trees",
    examples=(
        "casimir train deprel --model out/",
        "casimir train deprel --train en_ewt-ud-train.conllu --dev en_ewt-ud-dev.conllu --model out/",
        "casimir train deprel --train train.conllu --dev dev.conllu --model out/ --loss crf --solver lbfgs --tol 0.1",
    ),
    columns={"accuracy": "accuracy", "without punctuation": "words", "whole trees": "trees"},
    train_options=Options,
    read=read,
    made_up=made_up,
    train=train,
    baselines=baselines,
    watch=watch,
    score=score,
    details=details,
    write=write,
    decode=later("casimir.tasks.deprel.model", "decode_model"),
    figures=lambda model: {"labels": len(model.classes)},
)
