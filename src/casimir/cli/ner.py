"""`casimir train ner`, `casimir evaluate` and `casimir predict`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from casimir.cli.console import INTERRUPTED, clear_ends, err, out, say, write_json
from casimir.features import DEFAULT_N_FEATURES
from casimir.persistence import check_target
from casimir.solvers.choose import SOLVER_NAMES
from casimir.tasks.ner.columns import read_conll
from casimir.tasks.ner.corpus import Corpus
from casimir.tasks.ner.features import FEATURE_SETS
from casimir.tasks.ner.schemes import Scheme
from casimir.tasks.ner.writer import format_conll, write_conll

if TYPE_CHECKING:  # scikit-learn takes a second to load, which --help need not wait for
    from casimir.estimators import SequenceTagger

TRAIN_EXAMPLES = """Examples:

casimir train ner --train eng.train --dev eng.testa --model out/

casimir train ner --train eng.train --model out/ --lam 0.1/n --tol 1e-3

casimir train ner --train eng.train --model out/ --features paper --loss crf --json > run.json"""
EVALUATE_EXAMPLES = """Examples:

casimir evaluate out/ eng.testa

casimir evaluate out/ eng.testa --json"""
PREDICT_EXAMPLES = """Examples:

casimir predict out/ file.txt > tagged.txt

casimir predict out/ eng.testa --keep-gold --output scored.txt"""


def _one_of(names: tuple[str, ...]) -> Callable[[str | None], str | None]:
    def check(given: str | None) -> str | None:
        if given is not None and given not in names:
            raise typer.BadParameter(f"{given!r} is not one of {', '.join(names)}.")
        return given

    return check


def _check_lam(given: str | None) -> str | None:
    lam_of(given, 1)
    return given


def lam_of(given: str | None, n: int) -> float | None:
    """ "0.001" is itself, "0.1/n" is 0.1 / n, None is the default."""
    if given is None:
        return None
    number, slash, rest = given.partition("/")
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < float("inf") or (slash and rest.strip() != "n"):
        raise typer.BadParameter(f"{given!r} is not a number such as 1e-4, or a multiple of 1/n such as 0.1/n.")
    return value / n if slash else value


_SCHEMES = ("IOB1", "IOB2", "IOBES")
_SETS = tuple(FEATURE_SETS)
_LOSSES = ("hinge", "crf")
Encoding = Annotated[str, typer.Option(metavar="NAME", help="Encoding of the files, such as latin-1.")]
Json = Annotated[bool, typer.Option("--json", help="Write the results to stdout as JSON.")]
Model = Annotated[Path, typer.Argument(metavar="DIR", help="Model folder.", show_default=False)]
File = Annotated[Path, typer.Argument(metavar="FILE", help="CoNLL column file.", show_default=False)]


def train(
    train: Annotated[Path, typer.Option("--train", metavar="FILE", help="Labelled CoNLL file.", show_default=False)],
    model: Annotated[Path, typer.Option("--model", metavar="DIR", help="Folder to save to.", show_default=False)],
    dev: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Labelled file to watch F1 on; not used to train.")
    ] = None,
    features: Annotated[
        str, typer.Option(metavar="|".join(_SETS), callback=_one_of(_SETS), help="Feature set.")
    ] = "default",
    columns: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Columns to use, such as word,pos; 'word' for words alone. Default: all."),
    ] = None,
    loss: Annotated[
        str, typer.Option(metavar="|".join(_LOSSES), callback=_one_of(_LOSSES), help="Structural SVM or CRF.")
    ] = "hinge",
    lam: Annotated[
        str | None,
        typer.Option(metavar="X", callback=_check_lam, help="Regularisation: a number, or X/n. Default: 1/n."),
    ] = None,
    solver: Annotated[
        str, typer.Option(metavar="NAME", callback=_one_of(SOLVER_NAMES), help=", ".join(SOLVER_NAMES) + ".")
    ] = "auto",
    tol: Annotated[float, typer.Option(min=0.0, metavar="X", help="Certified relative gap at which to stop.")] = 1e-2,
    epochs: Annotated[int, typer.Option(min=1, metavar="N", help="Stop after this many epochs at the latest.")] = 500,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the order of examples.")] = 0,
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
            callback=_one_of(_SCHEMES),
            help="To train with; predictions come in the file's own.",
        ),
    ] = "IOB2",
    encoding: Encoding = "utf-8",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")] = False,
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
        corpus = _with_columns(read_conll(train, encoding=encoding), columns)
        held_out = None if dev is None else read_conll(dev, encoding=encoding).keep_columns(corpus.columns)
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
    from casimir.cli.report import run_figures, show_run, show_scores
    from casimir.progress import Progress
    from casimir.tasks.ner.model import HeldOut, train

    held_out = None if dev is None else HeldOut(dev, features, scheme)
    metrics = {} if held_out is None else {"dev F1": held_out.f1}
    with nullcontext() if quiet else Progress(metrics, err()) as progress:
        callbacks = () if progress is None else (progress,)
        model = train(corpus, tagger, feature_set=features, scheme=scheme, callbacks=callbacks)
    model.save(target)
    interrupted = model.tagger.status_ == "interrupted"
    scores = None if held_out is None or interrupted else held_out.scores(model.tagger.predictor_)
    if json:
        figures: dict[str, Any] = {"model": str(target), **run_figures(model)}
        write_json(figures | ({} if scores is None else {"dev": scores.to_dict()}))
    else:
        show_run(out(), model, f"Trained on {len(corpus):,} sentences")
        if scores is not None:
            out().print()
            show_scores(out(), scores, "Entities in the dev file")
    say(err(), f"Saved {'the best model so far' if interrupted else 'the model'} to {target}", "green")
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def _with_columns(corpus: Corpus, names: str | None) -> Corpus:
    if names is None:
        return corpus
    return corpus.keep_columns(tuple(name.strip() for name in names.split(",") if name.strip() not in ("", "word")))


def evaluate(model: Model, file: File, encoding: Encoding = "utf-8", json: Json = False) -> None:
    """Entity precision, recall and F1 on a labelled file, as the official CoNLL script counts them."""
    with clear_ends():
        from casimir.cli.report import show_scores
        from casimir.tasks.ner.model import load_model

        scores = load_model(model).evaluate(read_conll(file, encoding=encoding))
        if json:
            write_json({"model": str(model), "file": str(file), **scores.to_dict()})
        else:
            show_scores(out(), scores, f"Entities in {file}")


def predict(
    model: Model,
    file: File,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Where to write. Default: stdout.")] = None,
    keep_gold: Annotated[
        bool, typer.Option("--keep-gold", help="Keep the file's labels as the last but one column.")
    ] = False,
    labelled: Annotated[
        bool | None,
        typer.Option("--labelled/--unlabelled", help="Whether the last column is a label. Default: by their number."),
    ] = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Write the file with predicted labels as its last column, in the file's own scheme.

    The file has the columns of the training file, with or without labels; labels that it has are replaced.
    """
    with clear_ends():
        from casimir.tasks.ner.model import load_model

        tagger = load_model(model)
        wanted = tagger.columns if labelled is None else None
        corpus = read_conll(file, labelled=labelled, columns=wanted, encoding=encoding)
        labels = tagger.tag(corpus)
        if output is not None:
            write_conll(output, corpus, labels, keep_gold=keep_gold, encoding=encoding)
            say(err(), f"Tagged {len(corpus):,} sentences into {output}", "green")
        else:
            text = "".join(format_conll(corpus, labels, keep_gold=keep_gold))
            typer.echo(text.encode(encoding), nl=False)
