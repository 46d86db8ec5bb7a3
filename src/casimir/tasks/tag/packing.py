"""Packs of labelled files, with the features of the tagging tasks, and the models that are trained on them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from casimir.estimators.saved_tagger import given_tagger
from casimir.metrics.schemes import Scheme
from casimir.packs import Pack, merge, open_pack
from casimir.packs.manifest import FILE
from casimir.packs.merge import check_mergeable
from casimir.packs.writer import SHARD_BYTES, PackWriter, Piece, is_ahead, new_manifest
from casimir.tasks.tag.blocks import BLOCK, BlockReader
from casimir.tasks.tag.boost import best_boost, boosted
from casimir.tasks.tag.corpus import Corpus
from casimir.tasks.tag.jsonlines import TAGS, TOKENS
from casimir.tasks.tag.known_words import KnownWords
from casimir.tasks.tag.lexicons import Lexicons
from casimir.tasks.tag.model import TagModel
from casimir.tasks.tag.options import Options, buckets_of, features_of, layout_of, lexicons_of
from casimir.tasks.tag.packed_text import ALONE, PackedText, with_alone
from casimir.tasks.tag.templates.extract import extract, features_for
from casimir.tasks.tag.templates.template_set import TemplateSet
from casimir.tasks.tag.tokens import Tokens
from casimir.vocabulary import Vocabulary

if TYPE_CHECKING:
    from casimir.estimators.chain_tagger import ChainTagger


@dataclass(frozen=True)
class Recipe:
    """How files become a pack.

    features   the templates
    n_features hash buckets; None: an exact vocabulary
    columns    other columns to use; None: all
    scheme     to train with, where labels write spans
    lexicons   clusters and gazetteers; what words were in training is learnt in a first pass over the files
    memory     bytes that packing may use, about
    """

    reader: BlockReader
    features: TemplateSet
    n_features: int | None
    columns: tuple[str, ...] | None
    scheme: Scheme
    lexicons: Lexicons
    memory: int
    seed: int = 0

    @property
    def shard_bytes(self) -> int:
        """Of a shard, which is held three times while its sentences are put into order."""
        return min(SHARD_BYTES, max(self.memory // 10, 2**20))


def recipe_of(
    options: Options,
    files: Sequence[Path],
    encoding: str,
    memory: int,
    seed: int = 0,
    fields: tuple[str, str] = (TOKENS, TAGS),
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Recipe:
    """What the options of `casimir pack` mean for these files: the feature set is that of the first file's labels."""
    reader = BlockReader(layout_of(options), encoding, None, min(BLOCK, max(memory // 128, 2**16)), fields, progress)
    first = next((corpus for path in files for corpus in reader.read(path)), None)
    if first is None:
        raise ValueError(f"{', '.join(map(str, files))} hold no sentences.")
    columns = options.columns
    names = None if columns is None else tuple(c.strip() for c in columns.split(",") if c.strip() not in ("", "word"))
    features = features_of(options, first if names is None else first.keep_columns(names), encoding)
    scheme, lexicons = Scheme(options.scheme), lexicons_of(options, encoding)
    return Recipe(reader, features, buckets_of(options, features), names, scheme, lexicons, memory, seed)


def pack_files(
    files: Sequence[Path], out: Path, recipe: Recipe, *, append: bool = False, like: Path | None = None
) -> Pack:
    """Read the files block by block, and write shards. The next block is read while features of one are made.

    like  a pack whose learnt words are taken, so that the two can be merged
    """
    first = next(_blocks(files, recipe), None)
    if first is None:
        raise ValueError(f"{', '.join(map(str, files))} hold no sentences.")
    lexicons = recipe.lexicons
    if recipe.features.learns(first.scheme is not None) and not recipe.features.averages:
        known = open_pack(out) if (out / FILE).exists() else None if like is None else open_pack(like)
        learnt = (
            _learnt(files, recipe, first.scheme is not None) if known is None else PackedText.of(known).lexicons.known
        )
        lexicons = replace(lexicons, known=learnt)
    if any(one.of_pairs for one in recipe.features.parsed(first.tokens.others, lexicons.names)):
        raise ValueError("Templates of pairs of labels need the sentences in memory; a pack has those of tokens only.")
    has_documents = recipe.features.reads_documents and bool(np.any(first.tokens.has_company()))
    scheme = None if first.scheme is None else recipe.scheme
    about = PackedText(
        recipe.features,
        lexicons,
        first.columns,
        scheme,
        first.scheme,
        recipe.reader.layout,
        first.width,
        has_documents,
    ).to_meta()
    source, ahead = [str(path) for path in files], is_ahead(out / ALONE, out)
    folders = [out, out / ALONE] if has_documents else [out]
    given = recipe, lexicons, about, source, append
    with ExitStack() as writing:
        makers: list[_Maker] = []
        for k, folder in enumerate(folders):
            makers.append(_Maker(folder, *given, out if k else None, k == 1 and ahead, k == 0 and has_documents))
            writing.enter_context(makers[-1].writer)
        _make_all(makers, files, recipe, scheme)
        for maker in reversed(makers):  # a pack is complete once what lies in it is
            maker.writer.finish()
    return open_pack(out)


def _make_all(makers: Sequence[_Maker], files: Sequence[Path], recipe: Recipe, scheme: Scheme | None) -> None:
    with ThreadPoolExecutor(1) as worker:
        under_way: Future[None] | None = None
        for corpus in _blocks(files, recipe):
            if under_way is not None:
                under_way.result()
            under_way = worker.submit(_take, makers, corpus, scheme)
        if under_way is not None:
            under_way.result()


def merge_packs(folders: Sequence[Path], out: Path, *, append: bool = False) -> Pack:
    """Packs as one, with what lies in them."""
    packs = [open_pack(folder) for folder in folders]
    check_mergeable(packs, out)
    about = [one.manifest.about for one in packs]
    alone = [folder / ALONE for folder, one in zip(folders, about, strict=True) if one.get("has_documents") is True]
    if alone and len(alone) < len(packs):
        raise ValueError("Some of these packs have documents and others have not; packs that are merged need the same.")
    if alone:
        out.mkdir(parents=True, exist_ok=True)
        if not is_ahead(out / ALONE, out):
            merge(alone, out / ALONE, append=append)
    return merge(packs, out, append=append)


def _take(makers: Iterable[_Maker], corpus: Corpus, scheme: Scheme | None) -> None:
    labels = corpus.label_numbers if scheme is None else corpus.label_numbers.convert(scheme)
    for maker in makers:
        maker.take(corpus.tokens, labels.numbers, list(labels.tags))


class _Maker:
    """Makes features of blocks, with documents or without, and hands them to a writer."""

    def __init__(
        self,
        folder: Path,
        recipe: Recipe,
        lexicons: Lexicons,
        about: Mapping[str, Any],
        source: list[str],
        append: bool,
        around: Path | None,
        goes_on: bool,
        documents: bool,
    ) -> None:
        self.recipe, self.lexicons, self.documents, self.seen = recipe, lexicons, documents, 0
        self.writer = PackWriter(
            folder,
            new_manifest(recipe.n_features, about=about, source=source),
            append=append,
            goes_on=goes_on,
            shard_bytes=recipe.shard_bytes,
            vocabulary=Vocabulary() if recipe.n_features is None else None,
            seed=recipe.seed,
            around=around,
        )

    def take(self, tokens: Tokens, numbers: np.ndarray, tags: Sequence[str]) -> None:
        skipped = min(max(self.writer.done - self.seen, 0), len(tokens))
        self.seen += len(tokens)
        if skipped == len(tokens):
            return
        given = tokens if self.documents else tokens.apart()
        used = np.unique(numbers)
        table = np.zeros(int(used[-1]) + 1, dtype=np.int32)
        table[used] = self.writer.label_numbers([tags[k] for k in used.tolist()])
        X = extract(given, self.recipe.features, self.lexicons, self.recipe.n_features, growing=self.writer.vocabulary)
        labels = table[numbers]
        if skipped:
            labels, X = labels[X.offsets[skipped] :], X[skipped:]
        self.writer.add(Piece(X, labels, None))


def _blocks(files: Sequence[Path], recipe: Recipe) -> Iterator[Corpus]:
    like = None
    for path in files:
        for corpus in recipe.reader.read(path, like):
            like = corpus if like is None else like
            yield corpus if recipe.columns is None else corpus.keep_columns(recipe.columns)


def _learnt(files: Sequence[Path], recipe: Recipe, has_spans: bool) -> KnownWords:
    """What words are in all of the files, by a pass over them."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for corpus in _blocks(files, recipe):
        KnownWords.count(corpus, counts)
    return KnownWords.of_counts(counts, has_spans)


def train_pack(
    pack: Pack,
    tagger: Callable[[Pack], ChainTagger],
    *,
    memory: str | None = None,
    boost: float | Corpus = 0.0,
    kind: str = "tag",
    callbacks: Iterable[Any] = (),
) -> TagModel:
    """The model that the files of a pack give: as `model.train` of the corpus in memory.

    tagger  a SequenceTagger that is not fitted, for sentences of the pack
    boost   what the score of O is lowered by after training, or labelled data on which to choose it by F1
    """
    from casimir.solvers.checkpoint import Checkpoint, part_of

    text = PackedText.of(pack)
    packs = with_alone(pack, text)
    fitted: list[ChainTagger] = []
    boosts = [0.0, 0.0]
    for k, one in enumerate(packs):
        fresh = tagger(one)
        if k:
            fresh.checkpoint = part_of(Checkpoint.of(fresh.checkpoint), "alone")
        fresh.fit(one, memory=memory, callbacks=callbacks if k == 0 else ())
        if text.scheme is not None:
            judge = boost.tokens if isinstance(boost, Corpus) and k < len(packs) - 1 else None
            if isinstance(boost, Corpus):
                tokens = boost.tokens.apart() if judge is None else judge
                X = features_for(fresh.predictor_, tokens, text.features, text.lexicons)
                boosts[k] = best_boost(fresh.predictor_, X, boost.labels)
            else:
                boosts[k] = boost
        fresh.predictor_ = boosted(fresh.predictor_, boosts[k])
        fitted.append(fresh)
        if fresh.status_ == "interrupted":
            break
    return TagModel(
        given_tagger(fitted[0]),
        text.features,
        text.columns,
        text.scheme,
        text.file_scheme,
        text.layout,
        kind,
        given_tagger(fitted[1]) if len(fitted) > 1 else None,
        text.lexicons,
        (boosts[0], boosts[1]),
        text.width,
    )
