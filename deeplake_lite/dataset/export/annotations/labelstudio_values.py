"""Conversion of Label Studio results for whole images, such as choices, to cells, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deeplake_lite.dataset.export.annotations.objects import number_of

if TYPE_CHECKING:
    from collections.abc import Mapping

KINDS = ("choices", "taxonomy", "rating", "number", "textarea")
"""Types of results that become columns."""

_KEYS = {"textarea": "text"}


def key_of(kind: str) -> str:
    """Return the key in a result's ``value`` that holds its content: ``text`` for a textarea."""
    return _KEYS.get(kind, kind)


def parse(result: Mapping[str, Any]) -> Any:
    """Convert a result to a cell, which is a list of strings or paths, or a number.

    Raises ValueError if the result's content has another type.
    """
    kind = str(result.get("type"))
    value = result.get("value")
    content = value.get(key_of(kind)) if isinstance(value, dict) else None
    match kind:
        case "choices":
            return _strings(kind, content)
        case "textarea":
            return _strings(kind, [content] if isinstance(content, str) else content)
        case "taxonomy":
            if not isinstance(content, list):
                raise ValueError("a taxonomy must be a list of paths")  # noqa: TRY004
            return content
        case "rating":
            if type(content) is not int or abs(content) >= 2**31:
                raise ValueError(f"a rating must be an integer, but it is {str(content)[:40]!r}")
            return content
    return number_of(content)


def _strings(kind: str, content: Any) -> list[str]:
    if not isinstance(content, list) or not all(isinstance(text, str) for text in content):
        raise ValueError(f"{kind} must be a list of strings, but it is {str(content)[:40]!r}")
    return content


def rebuild(kind: str, from_name: str, cell: Any) -> dict[str, Any]:
    """Convert a cell to a result of the control with the name `from_name`."""
    return {"from_name": from_name, "to_name": "image", "type": kind,
            "value": {key_of(kind): cell}}  # fmt: skip
