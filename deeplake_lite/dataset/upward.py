"""The few calls that go up: what a view does with layers above it, loaded when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deeplake_lite.dataset.question import Question
    from deeplake_lite.dataset.view import View


def query(
    view: View | None,
    text: str,
    params: Sequence[Any] | Mapping[str, Any] = (),
    sources: Mapping[str, View] | None = None,
) -> View:
    """Run a query on a view, or on the lakes that it names."""
    from deeplake_lite.query import query as ask

    return ask(text, params, view=view, sources=sources)


async def query_async(
    view: View | None,
    text: str,
    params: Sequence[Any] | Mapping[str, Any] = (),
    sources: Mapping[str, View] | None = None,
) -> View:
    """Run a query in a thread, which ends when the task is cancelled."""
    from deeplake_lite.query import in_thread

    return await in_thread(lambda: query(view, text, params, sources))


def ask(question: Question) -> View:
    """Answer a query again."""
    from deeplake_lite.query import ask

    return ask(question)


def explain(view: View) -> str:
    """Return how a view came about."""
    from deeplake_lite.query import explain

    return explain(view)
