"""Words that are used alike get the same cluster, files of any form are read, and trees have proper paths."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import numpy as np
import pytest

from casimir.tasks.tag.clustering import Clustering, tree_paths
from casimir.tasks.tag.raw_text import read_sentences

GROUPS = {"det": ["the", "a", "this"], "noun": ["cat", "dog", "tree", "town"], "verb": ["sees", "has", "likes"]}


def made_up(n: int, seed: int = 0) -> list[list[str]]:
    rng = random.Random(seed)
    order = ("det", "noun", "verb", "det", "noun")
    return [[rng.choice(GROUPS[group]) for group in order] for _ in range(n)]


def test_words_that_are_used_alike_share_a_cluster() -> None:
    sentences = made_up(400)
    found = Clustering(n_clusters=3).learn(lambda: sentences)
    for words in GROUPS.values():
        assert len({found.of(word) for word in words}) == 1
    assert len(set(found.names.values())) == 3
    assert found.counts["cat"] == sum(words.count("cat") for words in sentences)


def test_the_same_text_and_seed_give_the_same_clusters_in_any_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = made_up(200)
    found = Clustering(n_clusters=4).learn(lambda: sentences)
    monkeypatch.setattr("casimir.tasks.tag.clustering._CHUNK", 50)
    assert Clustering(n_clusters=4).learn(lambda: sentences) == found


def test_progress_ends_with_all_words() -> None:
    told: list[tuple[int, int]] = []
    Clustering(n_clusters=2).learn(lambda: made_up(50), lambda done, total: told.append((done, total)))
    assert told[-1] == (250, 250)


def test_too_little_text_says_so() -> None:
    with pytest.raises(ValueError, match="0 words in at least 9 places"):
        Clustering(min_count=9).learn(lambda: [["a", "b"]])


@pytest.mark.parametrize("n", [1, 2, 5, 17])
def test_paths_name_the_leaves_of_a_binary_tree(n: int) -> None:
    paths = tree_paths(np.random.default_rng(n).normal(size=(n, 3)))
    assert len(set(paths)) == n
    assert n == 1 or sum(2.0 ** -len(path) for path in paths) == 1.0
    assert not any(a != b and b.startswith(a) for a in paths for b in paths)


def test_plain_packed_and_column_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Ada slept. Bob ran!\n\nYes\n")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"No more.\n"))
    (tmp_path / "c.conllu").write_text("# text = Hi all\n1\tHi\tx\n2\tall\tx\n\n1\t#\tx\n")
    plain = read_sentences([tmp_path / "a.txt", tmp_path / "b.txt.gz"])
    assert list(plain) == [["Ada", "slept", "."], ["Bob", "ran", "!"], ["Yes"], ["No", "more", "."]]
    assert list(read_sentences([tmp_path / "c.conllu"], word=2)) == [["Hi", "all"], ["#"]]
    with pytest.raises(ValueError, match="cannot read"):
        list(read_sentences([tmp_path / "none"]))
