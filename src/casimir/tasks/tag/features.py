"""Token features of sentences: lists of strings such as "w[-1]=the", which hashing or a vocabulary turns into numbers.

"paper"     the word and, where the file has them, part of speech and chunk tag at offsets -2..+2, one-hot each
"default"   affixes, character trigrams, shape and case of the word; words, shapes and cases around it; its run of
            capitalised words; the file's other columns, if any; evidence from the document

"pairs"     the default set, pairs of neighbouring words and endings of the words around: for labels that are no spans
"chunks"    the default set without documents; runs of two and three values of the file's other columns, which are
            parts of speech as a rule; words with them and in pairs: for phrases

Pairs of neighbouring words are not in the default set: they double the number of distinct features and, cross-validated
on CoNLL-2003, add nothing to the rest. Parts of speech need them: 0.949 -> 0.954 on UD English EWT. So do phrases, with
runs of parts of speech: F1 0.944 -> 0.952 on the chunks of CoNLL-2003.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from casimir.tasks.tag.corpus import Sentence
from casimir.tasks.tag.documents import Evidence, by_document, capital_runs
from casimir.tasks.tag.lexicons import NO_LEXICONS, Lexicons
from casimir.tasks.tag.words import Word, WordTable, boundary

TokenFeatures = list[str]
_START, _STOP = boundary("<s>"), boundary("</s>")


def extract(sentences: Iterable[Sentence], feature_set: str = "default") -> list[list[TokenFeatures]]:
    """The features of every token of every sentence; `iter_features` gives them one sentence at a time."""
    return list(iter_features(sentences, feature_set))


def iter_features(
    sentences: Iterable[Sentence], feature_set: str = "default", lexicons: Lexicons = NO_LEXICONS
) -> Iterator[list[TokenFeatures]]:
    """Yield, for each sentence in turn, a list of strings per token.

    The features of a sentence depend on its document, so give all sentences of a document in one call.
    """
    known = FEATURE_SETS | OLD_SETS
    if feature_set not in known:
        raise ValueError(f"unknown feature set {feature_set!r}; choose one of {sorted(FEATURE_SETS)}")
    given = list(sentences)
    found = known[feature_set](given)
    return lexicons.added(given, found) if lexicons else found


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


FEATURE_SETS: dict[str, Callable[[Iterable[Sentence]], Iterator[list[TokenFeatures]]]] = {
    "default": default_features,
    "pairs": pair_features,
    "chunks": chunk_features,
    "paper": paper_features,
}
READ_DOCUMENTS = ("default", "pairs")
OLD_SETS = {"default-1": default_features_1}  # of models that earlier versions wrote
