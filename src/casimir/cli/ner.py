"""`casimir train ner`, and what `evaluate` and `predict` do with its models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from casimir.cli.apply import EvaluateOptions, PredictOptions
from casimir.cli.console import clear_ends, write_result
from casimir.cli.options import Encoding, Epochs, Json, Lam, Quiet, Seed, Solver, Target, Tol, lam_of, one_of
from casimir.cli.report import Report
from casimir.cli.train import train_and_report
from casimir.datasets import load_news
from casimir.features import DEFAULT_N_FEATURES
from casimir.persistence import check_target
from casimir.tasks.ner.columns import read_conll
from casimir.tasks.ner.corpus import Corpus
from casimir.tasks.ner.features import FEATURE_SETS
from casimir.tasks.ner.metrics import EntityScores
from casimir.tasks.ner.schemes import Scheme
from casimir.tasks.ner.writer import format_conll

if TYPE_CHECKING:  # scikit-learn takes a second to load, which --help need not wait for
    from casimir.estimators import SequenceTagger
    from casimir.tasks.ner.model import NERModel

TRAIN_EXAMPLES = """Examples:

casimir train ner --model out/

casimir train ner --train eng.train --dev eng.testa --model out/

casimir train ner --train eng.train --model out/ --lam 0.1/n --tol 1e-3

casimir train ner --train eng.train --model out/ --features paper --loss crf --json > run.json"""
_SCHEMES = ("IOB1", "IOB2", "IOBES")
_SETS = tuple(FEATURE_SETS)
_LOSSES = ("hinge", "crf")


def train(
    model: Target,
    train: Annotated[
        Path | None, typer.Option("--train", metavar="FILE", help="Labelled CoNLL file. Default: made-up news.")
    ] = None,
    dev: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Labelled file to watch F1 on; not used to train.")
    ] = None,
    features: Annotated[
        str, typer.Option(metavar="|".join(_SETS), callback=one_of(_SETS), help="Feature set.")
    ] = "default",
    columns: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Columns to use, such as word,pos; 'word' for words alone. Default: all."),
    ] = None,
    loss: Annotated[
        str, typer.Option(metavar="|".join(_LOSSES), callback=one_of(_LOSSES), help="Structural SVM or CRF.")
    ] = "hinge",
    lam: Lam = None,
    solver: Solver = "auto",
    tol: Tol = 1e-2,
    epochs: Epochs = 500,
    seed: Seed = 0,
    n_features: Annotated[
        int | None,
        typer.Option(
            min=1, max=2**32 - 1, metavar="N", help="Hash buckets. Default: 2^18, or 2^16 - 1 for the paper's features."
        ),
    ] = None,
    exact_vocabulary: Annotated[
        bool, typer.Option("--exact-vocabulary", help="Number every feature instead of hashing.")
    ] = False,
    scheme: Annotated[
        str,
        typer.Option(
            metavar="|".join(_SCHEMES),
            callback=one_of(_SCHEMES),
            help="To train with; predictions come in the file's own.",
        ),
    ] = "IOB2",
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Train a named-entity tagger until its distance to the best possible objective is certified.

    FILE has 2 to 5 columns (word first, label last), tabs or blanks between them, a blank line after each sentence;
    IOB1, IOB2 (BIO) and IOBES labels are recognised. Ctrl-C saves the best model so far.
    """
    with clear_ends():
        if exact_vocabulary and n_features is not None:
            raise ValueError(
                "--n-features counts hash buckets, which --exact-vocabulary does not use. Give one of them."
            )
        check_target(model)
        given, watched = _data(train, dev, encoding)
        corpus = _with_columns(given, columns)
        held_out = None if watched is None else watched.keep_columns(corpus.columns)
        from casimir.estimators import SequenceTagger
        from casimir.tasks.ner.model import PAPER_N_FEATURES

        buckets = n_features or (PAPER_N_FEATURES if features == "paper" else DEFAULT_N_FEATURES)
        tagger = SequenceTagger(
            lam=lam_of(lam, len(corpus)),
            loss=loss,
            solver=solver,
            tol=tol,
            random_state=seed,
            max_epochs=epochs,
            n_features=None if exact_vocabulary else buckets,
        )
        _train(corpus, held_out, tagger, features, Scheme(scheme), model, quiet, json)


def _train(
    corpus: Corpus,
    dev: Corpus | None,
    tagger: SequenceTagger,
    features: str,
    scheme: Scheme,
    target: Path,
    quiet: bool,
    json: bool,
) -> None:
    from casimir.tasks.ner.model import HeldOut, train

    held_out = None if dev is None else HeldOut(dev, features, scheme)

    def report(model: NERModel) -> Report:
        figures = training_figures(model)
        if held_out is None:
            return Report(figures)
        scores = held_out.scores(model.tagger.predictor_)

        def show(console: Console) -> None:
            console.print()
            show_scores(console, scores, "Entities in the dev file")

        return Report(figures | {"dev": scores.to_dict()}, show)

    train_and_report(
        lambda callbacks: train(corpus, tagger, feature_set=features, scheme=scheme, callbacks=callbacks),
        report,
        title=f"Trained on {len(corpus):,} sentences",
        target=target,
        metrics={} if held_out is None else {"dev F1": held_out.f1},
        quiet=quiet,
        json=json,
    )


def _data(train: Path | None, dev: Path | None, encoding: str) -> tuple[Corpus, Corpus | None]:
    if train is not None:
        return read_conll(train, encoding=encoding), None if dev is None else read_conll(dev, encoding=encoding)
    if dev is not None:
        raise ValueError("--dev comes with --train; without both, made-up news is used.")
    return read_conll(load_news().train), read_conll(load_news().heldout)


def _with_columns(corpus: Corpus, names: str | None) -> Corpus:
    if names is None:
        return corpus
    return corpus.keep_columns(tuple(name.strip() for name in names.split(",") if name.strip() not in ("", "word")))


def training_figures(model: NERModel) -> dict[str, Any]:
    """What a named-entity model has besides the figures of its run."""
    return {
        "labels": len(model.tagger.classes_),
        "columns": ["word", *model.columns],
        "scheme": model.file_scheme.value,
        "trained_scheme": model.scheme.value,
    }


def show_scores(console: Console, scores: EntityScores, title: str) -> None:
    console.print(_score_table(scores, title))
    console.print(f"token accuracy {scores.accuracy:.4f} over {scores.tokens:,} tokens")


def evaluate_model(model: NERModel, file: Path, options: EvaluateOptions) -> Report:
    """Entity precision, recall and F1 on a labelled file, as the official CoNLL script counts them."""
    scores = model.evaluate(read_conll(file, encoding=options.encoding))
    return Report(scores.to_dict(), lambda console: show_scores(console, scores, f"Entities in {file}"))


def predict_model(model: NERModel, file: Path, options: PredictOptions) -> None:
    """The file with predicted labels as its last column."""
    wanted = model.columns if options.labelled is None else None
    corpus = read_conll(file, labelled=options.labelled, columns=wanted, encoding=options.encoding)
    labels = model.tag(corpus)
    text = "".join(format_conll(corpus, labels, keep_gold=options.keep_gold))
    write_result(text, options.encoding, options.output, f"Tagged {len(corpus):,} sentences into")


def _score_table(scores: EntityScores, title: str) -> Table:
    """Precision, recall and F1 by type and over all."""
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold", box=None, pad_edge=False)
    table.add_column("type")
    for name in ("precision", "recall", "F1", "entities"):
        table.add_column(name, justify="right")
    for kind, counts in [*scores.by_type.items(), ("all", scores.overall)]:
        style = "bold" if counts is scores.overall else None
        figures = (f"{value:.4f}" for value in (counts.precision, counts.recall, counts.f1))
        table.add_row(kind or "(no type)", *figures, str(counts.support), style=style)
    return table
