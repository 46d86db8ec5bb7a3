"""How sure a tagger is: probabilities of labels, of pairs, of spans and of whole sequences.

    p(y | x) = exp(score(x, y) / T) / Z(x),    Z(x) = sum_y exp(score(x, y) / T)

over the outputs that the model allows. T is the temperature: 1 unless `calibrate` has set it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from casimir._native import core
from casimir._threads import n_threads
from casimir._validate import positive_int
from casimir.estimators.labels import Label, LabelSequences, as_object_array
from casimir.estimators.spans import Span
from casimir.features import PackedSequences
from casimir.models.linear import LinearChainModel
from casimir.scores import FloatArray, IntArray, Scores, offsets_of
from casimir.structures.automaton_chain import AutomatonChain
from casimir.structures.base import Expectation, split_flat

if TYPE_CHECKING:
    from casimir.estimators.predictor import ChainPredictor

_CELLS = 2**22  # marginals of pairs that are kept at a time: 32 MB

Ranked = list[tuple[list[Label], float]]
RankedWithProbability = list[tuple[list[Label], float, float]]


class Confidence:
    """Predictions with probabilities, for whatever has a `ChainPredictor`."""

    def _fitted(self) -> ChainPredictor:
        raise NotImplementedError

    @overload
    def predict_topk(self, X: Any, k: int, *, probabilities: Literal[False] = False) -> list[Ranked]: ...
    @overload
    def predict_topk(self, X: Any, k: int, *, probabilities: Literal[True]) -> list[RankedWithProbability]: ...
    def predict_topk(self, X: Any, k: int, *, probabilities: bool = False) -> list[Any]:
        """For every sentence its k best (labels, score), best first; fewer where fewer exist.

        With probabilities=True (labels, score, probability).
        """
        return topk(self._fitted(), X, k, probabilities)

    @overload
    def predict_marginals(self, X: Any, *, as_dicts: Literal[False] = False) -> list[FloatArray]: ...
    @overload
    def predict_marginals(self, X: Any, *, as_dicts: Literal[True]) -> list[list[dict[Label, float]]]: ...
    def predict_marginals(self, X: Any, *, as_dicts: bool = False) -> list[Any]:
        """A float64[p_i, L] per sentence: p(y_t = classes_[j]) under p(y) ~ exp(score(y) / temperature_).

        With as_dicts=True a list of {label: probability}, one per token.

        For loss="crf" these are the model's probabilities. A hinge loss trains no probabilities: until `calibrate` has
        been called this is the same formula on its scores at temperature 1, good for ranking but not calibrated.
        """
        return marginal_dicts(self._fitted(), X) if as_dicts else marginals(self._fitted(), X)

    def predict_marginals_single(self, x: Any, *, as_dicts: bool = False) -> Any:
        """`predict_marginals` of one sentence: float64[p, L], or a list of {label: probability}."""
        return (self.predict_marginals([x], as_dicts=True) if as_dicts else self.predict_marginals([x]))[0]

    def predict_transition_marginals(self, X: Any) -> list[FloatArray]:
        """A float64[p_i - 1, L, L] per sentence: p(y_t = classes_[a], y_{t+1} = classes_[b])."""
        return transition_marginals(self._fitted(), X)

    def predict_spans(self, X: Any) -> list[list[Span]]:
        """For every sentence the spans (start, end, type, probability) of its best labels, `end` exclusive.

        Labels have to write spans: IOB1, IOB2 or IOBES. The probability is that of all label sequences which have
        exactly this span with this type, as the official CoNLL scorer reads them; it is exact.
        """
        return spans(self._fitted(), X)

    def log_partition(self, X: Any) -> FloatArray:
        """float64[n]: log sum_y exp(score(x_i, y) / temperature_)."""
        return log_partition(self._fitted(), X)

    def sequence_log_proba(self, X: Any, y: Any) -> FloatArray:
        """float64[n]: log p(y_i | x_i) of whole label sequences; -inf where the model cannot give them."""
        return log_probability(self._fitted(), X, y)


def scored(predictor: ChainPredictor, X: PackedSequences) -> Iterator[Scores]:
    """Scores of the sentences, so many at a time that marginals of their pairs fit in memory."""
    for part in _parts(predictor.in_rows(X), predictor.cells):
        if part.edges is not None:
            yield LinearChainModel(part, len(predictor.classes)).scores(predictor.w)
            continue
        features = part.offsets, part.indptr, part.indices, part.values, part.n_features
        threads = predictor.threads or n_threads()
        nodes = core.linear_chain_scores(*features, len(predictor.classes), predictor.w, threads)
        yield Scores.unchecked(nodes, part.offsets, predictor.transitions.copy())


def expected(predictor: ChainPredictor, X: Any) -> Iterator[tuple[Scores, Expectation]]:
    """(scores, expectation at the temperature) of the sentences, some at a time."""
    for s in scored(predictor, predictor.pack(X)):
        yield s, predictor.chain.expect(s, predictor.temperature)


def marginals(predictor: ChainPredictor, X: Any) -> list[FloatArray]:
    """A float64[p_i, L] per sentence: p(y_t = classes[j])."""
    return [
        rows for _, soft in expected(predictor, X) for rows in split_flat(soft.marginals.nodes, soft.marginals.offsets)
    ]


def marginal_dicts(predictor: ChainPredictor, X: Any) -> list[list[dict[Label, float]]]:
    """The same as {label: probability} of every token."""
    classes = predictor.classes
    return [[dict(zip(classes, row, strict=True)) for row in rows.tolist()] for rows in marginals(predictor, X)]


def transition_marginals(predictor: ChainPredictor, X: Any) -> list[FloatArray]:
    """A float64[p_i - 1, L, L] per sentence: p(y_t = classes[a], y_{t+1} = classes[b])."""
    return [soft.marginals.pairwise(i) for _, soft in expected(predictor, X) for i in range(len(soft.marginals))]


def spans(predictor: ChainPredictor, X: Any) -> list[list[Span]]:
    """The spans of the best outputs, each with its exact probability."""
    return [found for s in scored(predictor, predictor.pack(X)) for found in spans_of_scores(predictor, s)]


def spans_of_scores(predictor: ChainPredictor, s: Scores) -> list[list[Span]]:
    """The same of sentences whose scores are known."""
    chain, labels, s = predictor.markov(s)
    return labels.best(chain, s, predictor.temperature)


def topk(predictor: ChainPredictor, X: Any, k: int, probabilities: bool) -> list[list[Any]]:
    """The k best (labels, score), or (labels, score, probability), of every sentence."""
    k, packed, mu = positive_int(k, "k"), predictor.pack(X), predictor.temperature
    (scores, counts, numbers), sums = predictor.best_outputs(packed, k, mu if probabilities else None)
    names = as_object_array(predictor.classes)[numbers].tolist()
    outputs = split_flat(names, offsets_of(np.repeat(np.diff(packed.offsets), counts)))
    columns = [outputs, scores.tolist()]
    if probabilities:
        columns.append(np.exp((scores - np.repeat(sums, counts)) / mu).tolist())
    ranked = zip(*columns, strict=True)
    return [list(itertools.islice(ranked, count)) for count in counts.tolist()]


def log_partition(predictor: ChainPredictor, X: Any) -> FloatArray:
    """float64[n]: log Z of every sentence."""
    parts = scored(predictor, predictor.pack(X))
    return np.concatenate([predictor.chain.log_sum(s, predictor.temperature) for s in parts]) / predictor.temperature


def log_probability(predictor: ChainPredictor, X: Any, y: Any) -> FloatArray:
    """float64[n]: log p(y_i | x_i); -inf where a label was not seen in fit, or the labels are not allowed."""
    packed = predictor.pack(X)
    labels = LabelSequences.of(y, packed.offsets).places(predictor.classes).flat
    found, first = [], 0
    for s in scored(predictor, packed):
        value = predictor.chain.log_sum(s, predictor.temperature)
        found.append((scores_of(predictor, s, labels[first : first + len(s.nodes)]) - value) / predictor.temperature)
        first += len(s.nodes)
    return np.concatenate(found)


def scores_of(predictor: ChainPredictor, s: Scores, labels: IntArray) -> FloatArray:
    """float64[n]: the scores of outputs, their labels in a row; -inf where one is -1, or is not allowed."""
    chain = predictor.chain
    forbidden = chain.forbidden(s)
    s = s if forbidden is None else s + forbidden
    assert s.edges is not None
    parts = np.where(labels < 0, -np.inf, s.nodes[np.arange(len(labels)), labels])
    pairs = np.zeros(len(labels))
    if s.edge_offsets is None:
        pairs[1:] = s.edges[labels[:-1], labels[1:]]
        pairs[s.offsets[:-1]] = 0.0
    else:
        ends = np.delete(np.arange(len(labels)), s.offsets[:-1])
        pairs[ends] = s.edges[np.arange(len(ends)), labels[ends - 1], labels[ends]]
    found = np.add.reduceat(parts + pairs, s.offsets[:-1])
    if isinstance(chain, AutomatonChain):
        found[~chain.automaton.accepted(labels, s.offsets)] = -np.inf
    return found


def _parts(X: PackedSequences, cells: int) -> Sequence[PackedSequences]:
    """X cut so that so many cells for each of its tokens fit in memory."""
    if X.n_tokens * cells <= _CELLS:
        return [X]
    place = X.offsets[1:] * cells // _CELLS
    cuts = [0, *(np.flatnonzero(np.diff(place)) + 1).tolist(), len(X)]
    return [X[a:b] for a, b in itertools.pairwise(cuts)]
