"""A split of a Hugging Face dataset, from an object or from files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deeplake_lite.dataset.arrow.features import features_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.ingest.huggingface.feature_table import FeatureTable


@dataclass(frozen=True)
class Part:
    """The rows of one split of a dataset, and the known facts about them."""

    split: str
    """Name of the split."""

    table: FeatureTable
    """Columns and batches of the split."""

    metadata: Mapping[str, Any]
    """The JSON that ``datasets`` adds to a schema, mainly the features."""

    rows: int | None = None
    """Number of rows, or None if it is unknown."""

    full: frozenset[str] = frozenset()
    """Names of columns that are known to have no nulls."""

    info: Mapping[str, Any] = field(default_factory=dict)
    """Description, citation, homepage and license of the dataset."""

    @property
    def features(self) -> Mapping[str, Any]:
        """Maps the names of columns to their features."""
        return features_in(self.metadata)
