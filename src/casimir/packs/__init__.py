"""Packs on disk: shards that are mapped into memory (`pack`), their making (`build`, `writer`, `merge`),
a manifest."""

from casimir.packs.build import pack
from casimir.packs.merge import merge
from casimir.packs.pack import Pack, Shard, open_pack

__all__ = ["Pack", "Shard", "merge", "open_pack", "pack"]
