"""Structured prediction with smoothed inference, fast solvers and certified duality gaps."""

from typing import TYPE_CHECKING, Any

from casimir.costs import Hamming, IoU
from casimir.errors import BrokenCertificate, Diverged, Intractable
from casimir.features import PackedSequences, pack
from casimir.linearized import Linearized
from casimir.losses import FenchelYoung, Hinge, Log, SoftmaxMargin
from casimir.models import LinearCandidateModel, LinearChainModel, LinearPartsModel, LinearTreeModel
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
    from casimir.estimators import SequenceTagger
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
    "LinearPartsModel",
    "LinearTreeModel",
    "Linearized",
    "Log",
    "Matching",
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


def __getattr__(name: str) -> Any:
    """Taggers are imported when they are first asked for: scikit-learn takes a second to load."""
    if name == "SequenceTagger":
        from casimir.estimators import SequenceTagger

        globals()[name] = SequenceTagger
        return SequenceTagger
    if name == "Tagger":
        from casimir.tasks.tag.tagger import Tagger

        globals()[name] = Tagger
        return Tagger
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
