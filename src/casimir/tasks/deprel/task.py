"""The task of dependency relations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from casimir.datasets.treebank import treebank_text
from casimir.tasks.deprel.conllu import Treebank, format_conllu, parse_conllu, read_conllu
from casimir.tasks.deprel.metrics import LabelScores
from casimir.tasks.task import Given, Table, Task, label_table, opt

if TYPE_CHECKING:  # training loads SciPy, which --help need not wait for
    from casimir.tasks.deprel.model import DeprelModel

ALONE = "independent nodes"
_SHOWN = 15  # labels in the table


@dataclass(frozen=True)
class Options:
    loss: str = opt("Structural SVM or CRF.", "hinge", choices=("hinge", "crf"))
    subtypes: bool = opt("Keep subtypes of labels, as in nsubj:pass.", False)


def read(path: Path, labelled: bool, given: Given) -> Treebank:
    return read_conllu(path, encoding=given.encoding)


def made_up() -> tuple[Treebank, Treebank]:
    parts = [parse_conllu(treebank_text(name), name=f"made-up {name}") for name in ("train", "dev")]
    return parts[0], parts[1]


def train(trees: Treebank, given: Given, callbacks: tuple[Any, ...], edges: bool = True) -> DeprelModel:
    from casimir.tasks.deprel import model

    o, how = given.options, given.fit.training(len(trees), callbacks)
    return model.train(trees, how, loss=o.loss, subtypes=o.subtypes, edges=edges)


def baselines(trees: Treebank, given: Given) -> dict[str, DeprelModel]:
    return {ALONE: train(trees, given, (), edges=False)}


def watch(dev: Treebank, trees: Treebank, given: Given) -> Mapping[str, Any]:
    from casimir.tasks.deprel.model import N_FEATURES, HeldOut, classes_of, known_labels

    classes = classes_of(known_labels(trees, given.options.subtypes))
    return {"dev accuracy": HeldOut(dev, classes, given.options.subtypes, N_FEATURES, True).accuracy}


def details(scores: LabelScores) -> list[Table]:
    return [label_table("label", "nodes", scores.by_label, _SHOWN)]


def write(model: DeprelModel, trees: Treebank, given: Given, output: Path | None) -> str:
    return "".join(format_conllu(trees, model.predict(trees)))


TASK = Task.of(
    globals(),
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
    figures=lambda model: {"labels": len(model.classes)},
)
