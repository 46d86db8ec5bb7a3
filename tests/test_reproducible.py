"""What docs/solvers.md promises under "What is reproducible"."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import casimir as cs
from casimir._native import isa_level

RNG = np.random.default_rng(0)
X = [
    [{f"f{RNG.integers(40)}": float(RNG.normal()) for _ in range(4)} for _ in range(RNG.integers(1, 8))]
    for _ in range(60)
]
Y = [[str(RNG.integers(3)) for _ in tokens] for tokens in X]


SOLVERS = ["auto", cs.SGD(), cs.SVRG(), cs.LBFGS(), cs.Casimir()]


@pytest.mark.parametrize("loss", ["hinge", "crf"])
@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: type(solver).__name__)
@pytest.mark.filterwarnings("ignore:Training ended")
def test_every_bit_is_the_same_on_any_number_of_threads(solver: object, loss: str) -> None:
    if isinstance(solver, cs.LBFGS | cs.SVRG) and loss == "hinge":
        loss = "crf"  # they need a smooth loss
    fits = [
        cs.SequenceTagger(solver=solver, loss=loss, max_epochs=7, tol=0.0, n_jobs=threads, n_features=64).fit(X, Y)
        for threads in (1, 5)
    ]
    one, many = fits
    np.testing.assert_array_equal(one.predictor_.w, many.predictor_.w)
    assert (one.objective_, one.dual_, one.gap_) == (many.objective_, many.dual_, many.gap_)
    assert one.predict(X) == many.predict(X)


LEVELS = [level for level in ("v1", "v3", "v4") if list(Path(cs.__file__).parent.glob(f"_core_{level}*"))]
FIT = """
import casimir as cs, json, sys
sys.path.insert(0, {folder!r})
from test_reproducible import X, Y
t = cs.SequenceTagger(tol=1e-3, max_epochs=500, n_features=64).fit(X, Y)
print(json.dumps([t.objective_, t.dual_, t.gap_]))
"""


@pytest.mark.skipif(len(LEVELS) < 2, reason="the core is built for one level only")
def test_levels_agree_within_their_certificates() -> None:
    found = []
    for level in LEVELS[: 1 + LEVELS.index(isa_level)]:
        code = FIT.format(folder=str(Path(__file__).parent))
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "CASIMIR_ISA": level},
            capture_output=True,
            text=True,
            check=True,
        )
        found.append([float(number) for number in done.stdout.strip("[]\n").split(",")])
    for objective, _, gap in found:
        assert gap <= 1e-3
        for _, dual, _ in found:
            assert dual <= objective
