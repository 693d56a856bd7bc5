"""The few calls that go up: what a view does with layers above it, loaded when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deeplake_lite.dataset.question import Question
    from deeplake_lite.dataset.view import View
    from deeplake_lite.loader import Loader as Loader
    from deeplake_lite.loader.jax import JaxLoader as JaxLoader
    from deeplake_lite.loader.mix import Mix
    from deeplake_lite.loader.torch import TorchLoader as TorchLoader
    from deeplake_lite.loader.torch_datasets import TorchDataset as TorchDataset
    from deeplake_lite.loader.torch_datasets import TorchIterableDataset as TorchIterableDataset
    from deeplake_lite.widget import Browser as Browser


class LoaderOptions(TypedDict, total=False):
    """Keywords of `View.batches`, and of its like."""

    columns: Sequence[str] | None
    shuffle: bool | str
    seed: int
    drop_last: bool
    last: str | None
    transform: Callable[..., Any] | None
    batch_transform: Callable[..., Any] | None
    collate: str | Mapping[str, str] | Callable[[list[Any]], Any] | None
    size: tuple[int, int] | Mapping[str, tuple[int, int]] | None
    rank: int | None
    world_size: int | None
    memory_budget: int | None
    cache: str | None
    workers: str
    num_workers: int | None
    on_error: str
    row_ids: bool
    progress: bool


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
    """Answer a query, or rank by suspicion, again."""
    if question.kind == "suspects":
        from deeplake_lite.review import ask as rank

        return rank(question)
    from deeplake_lite.query import ask

    return ask(question)


def suspects(view: View, label: str, by: Any, column: str | None, neighbours: int) -> View:
    """Rank rows by how suspicious their label is."""
    from deeplake_lite.review import suspects

    return suspects(view, label, by, column=column, neighbours=neighbours)


def explain(view: View) -> str:
    """Return how a view came about."""
    from deeplake_lite.query import explain

    return explain(view)


def batches(view: View | Mix, **options: Any) -> Loader:
    """Return a loader of a view."""
    from deeplake_lite.loader import Loader, Options

    return Loader(view, Options.of(**options))


def pytorch(view: View | Mix, device: Any, **options: Any) -> TorchLoader:
    """Return a loader of a view that gives tensors of PyTorch."""
    from deeplake_lite.loader.options import Options
    from deeplake_lite.loader.torch import TorchLoader

    return TorchLoader(view, Options.of(**options), device)


def pytorch_dataset(view: View, style: str, **options: Any) -> TorchDataset | TorchIterableDataset:
    """Return a dataset of PyTorch, of a view's rows."""
    from deeplake_lite.loader.torch_datasets import dataset_of

    return dataset_of(view, style, **options)


def tensorflow(view: View | Mix, **options: Any) -> Any:
    """Return a tf.data.Dataset of a view's batches."""
    from deeplake_lite.loader.options import Options
    from deeplake_lite.loader.tensorflow import dataset

    return dataset(view, Options.of(**options))


def jax(view: View | Mix, sharding: Any, **options: Any) -> JaxLoader:
    """Return a loader of a view that gives arrays of JAX."""
    from deeplake_lite.loader.jax import JaxLoader
    from deeplake_lite.loader.options import Options

    return JaxLoader(view, Options.of(**options), sharding)


def browse(view: View, **options: Any) -> Browser:
    """Return a browser of a view, for the notebook."""
    from deeplake_lite.widget import browse

    return browse(view, **options)
