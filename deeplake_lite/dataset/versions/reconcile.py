"""Bringing columns and notes together, three-way: each name, type, default and note on its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal

from deeplake_lite.dataset.versions.changes import NONE, Changes
from deeplake_lite.dataset.versions.conflicts import Conflict, Doubts, brief, brief_apart
from deeplake_lite.errors import ConflictError
from deeplake_lite.htypes.json_values import same_json
from deeplake_lite.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.htypes.base import Htype
    from deeplake_lite.schema import Field

ABSENT: Final = object()
"""Stands for a note that is not there; null is a note like any other."""

UNKNOWN: Final = object()
"""Stands for a value that is not agreed upon; nothing is equal to it."""


class Reconciler:
    """Three-way choice of small values, noting what collides.

    Parameters
    ----------
    theirs_wins : bool
        Whose value is chosen where both sides changed it.
    doubts : Doubts
        What has no agreed value to compare with.
    names : tuple of str
        What the two sides are called.
    """

    def __init__(self, doubts: Doubts, names: tuple[str, str], *, theirs_wins: bool) -> None:
        self.theirs_wins, self.doubts, self.names = theirs_wins, doubts, names
        self.conflicts = list[Conflict]()

    def choose(
        self,
        kind: Literal["column", "metadata"],
        name: str,
        what: str,
        values: tuple[Any, Any, Any],
        key: tuple[str, ...],
    ) -> Any:
        """Return of (base, ours, theirs) the side that changed; the winner, where both did."""
        base, ours, theirs = values
        base = UNKNOWN if key in self.doubts.things else base
        if same_json(ours, theirs) or same_json(theirs, base):
            return ours
        if same_json(ours, base):
            return theirs
        said = zip(self.names, _brief(ours, theirs), strict=True)
        reason = f"{what}: {', '.join(f'{who} {value}' for who, value in said)}"
        self.conflicts.append(Conflict(kind, name, None, reason, key))
        return theirs if self.theirs_wins else ours

    def notes(
        self,
        name: str,
        key: tuple[str, ...],
        base: Mapping[str, Any] | None,
        ours: Mapping[str, Any],
        theirs: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Merge notes key by key; no base is one that nothing is known of."""
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
        """Return the merged schema: our columns in our order, then theirs that are new."""
        o, t = ({f.id: f for f in schema} for schema in (ours, theirs))
        b = {f.id: f for f in base if ("column", f.id) not in self.doubts.things}
        kept: list[Field] = []
        for c in [*o, *(c for c in t if c not in o)]:
            if c in o and c in t:
                kept.append(self._field(b.get(c), o[c], t[c], mine, other))
            elif c not in b and ("column", c) not in self.doubts.things:
                kept.append(o.get(c) or t[c])
            else:
                survivor = self._dropped(b.get(c), o.get(c), t.get(c), mine, other)
                kept += [survivor] if survivor is not None else []
        return Schema(tuple(self._settled(kept, t if self.theirs_wins else o)))

    def _field(
        self, base: Field | None, ours: Field, theirs: Field, mine: Changes, other: Changes
    ) -> Field:
        key = ("column", ours.id, "name")
        names = (base.name if base else UNKNOWN, ours.name, theirs.name)
        return replace(
            ours,
            name=self.choose("column", ours.name, "name", names, key),
            htype=self._type(ours, base.htype if base else None, theirs.htype, mine, other),
            metadata=self.notes(
                f"metadata of {ours.name!r}",
                ("metadata", ours.id),
                base.metadata if base else None,
                ours.metadata,
                theirs.metadata,
            ),
        )

    def _type(
        self, f: Field, base: Htype | None, theirs: Htype, mine: Changes, other: Changes
    ) -> Htype:
        """Merge the type of our column `f`: nulls, default and meaning, each on its own.

        Raises
        ------
        ConflictError
            When values that one side has stored would be misread as the other side's type.
        """
        ours = f.htype
        if theirs == ours:
            return ours
        if base is not None and ("column", f.id, "default") not in self.doubts.things:
            is_converted = ours.with_mode(None) is not None  # images get the mode when merged
            if theirs == base and (is_converted or not _wrote(other, f)):
                return ours
            if ours == base and (is_converted or not _wrote(mine, f)):
                return theirs
        defaults = (base.default if base else UNKNOWN, ours.default, theirs.default)
        default = self.choose("column", f.name, "default", defaults, ("column", f.id, "default"))
        a, b = (replace(h, nullable=False, default=None) for h in (ours, theirs))
        wider = a if a.continues(b) else b if b.continues(a) else None
        if wider is None:
            raise self._misread(f, theirs)
        return replace(wider, nullable=ours.nullable or theirs.nullable, default=default)

    def _misread(self, f: Field, theirs: Htype) -> ConflictError:
        """Return the error for a column whose values would mean something else after the merge."""
        a, b = self.names
        reason = f"type: {a} {f.htype}, {b} {theirs}"
        return ConflictError(
            f"The sides have stored values of column {f.name!r} as different types, {a} as "
            f"{f.htype}, {b} as {theirs}: those of one would be misread as the other. Undo one "
            "side's change of the type, merge, then make it again, such as ds.add_classes or "
            "ds.set_mode.",
            [Conflict("column", f.name, None, reason, ("column", f.id))],
        )

    def _dropped(
        self,
        base: Field | None,
        ours: Field | None,
        theirs: Field | None,
        mine: Changes,
        other: Changes,
    ) -> Field | None:
        """Merge a column that one side dropped: it goes, unless the other side needs it.

        The other side needs it when it has changed the column or cells of it, or has added rows,
        which have values in it.
        """
        survivor, changes = (ours, mine) if theirs is None else (theirs, other)
        assert survivor is not None
        is_changed = survivor != base or len(changes.cells.get(survivor.id, NONE)) > 0
        added = len(changes.added)
        if not is_changed and not added:
            return None
        dropped = self.names[1] if theirs is None else self.names[0]
        verb = "changed it" if is_changed else f"added {added:,} row{'s'[: added != 1]} with it"
        reason = f"{dropped} dropped it, the other side {verb}"
        name = (base or survivor).name
        self.conflicts.append(Conflict("column", name, None, reason, ("column", survivor.id)))
        return theirs if self.theirs_wins else ours

    def _settled(self, kept: list[Field], winner: Mapping[str, Field]) -> list[Field]:
        """Return the columns without two of one name: the winner's names count, the rest goes."""
        while clashing := _clashing(kept):
            same = {f.id: winner[f.id].name for f in clashing if f.id in winner}
            renamed = any(f.name != same.get(f.id, f.name) for f in clashing)
            for f in clashing:
                key = ("column", f.id, "name") if renamed else ("column", f.id)
                reason = "each side has a column, or group, of this name"
                self.conflicts.append(Conflict("column", f.name, None, reason, key))
            if renamed:
                kept = [replace(f, name=same.get(f.id, f.name)) for f in kept]
            else:
                kept = [f for f in kept if f not in clashing or f.id in winner]
        return kept


def _brief(ours: Any, theirs: Any) -> tuple[str, str]:
    if ours is ABSENT:
        return "nothing", brief(theirs)
    return (brief(ours), "nothing") if theirs is ABSENT else brief_apart(ours, theirs)


def _clashing(fields: list[Field]) -> list[Field]:
    """Return the columns whose name another one has, as its own or as the group that it lies in."""

    def clash(a: str, b: str) -> bool:
        return a == b or a.startswith(f"{b}/") or b.startswith(f"{a}/")

    return [f for f in fields if any(clash(f.name, g.name) for g in fields if g is not f)]


def _wrote(changes: Changes, f: Field) -> bool:
    """Tell whether a side has stored values of a column: of new rows, or of others."""
    return bool(len(changes.added) or len(changes.cells.get(f.id, NONE)))
