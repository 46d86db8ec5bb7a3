"""Features of a node of an unlabelled dependency tree: its word, its head, where it stands, what hangs below it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from casimir.tasks.deprel.conllu import DependencyTree

NO_WORD = "<none>"
FEATURES_VERSION = 1
"""Models record it: weights belong to the feature names of one version."""
_FUNCTION_WORDS = frozenset({"ADP", "SCONJ", "AUX", "PART", "CCONJ", "PRON"})
_FAR = 5  # words; distances beyond count as this


def iter_features(trees: Iterable[DependencyTree]) -> Iterator[list[list[str]]]:
    """Per tree, the feature names of every node, as `pack` takes them."""
    return (tree_features(tree) for tree in trees)


def tree_features(tree: DependencyTree) -> list[list[str]]:
    words = [word.lower() for word in tree.words]
    children: list[list[int]] = [[] for _ in words]
    for v, above in enumerate(tree.parents):
        if above >= 0:
            children[above].append(v)
    return [_node_features(tree, words, children, v) for v in range(len(words))]


def _node_features(tree: DependencyTree, words: list[str], children: list[list[int]], v: int) -> list[str]:
    upos, xpos, h = tree.upos, tree.xpos, tree.parents[v]
    word, pos, tag = words[v], upos[v], xpos[v]
    head_word, head_pos, head_tag = (words[h], upos[h], xpos[h]) if h >= 0 else (NO_WORD, NO_WORD, NO_WORD)
    side = "root" if h < 0 else "left" if v < h else "right"
    distance = min(abs(v - h), _FAR) if h >= 0 else 0
    before, after = upos[v - 1] if v > 0 else NO_WORD, upos[v + 1] if v + 1 < len(words) else NO_WORD
    siblings = children[h] if h >= 0 else []
    return [
        "bias",
        f"w={word}",
        f"p={pos}",
        f"t={tag}",
        f"s3={word[-3:]}",
        f"s2={word[-2:]}",
        f"m={tree.feats[v]}",
        f"hw={head_word}",
        f"hp={head_pos}",
        f"ht={head_tag}",
        f"side={side}",
        f"side,d={side},{distance}",
        f"p,hp,side={pos},{head_pos},{side}",
        f"p,hp,side,d={pos},{head_pos},{side},{distance}",
        f"t,ht,side={tag},{head_tag},{side}",
        f"w,hp,side={word},{head_pos},{side}",
        f"w,hw={word},{head_word}",
        f"p,hw,side={pos},{head_word},{side}",
        f"p,side,b={pos},{side},{before}",
        f"p,side,a={pos},{side},{after}",
        f"p,hp,first={pos},{head_pos},{side},{not siblings or v == siblings[0]},{not siblings or v == siblings[-1]}",
        *(f"c,p,hp={words[c]},{pos},{head_pos},{side}" for c in children[v] if upos[c] in _FUNCTION_WORDS),
        *(f"cp,p,side={upos[c]},{pos},{side},{'left' if c < v else 'right'}" for c in children[v]),
        f"n={min(len(children[v]), 4)},{pos},{side}",
    ]
