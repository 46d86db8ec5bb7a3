"""What one sentence costs: predictions of every kind against `predict`, in CPU microseconds and as ratios.

    python -m benchmarks.one_sentence

A CRF on the embedded news corpus; sentences come one by one, as strings, as they do in a service.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from benchmarks.clock import medians, take_turns
from casimir.datasets import load_news
from casimir.estimators import SequenceTagger
from casimir.tasks.ner import Scheme, iter_features, read_conll

SENTENCES, REPETITIONS = 60, 40


def trained() -> SequenceTagger:
    corpus = read_conll(load_news().train)
    tagger = SequenceTagger(loss="crf", tol=0.05)
    return tagger.fit(iter_features(corpus.sentences, "default"), corpus.labels_in(Scheme.IOB2))


def main() -> None:
    tagger = trained()
    sentences = list(islice(iter_features(read_conll(load_news().heldout).sentences, "default"), SENTENCES))
    calls: dict[str, Callable[[Any], object]] = {
        "predict": lambda x: tagger.predict([x]),
        "predict_marginals": lambda x: tagger.predict_marginals([x]),
        "predict_transition_marginals": lambda x: tagger.predict_transition_marginals([x]),
        "predict_spans": lambda x: tagger.predict_spans([x]),
        "predict_topk, k = 1": lambda x: tagger.predict_topk([x], 1),
        "predict_topk, k = 5": lambda x: tagger.predict_topk([x], 5),
        "predict_topk, k = 5, probabilities": lambda x: tagger.predict_topk([x], 5, probabilities=True),
    }
    actions = {name: lambda call=call: [call(x) for x in sentences] for name, call in calls.items()}
    seconds = medians(take_turns(actions, REPETITIONS))
    print(f"{'':<36}{'us':>8}{'x predict':>12}")
    for name, spent in seconds.items():
        print(f"{name:<36}{1e6 * spent / SENTENCES:>8.1f}{spent / seconds['predict']:>12.2f}")


if __name__ == "__main__":
    main()
