"""Features of the cells of a sentence pair: where the words stand, what they look like, what is known about them.

A cell (i, j) links word i of the source to word j of the target. The last cell of a row leaves word i without a link
and has features of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from casimir.scores import FloatArray
from casimir.tasks.align.bitext import Bitext, Links
from casimir.tasks.align.lexicon import Lexicon, PairTables
from casimir.tasks.align.rates import LinkRates, RateTables
from casimir.tasks.align.strings import common_prefix, common_subsequence

Table = dict[str, FloatArray]
_STEM = 4  # letters of a stem
_LONG = 4  # letters from which on a similar spelling means something
_LEVELS = (0.02, 0.1, 0.3, 0.6, 0.9)
_RARE = 1.2  # log(1 + count) of words that occur in two sentence pairs at most


@dataclass(frozen=True, eq=False)
class CellFeatures:
    """The features of sentence pairs.

    words, stems  statistics of unlabelled pairs: of words, and of their first letters, which are less sparse
    rates         of the labelled pairs
    """

    words: Lexicon
    stems: Lexicon
    rates: LinkRates

    @classmethod
    def learned(cls, labelled: Bitext, text: Sequence[Bitext] = ()) -> CellFeatures:
        """From pairs with links, and from more pairs whose links are not read."""
        source = [s for b in (labelled, *text) for s in b.source]
        target = [t for b in (labelled, *text) for t in b.target]
        words, stems = Lexicon.of(source, target), Lexicon.of(source, target, _STEM)
        return cls(words, stems, LinkRates.of(labelled, words))

    def of(self, source: Sequence[str], target: Sequence[str], own: Links | None = None) -> FloatArray:
        """float64[m (n + 1), d], row after row. `own`: the links of a pair that the rates were counted on."""
        shape = (len(source), len(target))
        table = self._table(source, target, own)
        return np.stack([_cell_column(name, column, *shape) for name, column in table.items()], axis=1)

    def of_all(self, bitext: Bitext, *, labelled: bool = False) -> list[FloatArray]:
        """One matrix per pair; `labelled` leaves each pair's own links out of the rates."""
        links = bitext.gold if labelled else [None] * len(bitext)
        return [self.of(s, t, own) for s, t, own in zip(bitext.source, bitext.target, links, strict=True)]

    def names(self) -> list[str]:
        """What the columns mean."""
        return list(self._table(["a"], ["a"], None))

    def _table(self, source: Sequence[str], target: Sequence[str], own: Links | None) -> Table:
        words = self.words.look_up(source, target)
        known, rates = self.words.tables(words), self.rates.tables(words, own)
        stems = _translation(self.stems.tables(self.stems.look_up(source, target)))
        m, n = len(source), len(target)
        return {
            **_position(m, n),
            **_spelling(source, target),
            **_translation(known),
            **{f"stems: {name}": table for name, table in stems.items()},
            **_experience(rates, m, n),
            **_alone(source, known, rates),
        }


def shapes_of(bitext: Bitext) -> list[tuple[int, int]]:
    """(m, n + 1) of every pair."""
    return [(len(s), len(t) + 1) for s, t in zip(bitext.source, bitext.target, strict=True)]


def _cell_column(name: str, column: FloatArray, m: int, n: int) -> FloatArray:
    """float64[m (n + 1)]: a feature [m] of leaving a word alone fills the last cells, any other [m, n] those before."""
    table = np.zeros((m, n + 1))
    if name.startswith("alone"):
        table[:, n] = column
    else:
        table[:, :n] = column
    return table.ravel()


def _position(m: int, n: int) -> Table:
    """How far a cell is from the diagonal."""
    off = off_diagonal(m, n)
    steps = np.abs(np.arange(m)[:, None] * n / m - np.arange(n))
    return {
        "link": np.ones((m, n)),
        "off": off,
        "off squared": off**2,
        "off root": np.sqrt(off),
        "steps": np.minimum(steps, 10.0) / 10.0,
        "on diagonal": (steps < 1.0).astype(np.float64),
    }


def _spelling(source: Sequence[str], target: Sequence[str]) -> Table:
    """Equal and similar words, numbers and punctuation."""
    low_source, low_target = [w.lower() for w in source], [w.lower() for w in target]
    prefix, common = common_prefix(low_source, low_target), common_subsequence(low_source, low_target)
    s_length, t_length = _lengths(source), _lengths(target)
    long = np.minimum.outer(s_length, t_length) >= _LONG
    same = (prefix == 1.0).astype(np.float64)
    s_mark, t_mark, s_digit, t_digit = _marks(source), _marks(target), _digits(source), _digits(target)
    marks = np.outer(s_mark, t_mark)
    return {
        "same": same,
        "same, long": same * long,
        "prefix": prefix * long,
        "common letters": common * long,
        "many common letters": np.maximum(common - 0.5, 0.0) * long,
        "both marks": marks,
        "same marks": marks * same,
        "marks near": marks * (1.0 - off_diagonal(len(source), len(target))),
        "one mark": np.abs(np.subtract.outer(s_mark, t_mark)),
        "both numbers": np.outer(s_digit, t_digit),
        "one number": np.abs(np.subtract.outer(s_digit, t_digit)),
        "lengths differ": np.abs(np.subtract.outer(s_length, t_length)) / 10.0,
        "target length": _for_columns(np.minimum(t_length, 10.0) / 10.0, len(source)),
        "target mark": _for_columns(t_mark, len(source)),
    }


def _translation(known: PairTables) -> Table:
    """Dice and translation probabilities of the two words and of their neighbours, their frequencies."""
    both, dice = np.sqrt(known.forward * known.backward), known.dice
    m, n = both.shape
    near = 1.0 - off_diagonal(m, n)
    s_log, t_log = np.log1p(known.source_count), np.log1p(known.target_count)
    rare = (np.maximum.outer(s_log, t_log) < _RARE).astype(np.float64)
    row_best, column_best = both >= both.max(axis=1, keepdims=True), both >= both.max(axis=0)
    return {
        "dice": dice,
        "dice squared": dice**2,
        "dice near": dice * near,
        "dice of neighbours": 0.5 * (_shifted(dice, 1) + _shifted(dice, -1)),
        "forward": known.forward,
        "backward": known.backward,
        "both": both,
        "smaller": np.minimum(known.forward, known.backward),
        "log both": np.log1p(100.0 * both) / 5.0,
        **{f"both >= {level}": (both >= level).astype(np.float64) for level in _LEVELS},
        "both, before": _shifted(both, 1),
        "both, after": _shifted(both, -1),
        "best of row": row_best.astype(np.float64),
        "best of column": column_best.astype(np.float64),
        "best of both": (row_best & column_best).astype(np.float64),
        "ahead in row": both - best_other(both, 1),
        "ahead in column": both - best_other(both, 0),
        "column's best": _for_columns(both.max(axis=0), m),
        "frequencies differ": np.abs(np.subtract.outer(s_log, t_log)) / 3.0,
        "source frequency": np.repeat(s_log[:, None] / 5.0, n, axis=1),
        "target frequency": _for_columns(t_log / 5.0, m),
        "rare": rare,
        "rare near": rare * near,
    }


def _experience(rates: RateTables, m: int, n: int) -> Table:
    """What the labelled pairs did with these words."""
    seen = np.minimum(np.log1p(rates.seen), 3.0) / 3.0
    return {
        "sure rate": rates.sure,
        "possible rate": rates.possible,
        "sure rate near": rates.sure * (1.0 - off_diagonal(m, n)),
        "seen": seen,
        "seen sure": seen * rates.sure,
        "seen possible": seen * rates.possible,
        "never seen": (rates.seen == 0.0).astype(np.float64),
        "source linked": np.repeat(rates.source[:, None], n, axis=1),
        "target linked": _for_columns(rates.target, m),
        "both linked": np.outer(rates.source, rates.target),
    }


def _alone(source: Sequence[str], known: PairTables, rates: RateTables) -> Table:
    """Leaving a source word without a link: float64[m] each."""
    both = np.sqrt(known.forward * known.backward)
    return {
        "alone": np.ones(len(source)),
        "alone, frequency": np.log1p(known.source_count) / 5.0,
        "alone, length": np.minimum(_lengths(source), 10.0) / 10.0,
        "alone, mark": _marks(source),
        "alone, dice": known.dice.max(axis=1),
        "alone, both": both.max(axis=1),
        "alone, from no word": 1.0 - known.backward.sum(axis=1),
        "alone, linked": rates.source,
        "alone, linked squared": rates.source**2,
        "alone, sure rate": rates.sure.max(axis=1),
    }


def off_diagonal(m: int, n: int) -> FloatArray:
    """float64[m, n] = |i/m - j/n|, positions in the middle of their cells."""
    off: FloatArray = np.abs(((np.arange(m) + 0.5) / m)[:, None] - (np.arange(n) + 0.5) / n)
    return off


def _shifted(table: FloatArray, by: int) -> FloatArray:
    """The table's value at (i - by, j - by), 0 outside."""
    out = np.zeros_like(table)
    if by > 0:
        out[1:, 1:] = table[:-1, :-1]
    else:
        out[:-1, :-1] = table[1:, 1:]
    return out


def best_other(table: FloatArray, axis: int) -> FloatArray:
    """The largest of the other values in the same row (axis 1) or column (axis 0); 0 where there is none."""
    if table.shape[axis] == 1:
        return np.zeros_like(table)
    ordered = np.sort(table, axis=axis)
    first, second = np.take(ordered, [-1], axis=axis), np.take(ordered, [-2], axis=axis)
    return np.where(table >= first, second, first)


def _for_columns(values: FloatArray, m: int) -> FloatArray:
    return np.repeat(values[None], m, axis=0)


def _lengths(words: Sequence[str]) -> FloatArray:
    return np.array([float(len(w)) for w in words])


def _marks(words: Sequence[str]) -> FloatArray:
    """1 for words without letters and digits."""
    return np.array([float(not any(c.isalnum() for c in w)) for w in words])


def _digits(words: Sequence[str]) -> FloatArray:
    return np.array([float(any(c.isdigit() for c in w)) for w in words])
