"""The record of a copy in the metadata of its commit: the lineage of the view that was copied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from deeplake_lite.ingest.copied_lineage import COPIED
from deeplake_lite.map.origin import Origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.storage.repo import Commit


@dataclass(frozen=True)
class Copied:
    """The record of a commit that copied columns from another lake."""

    how: str
    """The call that copied them, such as ``"materialize"``."""
    lineage: Mapping[str, Any]
    """The lineage of the view that was copied, as `chain.lineage_of` returns it."""
    ids: Mapping[str, str]
    """Maps the ids of the copied columns to the names that they had in the view."""

    @classmethod
    def find(cls, commit: Commit) -> Self | None:
        """Return the record in the metadata of a commit, or None if there is none."""
        match commit.metadata.get(COPIED):
            case {
                "how": str(how),
                "lineage": {
                    "url": str(),
                    "version": str(),
                    "rows": int(),
                    "columns": dict(),
                } as lineage,
                "ids": dict(ids),
            }:
                return cls(how, lineage, {str(i): str(name) for name, i in ids.items()})
        return None

    def origin(self, commit: Commit, column: str, column_id: str) -> Origin:
        """Return the origin of a column that `commit` copied; its name is now `column`."""
        lineage = self.lineage
        match lineage["columns"].get(self.ids[column_id]):
            case {"url": str(url), "version": str(version), "column": str(name), **rest}:
                inputs = {name: Origin.from_json(rest.get("origin"))}
            case _:  # computed by a query
                url, version, inputs = lineage["url"], lineage["version"], {}
        return Origin(
            column=column,
            version=commit.id,
            time=commit.time,
            job=self.how,
            input_version=version,
            lake=url or None,
            inputs=inputs,
            function=self.how,
            module="deeplake_lite",
            source="",
            parameters={"selection": lineage.get("selection")},
            packages={},
            executor="",
            seconds=0.0,
            rows=lineage["rows"],
            skipped=0,
        )
