"""What the measurements share: corpora, features as strings, packed workloads, CRFsuite with the training data."""

from __future__ import annotations

import sys
from functools import cache, cached_property

from benchmarks.crfsuite import Labels, Peer, Strings
from benchmarks.data import Corpora
from benchmarks.passes import PassRun, run_passes
from benchmarks.sgd import AveragedSGD
from benchmarks.workload import Workload
from casimir.scores import FloatArray
from casimir.tasks.ner import Corpus, extract

PAPER_BUCKETS = 2**16 - 1


class Context:
    """Everything is made when it is first asked for, then kept."""

    def __init__(self, corpora: Corpora) -> None:
        self.corpora = corpora
        self.kept: dict[str, dict[str, float]] = {}
        self.paper = cache(self._paper)

    def say(self, message: str) -> None:
        print(f"  {message}", file=sys.stderr, flush=True)

    @cached_property
    def corpus(self) -> tuple[Corpus, Corpus]:
        return self.corpora.read()

    @cached_property
    def labels(self) -> tuple[Labels, Labels]:
        """As they stand in the files."""
        train, dev = self.corpus
        return train.labels, dev.labels

    @cached_property
    def strings(self) -> tuple[Strings, Strings]:
        """The paper's features."""
        train, dev = self.corpus
        return extract(train.sentences, "paper"), extract(dev.sentences, "paper")

    @cached_property
    def peer(self) -> Peer:
        self.say("handing the sentences to CRFsuite")
        return Peer(self.strings[0], self.labels[0])

    def _paper(self, n_features: int | None = PAPER_BUCKETS) -> Workload:
        (X, X_dev), (y, y_dev) = self.strings, self.labels
        return Workload.pack(X, y, X_dev, y_dev, n_features)

    @cached_property
    def passes(self) -> PassRun:
        """Passes of CRFsuite and casimir in turn."""
        return run_passes(self.peer, self.paper(), self.say)

    @cached_property
    def weights(self) -> FloatArray:
        """Weights after a few epochs of averaged SGD, at which oracles are timed."""
        sgd = AveragedSGD.start(self.paper().objective())
        for _ in range(5):
            sgd.epoch()
        return sgd.mean()
