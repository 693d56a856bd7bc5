"""Rows whose label is likely wrong, ranked: a view with two columns more.

The view is derived, as a query's result is: it keeps what was asked, so that it is saved, pickled
and asked again like one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.dataset.read.reading import read_values
from deeplake_lite.dataset.read.virtual import KnownColumn, TakenColumn, VirtualTable, source_of
from deeplake_lite.dataset.saved.question import Question
from deeplake_lite.dataset.selection import RowSelection
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import InvalidValueError, OptionError, SchemaError
from deeplake_lite.htypes import Scalar
from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.query.parse.names import unused
from deeplake_lite.review.confident import judged
from deeplake_lite.review.kept import neighbours_of
from deeplake_lite.review.labels import Labels
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
"""Of vectors that are read at a time."""

VECTOR_BYTES = 2**30
"""Most that all vectors take; longer ones are brought onto fewer axes."""

_FEWEST_AXES = 32
_SUM = 0.05  # by which probabilities may miss 1: models round


def suspects(
    view: View,
    label: str,
    by: By = "embedding",
    *,
    column: str | None = None,
    neighbours: int = 10,
) -> View:
    """Return the rows in the order in which their label is suspicious; see `View.suspects`."""
    if not isinstance(by, str) or by not in _METHODS:
        raise OptionError(
            f"by must be 'embedding' or 'scores', but it is {brief(by, 80)}. {_way_out(view, by)}"
        )
    neighbours = checks.integer("neighbours", neighbours, 1)
    asked = View(view.rows, view.columns, view.origin)
    labels = Labels.of(asked, label)
    f = _column(asked, by, column, other_than=label)
    rows = np.flatnonzero((labels.codes >= 0) & _present(asked, f, by))
    some = asked[rows]
    suspicion, suggested = _METHODS[by](some, f, labels.at(rows), neighbours)
    wanted = {"label": label, "by": by, "column": f.name, "neighbours": neighbours}
    question = Question(f"suspects of {label} by {f.name}", wanted, asked=asked, kind="suspects")
    names = unused((f.name for f in some.schema if not _is_ranked(some, f)), SUSPICION, SUGGESTED)
    added: dict[str, VirtualColumn] = {
        names[0]: KnownColumn(Scalar("float32"), Scalar("float32").encode(suspicion)),
        names[1]: KnownColumn(labels.htype, labels.cells(suggested)),
    }
    return _ranked(some, added, np.argsort(-suspicion, kind="stable"), question)


def suggestion(view: View) -> dict[str, str] | None:
    """Return the column of a view that suggests labels, and whose; None where no ranking does.

    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://suggestion-doc", {"kind": "text", "e": dl.Embedding(2)})
    >>> ds.append({"kind": ["a", "b"], "e": [[0, 1], [1, 0]]})
    >>> suggestion(ds), suggestion(ds.suspects("kind"))
    (None, {'column': 'suggested', 'label': 'kind'})
    """
    for f in view.schema:
        table, field_id = source_of(view, f)
        if isinstance(table, VirtualTable) and table.question is not None:
            ranked = table.question.kind == "suspects"
            if ranked and table.schema.fields[-1].id == field_id:
                return {"column": f.name, "label": dict(table.question.params)["label"]}
    return None


def _is_ranked(view: View, f: Field) -> bool:
    """Tell whether a column is that of another ranking."""
    table, _ = source_of(view, f)
    question = table.question if isinstance(table, VirtualTable) else None
    return question is not None and question.kind == "suspects"


def ask(question: Question) -> View:
    """Rank the rows again that a question was asked of."""
    assert question.asked is not None
    return suspects(question.asked, **dict(question.params))


def _ranked(some: View, added: dict[str, VirtualColumn], order: Rows, question: Question) -> View:
    """Return rows with columns more, in an order."""
    every = np.arange(len(some))
    taken = {f.name: TakenColumn(some, f, every) for f in some._fields() if f.name not in added}
    columns = {**taken, **added}
    table = VirtualTable(
        columns,
        len(some),
        some.version,
        ids=some.row_ids,
        uncommitted=bool(some.rows.table.uncommitted),
        question=question,
    )
    names = tuple(columns)
    return View(RowSelection(some.rows.lake, table, order), names, question.text)


def _column(view: View, by: By, name: str | None, *, other_than: str) -> Field:
    """Return the column to judge by: as named, called as `by` is, or the only one of its kind."""
    fits = [f for f in view.schema.fields if f.name != other_than and _fits(f, by)]
    if name is not None:
        found = view.field(name)
        if not _fits(found, by):
            raise SchemaError(f"by={by!r} takes {_WANTED[by]}, column {name!r} is {found.htype}.")
        return found
    named = [f for f in fits if f.name == by]
    if len(named or fits) != 1:
        there = ", ".join(repr(f.name) for f in fits) or "none"
        raise SchemaError(
            f"by={by!r} takes {_WANTED[by]}, and there are several or none: {there}. Name it: "
            "column=…."
        )
    return (named or fits)[0]


def _way_out(view: View, name: str) -> str:
    """Return what to write where a name, perhaps that of a column, is no way to judge."""
    ways: tuple[By, ...] = ("embedding", "scores")
    for way in ways:
        if name in view and _fits(view.field(name), way):
            return f"Name the column: by={way!r}, column={name!r}."
    there = ", ".join(repr(f.name) for f in view.schema.fields if f.htype.is_embedding)
    return f"Columns of embeddings: {there or 'none; add one of dl.Embedding'}."


_WANTED = {
    "embedding": "a column of vectors of one length",
    "scores": "a column of one probability per class",
}


def _fits(f: Field, by: By) -> bool:
    """Tell whether a column holds a vector per row; one of embeddings is no column of scores."""
    layout = f.htype.layout
    if not isinstance(layout, Dense) or len(layout.shape) != 1:
        return False
    return (f.htype.is_embedding and by == "embedding") or (
        not f.htype.is_embedding and np.dtype(layout.dtype).kind == "f"
    )


def _present(view: View, f: Field, by: By) -> NDArray[np.bool_]:
    """Return which rows have a vector; one that has neighbours is finite, as embeddings are."""
    finite = f.htype.is_embedding or by == "scores"
    if finite and not f.htype.nullable:
        return np.ones(len(view), bool)
    found = []
    for _, block in _blocks(view, f):
        there = ~np.ma.getmaskarray(block)
        there &= finite | np.isfinite(np.ma.getdata(block))
        found.append(there.reshape(len(block), -1).all(axis=1))
    return np.concatenate([*found, np.empty(0, bool)])


def _blocks(view: View, f: Field) -> Iterator[tuple[slice, Any]]:
    """Yield the rows of a column of vectors, some at a time."""
    width = max(1, int(np.prod(f.htype.layout.shape)))  # type: ignore[union-attr]
    for span in chunks.spans(len(view), max(1, BLOCK_BYTES // (8 * width))):
        yield span, read_values(view, [f], np.arange(span.start, span.stop))[f.name]


def _by_neighbours(view: View, f: Field, labels: Labels, neighbours: int) -> Judgement:
    count = min(neighbours, len(view) - 1)
    if count < 1:
        return np.zeros(len(view), np.float32), labels.codes
    vectors = _vectors(view, f)
    found = neighbours_of(vectors, count)
    pointing = vectors.any(axis=1)[:, np.newaxis]  # a vector of zeros is near nothing
    return votes(labels.codes, np.where(pointing, found.rows, -1), found.cosines)


def _vectors(view: View, f: Field) -> NDArray[np.float32]:
    """Return all vectors, (n, dim) float32, on fewer axes where they would not fit.

    Notes
    -----
    A random projection keeps angles nearly as they are: Johnson, Lindenstrauss (1984).
    """
    width = int(f.htype.layout.shape[0])  # type: ignore[union-attr]
    axes = min(width, max(_FEWEST_AXES, VECTOR_BYTES // (4 * len(view))))
    random = np.random.default_rng(0)
    projection = random.standard_normal((width, axes), np.float32) if axes < width else None
    found = np.empty((len(view), axes), np.float32)
    for span, block in _blocks(view, f):
        plain = np.asarray(block, np.float32)
        found[span] = plain if projection is None else plain @ projection
    return found


def _by_scores(view: View, f: Field, labels: Labels, neighbours: int) -> Judgement:  # noqa: ARG001
    classes = int(f.htype.layout.shape[0])  # type: ignore[union-attr]
    names = len(labels.values)
    if labels.htype.classes is None or classes < names:
        raise SchemaError(
            f"scores are one per class of a ClassLabel: column {f.name!r} has {classes}, the "
            f"labels are {labels.htype}. Name another column."
        )

    def blocks() -> Iterator[tuple[slice, NDArray[np.float32]]]:
        for span, block in _blocks(view, f):
            yield span, _probabilities(np.asarray(block, np.float32), f.name, span.start)

    suspicion, suggested = judged(labels.codes, blocks, classes)
    return suspicion, suggested


def _probabilities(values: NDArray[np.float32], name: str, first: int) -> NDArray[np.float32]:
    """Return probabilities as they are. Raises InvalidValueError for numbers that are none."""
    good = (values >= 0).all(axis=1) & (np.abs(values.sum(axis=1) - 1) <= _SUM)
    if not good.all():
        row = int(np.flatnonzero(~good)[0])
        raise InvalidValueError(
            "scores are probabilities: none negative, 1 in all, got "
            f"{values[row][:8].tolist()}, {values[row].sum():.4g} in all. Take the softmax first.",
            column=name,
            row=first + row,
        )
    return values


_METHODS = {"embedding": _by_neighbours, "scores": _by_scores}
