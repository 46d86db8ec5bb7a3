"""What a pack of text says of how its features were made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from casimir.metrics.schemes import Scheme
from casimir.packs import Pack, open_pack
from casimir.tasks.tag.columns import Layout
from casimir.tasks.tag.lexicons import Lexicons
from casimir.tasks.tag.model import FEATURES_VERSION, OWN_TEMPLATES, features_of_meta
from casimir.tasks.tag.templates.template_set import TemplateSet

ALONE = "alone"  # the folder in a pack with the features of the same sentences without their documents
_TASK = "tag"


@dataclass(frozen=True)
class PackedText:
    """features       the templates
    lexicons       clusters, gazetteers, what words were in the files
    columns        besides word and label
    scheme         of the labels in the pack; None: they write no spans
    file_scheme    of the labels in the files
    layout         where word and label stood
    width          how many columns the files had; None: they had no columns
    has_documents  whether there is a pack of sentences without their documents in it
    """

    features: TemplateSet
    lexicons: Lexicons
    columns: tuple[str, ...]
    scheme: Scheme | None
    file_scheme: Scheme | None
    layout: Layout
    width: int | None
    has_documents: bool

    def to_meta(self) -> dict[str, Any]:
        """As `pack.json` holds it, under "about"."""
        templates, own = self.features, {}
        if templates.is_own:
            own = {"templates": {"text": templates.text, "name": templates.name}}
        return {
            "task": _TASK,
            "features_version": FEATURES_VERSION,
            "feature_set": OWN_TEMPLATES if templates.is_own else templates.name,
            **own,
            "columns": list(self.columns),
            "scheme": None if self.scheme is None else self.scheme.value,
            "file_scheme": None if self.file_scheme is None else self.file_scheme.value,
            "layout": asdict(self.layout),
            "width": self.width,
            "has_documents": self.has_documents,
            "lexicons": {name: array.tobytes().decode() for name, array in self.lexicons.arrays().items()},
        }

    @classmethod
    def of(cls, pack: Pack) -> PackedText:
        """A ValueError in one sentence where a pack holds no text, or its manifest says of it what cannot be."""
        about = pack.manifest.about
        if about.get("task") != _TASK:
            raise ValueError(
                f"'{pack.folder}' holds sequences that Python packed, without the templates of their features. Train "
                "on it in Python: SequenceTagger().fit(cs.open_pack(DIR))."
            )
        try:
            return cls._decoded(about)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            said = str(error).rstrip(".")
            raise ValueError(
                f"The pack '{pack.folder}' cannot be used: what it says of its text is damaged ({said}). Pack again."
            ) from None

    @classmethod
    def _decoded(cls, about: Mapping[str, Any]) -> PackedText:
        scheme, file_scheme = (None if about[k] is None else Scheme(about[k]) for k in ("scheme", "file_scheme"))
        columns, width, layout, texts = about["columns"], about["width"], about["layout"], about.get("lexicons", {})
        if not isinstance(columns, list) or not all(isinstance(one, str) for one in columns):
            raise ValueError("columns")
        if not all(type(place) is int for place in layout.values()):
            raise ValueError("layout")
        if not (width is None or type(width) is int) or type(about["has_documents"]) is not bool:
            raise ValueError("width, has_documents")
        lexicons = Lexicons.from_arrays({name: np.frombuffer(text.encode(), np.uint8) for name, text in texts.items()})
        features = features_of_meta(about)
        features.parsed(columns, lexicons.names)
        return cls(
            features,
            lexicons,
            tuple(columns),
            scheme,
            file_scheme,
            Layout(**layout),
            width,
            about["has_documents"],
        )


def with_alone(pack: Pack, text: PackedText) -> list[Pack]:
    """The pack, and the one inside it of the same sentences without their documents, where there is one."""
    alone = open_pack(pack.folder / ALONE) if text.has_documents else None
    if not len(pack) or (alone is not None and not len(alone)):
        raise ValueError(
            f"The pack '{pack.folder}' was cut short before its first shard. Give the command that packed it again."
        )
    if alone is None:
        return [pack]
    is_same = alone.manifest.about == pack.manifest.about
    if pack.is_complete and alone.is_complete and (alone.labels, len(alone)) != (pack.labels, len(pack)):
        is_same = False
    if not is_same:
        raise ValueError(
            f"The pack '{pack.folder}' cannot be used: the pack '{ALONE}' in it is of other sentences. Pack again."
        )
    return [pack, alone]
