"""`casimir train deprel`, and what `evaluate` and `predict` do with its models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from casimir.cli.apply import EvaluateOptions, PredictOptions
from casimir.cli.console import clear_ends, err, say, write_result
from casimir.cli.options import Encoding, Epochs, Json, Lam, Quiet, Seed, Solver, Target, Tol, lam_of, one_of
from casimir.cli.report import Report, figure_table
from casimir.cli.train import train_and_report
from casimir.datasets.treebank import treebank_text
from casimir.persistence import check_target
from casimir.tasks.deprel.conllu import Treebank, format_conllu, parse_conllu, read_conllu
from casimir.tasks.deprel.metrics import LabelScores

if TYPE_CHECKING:  # training loads SciPy, which --help need not wait for
    from casimir.tasks.deprel.model import DeprelModel

TRAIN_EXAMPLES = """Examples:

casimir train deprel --model out/

casimir train deprel --train en_ewt-ud-train.conllu --dev en_ewt-ud-dev.conllu --model out/

casimir train deprel --train train.conllu --dev dev.conllu --model out/ --loss crf --solver lbfgs --tol 0.1"""
_LOSSES = ("hinge", "crf")
_SHOWN = 15  # labels in the table of `evaluate`


def train(
    model: Target,
    train: Annotated[
        Path | None, typer.Option("--train", metavar="FILE", help="Labelled CoNLL-U file. Default: a made-up treebank.")
    ] = None,
    dev: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Labelled file to watch accuracy on; not used to train.")
    ] = None,
    loss: Annotated[
        str, typer.Option(metavar="|".join(_LOSSES), callback=one_of(_LOSSES), help="Structural SVM or CRF.")
    ] = "hinge",
    subtypes: Annotated[bool, typer.Option("--subtypes", help="Keep subtypes of labels, as in nsubj:pass.")] = False,
    edges: Annotated[
        bool, typer.Option("--edges/--no-edges", help="Score pairs of labels along edges, or label nodes one by one.")
    ] = True,
    baseline: Annotated[
        bool, typer.Option("--baseline/--no-baseline", help="With --dev, train independent nodes too, to compare.")
    ] = True,
    lam: Lam = None,
    solver: Solver = "auto",
    tol: Tol = 1e-2,
    epochs: Epochs = 500,
    seed: Seed = 0,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Train a labeller of dependency trees until its distance to the best possible objective is certified.

    It learns the relation of every word to its head, given the tree. FILE is in the CoNLL-U format of Universal
    Dependencies; parts of speech are read, labels beyond ":" are cut off. Ctrl-C saves the best model so far.
    """
    with clear_ends():
        check_target(model)
        if train is None and dev is not None:
            raise ValueError("--dev comes with --train; without both, a made-up treebank is used.")
        trees, held_out = _data(train, dev, encoding)
        settings = {
            "lam": lam_of(lam, len(trees)),
            "loss": loss,
            "solver": solver,
            "tol": tol,
            "epochs": epochs,
            "seed": seed,
            "subtypes": subtypes,
        }
        _train(trees, held_out, settings, edges, baseline, model, quiet, json)


def _data(train: Path | None, dev: Path | None, encoding: str) -> tuple[Treebank, Treebank | None]:
    if train is None:
        part = {name: parse_conllu(treebank_text(name), name=f"made-up {name}") for name in ("train", "dev")}
        return part["train"], part["dev"]
    return read_conllu(train, encoding=encoding), None if dev is None else read_conllu(dev, encoding=encoding)


def _train(
    treebank: Treebank,
    dev: Treebank | None,
    settings: dict[str, Any],
    edges: bool,
    baseline: bool,
    target: Path,
    quiet: bool,
    json: bool,
) -> None:
    from casimir.tasks.deprel.model import N_FEATURES, HeldOut, classes_of, known_labels, train

    metrics = {}
    if dev is not None:
        subtypes = settings["subtypes"]
        classes = classes_of(known_labels(treebank, subtypes))
        metrics = {"dev accuracy": HeldOut(dev, classes, subtypes, N_FEATURES, edges).accuracy}

    def report(model: DeprelModel) -> Report:
        figures: dict[str, Any] = {"labels": len(model.classes), "edges": model.edges}
        if dev is None:
            return Report(figures)
        rows = [("tree" if edges else "independent nodes", model.evaluate(dev))]
        if edges and baseline:
            if not quiet:
                say(err(), "Training independent nodes, to compare ...")
            rows.append(("independent nodes", train(treebank, edges=False, **settings).evaluate(dev)))
        table = figure_table(
            "Labels in the dev file",
            ["", "accuracy", "without punctuation", "whole trees"],
            [(name, s.accuracy, s.words, s.trees) for name, s in rows],
        )

        def show(console: Console) -> None:
            console.print()
            console.print(table)

        figures["dev"] = rows[0][1].to_dict()
        if len(rows) > 1:
            figures["dev_independent"] = rows[1][1].to_dict()
        return Report(figures, show)

    train_and_report(
        lambda callbacks: train(treebank, edges=edges, callbacks=callbacks, **settings),
        report,
        title=f"Trained on {len(treebank):,} trees, {treebank.n_nodes:,} nodes",
        target=target,
        metrics=metrics,
        quiet=quiet,
        json=json,
    )


def evaluate_model(model: DeprelModel, file: Path, options: EvaluateOptions) -> Report:
    """Accuracy of the labels of a CoNLL-U file, given its trees."""
    scores = model.evaluate(read_conllu(file, encoding=options.encoding))
    return Report(scores.to_dict(), lambda console: _show_scores(console, scores, f"Labels in {file}"))


def predict_model(model: DeprelModel, file: Path, options: PredictOptions) -> None:
    """The file with predicted labels in its column DEPREL."""
    treebank = read_conllu(file, encoding=options.encoding)
    text = "".join(format_conllu(treebank, model.predict(treebank)))
    write_result(text, options.encoding, options.output, f"Labelled {len(treebank):,} trees into")


def _show_scores(console: Console, scores: LabelScores, title: str) -> None:
    counts = list(scores.by_label.items())
    rows = [(name, c.precision, c.recall, c.f1, c.support) for name, c in counts[:_SHOWN]]
    console.print(figure_table(title, ["label", "precision", "recall", "F1", "nodes"], rows))
    if len(counts) > _SHOWN:
        console.print(f"and {len(counts) - _SHOWN} labels more")
    console.print(
        f"accuracy {scores.accuracy:.4f} over {scores.nodes:,} nodes, {scores.words:.4f} without punctuation; "
        f"{scores.trees:.4f} of the trees are right as a whole"
    )
