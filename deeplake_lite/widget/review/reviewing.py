"""The part of the browser that ranks rows by suspicion, disagreement or similarity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deeplake_lite.review import comparison_query, pairs
from deeplake_lite.widget import fields
from deeplake_lite.widget.images.kinds import names_of
from deeplake_lite.widget.neighbours import nearest_first
from deeplake_lite.widget.review.mapping import about_map, is_vector, vector_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.widget.messages import Pack
    from deeplake_lite.widget.parts import Handler, Host, Request

SOURCE = "suspects"
"""Name of the source from which the shown query reads the ranked rows."""

AGREE_FROM = 0.5
"""Default of the minimum overlap, as a fraction, at which two boxes agree."""


class Reviewing:
    """The part of the browser that shows suspicious rows and the neighbours of rows."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """The methods that answer requests, by the type of the request."""
        return {"suspects": self.suspects, "neighbours": self.neighbours}

    def suspects(self, request: Request, pack: Pack) -> Mapping[str, object]:  # noqa: ARG002
        """Show the browsed rows, with the most suspicious rows first.

        If two columns are compared, only rows in which they disagree are shown, or rows in which
        they agree.
        """
        base, column = self._host.shown.base, fields.text_or_none(request, "column")
        label, by = fields.text(request, "label"), fields.text(request, "by", "embedding")
        if by == "agreement":
            threshold = fields.number(request, "below", AGREE_FROM)
            agree = bool(request.get("agree"))
            text = comparison_query(base, label, str(column), agree=agree, threshold=threshold)
            return self._host.ask(text)
        return self._host.show(base.suspects(label, by, column=column), SOURCE)  # type: ignore[arg-type]

    def neighbours(self, request: Request, pack: Pack) -> Mapping[str, object]:  # noqa: ARG002
        """Show all rows, sorted by similarity to one row."""
        shown = self._host.shown
        position, column = fields.row(request, len(shown.view)), fields.text(request, "column")
        f = vector_column(shown.base, column)
        return self._host.ask(nearest_first(shown, position, f.name))


def about_review(view: View) -> dict[str, object]:
    """Describe the possible reviews for the page, and the columns by which neighbours are found.

    If no review is possible, describe what a review needs.
    """
    offers = list(_possible_reviews(view))
    return {
        "suspects": offers,
        "review_needs": None if offers else needs(view),
        "alike": about_map(view)["embeddings"],
    }


def needs(view: View) -> str:
    """Describe the columns that a review needs, with the code to add them in backquotes.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://needs-doc", {"kind": dl.ClassLabel(["ant", "bee"])})
    >>> needs(ds).split("`")[3]
    'ds.add_column("embedding", dl.Embedding(512), values=vectors)'
    """
    label = next((f for f in view.schema if _is_label(f.htype)), None)
    classes = (len(names_of(label.htype)) if label else 0) or 10
    columns = (
        'an embedding of each row, `ds.add_column("embedding", dl.Embedding(512), values=vectors)`,'
        f' or the probabilities of a model, `ds.add_column("scores", dl.Array("float32", '
        f"({classes},)), values=scores)`."
    )
    if label is not None:
        return f"Review ranks rows whose `{label.name}` looks wrong, and needs {columns}"
    return (
        "Review ranks rows whose label looks wrong, and needs a column of labels, "
        f'`ds.add_column("label", dl.ClassLabel(["ant", "bee"]), values=labels)`, and {columns}'
    )


def _is_label(htype: Htype) -> bool:
    return htype.sql == "class"


def _possible_reviews(view: View) -> Iterator[dict[str, str]]:
    """Yield the possible reviews, each with a column of labels and the column that judges it."""
    predictions = list(pairs(view))
    predicted = {prediction for _, prediction in predictions}
    for f in view.schema:
        if not _is_label(f.htype) or f.name in predicted:
            continue
        for g in view.schema:
            if g.htype.is_embedding:
                yield {"label": f.name, "by": "embedding", "column": g.name}
            elif is_vector(g.htype) and _may_be_scores(f.htype, g.htype.layout.shape[0]):  # type: ignore[union-attr]
                yield {"label": f.name, "by": "scores", "column": g.name}
    for truth, prediction in predictions:
        yield {"label": truth, "by": "agreement", "column": prediction}


def _may_be_scores(htype: Htype, width: int) -> bool:
    """Return whether vectors of this width can be scores of the classes."""
    names = names_of(htype)
    return bool(names) and len(names) == width
