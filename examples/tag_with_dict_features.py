"""A place-name tagger from dict features, as sklearn-crfsuite users write them.

    python examples/tag_with_dict_features.py

Trains on the embedded news corpus, prints entity F1 on its held-out part, the runners-up of one sentence and the
strongest weights, and saves the tagger to a folder.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import casimir as cs
from casimir.datasets import load_news
from casimir.tasks.ner import entity_scores, read_conll


def features(words: tuple[str, ...], i: int) -> dict[str, str | bool]:
    """What a token looks like: a dict of strings and booleans (numbers would do as well)."""
    word = words[i]
    token: dict[str, str | bool] = {
        "word": word.lower(),
        "suffix": word[-3:].lower(),
        "title": word.istitle(),
        "capitals": word.isupper(),
        "before": words[i - 1].lower() if i else "<s>",
        "after": words[i + 1].lower() if i + 1 < len(words) else "</s>",
    }
    return token


def main() -> None:
    train, held_out = (read_conll(path) for path in (load_news().train, load_news().heldout))
    X, X_test = ([[features(s.words, i) for i in range(len(s))] for s in c.sentences] for c in (train, held_out))

    tagger = cs.SequenceTagger(n_features=None)  # None: number the features, so that their names can be read back
    tagger.fit(X, train.labels)
    print(f"objective {tagger.objective_:.4f}, certified to lie within {tagger.gap_:.1%} of the smallest possible")
    print(entity_scores(held_out.labels, tagger.predict(X_test)))

    print("\nThe three best readings of:", " ".join(held_out.sentences[0].words))
    for labels, score in tagger.predict_topk(X_test[:1], 3)[0]:
        print(f"  {score:7.3f}  {' '.join(labels)}")

    vocabulary = tagger.predictor_.vocabulary
    column = tagger.coef_[:, list(tagger.classes_).index("B-LOC")]
    print("\nWhat speaks most for the start of a place name:")
    for j in np.argsort(-column)[:5]:
        print(f"  {column[j]:+.3f}  {vocabulary[j]}")

    with tempfile.TemporaryDirectory() as folder:
        tagger.save(Path(folder) / "places")
        again = cs.load(Path(folder) / "places")
        assert again.predict(X_test) == tagger.predict(X_test)


if __name__ == "__main__":
    main()
