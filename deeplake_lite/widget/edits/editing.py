"""The part of the browser that stages, undoes, lists, restores and commits edits."""

from __future__ import annotations

from collections import Counter
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
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.lazy import LazyModule
from deeplake_lite.widget import fields
from deeplake_lite.widget.browser_state import branch_of
from deeplake_lite.widget.edits import journal, writing
from deeplake_lite.widget.edits.counts import check_counts, dependents
from deeplake_lite.widget.edits.parsing import EditParser
from deeplake_lite.widget.edits.pending import Pending
from deeplake_lite.widget.edits.staged import Edit, Staged, rows_of
from deeplake_lite.widget.handles import handle_of
from deeplake_lite.widget.messages import problem_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
"""Maximum number of edits that are listed on the page."""

LISTED_DEPENDENTS = 5
"""Maximum number of dropped edits, or of columns with dropped edits, that a message lists."""

TOUCHED = 2000
"""Maximum number of changed rows in a reply. After larger changes, the page reloads all visible
rows."""

CONFLICTS = 500
"""Maximum number of cells that are listed in a reply about a commit with conflicts."""


class Editing:
    """The part that manages the staged edits.

    Nothing is written to the dataset before `commit`. The edits are recorded in a file. If this
    browser ends, another browser offers to restore the edits.
    """

    def __init__(self, host: Host) -> None:
        self._host, self.staged = host, Staged()
        self._handle: tuple[View, Dataset] | None = None
        self._message = ""
        self._journal: journal.Journal | None = None
        self._is_recorded = True
        self.pending = Pending(host, self.staged, self._dataset)
        self._parser = EditParser(host, self.pending)
        host.additions.append(self.pending.mark)

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """The methods that answer requests, by the type of the request."""
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

    def stage(self, request: Request, pack: Pack) -> dict[str, object]:  # noqa: ARG002
        """Stage all edits of a request. If one edit is rejected, none is staged."""
        ds = self._dataset()
        edits = [e for part in fields.parts(request, "edits") for e in self._parser.edits(ds, part)]
        check_counts(ds, self.staged, Staged([*self.staged.edits, *edits]))
        self.staged.add(edits)
        self._record(journal.add_line(edits))
        return self._reply(edits)

    def undo(self, request: Request, pack: Pack) -> dict[str, object]:  # noqa: ARG002
        """Undo the last step."""
        edits = self.staged.last
        if self.staged.undo():
            self._record({"do": "undo"})
        return self._reply(edits)

    def redo(self, request: Request, pack: Pack) -> dict[str, object]:  # noqa: ARG002
        """Repeat the step that was last undone."""
        edits = self.staged.next
        if edits:
            self._dataset()  # raises if the dataset has moved to another branch
        if self.staged.redo():
            self._record({"do": "redo"})
        return self._reply(edits)

    def drop(self, request: Request, pack: Pack) -> dict[str, object]:  # noqa: ARG002
        """Drop an edit, the edits linked to it, and all edits that depend on these edits."""
        number = fields.whole(request, "id")
        group = self.staged.group(number)
        if not group:
            raise LakeError(
                f"There is no edit {number}, because it was undone, dropped or committed. Choose "
                "an edit from the list."
            )
        schema = self._dataset().schema
        also = [e.id for e in dependents(schema, self.staged.edits, group)]
        dropped = self.staged.drop(number, also)
        self._record({"do": "drop", "id": number, "also": also})
        if also:
            self._report_dependents([e for e in dropped if e.id in also])
        return self._reply(dropped)

    def _report_dependents(self, edits: list[Edit]) -> None:
        listed = ", ".join(f"{e.column!r} {e.what}" for e in edits[:LISTED_DEPENDENTS])
        more = ", …" if len(edits) > LISTED_DEPENDENTS else ""
        text = (
            f"Boxes and classes must match, so these edits were dropped as well: {listed}{more}. "
        )
        self._host.notify({"type": "note", "text": f"{text}Undo restores all of them."})

    def discard(self) -> None:
        """Drop all staged edits for good."""
        self._clear()
        self._host.notify({"type": "changed"})

    def check_none(self, purpose: str) -> None:
        """Raise UncommittedError if edits are staged, because the caller would lose them.

        In the message, `purpose` follows the word "before", such as "another version is shown".
        """
        if len(self.staged):
            raise UncommittedError(
                f"There are staged edits ({len(self.staged):,}). Before {purpose}, commit "
                "them with w.commit('…') or drop them with w.discard()."
            )

    def check_moves(self, view: View) -> None:
        """Raise UncommittedError if edits are staged and `view` is of another branch or lake."""
        shown = self._host.shown
        if (view.url, branch_of(view)) == (shown.base.url, shown.branch) or not len(self.staged):
            return
        if view is shown.handle:
            shown.check_branch()
        self.check_none("another version is shown")

    def forget_undone(self) -> None:
        """Forget undone steps and the file of edits, which belong to the earlier branch.

        Does nothing if edits are staged.
        """
        if not len(self.staged):
            self._clear()

    # ---- drafts

    def drafts(self) -> list[journal.Draft]:
        """Return the edits that other browsers of this lake and branch left uncommitted."""
        folder = journal.folder_of(self._host.shown.base.url)
        if folder is None or not folder.is_dir():
            return []
        try:
            branch = str(self._dataset().current_branch)
        except LakeError:  # the shown version is read-only
            return []
        return list(journal.drafts_in(folder, branch, self._journal))

    def offer(self) -> None:
        """List the drafts on the page."""
        self._host.drafts = [draft.about for draft in self.drafts()]

    def restore(self, draft: journal.Draft) -> tuple[int, int]:
        """Stage the edits of a draft, and return the number of edited and of missing rows.

        Rows are looked up at the tip of the branch, to which a commit writes, because the dataset
        may be at an older version. Edits of missing rows stay in the draft, because such rows may
        be restored.

        Raises
        ------
        InvalidValueError
            When the draft and the staged edits together would leave a row with different numbers
            of boxes and classes.
        """
        ds = self._dataset()
        tip = at_branch(ds.rows.lake, str(ds.current_branch))
        edits, left = [], []
        for e in draft.edits:
            exists = tip.handle.table.find(e.ids) >= 0
            if exists.any():
                part = e.of_rows(exists)
                new = (e.column, e.field_id, e.op, part.ids, e.value, part.seen, e.what)
                edits.append(replace(self.staged.edit(*new), with_next=e.with_next))
            if not exists.all():
                left.append(e.of_rows(~exists))
        if len(self.staged):
            self._check_compatible(tip, edits)
        if edits:
            self.staged.add(edits)
            self._record(journal.add_line(edits))
            draft.reduce_to(left)
        gone = len(rows_of(left))
        if gone:
            self._report_gone(gone, ds)
        return len(rows_of(edits)), gone

    def _report_gone(self, gone: int, ds: Dataset) -> None:
        rows, them = ("1 row", "it") if gone == 1 else (f"{gone:,} rows", "them")
        text = (
            f"Edits of {rows} were not restored, because branch {ds.current_branch!r} no longer "
            f"has {them}. The draft keeps these edits until you discard it."
        )
        self._host.notify({"type": "note", "text": text})

    def _check_compatible(self, ds: Dataset, edits: list[Edit]) -> None:
        """Reject a draft whose boxes or classes do not match the staged boxes or classes.

        Conflicts with the lake are not checked here, because the commit reports them.
        """
        try:
            check_counts(ds, self.staged, Staged([*self.staged.edits, *edits]))
        except InvalidValueError as error:
            raise InvalidValueError(
                f"The draft contradicts the edits that are staged here: {error.args[0]} "
                "Commit or discard the staged edits first, with w.commit('…') or w.discard(), then "
                "restore the draft. The draft is kept until then."
            ) from None

    def _restore(self, request: Request, pack: Pack) -> dict[str, object]:  # noqa: ARG002
        rows, gone = self.restore(self._draft(request))
        return {**self._reply([]), "positions": None, "rows": rows, "gone": gone}

    def _forget(self, request: Request, pack: Pack) -> dict[str, object]:  # noqa: ARG002
        self._draft(request).remove()
        return self._reply([])

    def _draft(self, request: Request) -> journal.Draft:
        """Return the draft that a request names. Raises LakeError if the draft no longer exists."""
        drafts = {draft.id: draft for draft in self.drafts()}
        draft_id = fields.text(request, "id")
        if draft_id not in drafts:
            raise LakeError(
                "This draft is no longer available: another dataset browser is using it, or has "
                "restored or discarded it, or this page now shows another branch. Reload the list "
                "of drafts."
            )
        return drafts[draft_id]

    def _record(self, line: dict[str, object]) -> None:
        """Record a step on disk, so that the edits can be restored after the kernel ends.

        If a step cannot be recorded, the page shows a message, and no later steps are recorded.
        """
        folder = journal.folder_of(self._host.shown.base.url)
        if folder is None or not self._is_recorded:
            return
        if self._journal is None:
            ds = self._dataset()
            branch = str(ds.current_branch)
            self._journal = journal.Journal(folder, ds.url, branch, self.discard)
        try:
            reason = "" if self._journal.write(line) else "there are too many edits"
        except (OSError, TypeError, filelock.Timeout) as error:
            reason = f"the file of edits cannot be written ({error!s:.200})"
        if reason:
            self._is_recorded = False
            text = (
                f"Edits from now on are lost if the kernel restarts, because {reason}. Commit "
                "them soon."
            )
            self._host.notify({"type": "note", "text": text})

    def _clear(self) -> None:
        """Forget the staged edits, in memory and on disk."""
        self.staged.clear()
        if self._journal is not None:
            self._journal.remove()
        self._journal, self._is_recorded = None, True
        self.list_staged()

    # ---- writing

    def commit(
        self, message: str = "", *, on_conflict: Resolution = "raise"
    ) -> writing.CommitResult:
        """Commit the staged edits as a version, and show the new version."""
        ds = self._dataset()
        if not len(self.staged):
            self._host.notify({"type": "note", "text": "Nothing to commit."})
            return writing.CommitResult(ds.version, 0)
        self._message = message
        result = writing.write(ds, self.staged, self._message, on_conflict)
        self._clear()
        if result.lost:
            self._report_lost(result.lost)
        self._host.renew(ds)
        # If the rows stayed selected, the next keystroke would edit them again.
        self._host.selected = np.empty(0, np.int64)
        return result

    def _report_lost(self, lost: Sequence[writing.Collision]) -> None:
        counts = Counter(c.column for c in lost)
        listed = ", ".join(
            f"{column!r} of {pluralize(count, 'row')}"
            for column, count in counts.most_common(LISTED_DEPENDENTS)
        )
        more = ", …" if len(counts) > LISTED_DEPENDENTS else ""
        text = (
            "These edits were not written, because another writer removed their rows or columns: "
            f"{listed}{more}."
        )
        self._host.notify({"type": "note", "text": text})

    def _commit(self, request: Request, pack: Pack) -> dict[str, object]:  # noqa: ARG002
        return self._commit_reply(fields.text(request, "message", ""), "raise")

    def _resolve(self, request: Request, pack: Pack) -> dict[str, object]:  # noqa: ARG002
        """Commit again after conflicts, with the user's choice and the same commit message."""
        choice: Any = fields.text(request, "choice")
        return self._commit_reply(self._message, choice)

    def _commit_reply(self, message: str, on_conflict: Resolution) -> dict[str, object]:
        try:
            result = self.commit(message, on_conflict=on_conflict)
        except writing.CollisionError as error:
            raise self._page_conflict(error) from error
        return {"version": result.version, "rows": result.rows, **self._reply([])}

    def _page_conflict(self, error: writing.CollisionError) -> ConflictError:
        """Return the error that the page receives.

        Its `reply` lists the cells with conflicts, with their positions in the grid.
        """
        listed = error.collisions[:CONFLICTS]
        positions = self._positions_by_id(np.array([c.row_id for c in listed], np.int64))
        lines = [
            {
                "p": positions.get(c.row_id),
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
        problem = {**problem_of(shown), "conflicts": lines, "conflict_count": count}
        shown.reply = {"error": problem}  # type: ignore[attr-defined]
        return shown

    def _positions_by_id(self, ids: NDArray[np.int64]) -> dict[int, int]:
        """Return a dict that maps row ids to positions, without rows that are not shown."""
        shown = self._host.shown
        at = shown.positions_of(ids)
        shown_ids = shown.ids(at)
        return {} if shown_ids is None else dict(zip(shown_ids.tolist(), at.tolist(), strict=True))

    def _dataset(self) -> Dataset:
        """Return the dataset to which edits are written, on the shown branch.

        Raises the same errors as `handle_of` and `BrowserState.check_branch`.
        """
        self._host.shown.check_branch()
        view = self._host.shown.handle
        if self._handle is None or self._handle[0] is not view:
            self._handle = (view, handle_of(view))
        return self._handle[1]

    # ---- replies

    def _reply(self, changed: Iterable[Edit]) -> dict[str, object]:
        """Update the page's list of edits after a change, and return the fields of a reply."""
        self.list_staged()
        edits = list(changed)
        few = sum(len(e.ids) for e in edits) <= TOUCHED
        ids = rows_of(edits)
        return {
            "staged_count": len(self.staged),
            "can_undo": self.staged.can_undo,
            "can_redo": self.staged.can_redo,
            "positions": self._host.shown.positions_of(ids).tolist() if few else None,
        }

    def list_staged(self) -> None:
        """Update the page's list of edits, with the current column names."""
        names = self.pending.names()
        self._host.staged = [
            {"id": e.id, "column": names[e.field_id], "rows": len(e.ids), "what": e.what}
            for e in self.staged.edits[-LISTED:]
        ]
        self._host.staged_count = len(self.staged)
        self._host.staged_rows = len(self.staged.all_rows())
        if self._host.drafts:
            self.offer()
