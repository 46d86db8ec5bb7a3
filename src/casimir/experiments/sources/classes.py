"""Made-up classes whose constants are known, up to 100,000 examples, for rates of convergence.

Inputs x_i are Gaussian with a spectrum that falls like 1/sqrt(j), scaled to length 1; labels are those of noisy linear
scores. An example is a tree of one node, which trains natively and keeps no features but x_i. So for every n

    a_iy = (e_y - e_{y_i}) x_i^T,   |a_iy|^2 = 2,   the largest singular value of all a_iy, squared, is CLASSES

Sources share their inputs: the examples of a smaller one are the first of a larger one.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from casimir.costs import Hamming
from casimir.experiments.base import Data, Places, Source
from casimir.features import PackedSequences
from casimir.losses import Hinge
from casimir.models.linear_tree import LinearTreeModel
from casimir.objective import Objective
from casimir.penalties import Ridge
from casimir.scores import FloatArray, IntArray
from casimir.structures.tree import Tree

CLASSES, DIMENSION = 4, 32
_NOISE = 0.2  # of labels, relative to the scores

LONGEST = 2.0  # R^2 = max |a_iy|^2, which is A of the entropy
A_L2 = float(CLASSES)  # A of the squares; a_omega knows an upper bound, CLASSES * R^2
D_L2, D_ENTROPY = 0.5, math.log(CLASSES)


def draw(n: int) -> tuple[FloatArray, IntArray]:
    """float64[n, DIMENSION] of length 1, int64[n]"""
    weights = np.random.default_rng(0).normal(size=(CLASSES, DIMENSION))
    x = np.random.default_rng(1).normal(size=(n, DIMENSION)) / np.sqrt(np.arange(1, DIMENSION + 1))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    noise = np.random.default_rng(2).gumbel(size=(n, CLASSES))
    return x, np.argmax(x @ weights.T + _NOISE * noise, axis=1)


def _load(places: Places, n: int) -> Data:
    x, y = draw(n)
    columns = np.tile(np.arange(DIMENSION, dtype=np.uint32), n)
    rows = PackedSequences(np.arange(n + 1), np.arange(n + 1) * DIMENSION, columns, x.ravel(), DIMENSION)
    trees = Tree([np.array([-1])] * n, CLASSES)
    truth = [np.array([label]) for label in y]
    hinge = Hinge(Hamming())
    return Data(Objective(LinearTreeModel(rows, CLASSES), trees, hinge, truth, Ridge(1.0), n_threads=1))


def classes(n: int) -> Source:
    small = None if n <= 300 else Source("classes-300", partial(_load, n=300))
    return Source(f"classes-{n}", partial(_load, n=n), small=small)
