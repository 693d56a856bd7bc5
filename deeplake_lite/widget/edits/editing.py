"""Edits from the page: staged, listed, taken back, shown in the cells, and written as a version."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.opening import at_branch
from deeplake_lite.errors import (
    ConflictError,
    InvalidValueError,
    LakeError,
    UncommittedError,
)
from deeplake_lite.lazy import LazyModule
from deeplake_lite.widget import fields
from deeplake_lite.widget.edits import journal, writing
from deeplake_lite.widget.edits.counts import check_counts, dependents
from deeplake_lite.widget.edits.drafts import Drafts
from deeplake_lite.widget.edits.pending import Pending
from deeplake_lite.widget.edits.staged import Edit, Staged, rows_of
from deeplake_lite.widget.handles import handle_of
from deeplake_lite.widget.messages import problem_of
from deeplake_lite.widget.shown import branch_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import filelock
    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.versions.merge_plan import Resolution
    from deeplake_lite.dataset.view import View
    from deeplake_lite.widget.messages import Pack
    from deeplake_lite.widget.parts import Handler, Host, Request
else:
    filelock = LazyModule("filelock")

type Positions = NDArray[np.int64]

LISTED = 200
"""Edits that the page lists."""

LISTED_DEPENDENTS = 5
"""Edits that a note names as dropped with another one."""

TOUCHED = 2000
"""Rows that a reply names as touched; of more the page asks all in sight again."""

CONFLICTS = 500
"""Cells that a reply about a collision names."""


class Editing:
    """Staged edits of the rows of a dataset.

    Nothing is written to the dataset before `commit`, and it does not know of what is staged.
    Edits are kept in a file beside it, which another browser offers if this one ends.
    """

    def __init__(self, host: Host) -> None:
        self._host, self.staged = host, Staged()
        self._opened: tuple[View, Dataset] | None = None
        self._message = ""
        self._journal: journal.Journal | None = None
        self._is_kept = True
        self.pending = Pending(host, self.staged, self._dataset)
        self._drafts = Drafts(host, self.pending)
        host.additions.append(self.pending.mark)

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """What it answers, by type of message."""
        return {
            "stage": self.stage,
            "undo": self.undo,
            "redo": self.redo,
            "drop": self.drop,
            "commit": self._commit,
            "resolve": self._resolve,
            "restore": self._restore,
            "forget": self._forget,
        }

    # ---- staging

    def stage(self, request: Request, pack: Pack) -> dict[str, Any]:  # noqa: ARG002
        """Stage edits; all of them or none."""
        ds = self._dataset()
        edits = [
            e for wanted in fields.parts(request, "edits") for e in self._drafts.edits(ds, wanted)
        ]
        check_counts(ds, self.staged, Staged([*self.staged.edits, *edits]))
        self.staged.add(edits)
        self._keep(journal.added(edits))
        return self._told(edits)

    def undo(self, request: Request, pack: Pack) -> dict[str, Any]:  # noqa: ARG002
        """Take back what was done last."""
        touched = self.staged.last
        if self.staged.undo():
            self._keep({"do": "undo"})
        return self._told(touched)

    def redo(self, request: Request, pack: Pack) -> dict[str, Any]:  # noqa: ARG002
        """Do again what was undone last."""
        touched = self.staged.next
        if touched:
            self._dataset()  # refuses if the dataset has moved to another branch
        if self.staged.redo():
            self._keep({"do": "redo"})
        return self._told(touched)

    def drop(self, request: Request, pack: Pack) -> dict[str, Any]:  # noqa: ARG002
        """Take one edit out, with the one that belongs to it, and those that were made for it."""
        number = fields.whole(request, "id")
        group = self.staged.group(number)
        if not group:
            raise LakeError(f"There is no edit {number} any more. Look at the list.")
        schema = self._dataset().schema
        also = [e.id for e in dependents(schema, self.staged.edits, group)]
        dropped = self.staged.drop(number, also)
        self._keep({"do": "drop", "id": number, "also": also})
        if also:
            self._tell_dependents([e for e in dropped if e.id in also])
        return self._told(dropped)

    def _tell_dependents(self, edits: list[Edit]) -> None:
        listed = ", ".join(f"{e.column!r} {e.what}" for e in edits[:LISTED_DEPENDENTS])
        more = ", …" if len(edits) > LISTED_DEPENDENTS else ""
        text = f"Boxes and their classes go together, so this was dropped too: {listed}{more}. "
        self._host.tell({"type": "note", "text": f"{text}Undo brings all of it back."})

    def discard(self) -> None:
        """Forget all that is staged."""
        self._clear()
        self._host.tell({"type": "changed"})

    def check_none(self, purpose: str) -> None:
        """Refuse what staged edits would not survive. Raises UncommittedError."""
        if len(self.staged):
            raise UncommittedError(
                f"{len(self.staged):,} edits are staged: before {purpose}, keep them with "
                "w.commit('…') or drop them with w.discard()."
            )

    def check_moves(self, view: View) -> None:
        """Refuse to show another branch or lake before what is staged here is done with.

        Raises UncommittedError.
        """
        shown = self._host.shown
        if (view.url, branch_of(view)) == (shown.base.url, shown.branch) or not len(self.staged):
            return
        if view is shown.handle:
            shown.check_branch()
        self.check_none("another version is shown")

    def start_anew(self) -> None:
        """Forget what was undone, once another branch or lake is shown: it was for the other one.

        Its file goes, too, which names the branch. Edits that are staged keep both.
        """
        if not len(self.staged):
            self._clear()

    # ---- drafts

    def drafts(self) -> list[journal.Draft]:
        """Return what other browsers of this lake and branch left behind."""
        folder = journal.folder_of(self._host.shown.base.url)
        if folder is None or not folder.is_dir():
            return []
        try:
            branch = str(self._dataset().current_branch)
        except LakeError:  # what is shown never moves
            return []
        return list(journal.drafts_in(folder, branch, self._journal))

    def offer(self) -> None:
        """Tell the page which drafts there are."""
        self._host.drafts = [draft.about for draft in self.drafts()]

    def restore(self, draft: journal.Draft) -> tuple[int, int]:
        """Stage the edits of a draft; return of how many rows, and how many rows are gone.

        Nothing is written: a commit compares the cells with what was seen when they were edited.
        Rows are those of the branch's tip, to which a commit writes: the handle may be older. Edits
        of rows that are gone stay in the draft, since a row comes back when it is restored.

        Raises
        ------
        InvalidValueError
            Where rows would have more boxes than classes, or fewer, with what is staged here.
        """
        ds = self._dataset()
        tip = at_branch(ds.rows.lake, str(ds.current_branch))
        edits, left = [], []
        for e in draft.edits:
            there = tip.handle.table.find(e.ids) >= 0
            if there.any():
                some = e.of_rows(there)
                new = (e.column, e.field_id, e.op, some.ids, e.value, some.seen, e.what)
                edits.append(replace(self.staged.edit(*new), with_next=e.with_next))
            if not there.all():
                left.append(e.of_rows(~there))
        if len(self.staged):
            self._check_goes_along(tip, edits)
        if edits:
            self.staged.add(edits)
            self._keep(journal.added(edits))
            draft.keep(left)
        gone = len(rows_of(left))
        if gone:
            self._tell_gone(gone, ds)
        return len(rows_of(edits)), gone

    def _tell_gone(self, gone: int, ds: Dataset) -> None:
        rows, them = ("1 row", "it") if gone == 1 else (f"{gone:,} rows", "them")
        text = (
            f"Edits of {rows} were not restored, because branch {ds.current_branch!r} no longer "
            f"has {them}. The draft keeps these edits until you discard it."
        )
        self._host.tell({"type": "note", "text": text})

    def _check_goes_along(self, ds: Dataset, edits: list[Edit]) -> None:
        """Refuse a draft whose boxes or classes do not fit those that are staged here.

        What does not fit the lake by now is another matter: the commit says so.
        """
        try:
            check_counts(ds, self.staged, Staged([*self.staged.edits, *edits]))
        except InvalidValueError as error:
            raise InvalidValueError(
                f"The draft does not go with the edits that are staged here: {error.args[0]} "
                "Commit or discard the staged ones first, w.commit('…') or w.discard(), then "
                "restore the draft; it is kept."
            ) from None

    def _restore(self, request: Request, pack: Pack) -> dict[str, Any]:  # noqa: ARG002
        rows, gone = self.restore(self._draft(request))
        return {**self._told([]), "positions": None, "rows": rows, "gone": gone}

    def _forget(self, request: Request, pack: Pack) -> dict[str, Any]:  # noqa: ARG002
        self._draft(request).remove()
        return self._told([])

    def _draft(self, request: Request) -> journal.Draft:
        found = {draft.id: draft for draft in self.drafts()}
        wanted = fields.text(request, "id")
        if wanted not in found:
            raise LakeError("That draft is gone: another browser has restored or discarded it.")
        return found[wanted]

    def _keep(self, line: dict[str, Any]) -> None:
        """Write down what was done, for after a restart of the kernel."""
        folder = journal.folder_of(self._host.shown.base.url)
        if folder is None or not self._is_kept:
            return
        if self._journal is None:
            ds = self._dataset()
            branch = str(ds.current_branch)
            self._journal = journal.Journal(folder, ds.url, branch, self.discard)
        try:
            why = "" if self._journal.write(line) else "there are too many of them"
        except (OSError, TypeError, filelock.Timeout) as error:
            why = f"{error!s:.200}"
        if why:
            self._is_kept = False
            text = f"Edits from here on are lost if the kernel restarts: {why}. Commit them soon."
            self._host.tell({"type": "note", "text": text})

    def _clear(self) -> None:
        """Forget what is staged, here and on disk."""
        self.staged.clear()
        if self._journal is not None:
            self._journal.remove()
        self._journal, self._is_kept = None, True
        self.list_staged()

    # ---- writing

    def commit(self, message: str = "", *, on_conflict: Resolution = "raise") -> writing.Written:
        """Write what is staged as a version, and show it."""
        ds = self._dataset()
        if not len(self.staged):
            self._host.tell({"type": "note", "text": "Nothing to commit."})
            return writing.Written(ds.version, 0)
        self._message = message
        done = writing.write(ds, self.staged, self._message, on_conflict)
        self._clear()
        self._host.renew(ds)
        self._host.selected = []  # what is done is done: the next keys are for other rows
        return done

    def _commit(self, request: Request, pack: Pack) -> dict[str, Any]:  # noqa: ARG002
        return self._answer(fields.text(request, "message", ""), "raise")

    def _resolve(self, request: Request, pack: Pack) -> dict[str, Any]:  # noqa: ARG002
        choice: Any = fields.text(request, "choice")
        return self._answer(self._message, choice)

    def _answer(self, message: str, on_conflict: Resolution) -> dict[str, Any]:
        try:
            done = self.commit(message, on_conflict=on_conflict)
        except writing.CollisionError as error:
            raise self._shown_conflict(error) from error
        return {"version": done.version, "rows": done.rows, **self._told([])}

    def _shown_conflict(self, error: writing.CollisionError) -> ConflictError:
        """Return the error with what the page lists: each cell with its place in the grid."""
        listed = error.collisions[:CONFLICTS]
        places = self._places(np.array([c.row_id for c in listed], np.int64))
        told = [
            {
                "p": places.get(c.row_id),
                "id": str(c.row_id),
                "kind": c.kind,
                "column": c.column,
                "ours": c.ours,
                "theirs": c.theirs,
            }
            for c in listed
        ]
        shown = ConflictError(str(error).split("\n", 1)[0], error.conflicts)
        count = len(error.collisions)
        problem = {**problem_of(shown), "conflicts": told, "conflict_count": count}
        shown.reply = {"error": problem}  # type: ignore[attr-defined]
        return shown

    def _places(self, ids: NDArray[np.int64]) -> dict[int, int]:
        shown = self._host.shown
        at = shown.places(ids)
        found = shown.ids(at)
        return {} if found is None else dict(zip(found.tolist(), at.tolist(), strict=True))

    def _dataset(self) -> Dataset:
        """Return the dataset that is written to: the branch that is shown.

        Raises what `handle_of` and `Shown.check_branch` do.
        """
        self._host.shown.check_branch()
        view = self._host.shown.handle
        if self._opened is None or self._opened[0] is not view:
            self._opened = (view, handle_of(view))
        return self._opened[1]

    # ---- telling

    def _told(self, touched: Iterable[Edit]) -> dict[str, Any]:
        self.list_staged()
        edits = list(touched)
        few = sum(len(e.ids) for e in edits) <= TOUCHED
        ids = rows_of(edits)
        return {
            "staged_count": len(self.staged),
            "can_undo": self.staged.can_undo,
            "can_redo": self.staged.can_redo,
            "positions": self._host.shown.places(ids).tolist() if few else None,
        }

    def list_staged(self) -> None:
        """Bring the list of the page to what is staged; columns by the names that they have now."""
        names = self.pending.names()
        self._host.staged = [
            {"id": e.id, "column": names[e.field_id], "rows": len(e.ids), "what": e.what}
            for e in self.staged.edits[-LISTED:]
        ]
        self._host.staged_count = len(self.staged)
        self._host.staged_rows = len(self.staged.all_rows())
        if self._host.drafts:
            self.offer()
