"""What the commands of tagging take, and what it means."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from casimir._sizes import parse_size
from casimir.features import DEFAULT_N_FEATURES
from casimir.tasks.tag.boost import AUTO, parse_boost
from casimir.tasks.tag.clusters import read_clusters
from casimir.tasks.tag.columns import Layout
from casimir.tasks.tag.corpus import Corpus
from casimir.tasks.tag.costs import parse_costs
from casimir.tasks.tag.gazetteers import read_gazetteers
from casimir.tasks.tag.lexicons import Lexicons
from casimir.tasks.tag.templates.read import WHAT, read_templates
from casimir.tasks.tag.templates.template_set import FEATURE_SETS, TemplateSet
from casimir.tasks.tag.tokens import LABEL, WORD
from casimir.tasks.task import Given, opt
from casimir.tasks.text import read_text

_BUCKETS = {"default": DEFAULT_N_FEATURES, "pairs": 2**21, "chunks": 2**20, "paper": 2**16 - 1}
_OWN_BUCKETS = 2**20  # of templates of the user's own


def check_cluster(given: str) -> None:
    """A ValueError for what cannot be the address of a cluster; Dask itself is not asked."""
    kind, _, rest = given.partition(":")
    if not (rest.isdecimal() and int(rest) > 0 if kind == "local" else "://" in given):
        raise ValueError(f"{given!r} is not local:N, such as local:4, nor an address such as tcp://host:8786.")


@dataclass(frozen=True)
class Options:
    """What `casimir train tag` takes; `ner`, `pos` and `chunk` take the same with other defaults."""

    word: int = opt("The column of the word, counted from 1.", 1, metavar="COLUMN", low=1)
    label: int | None = opt("The column of the label, counted from 1. Default: the last.", metavar="COLUMN", low=1)
    features: str | None = opt(
        "One of default, pairs, chunks, paper; by default pairs for labels that are not spans.",
        metavar="NAME",
        choices=FEATURE_SETS,
    )
    templates: Path | None = opt(
        "Templates of your own in the place of a feature set; those of CRF++ and Wapiti are read too.", metavar="FILE"
    )
    columns: str | None = opt(
        "Columns to use, such as word,pos or word,c3; 'word' for words alone. Default: all.", metavar="NAMES"
    )
    loss: str = opt("Structural SVM or CRF.", "hinge", choices=("hinge", "crf"))
    cost: str | None = opt(
        "Costs of mistakes, TRUE:PREDICTED=X; '*:O=3' makes a missed entity cost 3. Default: 1 each.",
        metavar="T:P=X,...",
    )
    n_features: int | None = opt(
        "Hash buckets. Default: 2^18; 2^21 for pairs, 2^20 for chunks and --templates, 2^16 - 1 for paper.",
        metavar="N",
        low=1,
    )
    exact_vocabulary: bool = opt("Number every feature instead of hashing.", False)
    scheme: str = opt(
        "IOB1, IOB2 or IOBES: to train with where labels write spans; predictions come in the file's own.",
        "IOBES",
        metavar="NAME",
        choices=("IOB1", "IOB2", "IOBES"),
    )
    boost: str | None = opt(
        "What to lower the score of O by, so that more entities are found; auto: what is best for F1 on --dev, or "
        "on a fifth of --train. Default: auto with --dev and without --cost, else 0.",
        metavar="X|auto",
    )
    clusters: Path | None = opt(
        "Clusters of words: bits, word and count per line, or word and cluster, between tabs.", metavar="FILE"
    )
    gazetteer: list[Path] | None = opt(
        "Names, one per line, with a type behind a tab or the file's name as type. Repeatable.", metavar="FILE"
    )
    pack: Path | None = opt(
        "Train on a pack that `casimir pack` made, in the place of --train; its templates are used.", metavar="DIR"
    )
    memory: str | None = opt(
        "With --pack: how much memory training may take, such as 2GB. Default: as much as it needs.", metavar="SIZE"
    )
    dask: str | None = opt(
        "Train on a Dask cluster, which reads --pack where it is: the address of its scheduler, or local:N for N "
        "processes on this machine.",
        metavar="ADDRESS",
        check=check_cluster,
    )


@dataclass(frozen=True)
class UseOptions:
    text: bool = opt("FILE is plain text, to be split into sentences and words.", False, only="predict")
    json: bool = opt("Write JSON lines.", False, only="predict")
    inline: bool = opt("Write sentences with spans in brackets.", False, only="predict")
    keep_gold: bool = opt("Write the true labels too, before the predicted ones.", False, only="predict")
    labelled: bool | None = opt(
        "Whether the file has labels. Default: by the number of its columns.",
        name="--labelled/--unlabelled",
        only="predict",
    )


def check(given: Given, pictures: Path | None) -> None:
    _check_pack(given)
    if given.options.exact_vocabulary and given.options.n_features is not None:
        raise ValueError("--n-features counts hash buckets, which --exact-vocabulary does not use. Give one of them.")
    if given.options.n_features is not None and given.options.n_features >= 2**32:
        raise ValueError(f"--n-features {given.options.n_features}: there can be at most 2^32 - 1 hash buckets.")
    if given.options.templates is not None:
        if given.options.features is not None:
            raise ValueError("--features names a set, and --templates takes its place. Give one of them.")
        read_text(given.options.templates, given.encoding, WHAT)
    layout_of(given.options)
    lexicons_of(given.options, given.encoding)
    boost_of(given.options, has_dev=False)
    if given.options.cost is not None:
        parse_costs(given.options.cost)
        if given.options.loss == "crf":
            raise ValueError("--cost belongs to the hinge loss; a CRF has no cost. Leave --loss crf or --cost out.")


_OF_PACKING = (
    "word",
    "label",
    "features",
    "templates",
    "columns",
    "n_features",
    "exact_vocabulary",
    "scheme",
    "clusters",
    "gazetteer",
)


def _check_pack(given: Given) -> None:
    """With a pack, what makes features was said when it was made."""
    o = given.options
    if o.pack is None:
        if o.memory is not None:
            raise ValueError("--memory bounds training on a pack; it comes with --pack DIR.")
        return
    if given.has_data:
        raise ValueError("--pack takes the place of --train. Give one of them.")
    if o.memory is not None:
        parse_size(o.memory, "--memory")
    if o.dask is not None and o.memory is not None:
        raise ValueError("--memory is for training in this process; workers have limits of their own. Leave it out.")
    default = Options()
    for name in _OF_PACKING:
        if getattr(o, name) != getattr(default, name):
            raise ValueError(
                f"--{name.replace('_', '-')} is told to `casimir pack`, and the pack has it. Leave it out."
            )


def layout_of(options: Options) -> Layout:
    return Layout(options.word, -1 if options.label is None else options.label)


def features_of(options: Options, corpus: Corpus, encoding: str = "utf-8") -> TemplateSet:
    """The templates or the feature set that was asked for, or the set that suits the labels."""
    if options.templates is not None:
        return read_templates(options.templates, corpus.order or (WORD, *corpus.columns, LABEL), encoding)
    return TemplateSet.named(options.features or ("pairs" if corpus.scheme is None else "default"))


def buckets_of(options: Options, features: TemplateSet) -> int | None:
    """Hash buckets; None: an exact vocabulary."""
    return None if options.exact_vocabulary else options.n_features or _BUCKETS.get(features.name, _OWN_BUCKETS)


def boost_of(options: Options, has_dev: bool) -> float | str:
    """A number, or "auto"."""
    if options.boost is None:
        return AUTO if has_dev and options.cost is None else 0.0
    return parse_boost(options.boost)


def lexicons_of(options: Options, encoding: str = "utf-8") -> Lexicons:
    """The clusters and gazetteers in the files that are given."""
    return Lexicons(
        None if options.clusters is None else read_clusters(options.clusters, encoding),
        read_gazetteers(options.gazetteer, encoding) if options.gazetteer else None,
    )
