"""A facet's choice as a condition in the text of the query, and back."""

from __future__ import annotations


def order_of(text: str) -> dict[str, object] | None:
    """Return what a query sorts by; None for nothing, or for more than one expression."""
    return None
