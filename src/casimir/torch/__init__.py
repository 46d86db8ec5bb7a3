"""PyTorch modules as score models, and structured losses for ordinary torch training.

    TorchModel       any nn.Module that returns scores, as a model of Objective and its solvers
    StructuredLoss   the smoothed structural hinge or the CRF loss as an nn.Module, with decode, topk and marginals

Only this package imports torch: pip install "casimir[torch]".
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        f'casimir.torch needs PyTorch ({error}). Install it with: pip install "casimir[torch]"', name="torch"
    ) from error

from casimir.torch.loss import StructuredLoss, TopOutputs
from casimir.torch.marginals import Marginals
from casimir.torch.model import TorchModel
from casimir.torch.parameters import load_vector, to_vector

__all__ = ["Marginals", "StructuredLoss", "TopOutputs", "TorchModel", "load_vector", "to_vector"]
