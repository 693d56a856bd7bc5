"""Calls from views to the query, loader, review, evaluate, index and widget packages.

Each function imports its package when it is called, so that opening a dataset stays fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Unpack

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.keywords import IterableOptions, SizedOptions
    from deeplake_lite.dataset.loading import Loadable
    from deeplake_lite.dataset.saved.evaluations import Stored
    from deeplake_lite.dataset.saved.question import Question
    from deeplake_lite.dataset.view import View
    from deeplake_lite.evaluate import Evaluation as Evaluation
    from deeplake_lite.index import DamagedIndex as DamagedIndex
    from deeplake_lite.index import Index as Index
    from deeplake_lite.loader import Loader as Loader
    from deeplake_lite.loader.frameworks.jax import JaxLoader as JaxLoader
    from deeplake_lite.loader.frameworks.torch import TorchLoader as TorchLoader
    from deeplake_lite.loader.frameworks.torch_datasets import TorchDataset as TorchDataset
    from deeplake_lite.loader.frameworks.torch_datasets import (
        TorchIterableDataset as TorchIterableDataset,
    )
    from deeplake_lite.loader.mix import Mix
    from deeplake_lite.map import Job as Job
    from deeplake_lite.map import Origin as Origin
    from deeplake_lite.storage.repo import Repository
    from deeplake_lite.storage.table import Table
    from deeplake_lite.widget import Browser as Browser


def query(
    view: View | None,
    text: str,
    params: Sequence[object] | Mapping[str, object] | None = (),
    sources: Mapping[str, View] | None = None,
    executor: Any = None,
) -> View:
    """Run a query on a view, or on the lakes that the query names."""
    from deeplake_lite.query import query as run_query

    return run_query(text, params, view=view, sources=sources, executor=executor)


async def query_async(
    view: View | None,
    text: str,
    params: Sequence[object] | Mapping[str, object] | None = (),
    sources: Mapping[str, View] | None = None,
) -> View:
    """Run a query in a thread. The query stops when the asyncio task is cancelled."""
    from deeplake_lite.query import in_thread

    return await in_thread(lambda: query(view, text, params, sources))


def repeat(question: Question, most_rows: int | None = None) -> View:
    """Run a query or a ranking again. A query may stop when it has found `most_rows` rows."""
    if question.kind == "suspects":
        from deeplake_lite.review import ask as rank

        return rank(question)
    from deeplake_lite.query import ask

    return ask(question, most_rows)


def has_own_functions() -> bool:
    """Return whether the user has registered functions that queries may call."""
    from deeplake_lite.query.functions.user import OWN

    return bool(OWN)


def suspects(view: View, label: str, by: Any, column: str | None, neighbours: int) -> View:
    """Rank rows by how suspicious their labels are."""
    from deeplake_lite.review import suspects

    return suspects(view, label, by, column=column, neighbours=neighbours)


def evaluate(
    view: View, predictions: str, truth: str, kind: Any, options: Mapping[str, Any]
) -> Evaluation:
    """Compare a column of predictions with a column of true values."""
    from deeplake_lite.evaluate import evaluate

    return evaluate(view, predictions, truth, kind, **options)


def evaluation(stored: Stored, name: str, url: str, view: Callable[[], View]) -> Evaluation:
    """Return a saved evaluation, which opens its view on first access."""
    from deeplake_lite.evaluate import restore

    return restore(stored, name, url, view)


def explain(view: View) -> str:
    """Return the plan of the query behind a view."""
    from deeplake_lite.query import explain

    return explain(view)


def batches(source: Loadable, **options: Unpack[SizedOptions]) -> Loader:
    """Return a loader that yields NumPy arrays."""
    from deeplake_lite.loader import Loader, Options

    return Loader(cast("View | Mix", source), Options.of(**options))


def pytorch(source: Loadable, device: object, **options: Unpack[SizedOptions]) -> TorchLoader:
    """Return a loader that yields PyTorch tensors."""
    from deeplake_lite.loader.frameworks.torch import TorchLoader
    from deeplake_lite.loader.options import Options

    return TorchLoader(cast("View | Mix", source), Options.of(**options), device)


def pytorch_dataset(
    view: View, style: str, **options: Unpack[IterableOptions]
) -> TorchDataset | TorchIterableDataset:
    """Return a PyTorch dataset of a view's rows."""
    from deeplake_lite.loader.frameworks.torch_datasets import dataset_of

    return dataset_of(view, style, **options)


def tensorflow(source: Loadable, **options: Unpack[SizedOptions]) -> Any:
    """Return a loader's batches as a `tf.data.Dataset`."""
    from deeplake_lite.loader.frameworks.tensorflow import dataset
    from deeplake_lite.loader.options import Options

    return dataset(cast("View | Mix", source), Options.of(**options))


def jax(source: Loadable, sharding: object, **options: Unpack[SizedOptions]) -> JaxLoader:
    """Return a loader that yields JAX arrays."""
    from deeplake_lite.loader.frameworks.jax import JaxLoader
    from deeplake_lite.loader.options import Options

    return JaxLoader(cast("View | Mix", source), Options.of(**options), sharding)


def browse(view: View, *, cache_bytes: int) -> Browser:
    """Return a notebook widget that shows a view."""
    from deeplake_lite.widget import browse

    return browse(view, cache_bytes=cache_bytes)


def map_rows(view: View, function: Callable[..., object], **options: Any) -> Job:
    """Start or resume a job that fills columns."""
    from deeplake_lite.map import map_rows

    return map_rows(view, function, **options)


def show_job(job: Job) -> None:
    """Show a live progress bar of a job in the notebook."""
    from deeplake_lite.widget import show_job

    show_job(job)


def follow_job(job: Job) -> Callable[[], None]:
    """Show a progress bar in the notebook if a job takes longer than a second.

    Returns a function that waits until the bar shows the end of the job.
    """
    from deeplake_lite.widget import follow_job

    return follow_job(job)


def lineage(ds: Dataset, column: str) -> Origin | None:
    """Return the job that last filled a column."""
    from deeplake_lite.map import Recorded, find_origin

    column_id = ds.field(column).id
    return find_origin(Recorded.of(ds), column, column_id)


def lineage_of(view: View) -> dict[str, Any]:
    """Return the version and query of a view and the origins of its columns, as a JSON object."""
    from deeplake_lite.map import lineage_of

    return lineage_of(view)


def record_copy(view: View, how: str, *, with_places: bool = True) -> dict[str, Any]:
    """Return the record of a copy of a view, for the metadata of the copy's commit."""
    from deeplake_lite.map import record_copy

    return record_copy(view, how, with_places=with_places)


def create_index(ds: Dataset, column: object, kind: object, **options: object) -> Index:
    """Build an index of a column."""
    from deeplake_lite.index import create_index

    ds.handle.check_place()
    with ds.handle.locked():
        ds.handle.check_clean("building an index")
        table = ds.handle.table
    return create_index(ds.handle.repository, table, column, kind, **options)


def list_indexes(ds: Dataset) -> list[Index]:
    """Return the indexes of a lake."""
    from deeplake_lite.index import list_indexes

    return list_indexes(ds.handle.repository, ds.handle.table)


def find_index_damage(
    repository: Repository, table: Table, damaged: Mapping[str, str]
) -> Iterator[DamagedIndex]:
    """Yield the damaged indexes of a lake."""
    from deeplake_lite.index import find_damage

    return find_damage(repository, table, damaged)


def drop_index(ds: Dataset, index: object, kind: object) -> int:
    """Drop indexes."""
    from deeplake_lite.index import drop_index

    ds.handle.check_place()
    return drop_index(ds.handle.repository, ds.handle.table, index, kind)
