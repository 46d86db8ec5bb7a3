"""The task of tagging: a label for every word, whatever the labels are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from casimir._warnings import warn
from casimir.datasets import load_news
from casimir.metrics.entities import EntityScores
from casimir.metrics.schemes import Scheme, spans
from casimir.metrics.tokens import TokenScores
from casimir.tasks.tag.boost import AUTO
from casimir.tasks.tag.columns import parse_conll, read_conll
from casimir.tasks.tag.corpus import Corpus
from casimir.tasks.tag.costs import label_costs
from casimir.tasks.tag.documents import held_out_part
from casimir.tasks.tag.jsonlines import format_json_lines, is_json_lines, parse_json_lines
from casimir.tasks.tag.options import (
    Options,
    UseOptions,
    boost_of,
    buckets_of,
    check,
    features_of,
    layout_of,
    lexicons_of,
)
from casimir.tasks.tag.plain import format_inline, parse_plain
from casimir.tasks.tag.writer import format_conll
from casimir.tasks.task import Given, Table, Task, label_table, later
from casimir.tasks.text import read_text

if TYPE_CHECKING:  # solvers take their time to load, which --help need not wait for
    from casimir.estimators.chain_tagger import ChainTagger
    from casimir.tasks.tag.model import TagModel
    from casimir.tasks.tag.most_frequent import MostFrequent

_SHOWN = 20  # labels in the table
_WHAT = "a column file or a file of JSON lines"
_LAM = 3.0  # times 1/n; better than 1 on CoNLL-2003, WNUT-17 and UD English EWT


# --- data


def read(path: Path, labelled: bool, given: Given, has_spans: bool | None = None) -> Corpus:
    """Columns or JSON lines; for `predict` plain text too."""
    text, name = read_text(path, given.encoding, _WHAT), str(path)
    model = given.model
    if model is not None and not labelled and given.options.text:
        if given.options.keep_gold or given.options.labelled:
            raise ValueError("Plain text has no labels: leave --keep-gold and --labelled out, or --text.")
        return parse_plain(text, name=name)
    if is_json_lines(text):
        is_labelled = labelled or (model is not None and bool(given.options.labelled or given.options.keep_gold))
        return parse_json_lines(text, labelled=is_labelled, name=name, has_spans=has_spans)
    if model is None:
        corpus = parse_conll(text, name=name, layout=layout_of(given.options), spans=has_spans)
        return with_columns(corpus, given.options.columns)
    if not hasattr(model, "scheme"):
        raise ValueError("this is a folder of frequent words, to compare with; name the model folder it is in.")
    is_spans = model.scheme is not None
    if labelled:
        return parse_conll(text, name=name, layout=model.layout, spans=is_spans)
    has_labels = given.options.labelled
    return parse_conll(
        text,
        labelled=has_labels,
        columns=model.columns if has_labels is None else None,
        name=name,
        layout=model.layout,
        spans=is_spans,
        width=model.width,
    )


def with_columns(corpus: Corpus, names: str | None) -> Corpus:
    if names is None:
        return corpus
    return corpus.keep_columns(tuple(name.strip() for name in names.split(",") if name.strip() not in ("", "word")))


def made_up() -> tuple[Corpus, Corpus]:
    news = load_news()
    return read_conll(news.train), read_conll(news.heldout)


# --- training


def train(corpus: Corpus, given: Given, callbacks: tuple[Any, ...], kind: str = "tag") -> TagModel:
    from casimir.tasks.tag import model

    o = given.options
    _tell_one_label(corpus)
    kept, dev = with_columns(corpus, o.columns), given.dev
    wanted: dict[str, Any] = {
        "feature_set": features_of(o, corpus, given.encoding),
        "scheme": Scheme(o.scheme),
        "layout": layout_of(o),
        "kind": kind,
        "lexicons": lexicons_of(o, given.encoding),
    }
    boost: Any = boost_of(o, has_dev=dev is not None)
    if boost == AUTO and dev is not None:
        boost = with_columns(dev, o.columns)
    elif boost == AUTO:
        rest, judge = held_out_part(kept, given.fit.seed)
        boost = model.train(rest, _tagger(rest, given, "boost"), boost=judge, **wanted).boosts[0]
    trained = model.train(kept, _tagger(kept, given), callbacks=callbacks, boost=boost, **wanted)
    _tell_boost(trained, given)
    return trained


def _tell_one_label(corpus: Corpus) -> None:
    """Where all labels are the same, another column was meant."""
    labels = {label for sentence in corpus.labels for label in sentence}
    if len(labels) == 1:
        warn(
            f"Every word has the label {labels.pop()!r}. If another column was meant, name it: --word 2 --label 4 in "
            "CoNLL-U files, for one."
        )


def from_pack(given: Given, callbacks: tuple[Any, ...], kind: str = "tag") -> TagModel | None:
    """The model of the pack that --pack names; None without it."""
    from casimir.packs import Pack, open_pack
    from casimir.tasks.tag.packing import train_pack

    o = given.options
    if o.pack is None:
        return None

    def tagger(pack: Pack) -> ChainTagger:
        costs = None if o.cost is None else label_costs(o.cost, {str(one) for one in pack.labels or ()})
        how = given.fit.training(len(pack))
        return how.tagger(_LAM / len(pack), cluster=o.dask, loss=o.loss, label_costs=costs)

    boost = boost_of(o, has_dev=given.dev is not None)
    if boost == AUTO and given.dev is None:
        raise ValueError("--boost auto is chosen on --dev, where sentences are in a pack. Give --dev, or a number.")
    judge = given.dev if boost == AUTO else None
    found = train_pack(
        open_pack(o.pack), tagger, memory=o.memory, boost=judge or float(boost), kind=kind, callbacks=callbacks
    )
    _tell_boost(found, given)
    return found


def _tagger(corpus: Corpus, given: Given, part: str | None = None) -> ChainTagger:
    """part: of the checkpoint, for one that is not the model itself."""
    fit = given.fit if part is None else given.fit.part(part)
    o, features = given.options, features_of(given.options, corpus, given.encoding)
    labels = {one for tags in corpus.labels_for(Scheme(o.scheme) if corpus.scheme else None) for one in tags}
    return fit.training(len(corpus)).tagger(
        _LAM / len(corpus),
        cluster=o.dask,
        loss=o.loss,
        n_features=buckets_of(o, features),
        label_costs=None if o.cost is None else label_costs(o.cost, labels),
    )


def _tell_boost(model: TagModel, given: Given) -> None:
    if given.options.boost in (None, AUTO) and any(model.boosts):
        where = "the dev data" if given.dev is not None else "a fifth of the data"
        inside, alone = model.boosts
        more = "" if model.alone is None else f" in documents, {alone:g} in sentences that come alone"
        given.say(f"Score of O lowered by {inside:g}{more}: the best F1 on {where}")


def baselines(corpus: Corpus, given: Given, kind: str = "tag") -> dict[str, MostFrequent]:
    from casimir.tasks.tag.most_frequent import MostFrequent

    return {"most frequent label": MostFrequent.of(corpus, kind)}


def watch(dev: Corpus, corpus: Corpus, given: Given) -> Mapping[str, Any]:
    from casimir.tasks.tag.held_out import HeldOut

    o, features = given.options, features_of(given.options, corpus, given.encoding)
    lexicons = lexicons_of(o, given.encoding).learnt(corpus, features.learns(corpus.scheme is not None))
    seen = HeldOut(with_columns(dev, o.columns), features, lexicons)
    return {"dev accuracy": seen.accuracy} if dev.scheme is None else {"dev F1": seen.f1}


# --- results


def score(model: TagModel | MostFrequent, corpus: Corpus, given: Given) -> EntityScores | TokenScores:
    from casimir.tasks.tag.model import scores_of

    return scores_of(corpus, model.tag(corpus), corpus.scheme)


def details(scores: EntityScores | TokenScores) -> list[Table]:
    low, high = scores.interval()
    if isinstance(scores, EntityScores):
        counts = {kind or "(no type)": c for kind, c in scores.by_type.items()} | {"all": scores.overall}
        note = f"F1 {low:.4f} to {high:.4f} at 95 % (bootstrap)\ntoken accuracy {scores.accuracy:.4f}"
        note += f" over {scores.tokens:,} tokens"
        return [label_table("type", "entities", counts, len(counts), note)]
    note = f"accuracy {scores.accuracy:.4f}, {low:.4f} to {high:.4f} at 95 % (bootstrap)"
    note += f"\n{scores.sentences:.4f} of sentences without mistake"
    return [label_table("label", "tokens", scores.by_label, _SHOWN, note)]


def figures(model: TagModel) -> dict[str, Any]:
    return {
        "labels": len(model.given.predictor_.classes),
        "columns": ["word", *model.columns],
        "scheme": None if model.file_scheme is None else model.file_scheme.value,
        "trained_scheme": None if model.scheme is None else model.scheme.value,
        "boosts": list(model.boosts),
    }


def write(model: TagModel, corpus: Corpus, given: Given, output: Path | None) -> str:
    o, found = given.options, model.tag_numbers(corpus)
    if o.json and o.inline:
        raise ValueError("--json and --inline exclude each other.")
    if o.inline and o.keep_gold:
        raise ValueError("--inline has no room for the true labels of --keep-gold. Leave one of them out.")
    if o.inline and model.scheme is None:
        raise ValueError("--inline writes spans, which the labels of this model are not. Leave it out.")
    if not (o.inline or o.json or corpus.records):
        return "".join(format_conll(corpus, found, keep_gold=o.keep_gold))
    labels = found.lists()
    if o.inline:
        return format_inline(corpus, [cast(list[tuple[int, int, str]], spans(tags)) for tags in labels])
    return "".join(format_json_lines(_placed(corpus), labels, o.keep_gold))


def _placed(corpus: Corpus) -> Corpus:
    """Sentences of a plain text with the characters that they and their words cover."""
    if corpus.places is None:
        return corpus
    records = [
        {
            "text": corpus.text[places[0][0] : places[-1][1]],
            "start_char": places[0][0],
            "tokens": list(sentence.words),
            "token_chars": [list(place) for place in places],
        }
        for sentence, places in zip(corpus.sentences, corpus.places, strict=True)
    ]
    return replace(corpus, records=records)


def tagging_task(
    name: str,
    has_spans: bool | None = None,
    made_up: Callable[[], tuple[Corpus, Corpus]] = made_up,
    train_options: type[Options] = Options,
    **texts: Any,
) -> Task:
    """A task of tagging under its own name; has_spans: whether labels write spans, None by what they look like."""
    return Task.of(
        globals(),
        name=name,
        units="sentences",
        columns={"F1": "f1", "token accuracy": "accuracy"},
        train_options=train_options,
        use_options=UseOptions,
        check=check,
        read=partial(read, has_spans=has_spans),
        made_up=made_up,
        train=partial(train, kind=name),
        from_pack=partial(from_pack, kind=name),
        baselines=partial(baselines, kind=name),
        calibrate=lambda model, dev, given: model.calibrate(dev),
        report=lambda model, corpus, given: later("casimir.tasks.tag.reporting", "corpus_report")(model, corpus),
        decode=partial(later("casimir.tasks.tag.model", "decode_model"), kind=name),
        **texts,
    )


TASK = tagging_task(
    "tag",
    title="Tagging",
    about="""Train a tagger for any labels, until its distance to the best possible objective is certified.

    Files have a word and its columns per line, tabs or blanks between them, and a blank line after each sentence; or
    JSON lines such as {"tokens": ["Paris"], "tags": ["B-LOC"]}. Labels that write spans (IOB1, IOB2, IOBES) are
    recognised and scored by F1, others by accuracy.""",
    data="Labelled column file, or JSON lines.",
    scores="F1 of spans as the official CoNLL script counts it, accuracy of other labels, with confidence intervals.",
    writes="""the file with predicted labels: as its last column or in the place of the labels it has. Plain text
    (--text) is split into sentences and words first.""",
    examples=(
        "casimir train tag --train train.conll --dev dev.conll --model out/",
        "casimir train tag --train train.conllu --word 2 --label 4 --columns word --model out/",
        "casimir train tag --train train.jsonl --loss crf --model out/",
        "casimir predict out/ --text letter.txt --inline",
    ),
)
