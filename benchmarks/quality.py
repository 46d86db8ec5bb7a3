"""Entity F1 on the development part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casimir as cs
from benchmarks.crfsuite import Peer, Strings, tag
from benchmarks.table import Row
from benchmarks.workload import Workload
from casimir.solvers.choose import choose
from casimir.tasks.ner import Corpus, Scheme, entity_scores, extract

if TYPE_CHECKING:
    from benchmarks.context import Context

LAM_N = (0.3, 1.0, 3.0, 10.0)
FEATURE_SPACES = {"exact vocabulary": None, "2^18 buckets": 2**18}
PA_PASSES, MOST_EPOCHS = 100, 500


def trained_f1(workload: Workload, lam_n: float) -> float:
    """F1 after solver auto to its default tolerance."""
    objective = workload.objective(lam_n)
    return workload.f1(cs.minimize(objective, choose("auto", objective), MOST_EPOCHS).w)


def paper_row(context: Context, target: float) -> Row:
    f1 = {}
    for name, n_features in FEATURE_SPACES.items():
        for lam_n in LAM_N:
            f1[f"{name}, {lam_n:g}/n"] = value = trained_f1(context.paper(n_features), lam_n)
            context.say(f"paper features, {name}, lam = {lam_n:g}/n: F1 {value:.4f}")
    _, model = context.peer.train("pa", PA_PASSES)
    peer = entity_scores(context.labels[1], tag(model, context.strings[1])).f1
    best = max(f1, key=lambda name: f1[name])
    return _row("quality, paper features: best F1", f"PA {PA_PASSES} passes", peer, best, f1[best], target, f1)


def default_rows(context: Context, target: float, target_words: float) -> list[Row]:
    train, dev = context.corpus
    words = (train.keep_columns(), dev.keep_columns())
    return [
        _default_row(context, "all columns", train, dev, target),
        _default_row(context, "words alone", *words, target_words),
    ]


def _default_row(context: Context, name: str, train: Corpus, dev: Corpus, target: float) -> Row:
    X, X_dev = extract(train.sentences), extract(dev.sentences)
    y, y_dev = train.labels_in(Scheme.IOB2), dev.labels_in(Scheme.IOB2)
    workload = Workload.pack(X, y, X_dev, y_dev, 2**18)
    f1 = trained_f1(workload, 1.0)
    context.say(f"default features, {name}: F1 {f1:.4f}")
    peer = _peer_f1(X, y, X_dev, y_dev)
    what = f"quality, default features, {name}: F1"
    return _row(what, "AP 20 passes", peer, "2^18 buckets, 1/n", f1, target, {"nothing tuned": f1})


def _peer_f1(X: Strings, y: list[list[str]], X_dev: Strings, y_dev: list[list[str]]) -> float:
    peer = Peer(X, y)  # holds the folder of its models
    _, model = peer.train("ap", 20)
    return entity_scores(y_dev, tag(model, X_dev)).f1


def _row(what: str, how: str, peer: float, setting: str, f1: float, target: float, all_f1: dict[str, float]) -> Row:
    note = "; ".join(f"{name} {value:.4f}" for name, value in all_f1.items()) if len(all_f1) > 1 else ""
    numbers = {"f1": all_f1, "crfsuite": peer}
    ours = f"{f1:.4f} ({setting})"
    return Row(what, f"{how} {peer:.4f}", ours, f"{f1 - peer:+.4f}", f">= {target:.3f}", f1 >= target, note, numbers)
