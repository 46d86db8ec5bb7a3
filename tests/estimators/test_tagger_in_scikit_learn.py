"""SequenceTagger among scikit-learn's tools: tags, nested parameters, predictions of folds, and its checks.

`check_estimator` feeds matrices, which are no sentences. `RowTagger` reads a row as a sentence of one token, so that
the checks can be asked; docs/estimators.md tells why the others do not apply.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.utils import estimator_checks, get_tags

import casimir as cs

LABELS = {"the": "D", "a": "D", "cat": "N", "dog": "N", "sees": "V", "likes": "V"}
RNG = np.random.default_rng(0)
WORDS = [RNG.choice(list(LABELS), size=int(RNG.integers(2, 6))).tolist() for _ in range(40)]
X = [[{"word": word} for word in words] for words in WORDS]
Y = [[LABELS[word] for word in words] for words in WORDS]

# Asked of the tagger itself: they need no training data, or look at no more than its form.
OWN = [
    "check_estimator_cloneable",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_estimators_unfitted",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_mixin_order",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
]
# Asked of rows as sentences of one token.
OF_ROWS = [
    "check_fit_score_takes_y",
    "check_estimators_overwrite_params",
    "check_dont_overwrite_parameters",
    "check_estimators_fit_returns_self",
    "check_readonly_memmap_input",
    "check_positive_only_tag_during_fit",
    "check_estimators_dtypes",
    "check_sample_weights_list",
    "check_sample_weights_shape",
    "check_sample_weights_not_overwritten",
    "check_all_zero_sample_weights_error",
    "check_sample_weight_equivalence_on_dense_data",
    "check_pipeline_consistency",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_fit2d_1sample",
    "check_fit2d_1feature",
    "check_dict_unchanged",
    "check_fit_idempotent",
    "check_fit_check_is_fitted",
]


class RowTagger(cs.SequenceTagger):
    """Matrices as sentences of one token, whose features are the columns."""

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> RowTagger:
        return super().fit(sentences(X), [[label] for label in y], sample_weight=sample_weight)

    def partial_fit(self, X: Any, y: Any) -> RowTagger:
        return super().partial_fit(sentences(X), [[label] for label in y])

    def predict(self, X: Any) -> Any:
        self._fitted()
        return np.array([labels[0] for labels in super().predict(sentences(X))])

    def predict_marginals(self, X: Any) -> Any:
        self._fitted()
        return np.array([p[0] for p in super().predict_marginals(sentences(X))])

    def predict_topk(self, X: Any, k: int) -> Any:
        raise AttributeError

    def score(self, X: Any, y: Any) -> float:
        return super().score(sentences(X), [[label] for label in y])


def sentences(X: Any) -> list[list[dict[str, float]]]:
    return [[{f"x{j}": float(value) for j, value in enumerate(row)}] for row in np.asarray(X)]


@pytest.mark.parametrize("name", OWN)
def test_checks_of_the_tagger_itself(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(estimator_checks, name)("SequenceTagger", cs.SequenceTagger())


@pytest.mark.parametrize("loss", ["hinge", "crf"])
@pytest.mark.parametrize("name", [name for name in OF_ROWS if hasattr(estimator_checks, name)])  # 1.6 lacks one
def test_checks_of_rows_as_sentences(name: str, loss: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(estimator_checks, name)("RowTagger", RowTagger(loss=loss, n_features=64))


def test_check_estimator_knows_that_it_cannot_ask() -> None:
    with pytest.warns(Warning, match="Can't test estimator SequenceTagger"):
        results = estimator_checks.check_estimator(cs.SequenceTagger())
    assert [(r["check_name"], r["status"]) for r in results] == [("check_estimator_cloneable", "passed")]


def test_tags_tell_what_goes_in() -> None:
    tags = get_tags(cs.SequenceTagger())
    assert tags.target_tags.required
    assert tags.input_tags.dict
    assert not tags.input_tags.two_d_array


def test_predictions_of_folds_are_label_lists() -> None:
    found = cross_val_predict(cs.SequenceTagger(n_features=2**10), X, Y, cv=4)
    assert found.dtype == object
    assert [len(labels) for labels in found] == [len(labels) for labels in Y]
    assert np.mean([a == b for a, b in zip(found, Y, strict=True)]) > 0.8


def test_predictions_are_lists_as_ever() -> None:
    found = cs.SequenceTagger(n_features=2**10).fit(X, Y).predict(X)
    assert isinstance(found, list)
    assert all(type(labels) is list for labels in found)
    assert np.asarray(found).shape == (len(Y),)


def test_grids_reach_into_solver_objects() -> None:
    grid = GridSearchCV(
        cs.SequenceTagger(solver=cs.SDCA(), loss="crf", n_features=2**10), {"solver__light_passes": [0, 1]}, cv=2
    )
    assert grid.fit(X, Y).best_params_["solver__light_passes"] in (0, 1)


def test_nested_parameters_make_new_objects() -> None:
    solver = cs.DualProximal(inner=cs.BCFW(pairwise=True))
    tagger = cs.SequenceTagger(solver=solver)
    copied = clone(tagger).set_params(solver__inner__steps=7, solver__kappa=0.5)
    assert copied.solver == cs.DualProximal(inner=cs.BCFW(pairwise=True, steps=7), kappa=0.5)
    assert tagger.solver is solver
    assert solver.inner == cs.BCFW(pairwise=True)
    assert tagger.set_params(solver=cs.SDCA(), solver__light_passes=3).solver == cs.SDCA(light_passes=3)
    with pytest.raises(ValueError, match="which has no parameter 'steps'"):
        tagger.set_params(solver__steps=3)
    with pytest.raises(ValueError, match="has no parameters of its own"):
        tagger.set_params(solver__memory__bytes=3)
