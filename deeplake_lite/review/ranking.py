"""Rankings of rows by how likely their labels are wrong, as views with two additional columns.

Like a query result, the view of a ranking stores its parameters, so that the view can be saved,
pickled and computed again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.dataset.read.reading import read_values
from deeplake_lite.dataset.read.virtual import MemoryColumn, ViewColumn, VirtualTable, source_of
from deeplake_lite.dataset.saved.question import Question
from deeplake_lite.dataset.selection import RowSelection
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import InvalidValueError, OptionError, SchemaError
from deeplake_lite.htypes import Scalar
from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.query.parse.names import unused
from deeplake_lite.review.confident import judge
from deeplake_lite.review.labels import Labels
from deeplake_lite.review.neighbour_cache import neighbours_of
from deeplake_lite.review.votes import votes
from deeplake_lite.storage import chunks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from deeplake_lite.dataset.read.virtual import VirtualColumn
    from deeplake_lite.schema import Field

type By = Literal["embedding", "scores"]
type Rows = NDArray[np.int64]
type Judgement = tuple[NDArray[np.float32], Rows]

SUSPICION = "suspicion"
SUGGESTED = "suggested"

BLOCK_BYTES = 64 * 2**20
"""Maximum size of vectors to read at a time, in bytes."""

VECTOR_BYTES = 2**30
"""Maximum memory for all vectors, in bytes. Vectors that need more are projected to fewer axes."""

_MIN_AXES = 32
_TOLERANCE = 0.05  # tolerance for sums of probabilities, because models round


def suspects(
    view: View,
    label: str,
    by: By = "embedding",
    *,
    column: str | None = None,
    neighbours: int = 10,
) -> View:
    """Return the rows with the most suspicious labels first. See `View.suspects`."""
    if not isinstance(by, str) or by not in _METHODS:
        raise OptionError(
            f"by must be 'embedding' or 'scores', but it is {brief(by, 80)}. {_hint_for(view, by)}"
        )
    neighbours = checks.integer("neighbours", neighbours, 1)
    pinned = View(view.rows, view.columns, view.origin)
    labels = Labels.of(pinned, label)
    f = _column(pinned, by, column, other_than=label)
    rows = np.flatnonzero((labels.codes >= 0) & _present(pinned, f, by))
    judged = pinned[rows]
    suspicion, suggested = _METHODS[by](judged, f, labels.at(rows), neighbours)
    params = {"label": label, "by": by, "column": f.name, "neighbours": neighbours}
    question = Question(f"suspects of {label} by {f.name}", params, asked=pinned, kind="suspects")
    # Columns of an earlier ranking are replaced. If other columns have these names, the new columns
    # get other names.
    others = (f.name for f in judged.schema if not _is_ranked(judged, f))
    names = unused(others, SUSPICION, SUGGESTED)
    added: dict[str, VirtualColumn] = {
        names[0]: MemoryColumn(Scalar("float32"), Scalar("float32").encode(suspicion)),
        names[1]: MemoryColumn(labels.htype, labels.cells(suggested)),
    }
    return _build_ranking(judged, added, np.argsort(-suspicion, kind="stable"), question)


def suggestion(view: View) -> dict[str, str] | None:
    """Return the names of a view's columns of suggested and original labels.

    Returns None if the view is not a ranking of suspicious labels.

    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://suggestion-doc", {"kind": "text", "e": dl.Embedding(2)})
    >>> ds.append({"kind": ["a", "b"], "e": [[0, 1], [1, 0]]})
    >>> suggestion(ds), suggestion(ds.suspects("kind"))
    (None, {'column': 'suggested', 'label': 'kind'})
    """
    for f in view.schema:
        table, field_id = source_of(view, f)
        if isinstance(table, VirtualTable) and table.question is not None:
            is_ranking = table.question.kind == "suspects"
            if is_ranking and table.schema.fields[-1].id == field_id:
                return {"column": f.name, "label": dict(table.question.params)["label"]}
    return None


def _is_ranked(view: View, f: Field) -> bool:
    """Return whether a column was added by an earlier ranking of suspicious labels."""
    table, _ = source_of(view, f)
    question = table.question if isinstance(table, VirtualTable) else None
    return question is not None and question.kind == "suspects"


def ask(question: Question) -> View:
    """Recompute a ranking from its stored parameters."""
    assert question.asked is not None
    return suspects(question.asked, **dict(question.params))


def _build_ranking(
    view: View, added: dict[str, VirtualColumn], order: Rows, question: Question
) -> View:
    """Return a view with additional columns, and with its rows in the given order."""
    rows = np.arange(len(view))
    taken = {f.name: ViewColumn(view, f, rows) for f in view.schema.fields if f.name not in added}
    columns = {**taken, **added}
    table = VirtualTable(
        columns,
        len(view),
        view.version,
        ids=view.row_ids,
        uncommitted=view.rows.uncommitted,
        question=question,
        metadata=view.rows.table.metadata,
    )
    names = tuple(columns)
    return View(RowSelection(view.rows.lake, table, order), names, question.text)


def _column(view: View, by: By, name: str | None, *, other_than: str) -> Field:
    """Return the column of embeddings or scores by which to judge the labels.

    This is the column that the caller names, or else a suitable column whose name is `by`, or else
    the only suitable column. Raises SchemaError if there is no such column.
    """
    fits = [f for f in view.schema.fields if f.name != other_than and _fits(f, by)]
    if name is not None:
        f = view.field(name)
        if not _fits(f, by):
            raise SchemaError(
                f"by={by!r} needs {_NEEDED[by]}, but the type of column {name!r} is {f.htype}. "
                "Choose another column."
            )
        return f
    same_name = [f for f in fits if f.name == by]
    if len(same_name or fits) != 1:
        columns = ", ".join(repr(f.name) for f in fits)
        raise SchemaError(
            f"by={by!r} needs {_NEEDED[by]}, but there "
            + (
                f"are several: {columns}. Choose one of them with column=…."
                if fits
                else "is none. Add such a column."
            )
        )
    return (same_name or fits)[0]


def _hint_for(view: View, name: str) -> str:
    """Return the hint for an invalid `by`, which may be the name of a suitable column."""
    methods: tuple[By, ...] = ("embedding", "scores")
    for method in methods:
        if name in view and _fits(view.field(name), method):
            return f"Pass the column separately: by={method!r}, column={name!r}."
    columns = ", ".join(repr(f.name) for f in view.schema.fields if f.htype.is_embedding)
    if not columns:
        return "The view has no column of embeddings. Add a column of type dl.Embedding."
    return f"To use embeddings, pass by='embedding' and one of these as column=: {columns}."


_NEEDED = {
    "embedding": "a column of vectors of the same length",
    "scores": "a column of one probability per class",
}


def _fits(f: Field, by: By) -> bool:
    """Return whether the vectors of a column suit `by`. Embeddings are not accepted as scores."""
    layout = f.htype.layout
    if not isinstance(layout, Dense) or len(layout.shape) != 1:
        return False
    return (f.htype.is_embedding and by == "embedding") or (
        not f.htype.is_embedding and np.dtype(layout.dtype).kind == "f"
    )


def _present(view: View, f: Field, by: By) -> NDArray[np.bool_]:
    """Return a mask of the rows that have a suitable vector, (rows,) bool.

    With "embedding", the vectors are compared and must be finite, which is always true of columns
    of type Embedding. With "scores", the values are checked later.
    """
    skip_check = f.htype.is_embedding or by == "scores"
    if skip_check and not f.htype.nullable:
        return np.ones(len(view), bool)
    parts = []
    for _, block in _blocks(view, f):
        valid = ~np.ma.getmaskarray(block)
        valid &= skip_check | np.isfinite(np.ma.getdata(block))
        parts.append(valid.reshape(len(block), -1).all(axis=1))
    return np.concatenate([*parts, np.empty(0, bool)])


def _blocks(view: View, f: Field) -> Iterator[tuple[slice, Any]]:
    """Yield a column of vectors in blocks, each as a slice of rows and the vectors of the slice."""
    width = max(1, int(np.prod(f.htype.layout.shape)))  # type: ignore[union-attr]
    for span in chunks.spans(len(view), max(1, BLOCK_BYTES // (8 * width))):
        yield span, read_values(view, [f], np.arange(span.start, span.stop))[f.name]


def _by_neighbours(view: View, f: Field, labels: Labels, neighbours: int) -> Judgement:
    count = min(neighbours, len(view) - 1)
    if count < 1:
        return np.zeros(len(view), np.float32), labels.codes
    vectors = _vectors(view, f)
    nearest = neighbours_of(vectors, count)
    has_direction = vectors.any(axis=1)[:, np.newaxis]  # zero vectors have no neighbours
    return votes(labels.codes, np.where(has_direction, nearest.rows, -1), nearest.cosines)


def _vectors(view: View, f: Field) -> NDArray[np.float32]:
    """Return all vectors, (n, dim) float32, with fewer axes if they need too much memory.

    Notes
    -----
    Random projections nearly preserve angles: Johnson, Lindenstrauss (1984).
    """
    width = int(f.htype.layout.shape[0])  # type: ignore[union-attr]
    axes = min(width, max(_MIN_AXES, VECTOR_BYTES // (4 * len(view))))
    random = np.random.default_rng(0)
    projection = random.standard_normal((width, axes), np.float32) if axes < width else None
    vectors = np.empty((len(view), axes), np.float32)
    for span, block in _blocks(view, f):
        plain = np.asarray(block, np.float32)
        vectors[span] = plain if projection is None else plain @ projection
    return vectors


def _by_scores(view: View, f: Field, labels: Labels, neighbours: int) -> Judgement:  # noqa: ARG001
    classes = int(f.htype.layout.shape[0])  # type: ignore[union-attr]
    names = len(labels.values)
    if labels.htype.classes is None or classes < names:
        raise SchemaError(
            f"There must be one score per class of a ClassLabel, but column {f.name!r} has "
            f"{pluralize(classes, 'score')} per row, and the type of the labels is {labels.htype}. "
            "Choose another column."
        )

    def blocks() -> Iterator[tuple[slice, NDArray[np.float32]]]:
        for span, block in _blocks(view, f):
            yield span, _probabilities(np.asarray(block, np.float32), f.name, span.start)

    suspicion, suggested = judge(labels.codes, blocks, classes)
    return suspicion, suggested


def _probabilities(values: NDArray[np.float32], name: str, first: int) -> NDArray[np.float32]:
    """Return the values unchanged. Raises InvalidValueError if they are not probabilities."""
    good = (values >= 0).all(axis=1) & (np.abs(values.sum(axis=1) - 1) <= _TOLERANCE)
    if not good.all():
        row = int(np.flatnonzero(~good)[0])
        raise InvalidValueError(
            "scores must be non-negative probabilities that sum to 1, but they are "
            f"{values[row][:8].tolist()} with a sum of {values[row].sum():.4g}. Apply softmax "
            "first.",
            column=name,
            row=first + row,
        )
    return values


_METHODS = {"embedding": _by_neighbours, "scores": _by_scores}
