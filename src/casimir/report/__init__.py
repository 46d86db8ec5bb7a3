"""A report on a tagger as one HTML page that needs no network."""

from casimir.report.data import Curve, ReportData, SentenceView
from casimir.report.page import Report

__all__ = ["Curve", "Report", "ReportData", "SentenceView"]
