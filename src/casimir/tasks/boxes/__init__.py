"""Finding one object per image: tables of boxes, visual words of cells, box search, mean IoU and CorLoc."""

from casimir.tasks.boxes.features import VisualWords, describe, learn_words
from casimir.tasks.boxes.images import Image, format_boxes, images_of, read_images
from casimir.tasks.boxes.metrics import BoxScores, box_scores, centre_boxes, whole_images
from casimir.tasks.boxes.model import BoxesModel, train

__all__ = [
    "BoxScores",
    "BoxesModel",
    "Image",
    "VisualWords",
    "box_scores",
    "centre_boxes",
    "describe",
    "format_boxes",
    "images_of",
    "learn_words",
    "read_images",
    "train",
    "whole_images",
]
