"""The note that `View.to_webdataset` writes next to tar files. It describes the lake's columns."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deeplake_lite.dataset.export.shards.webdataset import IMAGE, SIDECAR
from deeplake_lite.htypes.files import scheme_of
from deeplake_lite.ingest.exported_metadata import ExportedMetadata
from deeplake_lite.ingest.shards.notes import htype_of_config

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deeplake_lite.htypes import Htype

MAX_BYTES = 64 * 2**20
"""Maximum size of a note in bytes."""


@dataclass(frozen=True)
class TarNote:
    """The content of the note next to tar files. All fields are empty if there is no note."""

    types: Mapping[str, Htype] = field(default_factory=dict)
    """Maps names of columns to types, in the order of the lake's columns."""

    names: Mapping[str, str] = field(default_factory=dict)
    """Maps extensions, in lower case, to names of columns. For images, ``*`` stands for the last
    part of the extension, which differs between formats."""

    metadata: ExportedMetadata = field(default_factory=ExportedMetadata)
    """Metadata of the lake and of its columns."""

    @classmethod
    def next_to(cls, files: Sequence[str]) -> TarNote:
        """Read the note in the folder of tar files. If this fails, return an empty note."""
        folders = {Path(file).parent for file in files}
        if len(folders) != 1 or any(scheme_of(file) is not None for file in files):
            return cls()
        path = folders.pop() / SIDECAR
        try:
            if path.stat().st_size > MAX_BYTES:
                return cls()
            content = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            return cls()
        return cls._of(content)

    @classmethod
    def _of(cls, content: object) -> TarNote:
        """Return the note for parsed JSON, or an empty note if the JSON is not as expected.

        For example, another program or a newer release may have written it.
        """
        columns = content.get("columns") if isinstance(content, dict) else None
        if not isinstance(content, dict) or not isinstance(columns, dict):
            return cls()
        types, names = dict[str, Any](), dict[str, str]()
        for name, config in columns.items():
            extension = config.get("extension") if isinstance(config, dict) else None
            htype = htype_of_config(config.get("htype")) if isinstance(config, dict) else None
            if htype is None or not isinstance(extension, str):
                return cls()
            types[name], names[extension.lower()] = htype, name
        return cls(types, names, ExportedMetadata.of(content))

    def column(self, extension: str) -> str | None:
        """Return the name of the column for an extension, or None if there is no such column.

        >>> TarNote(names={"*": "image", "left.*": "left", "cls": "cls"}).column("left.jpg")
        'left'
        """
        if extension in self.names:
            return self.names[extension]
        stem, dot, _ = extension.rpartition(".")
        return self.names.get(f"{stem}{dot}{IMAGE}")
