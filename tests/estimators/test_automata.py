"""Rules with memory: an automaton over labels, in training and in whatever a tagger says."""

from __future__ import annotations

import json
import pickle
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import casimir as cs
from casimir.estimators.constraints import LabelRules
from casimir.estimators.predictor import ChainPredictor
from casimir.estimators.span_schemes import scheme_mask
from casimir.estimators.spans import spans_of
from casimir.persistence import load_folder, save_folder
from casimir.structures.automaton import StateTable

ONCE = cs.Automaton({"none": {"B-x": "one", "*": "none"}, "one": {"B-x": None, "*": "one"}})
"""At most one span of type x."""
APART = cs.Automaton(
    {
        "free": {"B-y": "open", "*": "free"},
        "open": {"I-y": "open", "B-y": None, "*": "shut"},
        "shut": {"B-y": None, "*": "free"},
    }
)
"""Between two spans of type y there are two other labels at least."""


def ring(states: int) -> cs.Automaton:
    """Every label leads on to the next state."""
    return cs.Automaton({q: {"*": (q + 1) % states} for q in range(states)})


CLASSES = ("B-x", "B-y", "I-x", "I-y", "O")
SENTENCES = ["Ada Lee met Bob", "Bob slept", "Paris is large", "Ada saw New York City", "a cat ran", "Leeds"]
TAGS = ["B-x I-x O O", "B-x O", "B-y O O", "B-x O B-y I-y I-y", "O O O", "B-y"]
X = [[{"word": word, "title": word.istitle()} for word in text.split()] for text in SENTENCES]
Y = [text.split() for text in TAGS]


def words(length: int) -> list[tuple[str, ...]]:
    return list(product(CLASSES, repeat=length))


def is_iob2(tags: tuple[str, ...]) -> bool:
    before = ("O", *tags)
    return all(b[0] != "I" or a in (f"B-{b[2:]}", f"I-{b[2:]}") for a, b in zip(before, tags, strict=False))


def by_hand(rules: cs.Automaton, tags: tuple[str, ...]) -> bool:
    """What the two automata above mean, without them."""
    if rules is ONCE:
        return tags.count("B-x") <= 1
    ends = [end for _, end, kind in spans_of(tags) if kind == "y"]
    starts = [start for start, _, kind in spans_of(tags) if kind == "y"]
    return all(start - end >= 2 for end, start in zip(ends, starts[1:], strict=False))


@pytest.mark.parametrize("rules", [ONCE, APART])
@pytest.mark.parametrize("length", [1, 2, 4])
def test_automata_accept_what_they_say(rules: cs.Automaton, length: int) -> None:
    for tags in filter(is_iob2, words(length)):
        assert rules.accepts(tags) == by_hand(rules, tags), tags


def predictor_of(data: st.DataObject, automaton: cs.Automaton | None) -> ChainPredictor:
    """Random weights under IOB2 and the automaton."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    rows = rng.normal(size=(3 + len(CLASSES) + 2, len(CLASSES))) * data.draw(st.sampled_from([0.0, 1.0, 100.0]))
    table = None if automaton is None else automaton.table(CLASSES)
    return ChainPredictor.of_rows(rows, CLASSES, None, LabelRules(scheme_mask("IOB2", CLASSES), "IOB2", table))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_no_invalid_sequence_ever_comes_out(data: st.DataObject) -> None:
    """With any weights and known labels: predictions, the k best, marginals and spans, by enumeration."""
    rules = data.draw(st.sampled_from([ONCE, APART]))
    predictor = predictor_of(data, rules)
    length = data.draw(st.integers(1, 4))
    sentence = [[f"f{data.draw(st.integers(0, 8))}"] for _ in range(length)]
    free = ChainPredictor(predictor.w, CLASSES, predictor.n_features, None)
    scores = {tuple(tags): score for tags, score in free.predict_topk([sentence], 5**4)[0]}
    valid = {tags: score for tags, score in scores.items() if is_iob2(tags) and by_hand(rules, tags)}
    top = predictor.predict_topk([sentence], 5**4)[0]
    assert {tuple(tags): pytest.approx(score, abs=1e-9) for tags, score in top} == valid
    assert predictor.predict([sentence])[0] == top[0][0]
    assert predictor.predict_topk([sentence], 2)[0] == top[:2]

    z = np.array(list(valid.values()))
    share = dict(zip(valid, np.exp(z - z.max()) / np.exp(z - z.max()).sum(), strict=True))
    marginals, pairs = predictor.predict_marginals([sentence])[0], predictor.predict_transition_marginals([sentence])[0]
    for t, j in np.ndindex(marginals.shape):
        assert marginals[t, j] == pytest.approx(sum(p for tags, p in share.items() if tags[t] == CLASSES[j]), abs=1e-9)
    for t, a, b in np.ndindex(pairs.shape):
        both = [p for tags, p in share.items() if tags[t : t + 2] == (CLASSES[a], CLASSES[b])]
        assert pairs[t, a, b] == pytest.approx(sum(both), abs=1e-9)
    for start, end, kind, probability in predictor.predict_spans([sentence])[0]:
        exact = sum(p for tags, p in share.items() if (start, end, kind) in spans_of(tags))
        assert probability == pytest.approx(exact, abs=1e-9)
    every = words(length)
    logs = predictor.sequence_log_proba([sentence] * len(every), every)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(np.exp(logs), [share.get(tags, 0.0) for tags in every], rtol=0, atol=1e-9)
    assert all((tags in valid) == np.isfinite(log) for tags, log in zip(every, logs, strict=True))

    truth = data.draw(st.sampled_from(sorted(valid)))
    known = [data.draw(st.sampled_from([None, tag, {tag, "O"}])) for tag in truth]
    options = [CLASSES if one is None else one if isinstance(one, set) else {one} for one in known]
    left = [s for tags, s in valid.items() if all(tag in some for tag, some in zip(tags, options, strict=True))]
    assert valid[tuple(predictor.predict([sentence], fixed=[known])[0])] == pytest.approx(max(left), abs=1e-9)


@pytest.mark.parametrize(
    ("loss", "solver"),
    [("hinge", "auto"), ("hinge", "bcfw"), ("hinge", "eg"), ("crf", "auto"), ("crf", "svrg"), ("crf", "lbfgs")],
)
def test_training_is_over_the_valid_sequences_alone(loss: str, solver: str) -> None:
    """The objective is that of an enumeration of the valid sequences, and its gap is certified."""
    options: Any = {"n_features": 64, "loss": loss, "lam": 0.3, "tol": 1e-2, "solver": solver}
    tagger = cs.SequenceTagger(constraints=["IOB2", ONCE, APART], **options).fit(X, Y)
    assert tagger.status_ == "converged"
    everything = ChainPredictor(tagger.predictor_.w, CLASSES, 64, None)
    total = 0.0
    for x, y in zip(X, Y, strict=True):
        scores = {tuple(tags): score for tags, score in everything.predict_topk([x], 5 ** len(x))[0]}
        own = [tags for tags in scores if is_iob2(tags) and by_hand(ONCE, tags) and by_hand(APART, tags)]
        costs = np.array([sum(a != b for a, b in zip(tags, y, strict=True)) for tags in own])
        z = np.array([scores[tags] for tags in own]) - scores[tuple(y)]
        total += float(np.logaddexp.reduce(z) if loss == "crf" else np.max(z + costs))
    w = tagger.predictor_.w
    assert tagger.objective_ == pytest.approx(total / len(X) + 0.15 * float(w @ w), rel=1e-9)
    free = cs.SequenceTagger(**options).fit(X, Y)
    assert tagger.objective_ < free.objective_ * (1 + 1e-2)  # fewer outputs compete


def test_constraints_of_a_list_all_hold() -> None:
    tagger = cs.SequenceTagger(constraints=["auto", ONCE, ("O", "B-y")], n_features=64)
    y = [["O" if tag.endswith("y") else tag for tag in tags] for tags in Y[:5]] + [["B-y"]]
    tagger.fit(X, y)
    assert tagger.constraints_.scheme == "IOB2"
    for tags, _ in tagger.predict_topk([X[3]], 5**5)[0]:
        assert is_iob2(tuple(tags))
        assert tags.count("B-x") <= 1
        assert ("O", "B-y") not in pairwise(tags)


def test_the_meeting_of_two_automata_accepts_what_both_do() -> None:
    both = ONCE.table(CLASSES) & APART.table(CLASSES)
    for tags in words(4):
        numbers = np.array([CLASSES.index(tag) for tag in tags])
        assert both.accepted(numbers, np.array([0, 4]))[0] == (ONCE.accepts(tags) and APART.accepts(tags))


def test_labels_that_are_partly_known_keep_to_the_automaton() -> None:
    y: list[Any] = [["B-x", None, "O", None], *Y[1:]]
    tagger = cs.SequenceTagger(constraints=["IOB2", ONCE], n_features=64).fit(X, y)
    assert all(tags.count("B-x") <= 1 for tags in tagger.predict(X))
    batches = cs.SequenceTagger(constraints=ONCE, n_features=64).partial_fit(X[:3], Y[:3], classes=CLASSES)
    assert all(tags.count("B-x") <= 1 for tags in batches.partial_fit(X[3:], Y[3:]).predict(X))


def test_final_states_say_where_a_sentence_may_end() -> None:
    even = cs.Automaton({0: {"*": 1}, 1: {"*": 0}}, final=[0])
    tagger = cs.SequenceTagger(constraints=even).fit([X[0], X[1]], [Y[0], Y[1]])
    with pytest.raises(ValueError, match="no allowed output"):
        tagger.predict([X[2]])
    with pytest.raises(ValueError, match=r"y\[2\] is not accepted .* no step for its end after 3 tokens"):
        cs.SequenceTagger(constraints=even).fit(X, Y)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: cs.Automaton({}), TypeError, "with a state or more"),
        (lambda: cs.Automaton({"a": "b"}), TypeError, r"steps\['a'\] is a str"),  # type: ignore[dict-item]
        (lambda: cs.Automaton({"a": {"O": "b"}}), ValueError, r"steps\['a'\]\['O'\] is 'b', which is no state"),
        (lambda: cs.Automaton({"a": {"*": "a"}}, start="b"), ValueError, "start is 'b', which is no state"),
        (lambda: cs.Automaton({"a": {"*": "a"}}, final=["c"]), ValueError, "final is 'c', which is no state"),
        (lambda: cs.Automaton({"a": {"*": ["a"]}}), ValueError, r"steps\['a'\]\['\*'\] is \['a'\], which is no state"),
        (lambda: cs.Automaton({"a": {"*": "a"}}, start=["a"]), ValueError, r"start is \['a'\], which is no state"),
        (lambda: cs.Automaton({"a": {"*": "a"}}, final="a"), TypeError, "final is 'a'; it must be a list of states"),
        (lambda: cs.Automaton({0: {"*": 0}}, final=0), TypeError, "final is 0; it must be a list"),  # type: ignore[arg-type]
        (lambda: cs.Automaton({"a": {"*": "a"}}, final=[None]), ValueError, "final is None, which is no state"),
        (lambda: cs.Automaton({None: {"*": None}}), ValueError, "name it otherwise"),
        (lambda: ring(2**15).table([0]).unfolded, ValueError, "more than 16,384 pairs of a label and the state after"),
        (lambda: ring(199).table([0]) & ring(211).table([0]), ValueError, "more than 16,384 pairs"),
        (lambda: cs.SequenceTagger(constraints=cs.Automaton({0: {"Q": 0}})).fit(X, Y), ValueError, "step for 'Q'"),
        (lambda: cs.SequenceTagger(constraints=cs.Automaton({0: {"O": 0}})).fit(X, Y), ValueError, r"'B-x' at token 0"),
        (lambda: cs.AutomatonChain(2, automaton=3), TypeError, "automaton is a int"),
        (lambda: cs.AutomatonChain(2, automaton=ONCE.table(CLASSES)), ValueError, r"int64\[Q, 2\]"),
        (lambda: cs.AutomatonChain(2, automaton=cs.Automaton({0: {}})).wide, ValueError, "no sequence of labels"),
    ],
)
def test_automata_that_do_not_fit_are_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("constraints", [ONCE, ["auto", ONCE, ("O", "I-x"), np.ones((5, 5), dtype=bool)]])
def test_a_saved_tagger_has_its_automaton(constraints: Any, tmp_path: Path) -> None:
    tagger = clone(cs.SequenceTagger(constraints=constraints, n_features=64)).fit(X, Y)
    tagger.save(tmp_path / "model")
    for again in (cs.load(tmp_path / "model"), pickle.loads(pickle.dumps(tagger))):
        assert again.constraints_.automaton == tagger.constraints_.automaton
        assert again.predict_topk(X, 9) == tagger.predict_topk(X, 9)
        np.testing.assert_array_equal(clone(again).fit(X, Y).predictor_.w, tagger.predictor_.w)


@pytest.mark.parametrize(
    ("steps", "final"),
    [
        (np.zeros((2, 4), dtype=np.int64), np.ones(2, dtype=np.bool_)),
        (np.full((2, 5), 2, dtype=np.int64), np.ones(2, dtype=np.bool_)),
        (np.zeros((2, 5), dtype=np.float64), np.ones(2, dtype=np.bool_)),
        (np.zeros((2, 5), dtype=np.int64), np.ones(3, dtype=np.bool_)),
    ],
)
def test_damaged_automata_are_refused(steps: Any, final: Any) -> None:
    with pytest.raises(ValueError, match=r"it must be|there are 2"):
        StateTable.checked(steps, final, 5)


def test_a_small_model_cannot_ask_for_large_tables_of_states(tmp_path: Path) -> None:
    """Pairs of states take the square of what the file holds of them."""
    cs.SequenceTagger(constraints=ONCE, n_features=64).fit(X, Y).save(tmp_path / "model")
    kind, meta, arrays = load_folder(tmp_path / "model")
    for states, fits in ((900, True), (3000, False)):
        steps = (np.arange(states)[:, None] + np.arange(5)) % states
        given = {"automaton_steps": steps.astype(np.int64), "automaton_final": np.ones(states, dtype=np.bool_)}
        save_folder(tmp_path / f"{states}", kind, meta, {**arrays, **given})
        if fits:
            assert len(cs.load(tmp_path / f"{states}").predict(X)) == len(X)
            continue
        with pytest.raises(ValueError, match=r"describes an automaton of .* MB"):
            cs.load(tmp_path / f"{states}")


def test_the_parameters_of_a_saved_tagger_are_plain_json(tmp_path: Path) -> None:
    tagger = cs.SequenceTagger(constraints=[ONCE, "IOB2"], n_features=64).fit(X, Y)
    tagger.save(tmp_path / "model")
    again = cs.load(tmp_path / "model").get_params()["constraints"]
    assert again[1] == "IOB2"
    assert all(again[0].accepts(tags) == ONCE.accepts(tags) for tags in words(3))
    assert json.loads(next((tmp_path / "model").glob("*.json")).read_text())
