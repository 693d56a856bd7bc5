"""The functions of tensors, which NumPy computes, with one module for each group of functions."""

from __future__ import annotations

from deeplake_lite.query.functions import (
    boxes,
    contents,
    digests,
    elementwise,
    images,
    operators,
    reductions,
    structure,
    user,
    vectors,
)
from deeplake_lite.query.functions.base import REGISTRY, Arg, Bound, Function, Unknown
from deeplake_lite.query.functions.value_type import Type

__all__ = [
    "REGISTRY",
    "Arg",
    "Bound",
    "Function",
    "Type",
    "Unknown",
    "boxes",
    "contents",
    "digests",
    "elementwise",
    "images",
    "operators",
    "reductions",
    "reference",
    "structure",
    "user",
    "vectors",
]


def reference() -> str:
    r"""Return Markdown tables that list all functions, with one table for each group.

    >>> print("\n".join(line for line in reference().splitlines() if "IOU(" in line))
    | `IOU(boxes, others)` | Total IoU of the best one-to-one matching, divided by the larger ... |
    """
    entries = list({id(entry): entry for entry in REGISTRY.values()}.values())
    lines = []
    for group in sorted({entry.group for entry in entries}):
        lines += [f"**{group}**", "", "| Function | Returns |", "| --- | --- |"]
        for entry in entries:
            if entry.group == group:
                names = ", ".join(f"`{alias}`" for alias in entry.aliases)
                aliases = f" Also {names}." if names else ""
                lines.append(f"| `{entry.signature}` | {entry.summary}{aliases} |")
        lines.append("")
    return "\n".join(lines)
