"""Three-way merge of schemas and metadata: each name, type, default and key is merged by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

from deeplake_lite.dataset.versions.conflicts import Conflict, Unresolved, brief, brief_apart
from deeplake_lite.dataset.versions.pairs import NONE
from deeplake_lite.errors import ConflictError
from deeplake_lite.htypes.json_values import same_json
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.dataset.versions.changes import Changes
    from deeplake_lite.htypes.base import Htype
    from deeplake_lite.schema import Field

ABSENT: Final = object()
"""Stands for a missing metadata key, since None stands for null, an ordinary value."""

UNKNOWN: Final = object()
"""Stands for an unknown base value, which differs from every value."""


class Reconciler:
    """A three-way merge of small values that collects the conflicts.

    Parameters
    ----------
    unresolved : Unresolved
        Items that have no common base value, because several merge bases conflict.
    names : tuple of str
        Names of the two sides in messages.
    theirs_wins : bool
        Whether a conflict is resolved with their value rather than ours.
    """

    def __init__(
        self, unresolved: Unresolved, names: tuple[str, str], *, theirs_wins: bool
    ) -> None:
        self.theirs_wins, self.unresolved, self.names = theirs_wins, unresolved, names
        self.conflicts = list[Conflict]()
        """The conflicts that have been found so far."""

    def choose[T](
        self,
        kind: Literal["column", "metadata"],
        name: str,
        label: str,
        values: tuple[object, T, T],
        key: tuple[str, ...],
    ) -> T:
        """Merge (base, ours, theirs) to the changed value or, in a conflict, the winner's value."""
        base, ours, theirs = values
        base = UNKNOWN if key in self.unresolved.keys else base
        if same_json(ours, theirs) or same_json(theirs, base):
            return ours
        if same_json(ours, base):
            return theirs
        sides = zip(self.names, _brief_pair(ours, theirs), strict=True)
        reason = f"{label}: {', '.join(f'{side} {value}' for side, value in sides)}"
        self.conflicts.append(Conflict(kind, name, None, reason, key))
        return theirs if self.theirs_wins else ours

    def metadata(
        self,
        name: str,
        key: tuple[str, ...],
        base: Mapping[str, object] | None,
        ours: Mapping[str, object],
        theirs: Mapping[str, object],
    ) -> dict[str, object]:
        """Merge metadata key by key. If `base` is None, the base value of every key is unknown."""
        merged = {
            k: self.choose(
                "metadata",
                k,
                name,
                (
                    UNKNOWN if base is None else base.get(k, ABSENT),
                    ours.get(k, ABSENT),
                    theirs.get(k, ABSENT),
                ),
                (*key, k),
            )
            for k in {**ours, **theirs}
        }
        return {k: v for k, v in merged.items() if v is not ABSENT}

    def schema(
        self, base: Schema, ours: Schema, theirs: Schema, mine: Changes, other: Changes
    ) -> Schema:
        """Return the merged schema: our columns in our order, then their new columns."""
        o, t = ({f.id: f for f in schema} for schema in (ours, theirs))
        b = {f.id: f for f in base if ("column", f.id) not in self.unresolved.keys}
        merged: list[Field] = []
        for c in [*o, *(c for c in t if c not in o)]:
            if c in o and c in t:
                merged.append(self._merge_field(b.get(c), o[c], t[c], mine, other))
            elif c not in b and ("column", c) not in self.unresolved.keys:
                merged.append(o.get(c) or t[c])
            else:
                survivor = self._merge_dropped(b.get(c), o.get(c), t.get(c), mine, other)
                merged += [survivor] if survivor is not None else []
        return Schema(tuple(self._resolve_names(merged, t if self.theirs_wins else o)))

    def _merge_field(
        self, base: Field | None, ours: Field, theirs: Field, mine: Changes, other: Changes
    ) -> Field:
        key = ("column", ours.id, "name")
        names = (base.name if base else UNKNOWN, ours.name, theirs.name)
        return replace(
            ours,
            name=self.choose("column", ours.name, "name", names, key),
            htype=self._merge_type(ours, base.htype if base else None, theirs.htype, mine, other),
            metadata=self.metadata(
                f"metadata of {ours.name!r}",
                ("metadata", ours.id),
                base.metadata if base else None,
                ours.metadata,
                theirs.metadata,
            ),
        )

    def _merge_type(
        self, f: Field, base: Htype | None, theirs: Htype, mine: Changes, other: Changes
    ) -> Htype:
        """Merge the type of our column `f`. Nullability, default and other properties are separate.

        Raises
        ------
        ConflictError
            When values that one side has stored would be misread as the other side's type.
        """
        ours = f.htype
        if theirs == ours:
            return ours
        if base is not None and ("column", f.id, "default") not in self.unresolved.keys:
            # Images are converted to the merged mode, so a stored image cannot be misread.
            is_converted = ours.with_mode(None) is not None
            if theirs == base and (is_converted or not _wrote(other, f)):
                return ours
            if ours == base and (is_converted or not _wrote(mine, f)):
                return theirs
        defaults = (base.default if base else UNKNOWN, ours.default, theirs.default)
        default = self.choose("column", f.name, "default", defaults, ("column", f.id, "default"))
        a, b = self._with_one_mode(f, base, ours.bare, theirs.bare)
        wider = a if a.continues(b) else b if b.continues(a) else None
        if wider is None:
            raise self._type_conflict(f, theirs)
        return replace(wider, nullable=ours.nullable or theirs.nullable, default=default)

    def _with_one_mode(
        self, f: Field, base: Htype | None, ours: Htype, theirs: Htype
    ) -> tuple[Htype, Htype]:
        """Return both types. Two image types get a common mode, to which images are converted."""
        modes = [h.pixels.mode if h and h.pixels else None for h in (base, ours, theirs)]
        plain = ours.with_mode(None), theirs.with_mode(None)
        if None in plain or modes[1] == modes[2]:
            return ours, theirs
        values = (UNKNOWN if base is None else modes[0], modes[1], modes[2])
        mode = self.choose("column", f.name, "mode", values, ("column", f.id, "mode"))
        return ours.with_mode(mode) or ours, theirs.with_mode(mode) or theirs

    def _type_conflict(self, f: Field, theirs: Htype) -> ConflictError:
        """Return the error for a column whose values would mean something else after the merge."""
        a, b = self.names
        reason = f"type: {a} {f.htype}, {b} {theirs}"
        return ConflictError(
            f"The two sides have stored values of column {f.name!r} under different types: {a} has "
            f"{f.htype}, and {b} has {theirs}. After a merge, the values of one side would be "
            "misread. Undo the type change on one side, merge, and then change the type again, "
            "for example with ds.add_classes or ds.set_mode.",
            [Conflict("column", f.name, None, reason, ("column", f.id))],
        )

    def _merge_dropped(
        self,
        base: Field | None,
        ours: Field | None,
        theirs: Field | None,
        mine: Changes,
        other: Changes,
    ) -> Field | None:
        """Merge a column that one side dropped, which stays dropped unless the other needs it.

        The other side needs the column if it changed the column or its cells, or if it added rows,
        which have values in the column. This is a conflict.
        """
        survivor, changes = (ours, mine) if theirs is None else (theirs, other)
        assert survivor is not None
        is_changed = survivor != base or len(changes.cells.get(survivor.id, NONE)) > 0
        added = len(changes.added)
        if not is_changed and not added:
            return None
        dropped = self.names[1] if theirs is None else self.names[0]
        verb = "changed it" if is_changed else f"added {pluralize(added, 'row')} with values in it"
        reason = f"{dropped} dropped it, but the other side {verb}"
        name = (base or survivor).name
        self.conflicts.append(Conflict("column", name, None, reason, ("column", survivor.id)))
        return theirs if self.theirs_wins else ours

    def _resolve_names(self, fields: list[Field], winner: Mapping[str, Field]) -> list[Field]:
        """Resolve clashes between the names of columns in favour of the winner.

        Clashing columns get the names that they have on the winner's side. If they already have
        these names, columns that the winner lacks are dropped. Either step may cause new clashes,
        so the steps are repeated until no names clash.
        """
        while clashing := _with_clashing_names(fields):
            names = {f.id: winner[f.id].name for f in clashing if f.id in winner}
            is_renamed = any(f.name != names.get(f.id, f.name) for f in clashing)
            for f in clashing:
                key = ("column", f.id, "name") if is_renamed else ("column", f.id)
                reason = "both sides have a column or group of this name"
                self.conflicts.append(Conflict("column", f.name, None, reason, key))
            if is_renamed:
                fields = [replace(f, name=names.get(f.id, f.name)) for f in fields]
            else:
                fields = [f for f in fields if f not in clashing or f.id in winner]
        return fields


def _brief_pair(ours: object, theirs: object) -> tuple[str, str]:
    if ours is ABSENT:
        return "nothing", brief(theirs)
    return (brief(ours), "nothing") if theirs is ABSENT else brief_apart(ours, theirs)


def _with_clashing_names(fields: list[Field]) -> list[Field]:
    """Return the columns whose name is also the name, or a parent group, of another column."""

    def clash(a: str, b: str) -> bool:
        return a == b or a.startswith(f"{b}/") or b.startswith(f"{a}/")

    return [f for f in fields if any(clash(f.name, g.name) for g in fields if g is not f)]


def _wrote(changes: Changes, f: Field) -> bool:
    """Return whether a side has stored values in a column, for new or existing rows."""
    return bool(len(changes.added) or len(changes.cells.get(f.id, NONE)))
