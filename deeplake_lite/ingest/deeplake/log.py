"""Reading Deep Lake's log, which records the ids of the rows that each version changes.

The log is a folder of JSON lines for each branch, some of them compressed with LZ4::

    _deeplake_log/_meta/0000000001c00000000.jsonl           branches, tags and merges
    _deeplake_log/<branch>/0000000003m00000000.jsonl.lz4    a commit, the third of its branch
    _deeplake_log/<branch>/0000000017o00000001.jsonl.lz4    a compaction, which changes no row
    _deeplake_log/<branch>/0000000022w00000013.jsonl        restores version 0x13

Rows are added in blocks. The id of a row is the number of its block times 2**32, plus the row's
position in the block. Updates and deletions refer to rows by id, so the log tells which rows a
version changes. The values of these rows are read through Deep Lake's API.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.ingest.deeplake.peer import LARGEST_FILE, read_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.ingest.deeplake.peer import Peer

FOLDER = "_deeplake_log"
META = "_meta"
_FILE = re.compile(r"((\d{10})([a-z])([0-9a-f]{8}))\.jsonl(\.lz4)?")
MAX_ROWS = 2**32
"""Upper limit (exclusive) on the number of rows in a block, an update or a deletion."""


@dataclass
class Change:
    """The changes made by one version of a branch."""

    id: str
    """Id of the version within its branch."""

    number: int
    letter: str
    """Kind of version: ``"m"`` or ``"c"`` for a commit, ``"o"`` for a compaction, or ``"w"`` if an
    older version is restored."""

    target: int
    """Number of the version that is restored."""

    message: str | None = None
    time: datetime | None = None
    created: dict[int, str] = field(default_factory=dict)
    """Maps the number of each new column to its name."""

    coordinates: dict[int, dict[str, str]] = field(default_factory=dict)
    """Maps the number of each new column of boxes to the format of the boxes."""

    renamed: dict[int, str] = field(default_factory=dict)
    dropped: set[int] = field(default_factory=set)
    blocks: dict[int, dict[int, int]] = field(default_factory=dict)
    """Maps the number of each column to a dict from new blocks to the rows in the block."""

    updated: dict[int, list[NDArray[np.uint64]]] = field(default_factory=dict)
    """Maps the number of each column to the ids of the rows whose cells change."""

    deleted: list[NDArray[np.uint64]] = field(default_factory=list)
    """Ids of deleted rows."""

    def added(self) -> NDArray[np.uint64]:
        """Return the ids of the new rows, in the order of their blocks.

        Raises InvalidValueError if the columns of a block differ in length.
        """
        sizes: dict[int, int] = {}
        for blocks in self.blocks.values():
            for block, rows in blocks.items():
                if sizes.setdefault(block, rows) != rows:
                    raise _unknown(f"block {block} has columns of different lengths")
        parts = [np.arange(n, dtype=np.uint64) + np.uint64(b << 32) for b, n in sizes.items()]
        return np.concatenate([np.empty(0, np.uint64), *parts])


@dataclass(frozen=True)
class Merge:
    """A merge of a version of one branch into another branch."""

    branch: str
    """Id of the branch that is merged."""

    version: str
    """Id of the version that is merged."""

    into: str
    """Id of the branch into which the other branch is merged."""

    merged: str
    """Id of the version that results from the merge."""


@dataclass
class Log:
    """The log of a dataset."""

    changes: dict[str, list[Change]] = field(default_factory=dict)
    """Maps the id of each branch to its versions, starting with the oldest version."""

    parents: dict[str, tuple[str, str] | None] = field(default_factory=dict)
    """Maps the id of each branch to the branch and version from which it starts, or to None."""

    merges: dict[tuple[str, str], Merge] = field(default_factory=dict)
    """Maps a branch and a version, by their ids, to the merge that created the version."""

    tags: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Maps the id of each tag to the ids of its branch and version."""

    @classmethod
    def read(cls, peer: Peer) -> Log:
        """Read the log of a dataset. Raises InvalidValueError if it is invalid."""
        reader, log = peer.reader(), cls()
        with peer.translating():
            for path in sorted(_paths(reader, META)):
                for action, content in _lines(reader, path):
                    log._take(action, content)
            for branch in log.parents:
                files = sorted(_paths(reader, branch), key=_order)
                log.changes[branch] = [_change(reader, path) for path in files]
        return log

    def gaps(self) -> frozenset[int]:
        """Return the numbers of columns that may lack values in rows that are older than them."""
        columns = set[int]()
        for branch, changes in self.changes.items():
            has_rows = self.parents[branch] is not None
            for change in changes:
                every = {block for blocks in change.blocks.values() for block in blocks}
                columns |= {c for c, blocks in change.blocks.items() if len(blocks) < len(every)}
                columns |= {
                    c for c in change.created if has_rows or (every and c not in change.blocks)
                }
                has_rows |= bool(every)
        return frozenset(columns)

    def _take(self, action: str, content: Any) -> None:
        """Record an action that creates a branch or tag, or that merges branches."""
        match action, content:
            case "createBranch", {"id": str(branch), "parent": str(parent), "version": str(at)}:
                self.parents[branch] = (parent, at)
            case "createBranch", {"id": str(branch)}:
                self.parents[branch] = None
            case "createTag", {"id": str(tag), "branch_id": str(branch), "version": str(version)}:
                self.tags[tag] = (branch, version)
            case "mergeBranch", {
                "source": {"branch": str(branch), "version": str(version)},
                "destination": {"branch": str(into), "version": str(merged)},
            }:
                self.merges[into, merged] = Merge(branch, version, into, merged)


def has_log(peer: Peer) -> bool:
    """Return whether a dataset has a log, which only datasets of Deep Lake 4 have."""
    reader = peer.reader()
    with peer.translating():
        try:
            return bool(_paths(reader, META))
        except (KeyError, RuntimeError):
            return False


def _paths(reader: Any, folder: str) -> list[str]:
    """Return the paths of the files in a folder of the log.

    Raises InvalidValueError if the name of the folder is invalid.
    """
    if not re.fullmatch(r"\w+", folder):
        raise _unknown(f"it has a branch with the invalid id {folder!r:.80}")
    paths = [str(file.path) for file in reader.list(f"{FOLDER}/{folder}")]
    return [path for path in paths if _FILE.fullmatch(path.rpartition("/")[2])]


def _order(path: str) -> tuple[int, str]:
    match = _FILE.fullmatch(path.rpartition("/")[2])
    assert match is not None
    return int(match[2]), match[3] + match[4]


def _lines(reader: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the name and content of each action in a log file.

    Raises InvalidValueError if the file is invalid.
    """
    data = read_file(reader, path)
    if path.endswith(".lz4"):  # the length of the content in 4 bytes, followed by an LZ4 block
        length = int.from_bytes(data[:4], "little")
        if length > LARGEST_FILE:
            raise _unknown(
                f"{path!r} must have at most {LARGEST_FILE:,} bytes when decompressed, but it "
                f"has {length:,}"
            )
        try:
            data = pa.Codec("lz4_raw").decompress(data[4:], length, asbytes=True)
        except (pa.ArrowException, OSError) as error:
            raise _unknown(f"{path!r} is damaged") from error
    for line in data.splitlines():
        try:
            content = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _unknown(f"{path!r} is damaged") from error
        if not isinstance(content, dict) or len(content) != 1:
            raise _unknown(f"{path!r} has a line that is not an action")
        yield next(iter(content.items()))


def _change(reader: Any, path: str) -> Change:
    """Read the changes of a version from its log file.

    Raises InvalidValueError if the file is invalid.
    """
    match = _FILE.fullmatch(path.rpartition("/")[2])
    assert match is not None
    change = Change(match[1], int(match[2]), match[3], int(match[4], 16))
    if change.letter not in "cmow":
        raise _unknown(f"{path!r} is a file of an unknown kind")
    for action, content in _lines(reader, path):
        try:
            _ACTIONS.get(action, _refuse)(change, content)
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise _unknown(
                f"the action {action!r:.80} in {path!r} is unknown or malformed"
            ) from error
    return change


def _refuse(_: Change, __: Any) -> None:
    raise KeyError


def _commit(change: Change, content: Any) -> None:
    message, seconds = content.get("message"), content.get("clientTimestamp")
    change.message = message if isinstance(message, str) else None
    if isinstance(seconds, int | float) and 0 <= seconds < 2**38:
        change.time = datetime.fromtimestamp(seconds, UTC)


def _create(change: Change, content: Any) -> None:
    number = int(content["i"])
    change.created[number] = str(content["n"])
    coordinates = _coordinates(content.get("t"))
    if coordinates:
        change.coordinates[number] = coordinates


def _coordinates(spec: Any) -> dict[str, str]:
    """Return the format of boxes from the log's description of a type, which may be nested."""
    for _ in range(8):
        details = spec.get("d") if isinstance(spec, dict) else None
        if not isinstance(details, dict):
            break
        if isinstance(details.get("coords"), dict):
            return {str(key): str(value) for key, value in details["coords"].items()}
        spec = details.get("type")
    return {}


def _rename(change: Change, content: Any) -> None:
    change.renamed[int(content["i"])] = str(content["n"])


def _drop(change: Change, content: Any) -> None:
    change.dropped.add(int(content["i"]))


def _add_block(change: Change, content: Any) -> None:
    rows = sum(int(n) for n in content["d"]["n"])
    block = int(content["b"])
    if not (0 <= rows < MAX_ROWS and 0 <= block < 2**32):
        raise ValueError
    blocks = change.blocks.setdefault(int(content["c"]), {})
    blocks[block] = blocks.get(block, 0) + rows


def _update(change: Change, content: Any) -> None:
    change.updated.setdefault(int(content["c"]), []).append(_ids(content["r"]))


def _delete(change: Change, content: Any) -> None:
    change.deleted.append(_ids(content["rowIds"]))


def _ids(runs: Any) -> NDArray[np.uint64]:
    """Expand runs of row ids to an array of all ids. Raises ValueError if a run is invalid.

    A run is a row id, or a list of a first id and a number of rows.
    """
    parts, total = [np.empty(0, np.uint64)], 0
    for run in runs:
        first, count = run if isinstance(run, list) else (run, 1)
        total += int(count)
        if not 0 < int(count) <= total < MAX_ROWS:
            raise ValueError
        parts.append(np.arange(int(count), dtype=np.uint64) + np.uint64(first))
    return np.concatenate(parts)


def _ignore(_: Change, __: Any) -> None:
    """Ignore an action that changes no row."""


_ACTIONS: Mapping[str, Any] = {
    "commit": _commit,
    "createColumn": _create,
    "renameColumn": _rename,
    "dropColumn": _drop,
    "addBlock": _add_block,
    "updateData": _update,
    "deleteRows": _delete,
    "setColumnMetadata2": _ignore,
    "setColumnMetadata": _ignore,
}
"""Maps names of actions to functions that add an action to a `Change`. A log with any other action
is an error."""


def _unknown(reason: str) -> InvalidValueError:
    return InvalidValueError(
        f"The dataset's log must have the format of Deep Lake 4, but {reason}. To ingest only the "
        "last version, without the history, pass history=False."
    )
