"""Finding the object of a class in pictures: VOC folders, selective search, AlexNet features, CorLoc and AP."""

from casimir.tasks.localize.alexnet import AlexNet
from casimir.tasks.localize.candidates import CandidateSet
from casimir.tasks.localize.descriptors import Descriptor
from casimir.tasks.localize.handmade import HandMade
from casimir.tasks.localize.metrics import ClassScores, LocalizeScores, average_precision, baselines, localize_scores
from casimir.tasks.localize.model import Found, LocalizeModel, train
from casimir.tasks.localize.pictures import Picture, pictures_of
from casimir.tasks.localize.scores import EluCandidateModel, EluScore, LinearScore
from casimir.tasks.localize.several import ClassModels, train_classes
from casimir.tasks.localize.solvers import solver_for
from casimir.tasks.localize.store import collect
from casimir.tasks.localize.tables import format_found, read_pictures
from casimir.tasks.localize.voc import read_voc

__all__ = [
    "AlexNet",
    "CandidateSet",
    "ClassModels",
    "ClassScores",
    "Descriptor",
    "EluCandidateModel",
    "EluScore",
    "Found",
    "HandMade",
    "LinearScore",
    "LocalizeModel",
    "LocalizeScores",
    "Picture",
    "average_precision",
    "baselines",
    "collect",
    "format_found",
    "localize_scores",
    "pictures_of",
    "read_pictures",
    "read_voc",
    "solver_for",
    "train",
    "train_classes",
]
