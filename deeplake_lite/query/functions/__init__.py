"""Which functions a query may call on tensors: one file per group, all in one registry."""

from __future__ import annotations

from deeplake_lite.query.functions import (
    boxes,
    contents,
    digests,
    elementwise,
    operators,
    pictures,
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
    "operators",
    "pictures",
    "reductions",
    "reference",
    "structure",
    "user",
    "vectors",
]


def reference() -> str:
    r"""Return a table of all functions in Markdown, by group.

    >>> print("\n".join(line for line in reference().splitlines() if "IOU(" in line))
    | `IOU(boxes, others)` | Set IoU, 0 to 1: IoUs of the optimal one-to-one matching, summed, ... |
    """
    entries = list({id(entry): entry for entry in REGISTRY.values()}.values())
    lines = []
    for group in sorted({entry.group for entry in entries}):
        lines += [f"**{group}**", "", "| Function | Gives |", "| --- | --- |"]
        for entry in entries:
            if entry.group == group:
                names = ", ".join(f"`{alias}`" for alias in entry.aliases)
                also = f" Also {names}." if names else ""
                lines.append(f"| `{entry.signature}` | {entry.summary}{also} |")
        lines.append("")
    return "\n".join(lines)
