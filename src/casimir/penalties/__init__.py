"""Penalties: what is added to the mean loss, and which weights are allowed."""

from casimir.penalties.base import Penalty, Quadratic, as_penalty, nearest_allowed, require
from casimir.penalties.elastic_net import ElasticNet
from casimir.penalties.proximal import Proximal
from casimir.penalties.ridge import Ridge

__all__ = ["ElasticNet", "Penalty", "Proximal", "Quadratic", "Ridge", "as_penalty", "nearest_allowed", "require"]
