"""A sequence tagger in the style of scikit-learn."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from casimir.estimators.chain_tagger import ChainTagger, TaggerCallback
from casimir.estimators.nested import NestedParameters

__all__ = ["SequenceTagger", "TaggerCallback"]


class SequenceTagger(NestedParameters, BaseEstimator, ChainTagger):  # type: ignore[misc]
    """min_w (1/n) sum_i loss_i(w) + (lam/2) |w|^2 over linear chains, solved to a certified relative gap of `tol`.

    lam           None is 5/n, and 3/n with loss="crf"; n is the number of training sentences, or the sum of their
                  weights. A number is used as it is. Think of it in units of 1/n: 0.3/n fits the data more closely,
                  30/n less. "auto" tries several and takes the one whose model scores best on the dev set of `fit`, or
                  in 3 folds (see `path`)
    loss          "hinge" (structural SVM with Hamming cost) or "crf" (negative log-likelihood)
    solver        "auto", "bcfw", "casimir", "cuts", "dual", "eg", "excessive-gap", "lbfgs", "saga", "sdca", "sgd",
                  "svrg", or a solver such as BCFW()
    tol           stop once (objective - lower bound) / objective is at most this
    random_state  int, None, numpy Generator or RandomState: the order in which examples are visited
    max_epochs    stop after this many epochs, with a ConvergenceWarning
    n_features    hash buckets for features, or None to number each feature exactly; sequences that are packed already
                  keep their own
    l1_ratio      share of lam that goes to sum |w_j| instead of |w|^2 / 2, from 0 to 1; it makes many weights 0
    class_weight  {label: weight}, or "balanced" for tokens / (L times tokens of that label): what a mistake at such a
                  token costs (hinge), or, averaged over a sentence, how much the sentence counts (crf)
    label_costs   what mistakes cost under the hinge loss: {(true, predicted): cost} with "*" for any label, 1 for pairs
                  that are not in it; or an array [L, L] in the order of classes_; or "recall", {("*", "O"): 3}
    constraints   which label sequences are valid, in training and in predictions; None: all. "auto" finds IOB1, IOB2 or
                  IOBES in the labels and leaves out, with a warning, what they break; "IOB2" and the like ask for one;
                  or an array bool[L, L] (from, to) in the order of classes_; or pairs (from, to) of labels that must
                  not follow one another, with None for the start or the end of a sentence
    min_frequency leave out features that fewer tokens have; of hashed features it is the bucket that is counted
    scoring       what lam="auto" and the dev set of `fit` are judged by: a name such as "entity_f1" or "flat_accuracy",
                  or a scorer of scikit-learn's; None: the F1 of entities where labels are IOB*, else the share of right
                  tokens
    patience      with a dev set: end the training after this many evaluated epochs without a better score there
    warm_start    True: another `fit` begins at the weights of the last one, in new features and labels too. "auto" and
                  "dual" have them as their first centre, which saves little; "bcfw", "sdca" and "eg" cannot
    keep_names    keep the names of hashed features, for `top_features`; costs memory and a slower packing
    checkpoint    a `Checkpoint`, or its folder: a `fit` on the same data that was interrupted goes on
                  from there (see `minimize`)
    n_jobs        threads; None or -1 is CASIMIR_NUM_THREADS or all CPUs, -2 one less, and so on
    verbose       show progress on stderr

    After `fit`: classes_ object[L]; objective_, dual_ (no weights have a lower objective), gap_ (their relative
    difference); trace_, a row per evaluated epoch; status_, lam_, solver_; coef_ float64[n_features, L], transitions_
    float64[L, L] (from, to), start_ and stop_ float64[L]. With a dev set dev_scores_, one per row of trace_, and
    best_epoch_, whose weights are kept: objective_ and gap_ are theirs. With lam="auto" path_, a `RegularizationPath`.
    temperature_ of the probabilities is 1 until `calibrate`.

    >>> X, y = [["the", "cat"], ["the", "dog"]], [["D", "N"], ["D", "N"]]
    >>> tokens = [[{"word": word} for word in sentence] for sentence in X]
    >>> SequenceTagger(n_features=None).fit(tokens, y).predict(tokens[:1])
    [['D', 'N']]
    """

    @classmethod
    def of(cls, tagger: ChainTagger) -> SequenceTagger:
        """The estimator that has learned what another tagger has."""
        estimator = cls(**tagger.get_params(deep=False))
        estimator.__dict__.update(tagger.__dict__)
        return estimator

    def __sklearn_tags__(self) -> Any:
        """Lists of sentences in, lists of label lists out: no arrays, and nothing works without labels."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.two_d_array, tags.input_tags.dict, tags.input_tags.string = False, True, True
        tags.no_validation = True
        return tags
