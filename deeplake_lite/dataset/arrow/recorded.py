"""Records of column types in Hugging Face features, which the library ``datasets`` preserves.

``datasets`` drops metadata that it does not know whenever it writes rows. But each feature has an
``id``, a string without a predefined meaning, which survives ``map``, ``save_to_disk`` and
``push_to_hub``. Only structs have no ``id``. Therefore, the type of a tensor, which is a struct of
data and shape, is recorded in the feature of its field ``shape``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from deeplake_lite.dataset.arrow.features import Feature, fields_of, item_of
from deeplake_lite.errors import LakeError
from deeplake_lite.htypes import from_config

if TYPE_CHECKING:
    from deeplake_lite.htypes import Htype

PREFIX = "deeplake_lite:"
"""Prefix of an ``id`` that records a type. The type's configuration follows as JSON."""

MAX_LENGTH = 10_000_000
"""Maximum length of a recorded type, in characters. Longer records are ignored."""


def with_record(feature: Feature, htype: Htype) -> Feature:
    """Return a feature with a column type recorded in it. Structs except tensors do not change.

    >>> from deeplake_lite.htypes import Embedding
    >>> feature = {"feature": {"dtype": "float32", "_type": "Value"}, "length": 3, "_type": "List"}
    >>> recorded_htype(with_record(feature, Embedding(3)))
    Embedding(3)
    """
    return _replace_id(feature, PREFIX + json.dumps(htype.get_config()))


def without_record(feature: Feature) -> Feature:
    """Return a feature without its record of a column type."""
    return _replace_id(feature, None) if is_recorded(feature) else feature


def is_recorded(feature: Feature) -> bool:
    """Return whether a feature records a column type."""
    return _id(feature) is not None


def recorded_htype(feature: Feature) -> Htype | None:
    """Return the column type that a feature records, or None if it has no readable record."""
    text = _id(feature)
    if text is None or len(text) > MAX_LENGTH:
        return None
    try:
        return from_config(json.loads(text.removeprefix(PREFIX)))
    except (LakeError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None  # a newer release has recorded it


def _id(feature: Feature) -> str | None:
    while (inner := _inner(feature)) is not None:
        feature = inner
    text = feature.get("id") if isinstance(feature, Mapping) else None
    return text if isinstance(text, str) and text.startswith(PREFIX) else None


def _replace_id(feature: Feature, text: str | None) -> Feature:
    if (item := item_of(feature)) is not None:
        return {**feature, "feature": _replace_id(item, text)}
    if (shape := _shape(feature)) is not None:
        return {**feature, "shape": _replace_id(shape, text)}
    if fields_of(feature):
        return feature
    others = {key: value for key, value in feature.items() if key != "id"}
    return others if text is None else {**others, "id": text}


def _inner(feature: Feature) -> Feature:
    """Return the inner feature that has the record, or None if it is in the feature itself."""
    item = item_of(feature)
    return item if item is not None else _shape(feature)


def _shape(feature: Feature) -> Feature:
    fields = fields_of(feature)
    return fields["shape"] if fields.keys() == {"data", "shape"} else None
