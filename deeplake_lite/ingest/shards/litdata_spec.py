"""The structure of LitData's samples: nested dictionaries and lists, whose leaves are columns."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from deeplake_lite.errors import SchemaError

MAX_DEPTH = 50

MAX_LEAVES = 100_000

_WITH_KEYS = ("builtins.dict", "collections.OrderedDict")


def leaf_names(spec: object) -> list[str]:
    """Return the names of a sample's leaves in the order in which they are stored.

    Parameters
    ----------
    spec : object
        The entry ``data_spec`` of an index: a string with the JSON of a PyTorch pytree.

    Raises
    ------
    SchemaError
        If `spec` is anything else, or if two leaves have the same name.

    Examples
    --------
    >>> leaf = '{"type": null, "context": null, "children_spec": []}'
    >>> leaf_names(f'[1, {{"type": "builtins.tuple", "context": "null", '
    ...            f'"children_spec": [{leaf}, {leaf}]}}]')
    ['0', '1']
    """
    try:
        version, root = json.loads(spec) if isinstance(spec, str) else (None, None)
    except (ValueError, TypeError, RecursionError):
        raise _unknown(spec) from None
    if version != 1:
        raise _unknown(spec)
    names: list[str] = []
    _add(names, root, "", 0, spec)
    if len(set(names)) != len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise SchemaError(
            "The values of a sample must have distinct names, but two values are named "
            f"{twice!r}. Write the dataset again with other keys."
        )
    return names


def _add(names: list[str], node: Any, prefix: str, depth: int, spec: object) -> None:
    """Append the names of the leaves below a node to `names`.

    Raises SchemaError if the node is invalid.
    """
    if not isinstance(node, dict) or depth > MAX_DEPTH or len(names) > MAX_LEAVES:
        raise _unknown(spec)
    children = node.get("children_spec")
    if not isinstance(children, list):
        raise _unknown(spec)
    if node.get("type") is None:
        names.append(prefix or "0")
        return
    for key, child in zip(_keys(node, len(children), spec), children, strict=True):
        _add(names, child, f"{prefix}/{key}" if prefix else key, depth + 1, spec)


def _keys(node: dict[str, Any], count: int, spec: object) -> list[str]:
    """Return the names of the children of a node."""
    if node.get("type") not in _WITH_KEYS:
        return [str(i) for i in range(count)]
    try:
        keys = json.loads(node["context"])
    except (KeyError, ValueError, TypeError, RecursionError):
        raise _unknown(spec) from None
    if not isinstance(keys, list) or len(keys) != count:
        raise _unknown(spec)
    return [str(key) for key in keys]


def _unknown(spec: object) -> SchemaError:
    return SchemaError(
        "The entry 'data_spec' of an index must describe the structure of samples as a JSON tree, "
        f"but it is {spec!r:.80}. Write the index again."
    )
