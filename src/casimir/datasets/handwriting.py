"""Made-up handwriting: words as rows of small binary letter images, for reading by a chain.

Every letter is drawn by code in a 5 x 7 alphabet, bent, slanted, made bolder or thinner, moved and speckled into 16 x 8
pixels. One letter alone is often hard to tell from another; words come from a short list, so that neighbours help.
Deterministic: word k of a seed is always the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["WordImage", "make_words"]

HEIGHT, WIDTH = 16, 8
N_FOLDS = 5
_SPECKS = 0.09  # share of the pixels that are flipped

_LIST = """
    and the that with from this have when then than them there where these those other another mother brother
    water letter better butter matter winter summer number under wonder order reading writing drawing morning
    evening nothing something singing quick jump fox lazy dog box mix zone size crazy prize vivid queen quiet
    question picture nature future measure treasure pleasure knight night light right eight bright"""
_WORDS = tuple(_LIST.split())

# Rows from top to bottom, 5 columns each.
_ALPHABET = {
    "a": "..... ..... .###. ....# .#### #...# .####",
    "b": "#.... #.... ####. #...# #...# #...# ####.",
    "c": "..... ..... .###. #...# #.... #...# .###.",
    "d": "....# ....# .#### #...# #...# #...# .####",
    "e": "..... ..... .###. #...# ##### #.... .###.",
    "f": "..##. .#..# .#... ###.. .#... .#... .#...",
    "g": "..... .#### #...# #...# .#### ....# .###.",
    "h": "#.... #.... ####. #...# #...# #...# #...#",
    "i": "..#.. ..... .##.. ..#.. ..#.. ..#.. .###.",
    "j": "...#. ..... ..##. ...#. ...#. #..#. .##..",
    "k": "#.... #.... #..#. #.#.. ##... #.#.. #..#.",
    "l": ".##.. ..#.. ..#.. ..#.. ..#.. ..#.. .###.",
    "m": "..... ..... ##.#. #.#.# #.#.# #.#.# #.#.#",
    "n": "..... ..... ####. #...# #...# #...# #...#",
    "o": "..... ..... .###. #...# #...# #...# .###.",
    "p": "..... ####. #...# #...# ####. #.... #....",
    "q": "..... .#### #...# #...# .#### ....# ....#",
    "r": "..... ..... #.##. ##..# #.... #.... #....",
    "s": "..... ..... .#### #.... .###. ....# ####.",
    "t": ".#... .#... ####. .#... .#... .#..# ..##.",
    "u": "..... ..... #...# #...# #...# #...# .####",
    "v": "..... ..... #...# #...# #...# .#.#. ..#..",
    "w": "..... ..... #...# #...# #.#.# #.#.# .#.#.",
    "x": "..... ..... #...# .#.#. ..#.. .#.#. #...#",
    "y": "..... #...# #...# .#### ....# #...# .###.",
    "z": "..... ..... ##### ...#. ..#.. .#... #####",
}


@dataclass(frozen=True, eq=False)
class WordImage:
    """text    the word
    pixels  bool[len(text), 16, 8], True where there is ink
    fold    0 to 4, for splits
    """

    text: str
    pixels: npt.NDArray[np.bool_]
    fold: int


def make_words(n: int = 400, seed: int = 0) -> list[WordImage]:
    """n words in N_FOLDS folds."""
    return [_word(np.random.default_rng([seed, k]), k % N_FOLDS) for k in range(n)]


def _word(rng: np.random.Generator, fold: int) -> WordImage:
    text = _WORDS[rng.integers(len(_WORDS))]
    slant, bold = rng.normal(0.0, 0.15), rng.uniform(0.35, 0.6)  # of one hand
    return WordImage(text, np.stack([_letter(rng, letter, slant, bold) for letter in text]), fold)


def _letter(rng: np.random.Generator, letter: str, slant: float, bold: float) -> npt.NDArray[np.bool_]:
    """The strokes of a letter seen through a random affine map; ink is where the strokes' blur exceeds a level."""
    glyph = np.array([[c == "#" for c in row] for row in _ALPHABET[letter].split()], dtype=float)
    rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH].astype(float)
    v = (rows - HEIGHT / 2 + 0.5 - rng.normal(0.0, 0.8)) / (2.1 * rng.uniform(0.85, 1.15))
    u = (columns - WIDTH / 2 + 0.5 - rng.normal(0.0, 0.5)) / (1.5 * rng.uniform(0.85, 1.15))
    u = u + (slant + rng.normal(0.0, 0.08)) * v + 0.3 * np.sin(0.9 * v + rng.uniform(0.0, 2 * np.pi))
    cells = np.argwhere(glyph > 0) - np.array([3.0, 2.0])
    distance = (v[..., None] - cells[:, 0]) ** 2 + (u[..., None] - cells[:, 1]) ** 2
    ink = distance.min(axis=-1) < bold
    return np.asarray(ink ^ (rng.random(ink.shape) < _SPECKS))
