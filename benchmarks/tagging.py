"""Tagging sentences whose features are packed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.clock import medians, take_turns
from benchmarks.crfsuite import items, tagger
from benchmarks.table import Row
from casimir._native import core

if TYPE_CHECKING:
    from benchmarks.context import Context

REPETITIONS = 9


def tagging_row(context: Context, target: float) -> Row:
    workload, w = context.paper(), context.weights
    X, classes = workload.X_dev, len(workload.classes)
    problem = core.linear_chain(X.offsets, X.indptr, X.indices, X.values, X.n_features, classes, None, None, None)
    predictor = workload.predictor(w)
    context.say("taggers in turn")
    _, model = context.peer.train("ap", 10)
    peer, sentences = tagger(model), items(context.strings[1])
    actions = {
        "crfsuite": lambda: [peer.tag(sentence) for sentence in sentences],
        "decode": lambda: problem.decode(w, 1),
        "predict": lambda: predictor.predict(X),
    }
    rate = {name: len(X) / s for name, s in medians(take_turns(actions, REPETITIONS)).items()}
    ratio = rate["decode"] / rate["crfsuite"]
    return Row(
        "tagging packed sentences",
        f"{rate['crfsuite'] / 1e3:.0f}k sentences/s",
        f"{rate['decode'] / 1e3:.0f}k sentences/s",
        f"{ratio:.1f}x",
        f">= {target:.0f}x",
        ratio >= target,
        "numbers out; with Python lists of label names, as CRFsuite gives them, "
        f"{rate['predict'] / 1e3:.0f}k sentences/s, {rate['predict'] / rate['crfsuite']:.1f}x",
        {"sentences per second": rate, "ratio": ratio},
    )
