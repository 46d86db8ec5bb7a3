"""StructuredClassifier against scikit-learn's linear classifiers, on the same objectives.

    python -m benchmarks.classifiers [--data digits,dense,few,many,text,news] [--repetitions 5] [--most-seconds 60]

Crammer and Singer's SVM against LinearSVC(multi_class="crammer_singer"), multinomial logistic regression against
LogisticRegression, with C = 1 (lam = 1/n), the intercept a penalised feature on both sides. scikit-learn runs with its
default tol of 1e-4 and with looser ones, casimir with its default of 1e-3 and with 1e-2. `excess` is F over its minimum
less 1; the minimum is known to 1e-5. Sides take turns; CPU time, one thread, medians. The ratio is that of two CPU
times: of scikit-learn's quickest run that is at least as close to the minimum as casimir's default, and of the latter.

LinearSVC pays no attention to max_iter with this loss, so every tolerance is tried in a process of its own first. Where
it has not ended after so many CPU seconds the ratio is a lower bound on its time to end: how close it was by then
nobody can see.
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import statistics
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.datasets import load_digits, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

import casimir as cs
from benchmarks.clock import take_turns
from casimir.datasets import load_news
from casimir.tasks.ner import read_conll

Data = tuple[Any, Any]
Weights = np.ndarray  # float64[d, L], the intercept being the last feature


def digits() -> Data:
    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


def dense() -> Data:
    return make_classification(5000, 50, n_informative=20, n_classes=5, random_state=0)


def many(n: int = 4000) -> Data:
    """Many classes, correlated features."""
    return make_classification(
        n, 100, n_informative=30, n_redundant=50, n_classes=30, n_clusters_per_class=1, random_state=0
    )


def few() -> Data:
    """The same with so few examples that LinearSVC ends: six times as many weights."""
    return many(600)


def text() -> Data:
    """Documents of some 60 words out of 20,000, drawn from the words of 20 topics and from those of all."""
    rng = np.random.default_rng(0)
    n, words, topics = 6000, 20_000, 20
    common = 1.0 / np.arange(1, words + 1)
    of_topic = [common[rng.permutation(words)] for _ in range(topics)]
    y = rng.integers(topics, size=n)
    rows = []
    for topic in y:
        mixed = 0.6 * common / common.sum() + 0.4 * of_topic[topic] / of_topic[topic].sum()
        rows.append(rng.choice(words, size=int(rng.integers(30, 90)), p=mixed / mixed.sum()))
    X = _counts(np.concatenate(rows), np.concatenate([[0], np.cumsum([len(r) for r in rows])]), words)
    X.data = np.log1p(X.data)
    return _unit_rows(X), y


def news() -> Data:
    """The tag of every word of the embedded corpus, from itself and its neighbours."""
    corpus = read_conll(load_news().train)
    number: dict[str, int] = {}
    indices, indptr, labels = [], [0], []
    for sentence, tags in zip(corpus.sentences, corpus.labels, strict=True):
        for t, tag in enumerate(tags):
            around = [(d, sentence.words[t + d]) for d in (-1, 0, 1) if 0 <= t + d < len(tags)]
            names = [f"{d}={word}" for d, word in around] + [f"end={sentence.words[t][-3:]}"]
            indices += [number.setdefault(name, len(number)) for name in names]
            indptr.append(len(indices))
            labels.append(tag)
    return _counts(indices, indptr, len(number)), np.unique(labels, return_inverse=True)[1]


DATA: dict[str, Callable[[], Data]] = {
    "digits": digits,
    "dense": dense,
    "few": few,
    "many": many,
    "text": text,
    "news": news,
}


def _counts(indices: Any, indptr: Any, columns: int) -> Any:
    """CSR with 32-bit indices: scikit-learn's solvers take no others."""
    parts = np.ones(len(indices)), np.asarray(indices, dtype=np.int32), np.asarray(indptr, dtype=np.int32)
    X = sp.csr_array(parts, shape=(len(indptr) - 1, columns))
    X.sum_duplicates()
    return X


def _unit_rows(X: Any) -> Any:
    norms = np.sqrt(X.multiply(X).sum(axis=1))
    return sp.csr_array(X.multiply(1.0 / np.maximum(norms, 1e-12)[:, None]))


def with_ones(X: Any) -> Any:
    ones = np.ones((X.shape[0], 1))
    return sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])


def objective(X: Any, y: Any, table: Weights, loss: str) -> float:
    """mean loss + |W|^2 / (2 n), X with its column of ones."""
    scores, rows = np.asarray(X @ table), np.arange(len(y))
    if loss == "hinge":
        values = (scores + 1.0 - np.eye(table.shape[1])[y]).max(axis=1) - scores[rows, y]
    else:
        values = logsumexp(scores, axis=1) - scores[rows, y]
    return float(np.mean(values) + 0.5 * np.sum(table**2) / len(y))


class Ours:
    def __init__(self, loss: str, tol: float, solver: str = "auto") -> None:
        self.name = f"casimir {tol:g}"
        self.model = cs.StructuredClassifier(loss=loss, tol=tol, solver=solver, n_jobs=1, max_epochs=5000)

    def fit(self, X: Any, y: Any) -> None:
        self.model.fit(X, y)

    def weights(self) -> Weights:
        return np.vstack([self.model.coef_.T, self.model.intercept_])


class Svm:
    def __init__(self, tol: float) -> None:
        self.name = f"LinearSVC {tol:g}"
        self.model = LinearSVC(multi_class="crammer_singer", tol=tol, random_state=0)

    def fit(self, X: Any, y: Any) -> None:
        self.model.fit(X, y)

    def weights(self) -> Weights:
        return np.vstack([self.model.coef_.T, self.model.intercept_])


class Logistic:
    """X has its column of ones already: LogisticRegression does not penalise an intercept of its own."""

    def __init__(self, tol: float, solver: str = "lbfgs") -> None:
        self.name = f"LogisticRegression {solver} {tol:g}"
        self.model = LogisticRegression(fit_intercept=False, tol=tol, solver=solver, max_iter=5000, random_state=0)

    def fit(self, X: Any, y: Any) -> None:
        self.model.fit(X, y)

    def weights(self) -> Weights:
        return np.asarray(self.model.coef_.T)


def _svms() -> list[Svm]:
    return [Svm(tol) for tol in (1e-1, 1e-2, 1e-3, 1e-4)]


def _logistics(X: Any, y: Any) -> list[Logistic]:
    """newton-cholesky makes a matrix of all pairs of weights: where these are a thousand at the most."""
    runs = [Logistic(tol) for tol in (1e-2, 1e-3, 3e-4, 1e-4)] + [Logistic(tol, "newton-cg") for tol in (1e-2, 1e-3)]
    is_small = not sp.issparse(X) and X.shape[1] * len(np.unique(y)) <= 1000
    return [*runs, *(Logistic(tol, "newton-cholesky") for tol in (1e-2, 1e-4) if is_small)]


def ends(run: Any, X: Any, y: Any, most_seconds: int) -> bool:
    """Whether a fit ends within so many CPU seconds."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (most_seconds, most_seconds))
        run.fit(X, y)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def contest(name: str, loss: str, repetitions: int, most_seconds: int) -> None:
    X, y = DATA[name]()
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
    ones, ones_test = with_ones(X), with_ones(X_test)
    exact = cs.StructuredClassifier(loss=loss, tol=1e-5, n_jobs=1, max_epochs=20_000).fit(X, y)
    ours = [Ours(loss, 1e-2), Ours(loss, 1e-3)]
    theirs: list[Any] = _logistics(X, y)
    if loss == "hinge":  # a smaller tol takes longer
        theirs = list(itertools.takewhile(lambda svm: ends(svm, X, y, most_seconds), _svms()))
    actions = {o.name: (lambda o=o: o.fit(ones if isinstance(o, Logistic) else X, y)) for o in [*ours, *theirs]}
    seconds = take_turns(actions, repetitions)
    excess = {o.name: objective(ones, y, o.weights(), loss) / exact.dual_ - 1.0 for o in [*ours, *theirs]}
    print(f"{name} {X.shape} {len(np.unique(y))} classes, {loss} loss, F* = {exact.dual_:.6g}")
    for o in [*ours, *theirs]:
        accuracy = float(np.mean(np.argmax(ones_test @ o.weights(), axis=1) == y_test))
        median = statistics.median(seconds[o.name])
        print(f"  {o.name:34} {median:8.3f} s   excess {excess[o.name]:8.1e}   held-out accuracy {accuracy:.4f}")
    own = ours[-1].name
    if loss == "hinge" and not theirs:
        bound = most_seconds / statistics.median(seconds[own])
        print(
            f"  LinearSVC 0.1 has not ended after {most_seconds} s, {bound:.0f} times as long as {own} takes",
            flush=True,
        )
        return
    equals = [o.name for o in theirs if excess[o.name] <= 1.05 * excess[own]]
    if not equals:
        print("  no run of scikit-learn is as close to the optimum as casimir's")
        return
    quickest = min(equals, key=lambda o: statistics.median(seconds[o]))
    ratios = [a / b for a, b in zip(seconds[quickest], seconds[own], strict=True)]
    print(f"  {quickest} takes {statistics.median(ratios):.2f} times as long as {own}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default=",".join(DATA))
    parser.add_argument("--losses", default="hinge,log")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--most-seconds", type=int, default=60)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # LinearSVC tells where it did not converge; the table shows it
    for name in options.data.split(","):
        for loss in options.losses.split(","):
            contest(name, loss, options.repetitions, options.most_seconds)


if __name__ == "__main__":
    main()
