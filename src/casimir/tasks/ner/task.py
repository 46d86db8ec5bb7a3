"""The task of named entities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from casimir.datasets import load_news
from casimir.features import DEFAULT_N_FEATURES
from casimir.tasks.ner.columns import read_conll
from casimir.tasks.ner.corpus import Corpus
from casimir.tasks.ner.features import FEATURE_SETS
from casimir.tasks.ner.metrics import EntityScores
from casimir.tasks.ner.schemes import Scheme
from casimir.tasks.ner.writer import format_conll
from casimir.tasks.task import Given, Opt, Table, Task, lam_of

if TYPE_CHECKING:  # scikit-learn takes a second to load, which --help need not wait for
    from casimir.tasks.ner.model import NERModel


@dataclass(frozen=True)
class Options:
    features: Annotated[str, Opt("Feature set.", choices=tuple(FEATURE_SETS))] = "default"
    columns: Annotated[
        str | None, Opt("Columns to use, such as word,pos; 'word' for words alone. Default: all.", metavar="NAMES")
    ] = None
    loss: Annotated[str, Opt("Structural SVM or CRF.", choices=("hinge", "crf"))] = "hinge"
    n_features: Annotated[
        int | None,
        Opt("Hash buckets. Default: 2^18, or 2^16 - 1 for the paper's features.", metavar="N", low=1, high=2**32 - 1),
    ] = None
    exact_vocabulary: Annotated[bool, Opt("Number every feature instead of hashing.")] = False
    scheme: Annotated[
        str, Opt("To train with; predictions come in the file's own.", choices=("IOB1", "IOB2", "IOBES"))
    ] = "IOB2"


@dataclass(frozen=True)
class UseOptions:
    keep_gold: Annotated[bool, Opt("Write the true labels too, before the predicted ones.", only="predict")] = False
    labelled: Annotated[
        bool | None,
        Opt(
            "Whether the last column is a label. Default: by their number.",
            name="--labelled/--unlabelled",
            only="predict",
        ),
    ] = None


def check(given: Given, pictures: Path | None) -> None:
    if given.options.exact_vocabulary and given.options.n_features is not None:
        raise ValueError("--n-features counts hash buckets, which --exact-vocabulary does not use. Give one of them.")


def read(path: Path, labelled: bool, given: Given) -> Corpus:
    if given.model is None:
        return _with_columns(read_conll(path, encoding=given.encoding), given.options.columns)
    if labelled:
        return read_conll(path, encoding=given.encoding)
    has_labels = given.options.labelled
    wanted = given.model.columns if has_labels is None else None
    return read_conll(path, labelled=has_labels, columns=wanted, encoding=given.encoding)


def _with_columns(corpus: Corpus, names: str | None) -> Corpus:
    if names is None:
        return corpus
    return corpus.keep_columns(tuple(name.strip() for name in names.split(",") if name.strip() not in ("", "word")))


def made_up() -> tuple[Corpus, Corpus]:
    news = load_news()
    return read_conll(news.train), read_conll(news.heldout)


def train(corpus: Corpus, given: Given, callbacks: tuple[Any, ...]) -> NERModel:
    from casimir.estimators import SequenceTagger
    from casimir.tasks.ner import model

    o, fit = given.options, given.fit
    buckets = o.n_features or (model.PAPER_N_FEATURES if o.features == "paper" else DEFAULT_N_FEATURES)
    tagger = SequenceTagger(
        lam=lam_of(fit.lam, len(corpus)),
        loss=o.loss,
        solver=fit.solver,
        tol=fit.tol,
        random_state=fit.seed,
        max_epochs=fit.epochs or 500,
        n_features=None if o.exact_vocabulary else buckets,
    )
    kept = _with_columns(corpus, o.columns)
    return model.train(kept, tagger, feature_set=o.features, scheme=Scheme(o.scheme), callbacks=callbacks)


def watch(dev: Corpus, corpus: Corpus, given: Given) -> Mapping[str, Any]:
    from casimir.tasks.ner.model import HeldOut

    kept = _with_columns(dev, given.options.columns)
    return {"dev F1": HeldOut(kept, given.options.features, Scheme(given.options.scheme)).f1}


def score(model: NERModel, corpus: Corpus, given: Given) -> EntityScores:
    return model.evaluate(corpus)


def details(scores: EntityScores) -> list[Table]:
    rows = [
        (kind or "(no type)", c.precision, c.recall, c.f1, c.support)
        for kind, c in [*scores.by_type.items(), ("all", scores.overall)]
    ]
    note = f"token accuracy {scores.accuracy:.4f} over {scores.tokens:,} tokens"
    return [Table(["type", "precision", "recall", "F1", "entities"], rows, note)]


def figures(model: NERModel) -> dict[str, Any]:
    return {
        "labels": len(model.tagger.classes_),
        "columns": ["word", *model.columns],
        "scheme": model.file_scheme.value,
        "trained_scheme": model.scheme.value,
    }


def write(model: NERModel, corpus: Corpus, given: Given, output: Path | None) -> str:
    return "".join(format_conll(corpus, model.tag(corpus), keep_gold=given.options.keep_gold))


def decode(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> NERModel:
    from casimir.tasks.ner.model import decode_model

    return decode_model(meta, arrays)


TASK = Task(
    name="ner",
    title="Named entities",
    about="""Train a named-entity tagger until its distance to the best possible objective is certified.

    Files have 2 to 5 columns (word first, label last), tabs or blanks between them, a blank line after each sentence;
    IOB1, IOB2 (BIO) and IOBES labels are recognised.""",
    data="Labelled CoNLL file.",
    scores="precision, recall and F1, as the official CoNLL script counts them.",
    writes="""the file with predicted labels as its last column, in its own scheme. It has the columns of the
    training file, with or without labels; labels that it has are replaced.""",
    units="sentences",
    examples=(
        "casimir train ner --model out/",
        "casimir train ner --train eng.train --dev eng.testa --model out/",
        "casimir train ner --train eng.train --model out/ --lam 0.1/n --tol 1e-3",
        "casimir train ner --train eng.train --model out/ --features paper --loss crf --json > run.json",
    ),
    columns={"precision": "precision", "recall": "recall", "F1": "f1"},
    train_options=Options,
    use_options=UseOptions,
    check=check,
    read=read,
    made_up=made_up,
    train=train,
    watch=watch,
    score=score,
    details=details,
    figures=figures,
    write=write,
    decode=decode,
)
