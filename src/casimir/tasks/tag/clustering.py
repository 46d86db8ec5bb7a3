"""Clusters of words that are used alike, learnt from text without labels.

Words with the same neighbours get the same cluster: for every word, how much more often than by chance each frequent
word stands right before or after it,

    x[w, c] = max(0, log p(w, c) / (p(w) q(c))),      q(c) ~ count(c)^0.75,

then the first singular vectors of x, k-means on their directions, and a binary tree over the clusters (Ward's), whose
paths are the clusters' names: words whose paths begin alike are used more alike, as in Brown clusters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import linkage, to_tree
from scipy.sparse import coo_array, csr_array
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils.extmath import randomized_svd

from casimir.scores import FloatArray, IntArray
from casimir.tasks.tag.clusters import Clusters, plain
from casimir.tasks.text import numbered

Progress = Callable[[int, int], None]
_SMOOTHED = 0.75  # rare contexts would look too telling
_CHUNK = 200_000  # words whose contexts are counted at a time


@dataclass(frozen=True)
class Clustering:
    """How clusters are learnt.

    n_clusters   at most; fewer where there are few words
    min_count    rarer words get no cluster
    max_words    the most frequent ones get one
    n_contexts   frequent words that are looked for before and after a word
    dimensions   singular vectors
    """

    n_clusters: int = 256
    min_count: int = 2
    max_words: int = 100_000
    n_contexts: int = 2000
    dimensions: int = 64
    seed: int = 0

    def learn(
        self, sentences: Callable[[], Iterable[Sequence[str]]], progress: Progress = lambda done, total: None
    ) -> Clusters:
        """Clusters of the words of `sentences()`, which is called twice, so that text need not fit into memory.

        progress is called in the second round, with the words read so far and those to read.
        """
        counts: Counter[str] = Counter()
        for words in sentences():
            counts.update(map(plain, words))
        kept = [(word, n) for word, n in counts.most_common(self.max_words) if n >= self.min_count]
        if len(kept) < 2:
            raise ValueError(
                f"The text has {numbered(len(kept), 'words')} in at least {numbered(self.min_count, 'places')}; "
                "clusters need 2. Give more text, or a smaller --min-count."
            )
        number = {word: k for k, (word, _) in enumerate(kept)}
        chunks = _told(_chunks(sentences(), number), counts.total(), progress)
        vectors = self._vectors(self._contexts(chunks, len(number)))
        n_clusters = min(self.n_clusters, len(kept))
        means = MiniBatchKMeans(n_clusters, random_state=self.seed, n_init=3, batch_size=4096).fit(vectors)
        paths = tree_paths(means.cluster_centers_)
        return Clusters({word: paths[k] for (word, _), k in zip(kept, means.labels_, strict=True)}, dict(kept))

    def _contexts(self, chunks: Iterable[IntArray], n_words: int) -> csr_array[Any, Any]:
        """counts float64[words, 2 (contexts + 2)]: what stands before, then what stands after."""
        width = self.n_contexts + 2
        total = csr_array((n_words, 2 * width), dtype=np.float64)
        for stream in chunks:
            context = np.minimum(stream, self.n_contexts)  # rarer words are one context
            context[stream < 0] = self.n_contexts + 1  # so are ends of sentences
            pairs = [(stream[1:], context[:-1]), (stream[:-1], context[1:] + width)]
            rows, columns = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
            known = (rows >= 0) & (rows < n_words)
            place = (rows[known], columns[known])
            total = total + coo_array((np.ones(len(place[0])), place), shape=total.shape).tocsr()
        return total

    def _vectors(self, counts: csr_array[Any, Any]) -> FloatArray:
        """float64[words, dimensions], of length 1."""
        before = np.asarray(counts.sum(axis=1)).ravel()
        smooth = np.asarray(counts.sum(axis=0)).ravel() ** _SMOOTHED
        x = counts.tocoo()
        expected = before[x.row] * (smooth / smooth.sum())[x.col]
        x.data = np.maximum(np.log(x.data / expected), 0.0)
        size = min(self.dimensions, min(x.shape) - 1)
        u, s, _ = randomized_svd(x.tocsr(), size, random_state=self.seed)
        scaled = u * np.sqrt(s)
        found: FloatArray = scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), 1e-12)
        return found


def _chunks(sentences: Iterable[Sequence[str]], number: dict[str, int]) -> Iterator[IntArray]:
    """Numbers of words one after another, -1 between sentences, words without one as the number of words."""
    found: list[int] = [-1]
    for words in sentences:
        found += [number.get(plain(word), len(number)) for word in words]
        found.append(-1)
        if len(found) > _CHUNK:
            yield np.array(found, dtype=np.int64)
            found = [-1]
    yield np.array(found, dtype=np.int64)


def _told(chunks: Iterable[IntArray], total: int, progress: Progress) -> Iterator[IntArray]:
    done = 0
    for chunk in chunks:
        yield chunk
        done += int(np.count_nonzero(chunk >= 0))
        progress(done, total)


def tree_paths(centers: FloatArray) -> list[str]:
    """For every cluster its path in a binary tree over all of them: "0110"."""
    if len(centers) == 1:
        return ["0"]
    paths = [""] * len(centers)
    todo = [(to_tree(linkage(centers, "ward")), "")]
    while todo:
        node, path = todo.pop()
        if node.is_leaf():
            paths[node.id] = path
        else:
            todo += [(node.left, path + "0"), (node.right, path + "1")]
    return paths
