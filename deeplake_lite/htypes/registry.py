"""Lookup of htypes by name, dtype or stored configuration.

`resolve` looks up the types that users write in a schema, and `from_config` looks up the types that
a lake has stored. A type is registered by one line in `CLASSES`, or by another package through an
entry point (`deeplake_lite.plugins`). The module of a type is imported when a schema uses the type.
"""

from __future__ import annotations

import re
from dataclasses import fields
from datetime import datetime, timedelta
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from deeplake_lite import plugins
from deeplake_lite.brief import brief
from deeplake_lite.errors import FormatError, SchemaError
from deeplake_lite.htypes.base import Htype
from deeplake_lite.htypes.choices import dtype_name, suggest_nearest
from deeplake_lite.htypes.plain import from_json
from deeplake_lite.htypes.scalar import DTYPES, WORDS, Scalar

CLASSES = {
    "scalar": "Scalar",
    "array": "Array",
    "image": "Image",
    "mask": "Mask",
    "boxes": "Boxes",
    "class_label": "ClassLabel",
    "text": "Text",
    "json": "Json",
    "bytes": "Bytes",
    "embedding": "Embedding",
    "keypoints": "Keypoints",
    "polygons": "Polygons",
    "sequence": "Sequence",
    "link": "Link",
}
"""Maps the name of each type, which is also the name of its module, to its class."""

_BUILTIN: dict[Any, str] = {
    bool: "bool",
    int: "int64",
    float: "float64",
    complex: "complex128",
    datetime: "datetime64[us]",
    timedelta: "timedelta64[us]",
    str: "text",
    bytes: "bytes",
    dict: "json",
}


@cache
def load_class(name: str) -> type[Htype] | None:
    """Import a type from this package or a plugin, and return its class.

    Returns None if no type has this name.

    >>> load_class("class_label")
    <class 'deeplake_lite.htypes.class_label.ClassLabel'>
    """
    if name not in CLASSES:
        return plugins.load(plugins.HTYPES, name, Htype)
    cls: type[Htype] = getattr(import_module(f"{__package__}.{name}"), CLASSES[name])
    return cls


def resolve(spec: object) -> Htype:
    """Return the htype that a user specified.

    Parameters
    ----------
    spec : Htype | type | numpy.dtype | str
        An htype or its class, a NumPy dtype, a built-in Python type, or the name of a dtype or
        htype.

    Raises
    ------
    SchemaError
        If `spec` is unknown, or is a type that needs arguments.

    >>> resolve("float32"), resolve(int), resolve(np.dtype("uint8"))
    (Scalar('float32'), Scalar('int64'), Scalar('uint8'))
    >>> from deeplake_lite.htypes import Image
    >>> resolve("image"), resolve(Image("jpeg"))
    (Image(), Image('jpeg'))
    """
    if isinstance(spec, Htype):
        return spec
    if isinstance(spec, type) and issubclass(spec, Htype):
        return _without_arguments(spec)
    if isinstance(spec, type) and spec in _BUILTIN:
        return resolve(_BUILTIN[spec])
    if isinstance(spec, np.dtype) or (isinstance(spec, type) and issubclass(spec, np.generic)):
        return _from_dtype(np.dtype(spec))
    if isinstance(spec, str):
        return _from_word(spec)
    raise SchemaError(
        "A type must be an htype such as Image('jpeg'), the name of a type, or a dtype, but it is "
        f"{brief(spec, 80)}."
    )


def from_config(config: Any) -> Htype:
    """Build an htype from a configuration that `get_config` returned.

    Raises
    ------
    FormatError
        If this release does not know the type or one of its fields.
    SchemaError
        If a field has an invalid value.

    >>> from_config({"htype": "scalar", "dtype": "int32"})
    Scalar('int32')
    """
    name = config.get("htype") if isinstance(config, dict) else None
    cls = load_class(name) if isinstance(name, str) else None
    if cls is None:
        raise FormatError(
            "A column's type must be a JSON object with a known 'htype', but it is "
            f"{brief(config, 120)}. If a newer release wrote it, upgrade deeplake-lite; if the "
            "type comes from another package, install that package."
        )
    known = {f.name: f for f in fields(cls) if f.metadata.get("stored", True)}
    unknown = [key for key in config if key != "htype" and key not in known]
    if unknown:
        raise FormatError(
            f"Type {name!r} has no field {unknown[0]!r}. If a newer release wrote it, upgrade "
            "deeplake-lite."
        )
    try:
        values: dict[str, Any] = {
            key: from_config(value) if known[key].metadata.get("htype") else from_json(value)
            for key, value in config.items()
            if key != "htype"
        }
        return cls(**values)
    except (SchemaError, FormatError):
        raise
    except (TypeError, ValueError, OverflowError, RecursionError, MemoryError, KeyError) as error:
        reason = str(error).rstrip(".")
        raise FormatError(
            f"The configuration of type {name!r} is invalid: {reason}. Restore the schema from a "
            "backup."
        ) from error


def _from_word(word: str) -> Htype:
    """Return the type with a name, or a `Scalar` of the dtype with this name, ignoring case.

    >>> _from_word("Text"), _from_word("ClassLabel"), _from_word("double")
    (Text(), ClassLabel(), Scalar('float64'))
    """
    name = WORDS.get(word.casefold(), word.casefold())
    types = {key.replace("_", ""): key for key in CLASSES}
    if (key := types.get(name.replace("_", ""))) is not None:
        return _without_arguments(load_class(key))
    dtype = dtype_name(word)
    if dtype in DTYPES or re.match(r"(datetime|timedelta)64", dtype):
        return Scalar(dtype)
    if (added := load_class(name)) is not None:
        return _without_arguments(added)
    known = [*CLASSES, *plugins.names(plugins.HTYPES)]
    hint = suggest_nearest(word, [*known, *DTYPES, "datetime64[us]", "timedelta64[us]"])
    raise SchemaError(
        f"There is no type {word!r}.{hint} The types are {', '.join(known)}; the dtypes are "
        f"{', '.join(DTYPES)}, datetime64[us] and others."
    )


def _without_arguments(cls: type[Htype] | None) -> Htype:
    """Build a type with its default arguments. Raises SchemaError if the type needs arguments."""
    assert cls is not None
    try:
        return cls()
    except TypeError:
        raise SchemaError(
            f"{cls.__name__} needs arguments. Write {cls.__name__}(…); help({cls.__name__}) lists "
            "them."
        ) from None


def _from_dtype(dtype: np.dtype[Any]) -> Htype:
    """Return the type for a NumPy dtype."""
    if dtype.kind in "US":
        return resolve("text" if dtype.kind == "U" else "bytes")
    return Scalar(dtype.name)
