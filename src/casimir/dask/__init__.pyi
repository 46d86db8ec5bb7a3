from .central import Central
from .optimize import minimize
from .pieces import Piece
from .sharded import Sharded
from .tagger import SequenceTagger

__all__ = ["Central", "Piece", "SequenceTagger", "Sharded", "minimize"]
