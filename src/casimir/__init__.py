"""Structured prediction with smoothed inference, fast solvers and certified duality gaps."""

from typing import TYPE_CHECKING, Any

from casimir.costs import Hamming, IoU
from casimir.errors import Intractable
from casimir.features import PackedSequences, pack
from casimir.loading import load
from casimir.models import LinearCandidateModel, LinearChainModel, LinearPartsModel
from casimir.objective import Objective
from casimir.scores import Scores
from casimir.smoothing import L2, Entropy, Hard, project_simplex
from casimir.solvers import (
    BCFW,
    LBFGS,
    SGD,
    SVRG,
    Casimir,
    Constant,
    Inverse,
    InverseRoot,
    Pegasos,
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
    Tree,
)
