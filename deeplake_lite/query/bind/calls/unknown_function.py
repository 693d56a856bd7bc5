"""Build the error for a function that does not exist."""

from __future__ import annotations

from difflib import get_close_matches

from deeplake_lite.errors import NotFoundError
from deeplake_lite.query.bind.calls.catalog import catalog
from deeplake_lite.query.bind.calls.special import SPECIAL
from deeplake_lite.query.functions import REGISTRY
from deeplake_lite.query.functions.user import OWN


def unknown_function(name: str) -> NotFoundError:
    """Return the error for an unknown function. The message suggests similar names."""
    ours = {n for n in (*REGISTRY, *OWN, *SPECIAL) if n.isidentifier()} - _WORDS
    of_duckdb = {n.upper() for n in catalog()} - ours
    similar = [
        *get_close_matches(name, sorted(ours), n=3),
        *get_close_matches(name, sorted(of_duckdb), n=2, cutoff=0.75),
    ]
    hint = f" Did you mean {' or '.join(similar[:3])}?" if similar else ""
    return NotFoundError(
        f"There is no function {name}.{hint} `python -m deeplake_lite.query.reference` lists the "
        "functions that queries may call."
    )


_WORDS = {"AND", "OR", "NOT", "NEG"}
"""Names in the registry that are operators, not functions."""
