"""Foreground and background of pictures: superpixels, learned features and a graph cut over them."""

from casimir.tasks.opencv import write_image
from casimir.tasks.segment.metrics import SegmentScores, segment_scores
from casimir.tasks.segment.pictures import Picture, image_files, read_folder, read_image, read_mask

__all__ = [
    "Picture",
    "SegmentScores",
    "image_files",
    "read_folder",
    "read_image",
    "read_mask",
    "segment_scores",
    "write_image",
]
