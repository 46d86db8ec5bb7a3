"""Entity scores: hand-worked cases, and a second derivation that counts as the official script does, token by token."""

from __future__ import annotations

import json
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casimir.metrics import Counts, Scheme, convert, entity_scores

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
sentence = st.integers(1, 7).flatmap(
    lambda n: st.tuples(*[st.lists(st.sampled_from(TAGS), min_size=n, max_size=n)] * 2)
)
corpora = st.lists(sentence, max_size=4)


def starts(last: tuple[str, str], tag: tuple[str, str]) -> bool:
    """The script's table of prefix pairs, then its rule about types."""
    return (last[0], tag[0]) in {("B", "B"), ("I", "B"), ("O", "B"), ("O", "I")} or (
        tag[0] != "O" and last[1] != tag[1]
    )


def ends(last: tuple[str, str], tag: tuple[str, str]) -> bool:
    return (last[0], tag[0]) in {("B", "B"), ("B", "O"), ("I", "B"), ("I", "O")} or (
        last[0] != "O" and last[1] != tag[1]
    )


def split(tag: str) -> tuple[str, str]:
    return (tag[0], tag[2:])


def counted_by_automaton(pairs: list[tuple[list[str], list[str]]]) -> tuple[int, int, int]:
    """(correct, predicted, support) from one pass over all tokens, a boundary tagged O after each sentence."""
    correct = predicted = support = 0
    agree = False
    last_gold = last_guess = ("O", "")
    for gold_tag, guess_tag in chain.from_iterable([*zip(*pair, strict=True), ("O", "O")] for pair in pairs):
        gold, guess = split(gold_tag), split(guess_tag)
        if agree:
            if ends(last_gold, gold) and ends(last_guess, guess) and last_gold[1] == last_guess[1]:
                agree = False
                correct += 1
            elif ends(last_gold, gold) != ends(last_guess, guess) or gold[1] != guess[1]:
                agree = False
        if starts(last_gold, gold) and starts(last_guess, guess) and gold[1] == guess[1]:
            agree = True
        support += starts(last_gold, gold)
        predicted += starts(last_guess, guess)
        last_gold, last_guess = gold, guess
    return correct + agree, predicted, support


@given(corpora)
def test_counts_equal_those_of_the_official_automaton(pairs: list[tuple[list[str], list[str]]]) -> None:
    scores = entity_scores([gold for gold, _ in pairs], [guess for _, guess in pairs])
    overall = scores.overall
    assert (overall.correct, overall.predicted, overall.support) == counted_by_automaton(pairs)
    for name in ("correct", "predicted", "support"):
        assert sum(getattr(counts, name) for counts in scores.by_type.values()) == getattr(overall, name)


@pytest.mark.parametrize(
    ("gold", "guess", "correct", "predicted", "support"),
    [
        ("I-PER I-PER O", "I-PER I-PER O", 1, 1, 1),
        ("I-PER I-PER O", "I-PER O O", 0, 1, 1),
        ("I-PER B-PER O", "I-PER I-PER O", 0, 1, 2),
        ("I-PER I-PER", "B-PER I-PER", 1, 1, 1),
        ("B-PER I-PER", "B-PER I-LOC", 0, 2, 1),
        ("B-PER B-LOC", "I-PER I-LOC", 2, 2, 2),
        ("O I-PER", "O B-PER", 1, 1, 1),
        ("O O", "I-PER O", 0, 1, 0),
        ("B-PER I-PER O", "O O O", 0, 0, 1),
    ],
)
def test_hand_worked_counts(gold: str, guess: str, correct: int, predicted: int, support: int) -> None:
    assert entity_scores([gold.split()], [guess.split()]).overall == Counts(correct, predicted, support)


def test_entities_do_not_cross_sentences() -> None:
    scores = entity_scores([["I-PER"], ["I-PER"]], [["I-PER"], ["I-PER"]])
    assert scores.overall == Counts(2, 2, 2)


def test_ratios_per_type_and_overall() -> None:
    gold = [["B-PER", "I-PER", "O", "B-LOC"], ["B-LOC", "O"]]
    guess = [["B-PER", "I-PER", "O", "B-PER"], ["B-LOC", "B-LOC"]]
    scores = entity_scores(gold, guess)
    assert scores.by_type == {"LOC": Counts(1, 2, 2), "PER": Counts(1, 2, 1)}
    assert scores.precision == pytest.approx(2 / 4)
    assert scores.recall == pytest.approx(2 / 3)
    assert scores.f1 == pytest.approx(2 * (1 / 2) * (2 / 3) / (1 / 2 + 2 / 3))
    assert scores.by_type["PER"].f1 == pytest.approx(2 / 3)
    assert scores.accuracy == pytest.approx(4 / 6)


def test_nothing_found_gives_zeros_not_errors() -> None:
    scores = entity_scores([], [])
    assert (scores.precision, scores.recall, scores.f1, scores.accuracy) == (0, 0, 0, 0)
    assert entity_scores([["B-A"]], [["O"]]).f1 == 0


@given(corpora, st.sampled_from(list(Scheme)), st.sampled_from(list(Scheme)))
def test_the_scheme_does_not_change_entity_counts(
    pairs: list[tuple[list[str], list[str]]], first: Scheme, second: Scheme
) -> None:
    plain = entity_scores([gold for gold, _ in pairs], [guess for _, guess in pairs])
    converted = entity_scores([convert(g, first) for g, _ in pairs], [convert(p, second) for _, p in pairs])
    assert converted.by_type == plain.by_type


def test_table_and_dictionary_hold_the_same_figures() -> None:
    scores = entity_scores([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "O"]])
    lines = scores.table().splitlines()
    assert lines[0].split() == ["precision", "recall", "F1", "support"]
    assert [line.split()[0] for line in lines[1:4]] == ["LOC", "PER", "overall"]
    assert lines[3].split()[1:] == ["1.0000", "0.5000", "0.6667", "2"]
    figures = json.loads(json.dumps(scores.to_dict()))
    assert figures["f1"] == pytest.approx(2 / 3)
    assert figures["types"]["LOC"]["support"] == 1
    assert str(scores) == scores.table()


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="2 true but 1 predicted sentences"):
        entity_scores([["O"], ["O"]], [["O"]])
    with pytest.raises(ValueError, match="sentence 2: 2 true but 1 predicted tags"):
        entity_scores([["O"], ["O", "O"]], [["O"], ["O"]])
