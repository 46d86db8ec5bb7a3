"""Token features written out by hand in plain Python: the judge of the templates, of their Python twin and of the core.

"paper"     the word and, where the file has them, part of speech and chunk tag at offsets -2..+2, one-hot each
"default"   affixes, character trigrams, shape and case of the word; words, shapes and cases around it; its run of
            capitalised words; the file's other columns, if any; evidence from the document
"pairs"     the default set, pairs of neighbouring words and endings of the words around
"chunks"    the default set without documents; runs of the file's other columns; words with them and in pairs
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice

from casimir.tasks.tag.lexicons import NO_LEXICONS, Lexicons
from casimir.tasks.tag.sentence import Sentence
from casimir.tasks.tag.words import case_of, shape_of

TokenFeatures = list[str]
_MAX_TRIGRAMS, _MAX_CONTEXTS = 10, 16
_OFFSETS = (-2, -1, 1, 2)
_DIGIT = re.compile(r"\d")


def iter_features(
    sentences: Iterable[Sentence], feature_set: str = "default", lexicons: Lexicons = NO_LEXICONS
) -> Iterator[list[TokenFeatures]]:
    """A list of strings per token, sentence by sentence."""
    given = list(sentences)
    return _with_lexicons(lexicons, given, SETS[feature_set](given), of_labels=feature_set == "pairs")


# --- words


@dataclass(frozen=True, slots=True)
class Word:
    """A distinct word, the features of the token that is it, and those of a token that has it at an offset."""

    lower: str
    case: str
    capitalised: bool
    own: tuple[str, ...]
    around: Mapping[int, tuple[str, ...]]


def _boundary(mark: str) -> Word:
    """A pseudo-word beyond the start or the end of a sentence."""
    return Word(mark, mark, False, (), {o: (f"w[{o}]={mark}",) for o in _OFFSETS})


_START, _STOP = _boundary("<s>"), _boundary("</s>")


class WordTable(dict[str, Word]):
    """The distinct words seen so far: `words["Paris"]` computes on first use."""

    def __missing__(self, word: str) -> Word:
        self[word] = made = _word(word)
        return made


def _word(word: str) -> Word:
    plain = _DIGIT.sub("0", word)
    lower = plain.lower()
    shape = shape_of(word)
    case = case_of(word)
    own = [
        "bias",
        f"w[0]={lower}",
        f"form={plain}",
        f"shape={shape}",
        f"case={case}",
    ]
    for k in range(1, 5):
        own += [f"prefix{k}={plain[:k]}", f"suffix{k}={lower[-k:]}"]
    marked = f"^{lower}$"
    own += [f"tri={marked[i : i + 3]}" for i in range(min(len(marked) - 2, _MAX_TRIGRAMS))]
    if "-" in word[1:-1]:
        own += ["hyphen", *(f"part={part}" for part in lower.split("-") if part)]
    own += [f"has={c}" for c in ".'&/" if c in word]
    if any(map(str.isdigit, word)):
        own.append(f"digits={min(len(word), 5)}")
    around = {o: (f"w[{o}]={lower}", f"shape[{o}]={shape}") for o in _OFFSETS}
    return Word(lower, case, case in "UITM", tuple(dict.fromkeys(own)), around)


# --- documents


def by_document(sentences: Iterable[Sentence], alone: int = 1) -> Iterator[list[Sentence]]:
    """Neighbouring sentences of the same document; where the source tells no documents, blocks of `alone` sentences."""
    for document, group in groupby(sentences, key=lambda sentence: sentence.document):
        if document is None:
            while block := list(islice(group, alone)):
                yield block
        else:
            yield list(group)


def capital_runs(words: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """(start, end) of the longest runs of capitalised words."""
    for capitalised, group in groupby(range(len(words)), key=lambda i: words[i].capitalised):
        if capitalised:
            run = list(group)
            yield run[0], run[-1] + 1


def is_headline(words: Sequence[Word]) -> bool:
    """Nearly all words in capitals, so that a capital tells nothing."""
    letters = [word.case for word in words if word.case not in "dp"]
    return sum(case in "UI" for case in letters) >= 0.8 * len(letters) > 0


class Evidence:
    """Features of the words of one document, from all its sentences: see `cpp/text/evidence.hpp`."""

    def __init__(self, sentences: Sequence[Sequence[Word]], topic: str | None) -> None:
        self._topic = topic
        self._contexts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._cases: defaultdict[str, set[str]] = defaultdict(set)
        self._features: dict[tuple[str, str], list[str]] = {}
        for words in sentences:
            if not is_headline(words):
                self._add(words)

    def features(self, word: Word) -> list[str]:
        """Features of any mention of `word`."""
        key = (word.lower, word.case)
        if key not in self._features:
            self._features[key] = list(self._compute(word))
        return self._features[key]

    def _add(self, words: Sequence[Word]) -> None:
        lower = ["<s>", *(word.lower for word in words), "</s>"]
        for word in words[1:]:
            self._cases[word.lower].add(word.case)
        for start, end in capital_runs(words):
            for i in range(start, end):
                contexts = self._contexts[words[i].lower]
                contexts.update((f"d[-1]={lower[i]}", f"d[1]={lower[i + 2]}"))
                if end - start < len(words):
                    contexts.update((f"dleft={lower[start]}", f"dright={lower[end + 1]}"))
                if end - start > 1:
                    contexts.update((f"dfirst={lower[start + 1]}", f"dlast={lower[end]}"))
                if i > start:
                    contexts["dnotfirst"] += 1
                if i < end - 1:
                    contexts["dnotlast"] += 1

    def _compute(self, word: Word) -> Iterator[str]:
        yield f"dcase={word.case}{''.join(sorted(self._cases.get(word.lower, ())))}"
        if self._topic is not None:
            yield f"topic={self._topic}|{word.case}"
            yield f"topic={self._topic}|{word.lower}"
        if word.capitalised and word.lower in self._contexts:
            for context, _ in self._contexts[word.lower].most_common(_MAX_CONTEXTS):
                yield context


# --- sets


def paper_features(sentences: Iterable[Sentence]) -> Iterator[list[TokenFeatures]]:
    """One-hot word, part of speech and chunk tag at offsets -2..+2, concatenated; nothing beyond the sentence.

    A file without part-of-speech or chunk column has just the others; a lemma column is not used.
    """
    offsets = range(-2, 3)
    for sentence in sentences:
        columns = [("w", sentence.words), *((k, v) for k, v in sentence.columns.items() if k in ("pos", "chunk"))]
        n = len(sentence)
        yield [
            [f"{name}[{o}]={values[i + o]}" for name, values in columns for o in offsets if 0 <= i + o < n]
            for i in range(n)
        ]


def default_features(sentences: Iterable[Sentence]) -> Iterator[list[TokenFeatures]]:
    """Features of the word, its neighbours, its run of capitalised words, its columns and its document.

    A sentence that comes alone has none of its document, so that its features do not depend on what else is read.
    """
    return _features(by_document(sentences), least=2)


def pair_features(sentences: Iterable[Sentence]) -> Iterator[list[TokenFeatures]]:
    """The default features; pairs of words at offsets -2..+2; the last letters of the words before and after."""
    given = list(sentences)
    for sentence, features in zip(given, default_features(given), strict=True):
        words = ("<s>", "<s>", *(word.lower() for word in sentence.words), "</s>", "</s>")
        for i, token in enumerate(features):
            before2, before, word, after, after2 = words[i : i + 5]
            token += (f"w[-2,-1]={before2}|{before}", f"w[-1,0]={before}|{word}", f"w[0,1]={word}|{after}")
            token += (f"w[1,2]={after}|{after2}", f"w[-1,1]={before}|{after}", f"suffix5={word[-5:]}")
            token += (f"s2[-1]={before[-2:]}", f"s3[-1]={before[-3:]}", f"s2[1]={after[-2:]}", f"s3[1]={after[-3:]}")
            token += (f"s3[-1,0]={before[-3:]}|{word[-3:]}", f"s3[0,1]={word[-3:]}|{after[-3:]}")
        yield features


def chunk_features(sentences: Iterable[Sentence]) -> Iterator[list[TokenFeatures]]:
    """The default features of sentences by themselves; runs of column values, and words with them and in pairs."""
    given = [replace(sentence, document=None) for sentence in sentences]
    for sentence, features in zip(given, default_features(given), strict=True):
        words = ("<s>", *(word.lower() for word in sentence.words), "</s>")
        for i, token in enumerate(features):
            token += (f"w[-1,0]={words[i]}|{words[i + 1]}", f"w[0,1]={words[i + 1]}|{words[i + 2]}")
        for name, values in sentence.columns.items():
            _add_column_runs(name, values, words[1:-1], features)
        yield features


def _add_column_runs(name: str, values: Sequence[str], words: Sequence[str], features: list[TokenFeatures]) -> None:
    """Values at offsets -2..+2 alone, in twos and threes, and beside the word."""
    padded = ("<s>", "<s>", *values, "</s>", "</s>")
    for i, token in enumerate(features):
        a, b, c, d, e = padded[i : i + 5]
        token += (f"{name}[-2]={a}", f"{name}[2]={e}", f"{name}[-2,-1]={a}|{b}", f"{name}[1,2]={d}|{e}")
        token += (f"{name}[-2..0]={a}|{b}|{c}", f"{name}[-1..1]={b}|{c}|{d}", f"{name}[0..2]={c}|{d}|{e}")
        token += (f"{name}[0]w={c}|{words[i]}", f"{name}[1]w={d}|{words[i]}", f"{name}[-1]w={b}|{words[i]}")


def default_features_1(sentences: Iterable[Sentence]) -> Iterator[list[TokenFeatures]]:
    """The default set of the first version: sentences without a document were taken in blocks of 50, as one."""
    return _features(by_document(sentences, alone=50), least=1)


def _features(documents: Iterable[list[Sentence]], least: int) -> Iterator[list[TokenFeatures]]:
    """Documents of fewer than `least` sentences give no evidence."""
    table = WordTable()
    for document in documents:
        words = [[table[word] for word in sentence.words] for sentence in document]
        topic = words[0][0].lower if document[0].document is not None else None
        evidence = Evidence(words, topic) if len(document) >= least else None
        for sentence, row in zip(document, words, strict=True):
            features = _sentence_features(row)
            _add_columns(sentence, features)
            for word, token in zip(row, features, strict=True):
                token += [] if evidence is None else evidence.features(word)
            yield features


def _sentence_features(words: Sequence[Word]) -> list[TokenFeatures]:
    padded = [_START, _START, *words, _STOP, _STOP]
    features: list[TokenFeatures] = []
    for i, word in enumerate(words):
        before2, before, _, after, after2 = padded[i : i + 5]
        features.append(
            [
                *word.own,
                *before2.around[-2],
                *before.around[-1],
                *after.around[1],
                *after2.around[2],
                f"w[-1]c[0]={before.lower}|{word.case}",
                f"c[0]w[1]={word.case}|{after.lower}",
                f"c[-2..0]={before2.case}{before.case}{word.case}",
                f"c[-1..1]={before.case}{word.case}{after.case}",
                f"c[0..2]={word.case}{after.case}{after2.case}",
            ]
        )
    for start, end in capital_runs(words):
        _add_run(padded, start, end, features)
    return features


def _add_run(padded: Sequence[Word], start: int, end: int, features: list[TokenFeatures]) -> None:
    """Features that the words of a capitalised run share: its first and last word and what stands around it."""
    left, first, last, right = (padded[k].lower for k in (start + 1, start + 2, end + 1, end + 2))
    shared = (f"left={left}", f"right={right}", f"around={left}|{right}", f"first={first}", f"last={last}")
    length = min(end - start, 4)
    for i in range(start, end):
        features[i] += (*shared, f"place={min(i - start, 3)}/{length}")


def _add_columns(sentence: Sentence, features: list[TokenFeatures]) -> None:
    """Columns at offsets -1..+1, and pairs of neighbouring values."""
    for name, values in sentence.columns.items():
        padded = ("<s>", *values, "</s>")
        for i, token in enumerate(features):
            before, value, after = padded[i : i + 3]
            token += (f"{name}[-1]={before}", f"{name}[0]={value}", f"{name}[1]={after}")
            token += (f"{name}[-1,0]={before}|{value}", f"{name}[0,1]={value}|{after}")


SETS: dict[str, Callable[[Iterable[Sentence]], Iterator[list[TokenFeatures]]]] = {
    "default": default_features,
    "pairs": pair_features,
    "chunks": chunk_features,
    "paper": paper_features,
    "default-1": default_features_1,  # of models that earlier versions wrote
}


# --- lexicons


def _with_lexicons(
    lexicons: Lexicons, sentences: Iterable[Sentence], features: Iterable[list[TokenFeatures]], of_labels: bool
) -> Iterator[list[TokenFeatures]]:
    """The features of each sentence, and those of its words' clusters, names and types."""
    for sentence, tokens in zip(sentences, features, strict=True):
        if lexicons.clusters is not None:
            _add_clusters([lexicons.clusters.levels(word) for word in sentence.words], tokens)
        if lexicons.gazetteer is not None:
            _add_names(sentence.words, lexicons.gazetteer.marks(sentence.words), tokens)
        if lexicons.known is not None:
            add = _add_known_labels if of_labels else _add_known
            add([lexicons.known.types_of(word) for word in sentence.words], sentence.words, tokens)
        yield tokens


def _add_known(types: Sequence[str], _: Sequence[str], tokens: list[TokenFeatures]) -> None:
    """What the words at offsets -2..+2 were in training."""
    for i, token in enumerate(tokens):
        token += [f"known[{k - i}]={types[k]}" for k in range(max(i - 2, 0), min(i + 3, len(types)))]


def _add_known_labels(known: Sequence[str], words: Sequence[str], tokens: list[TokenFeatures]) -> None:
    """The same of labels, those of neighbours together, and beside the word or its ending."""
    _add_known(known, words, tokens)
    padded = ("<s>", "<s>", *known, "</s>", "</s>")
    for i, token in enumerate(tokens):
        (before2, before, own, after, after2), word = padded[i : i + 5], words[i].lower()
        token += (f"known[-1,0]={before}|{own}", f"known[0,1]={own}|{after}", f"known[-1..1]={before}|{own}|{after}")
        token += (f"known[-2,-1]={before2}|{before}", f"known[1,2]={after}|{after2}")
        token += (f"known[-1]w={before}|{word}", f"w known[1]={word}|{after}")
        token += (f"s3known[-1]={before}|{word[-3:]}", f"s3known[1]={word[-3:]}|{after}")


def _add_clusters(levels: Sequence[tuple[str, ...]], tokens: list[TokenFeatures]) -> None:
    """Clusters at offsets -2..+2, and pairs of neighbouring ones."""
    padded = [(), (), *levels, (), ()]
    for i, token in enumerate(tokens):
        for offset in range(-2, 3):
            token += [f"cluster[{offset}]{level}" for level in padded[i + 2 + offset]]
        before, own, after = (found[0] if found else "" for found in padded[i + 1 : i + 4])
        token += (f"cluster[-1,0]{before}{own}", f"cluster[0,1]{own}{after}", f"cluster[-1,1]{before}{after}")


def _add_names(words: Sequence[str], marks: Sequence[Sequence[str]], tokens: list[TokenFeatures]) -> None:
    """Names that a word is part of, its place in them and its case; names that its neighbours are part of."""
    padded = [(), *marks, ()]
    for i, token in enumerate(tokens):
        case = case_of(words[i])
        for mark in padded[i + 1]:
            kind = mark.partition("-")[2]
            token += (f"name={mark}", f"name={kind}", f"name={mark}|{case}")
        token += [f"name[-1]={mark}" for mark in padded[i]] + [f"name[1]={mark}" for mark in padded[i + 2]]
