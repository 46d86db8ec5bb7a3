"""Structured prediction with smoothed inference, fast solvers and certified duality gaps."""

from typing import TYPE_CHECKING, Any

from casimir.costs import Hamming, IoU
from casimir.errors import BrokenCertificate, Diverged, Intractable
from casimir.features import PackedSequences, pack
from casimir.linearized import Linearized
from casimir.losses import FenchelYoung, Hinge, Log, SoftmaxMargin
from casimir.models import (
    LinearCandidateModel,
    LinearChainModel,
    LinearClassModel,
    LinearPartsModel,
    LinearTreeModel,
)
from casimir.objective import Objective
from casimir.penalties import ElasticNet, Ridge
from casimir.persistence.load import load
from casimir.scores import Scores
from casimir.smoothing import L2, Entropy, Hard, project_simplex
from casimir.solvers import (
    BCFW,
    LBFGS,
    SAGA,
    SDCA,
    SGD,
    SVRG,
    Casimir,
    ConcaveConvex,
    Constant,
    CuttingPlanes,
    DualProximal,
    ExcessiveGap,
    ExponentiatedGradient,
    GradientDescent,
    Inverse,
    InverseRoot,
    Pegasos,
    ProxLinear,
    Result,
    StepDecay,
    Trace,
    TraceRow,
    minimize,
)
from casimir.structures import (
    BoxSearch,
    BranchAndBound,
    Candidates,
    Chain,
    Enumerated,
    GraphCut,
    JunctionTree,
    Matching,
    Tree,
    bmmf,
)

if TYPE_CHECKING:
    from casimir.estimators import (
        GraphLabeler,
        GridLabeler,
        MultilabelClassifier,
        SequenceTagger,
        StructuredClassifier,
    )
    from casimir.tasks.tag.tagger import Tagger

__version__ = "0.1.0"

__all__ = [
    "BCFW",
    "L2",
    "LBFGS",
    "SAGA",
    "SDCA",
    "SGD",
    "SVRG",
    "BoxSearch",
    "BranchAndBound",
    "BrokenCertificate",
    "Candidates",
    "Casimir",
    "Chain",
    "ConcaveConvex",
    "Constant",
    "CuttingPlanes",
    "Diverged",
    "DualProximal",
    "ElasticNet",
    "Entropy",
    "Enumerated",
    "ExcessiveGap",
    "ExponentiatedGradient",
    "FenchelYoung",
    "GradientDescent",
    "GraphCut",
    "GraphLabeler",
    "GridLabeler",
    "Hamming",
    "Hard",
    "Hinge",
    "Intractable",
    "Inverse",
    "InverseRoot",
    "IoU",
    "JunctionTree",
    "LinearCandidateModel",
    "LinearChainModel",
    "LinearClassModel",
    "LinearPartsModel",
    "LinearTreeModel",
    "Linearized",
    "Log",
    "Matching",
    "MultilabelClassifier",
    "Objective",
    "PackedSequences",
    "Pegasos",
    "ProxLinear",
    "Result",
    "Ridge",
    "Scores",
    "SequenceTagger",
    "SoftmaxMargin",
    "StepDecay",
    "StructuredClassifier",
    "Tagger",
    "Trace",
    "TraceRow",
    "Tree",
    "bmmf",
    "load",
    "minimize",
    "pack",
    "project_simplex",
]

_ESTIMATORS = {"GraphLabeler", "GridLabeler", "MultilabelClassifier", "SequenceTagger", "StructuredClassifier"}


def __getattr__(name: str) -> Any:
    """The estimators are imported when one is first asked for: scikit-learn takes a second to load."""
    if name in _ESTIMATORS:
        from casimir import estimators

        globals()[name] = getattr(estimators, name)
        return globals()[name]
    if name == "Tagger":
        from casimir.tasks.tag.tagger import Tagger

        globals()[name] = Tagger
        return Tagger
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
