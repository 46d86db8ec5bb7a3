"""Trains one tagger in a process of its own, from dicts that are in memory already: CPU seconds, peak memory, score.

    python -m benchmarks.defaults_child SYSTEM SET MODEL

The fitted tagger is pickled into MODEL; a line of JSON goes to stdout.
"""

from __future__ import annotations

import gc
import json
import pickle
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sklearn_crfsuite

from benchmarks.memory_child import reset_peak, resident
from benchmarks.token_dicts import SETS, TaggingSet
from casimir.estimators import SequenceTagger

Fit = Callable[[TaggingSet], Any]
DEV_SHARE = 10  # every tenth training sentence is the dev set of those who want one


def _crfsuite(**parameters: Any) -> Fit:
    return lambda data: sklearn_crfsuite.CRF(**parameters).fit(data.X, data.y)


def _casimir(**parameters: Any) -> Fit:
    return lambda data: SequenceTagger(**parameters, n_jobs=1).fit(data.X, data.y)


def _with_dev(data: TaggingSet) -> Any:
    """A tenth of the training sentences choose the best epoch; those that the score is taken on have no say."""
    train, dev = ([i for i in range(len(data.X)) if (i % DEV_SHARE == 0) == is_dev] for is_dev in (False, True))
    X, y, X_dev, y_dev = ([rows[i] for i in part] for part in (train, dev) for rows in (data.X, data.y))
    return SequenceTagger(n_jobs=1).fit(X, y, X_dev=X_dev, y_dev=y_dev)


SYSTEMS: dict[str, Fit] = {
    "casimir": _casimir(),
    "casimir dev": _with_dev,
    "casimir crf": _casimir(loss="crf"),
    "ap": _crfsuite(algorithm="ap", max_iterations=20),
    "pa": _crfsuite(algorithm="pa", max_iterations=20),
    "ap100": _crfsuite(algorithm="ap"),
    "pa100": _crfsuite(algorithm="pa"),
    "lbfgs": _crfsuite(algorithm="lbfgs"),
}
"""CRFsuite's learners: AP and PA with 20 passes and with their own 100; L-BFGS with c1 = 0, c2 = 1 until it stops."""


def main(system: str, data_name: str, model: str) -> None:
    data = SETS[data_name]()
    gc.collect()
    reset_peak()
    before, start = resident(peak=False), time.process_time()
    tagger = SYSTEMS[system](data)
    seconds, grown = time.process_time() - start, resident(peak=True) - before
    score = data.score([list(labels) for labels in tagger.predict(data.X_dev)])
    Path(model).write_bytes(pickle.dumps(tagger))
    print(json.dumps({"seconds": seconds, "bytes": grown, "score": score}))


if __name__ == "__main__":
    main(*sys.argv[1:])
