"""Predictions of a linear chain with given weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from casimir._arrays import aligned_zeros
from casimir._native import core
from casimir._threads import n_threads
from casimir._validate import all_finite
from casimir._warnings import warn
from casimir.estimators.confidence import Confidence
from casimir.estimators.constraints import LabelRules
from casimir.estimators.known_features import KnownFeatures
from casimir.estimators.labels import Label, LabelSequences, labels_of
from casimir.estimators.partial_labels import fixed_masks, right_labels
from casimir.estimators.spans import SpanLabels
from casimir.features import PackedSequences, pack
from casimir.models.linear import LinearChainModel, native_edges
from casimir.models.weight_rows import CHAIN_ENDS, WeightRows, chain_rows
from casimir.persistence.arrays import UsedRows
from casimir.scores import FloatArray, IntArray, Scores
from casimir.structures.automaton_chain import AutomatonChain
from casimir.structures.chain import Chain
from casimir.vocabulary import Columns, Vocabulary


@dataclass(frozen=True, eq=False)
class ChainPredictor(Confidence):
    """argmax_y score(x, y; w), its runners-up and its probabilities.

    w            float64[d], as `LinearChainModel` reads it, of the features that have a row
    classes      the L labels
    n_features   of the packed sequences it reads
    vocabulary   of the features; `Columns` where sentences are matrices; None: hashed
    rules        which label sequences are valid; None: all
    temperature  T of the probabilities p(y) ~ exp(score(x, y; w) / T)
    known        the features that have a row of w; None: all
    pairs        the features of pairs of neighbouring labels, `X.edges.vocabulary`; None: there are none
    """

    w: FloatArray
    classes: tuple[Label, ...]
    n_features: int
    vocabulary: Vocabulary | Columns | None
    threads: int | None = None
    rules: LabelRules | None = None
    temperature: float = 1.0
    known: KnownFeatures | None = None
    pairs: Vocabulary | None = None

    @cached_property
    def span_labels(self) -> SpanLabels:
        """How the labels of `markov` write spans; an error where they do not."""
        chain = self.chain
        if not isinstance(chain, AutomatonChain):
            return SpanLabels.of(self.classes)
        return SpanLabels.of([self.classes[j] for j in chain.unfolded.label.tolist()])

    @property
    def _weights(self) -> WeightRows:
        n_rows = self.n_features if self.known is None else len(self.known.used)
        return chain_rows(n_rows, len(self.classes), self.n_edge_features)

    @property
    def n_edge_features(self) -> int:
        """How many features pairs of neighbouring labels have."""
        return 0 if self.pairs is None else max(1, len(self.pairs))

    @property
    def rows(self) -> FloatArray:
        """float64[n_features + L + 2, L]: unary rows, transitions (from; to), start, stop; L for each of `pairs`."""
        w = self.w if self.known is None else self.known.spread(self.w, len(self.classes))
        return chain_rows(self.n_features, len(self.classes), self.n_edge_features).rows(w)

    @property
    def unary(self) -> FloatArray:
        """float64[n_features, L]"""
        return self.rows[: self.n_features]

    @property
    def transitions(self) -> FloatArray:
        """float64[L, L] (from, to)"""
        return self._weights.pairs(self.w)

    @property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """float64[L] each: scores of the first and of the last label"""
        start, stop = self._weights.ends(self.w)[:CHAIN_ENDS]
        return start, stop

    @property
    def edge_weights(self) -> FloatArray:
        """float64[m, L, L] (from, to) of the features of pairs"""
        L = len(self.classes)
        return self._weights.ends(self.w)[CHAIN_ENDS:].reshape(-1, L, L)

    @classmethod
    def of_rows(
        cls,
        rows: FloatArray,
        classes: tuple[Label, ...],
        vocabulary: Vocabulary | Columns | None,
        rules: LabelRules | None = None,
        temperature: float = 1.0,
        pairs: Vocabulary | None = None,
    ) -> ChainPredictor:
        """The predictor whose `rows` are these."""
        others = chain_rows(0, len(classes), 0 if pairs is None else max(1, len(pairs)))
        n_features = len(rows) - others.n_rows
        w = replace(others, n_features=n_features).weights(rows)
        return cls(w, classes, n_features, vocabulary, rules=rules, temperature=temperature, pairs=pairs)

    @classmethod
    def of_used_rows(
        cls,
        found: UsedRows,
        classes: tuple[Label, ...],
        vocabulary: Vocabulary | Columns | None,
        rules: LabelRules | None = None,
        temperature: float = 1.0,
        pairs: Vocabulary | None = None,
    ) -> ChainPredictor:
        """The predictor whose `rows` are these and 0, as `compact` makes it."""
        others = chain_rows(0, len(classes), 0 if pairs is None else max(1, len(pairs)))
        n_features = found.n_rows - others.n_rows
        of_features = int(np.searchsorted(found.used, n_features))
        is_there = found.rows[:of_features].any(axis=1)
        known = KnownFeatures.worth(found.used[:of_features][is_there], n_features, others.stride)
        layout = replace(others, n_features=n_features if known is None else len(known.used))
        w = aligned_zeros(layout.n_params)
        rows = layout.rows(w)
        if known is None:
            rows[found.used] = found.rows
        else:
            rows[: int(is_there.sum())] = found.rows[:of_features][is_there]
            rows[found.used[of_features:] - n_features + layout.n_features] = found.rows[of_features:]
        return cls(w, classes, n_features, vocabulary, rules=rules, temperature=temperature, known=known, pairs=pairs)

    def compact(self) -> ChainPredictor:
        """The same predictor without the rows that are 0, where this saves memory."""
        if self.known is not None:
            return self
        w, known = KnownFeatures.of(self.w, len(self.classes), self.n_features)
        return replace(self, w=w, known=known)

    def in_rows(self, X: PackedSequences) -> PackedSequences:
        """X in the features that have a row of w, by its number."""
        return X if self.known is None else self.known.select(X)

    def pack(self, X: Any) -> PackedSequences:
        """X in the features of this model; features that it has never seen count for nothing."""
        if self.vocabulary is not None:
            packed = pack(X, n_features=None, vocabulary=self.vocabulary)
        else:
            packed = pack(X, n_features=self.n_features)
            if packed.vocabulary is not None:
                raise ValueError("X has matrices, but the model reads features with names; give a dict per token.")
        if not len(packed):
            raise ValueError("X has no sequences; it needs at least one.")
        if (None if packed.edges is None else packed.edges.vocabulary) != self.pairs:
            raise ValueError(
                "the model reads features of pairs of labels, and X has none, or others: give packed sequences with "
                "X.with_edges(pack(pairs, None, vocabulary=...)) in the vocabulary of training."
                if self.pairs is not None
                else "X has features of pairs of labels, which the model does not read: give X.with_edges(None)."
            )
        return packed

    @cached_property
    def chain(self) -> Chain:
        """The structure, with the rules of valid labels."""
        return Chain(len(self.classes)) if self.rules is None else self.rules.chain

    @property
    def cells(self) -> int:
        """Marginals of pairs per token."""
        chain = self.chain
        return int(chain.unfolded.pairs.size if isinstance(chain, AutomatonChain) else chain.n_labels**2)

    def markov(self, s: Scores) -> tuple[Chain, SpanLabels, Scores]:
        """The chain, how its labels write spans, and its scores, so that labels are a Markov chain given the sentence.

        Under an automaton these are the pairs of labels and states.
        """
        chain = self.chain
        if isinstance(chain, AutomatonChain):
            return chain.wide, self.span_labels, chain.unfolded.scores(s)
        return chain, self.span_labels, s

    def predict(self, X: Any, *, fixed: Any = None) -> list[list[Label]]:
        """The best labels of every sentence, among those that `fixed` leaves; see `SequenceTagger.predict`."""
        packed = self.pack(X)
        chain = self.chain
        if fixed is not None:
            chain = chain.restricted(fixed_masks(fixed, self.classes, packed.offsets))
        return labels_of(self._decode(packed, chain), self.classes, packed.offsets)

    def best(self, X: PackedSequences) -> IntArray:
        """int64[T]: the numbers of the best labels of all tokens, one sentence after another."""
        return self._decode(X, self.chain)

    def score(self, X: Any, y: Any) -> float:
        """The share of tokens whose label is right."""
        packed = self.pack(X)
        true = LabelSequences.of(y, packed.offsets)
        places = true.places(self.classes).flat
        predicted = self._decode(packed, self.chain)
        if true.is_partial:
            return float(np.mean(right_labels(true, self.classes, predicted)))
        unknown = np.flatnonzero(places < 0)
        if len(unknown):
            warn(
                f"The label {true.distinct[true.numbers[unknown[0]]]!r} was not seen in fit; its {len(unknown)} tokens "
                "(with those of other such labels) count as wrong."
            )
        return float(np.mean(places == predicted))

    def best_outputs(self, X: PackedSequences, k: int, mu: float | None) -> tuple[tuple[Any, ...], FloatArray]:
        """((scores, counts, labels) of the k best outputs of every sentence, with mu also mu logsumexp(score / mu))."""
        threads = self.threads or n_threads()
        top, sums = core.linear_chain_topk(self._problem(self.in_rows(X), self.chain), self.w, k, mu, threads)
        if not all_finite(top[0]):
            raise ValueError("the best scores of a sentence are NaN or infinite. Check weights and feature values.")
        return top, sums

    def _decode(self, X: PackedSequences, chain: Chain) -> IntArray:
        """The numbers of the best labels of all tokens, one sentence after another."""
        best: IntArray
        _, best = self._problem(self.in_rows(X), chain).decode(self.w, self.threads or n_threads())
        return best

    def _problem(self, X: PackedSequences, chain: Chain) -> Any:
        """The sentences as the core takes them, with what `chain` forbids."""
        features = X.offsets, X.indptr, X.indices, X.values, X.n_features
        nodes, pairs = None, None
        if chain.is_constrained:
            forbidden = chain.forbidden(LinearChainModel(X, len(self.classes)).layout())
            nodes, pairs = (None, None) if forbidden is None else (forbidden.nodes, forbidden.edges)
        automaton = chain.unfolded.native if isinstance(chain, AutomatonChain) else None
        edges = native_edges(X)
        return core.linear_chain(*features, len(self.classes), None, nodes, pairs, None, automaton, *edges)

    def _fitted(self) -> ChainPredictor:
        return self
