"""Ingesting Deep Lake datasets, with their history or only their last version."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

from deeplake_lite import checks
from deeplake_lite.codecs.limits import DEFAULT_LIMITS
from deeplake_lite.dataset.opening import create, exists
from deeplake_lite.errors import InvalidValueError, NotFoundError, OptionError
from deeplake_lite.ingest.deeplake.log import Log, has_log
from deeplake_lite.ingest.deeplake.peer import Peer
from deeplake_lite.ingest.deeplake.replay import Replay, Settings
from deeplake_lite.ingest.deeplake.snapshot import Snapshot
from deeplake_lite.ingest.deeplake.version_3 import INFO, META, Deeplake3Versions
from deeplake_lite.ingest.deeplake.version_4 import Deeplake4Versions, dataset_metadata
from deeplake_lite.ingest.files import fingerprint_of
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.result import Ingested, IngestedDataset
from deeplake_lite.ingest.source import BadValue, Block, RowNames, Skipped
from deeplake_lite.ingest.writer import ingest, report
from deeplake_lite.storage.repo import local_folder, remove_unmade

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from deeplake_lite.htypes import Htype
    from deeplake_lite.ingest.deeplake.versions import Versions
    from deeplake_lite.ingest.options import Options

FIRST_ROWS = 32
"""Number of rows in the first block, which is read while the size of a row is still unknown."""

MAX_ROWS = 4_096
"""Maximum number of rows in a block."""

BLOCK_BYTES = 32 * 2**20
"""Approximate size of a block in bytes."""


@takes_options
def from_deeplake(
    path: str | os.PathLike[str],
    url: str,
    *,
    history: bool = True,
    on: str | None = None,
    creds: Mapping[str, str] | None = None,
    token: str | None = None,
    **options: Unpack[Options],
) -> IngestedDataset:
    """Ingest a dataset of Deep Lake 3 or 4, with its history.

    Parameters
    ----------
    path : str or Path
        The dataset: a folder, or a URL that Deep Lake reads, such as ``"s3://bucket/flowers"``.
    url : str
        URL of the lake, which is created if it does not exist. With the history, the lake must not
        have other commits.
    history : bool
        Whether each version becomes a commit. Otherwise, only the last version is ingested.
    on : str, optional
        Without the history, the column that identifies rows. Rows that are already in the lake are
        updated if they differ. By default, all rows are appended.
    creds : mapping, optional
        Credentials of the object store, as for ``deeplake.open``.
    token : str, optional
        Token for a dataset stored by Activeloop.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        The committed dataset, whose attribute ``ingested`` summarizes the import.

    Raises
    ------
    MissingPackageError
        If ``deeplake`` is not installed.
    NotFoundError
        If the dataset does not exist.
    InvalidValueError
        If the dataset or a value cannot be read, or if the branches of the lake have other commits.

    Notes
    -----
    Appends, updates, deletions, changes of columns, branches, merges, restored versions and tags
    are replayed. The metadata of each commit records the version's time and author. A rerun
    replays only new versions. For Deep Lake 4, only the rows that a version changes are read,
    except after a merge. Deep Lake 3 has no row ids, so all rows of each version are read and
    compared by position.

    Image files keep their bytes. In nullable columns, however, Deep Lake only returns pixels, which
    are stored as PNG. Audio, medical files and meshes become bytes. Videos are skipped and listed
    in ``ingested.skipped``, because Deep Lake does not return their bytes.

    Examples
    --------
    >>> import deeplake, tempfile
    >>> import deeplake_lite as dl
    >>> folder = tempfile.mkdtemp() + "/flowers"
    >>> old = deeplake.create(folder, schema={"petals": "int32"})
    >>> old.append({"petals": [5, 6]})
    >>> old.commit("two flowers")
    >>> old["petals"][0] = 4
    >>> old.commit("count again")
    >>> ds = dl.from_deeplake(folder, "memory://from-deeplake")
    >>> [commit.message for commit in ds.log()[1:3]], ds["petals"][:].tolist()
    (['count again', 'two flowers'], [4, 6])
    """
    is_whole = checks.flag("history", history)
    given = None if creds is None else checks.mapping("creds", creds)
    peer = Peer.at(checks.location("path", path), given, checks.optional_text("token", token))
    if is_whole:
        return _replay(peer, url, on, options)
    return ingest(_source(peer, on, types_of(options.get("schema"))), url, **options)


# ---- the history


def _replay(peer: Peer, url: str, on: str | None, options: Options) -> IngestedDataset:
    """Replay the versions of a dataset in a lake."""
    _check_options(on, options)
    started, schema = time.perf_counter(), types_of(options.get("schema"))
    versions: Versions = (
        Deeplake3Versions(peer, schema) if _is_version_3(peer) else Deeplake4Versions(peer, schema)
    )
    storage = options.get("storage_options")
    access = {"storage_options": storage, "limits": options.get("limits", DEFAULT_LIMITS)}
    settings = Settings(
        branch=options.get("branch", "main"),
        check=options.get("check", "header"),
        message=options.get("message") or f"version of {peer.title}",
        commit_every=options.get("commit_every"),
        progress=options.get("progress", True),
        access=access,
    )
    is_new = not exists(url, storage_options=storage)
    ds = create(url, {}, storage_options=storage) if is_new else None
    replay = Replay(versions, url, peer.title, settings)
    if ds is not None and settings.branch != ds.current_branch:
        ds.branch(settings.branch)
    try:
        last = replay.run()
    except BaseException:
        folder = local_folder(url)
        if is_new and not replay.replayed and folder is not None:
            remove_unmade(folder)
        raise
    skipped = tuple(replay.skipped.values())
    repeated = "" if replay.replayed else last.version
    unchanged = 0 if replay.replayed else len(last)
    seconds = time.perf_counter() - started
    ingested = Ingested(replay.added, replay.changed, unchanged, skipped, (), repeated, seconds)
    if settings.progress and skipped:
        report(ingested)
    return IngestedDataset(last, ingested)


def _check_options(on: str | None, options: Options) -> None:
    """Raise OptionError if an option is incompatible with ``history=True``."""
    if on is not None:
        raise OptionError(
            "on= requires history=False, because with the history, rows are identified by the "
            "dataset's versions. Leave on= out, or pass history=False."
        )
    if options.get("on_error", "raise") != "raise":
        raise OptionError(
            "on_error='skip' requires history=False, because later versions refer to the rows that "
            "would be skipped. Leave on_error out, or pass history=False."
        )
    if options.get("executor") is not None:
        raise OptionError(
            "executor= requires history=False, because versions are replayed one after the other. "
            "Leave executor= out, or pass history=False."
        )


def _is_version_3(peer: Peer) -> bool:
    """Return whether a dataset has the format of Deep Lake 3.

    Raises NotFoundError if there is no dataset.

    The dataset is not opened, because Deep Lake may crash if the log is damaged. Parsing the log
    later detects the damage.
    """
    if has_log(peer):
        return False
    if isinstance(peer.json_file(META), dict):
        return True
    raise NotFoundError(f"There is no Deep Lake dataset at {peer.url!r}. Check the path.")


# ---- the last version


@dataclass(frozen=True)
class DeepLakeSource:
    """The source for the last version of a Deep Lake dataset."""

    title: str
    snapshot: Snapshot
    fingerprint: str
    metadata: Mapping[str, object]
    key: str | None = None
    left_out: Collection[Skipped] = field(default_factory=tuple)

    @property
    def columns(self) -> dict[str, Htype]:
        """Type of each column."""
        return {name: column.htype for name, column in self.snapshot.columns.items()}

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.snapshot)

    def check_unrounded(self, names: Iterable[str]) -> None:
        """Accept all columns, because no type rounds values."""

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the rows from row `start` on, in blocks."""
        row, size, total = start, FIRST_ROWS, self.rows
        while row < total:
            rows = slice(row, min(row + size, total))
            row_names = RowNames(self.title, row, rows.stop - row)
            columns, errors = self._columns(rows)
            yield Block(columns, row_names, errors=errors)
            most = BLOCK_BYTES // max(sum(map(_nbytes, columns.values())) // len(row_names), 1)
            row, size = rows.stop, max(1, min(most, MAX_ROWS, 4 * size))

    def _columns(self, rows: slice) -> tuple[dict[str, Any], dict[int, BadValue]]:
        """Return a dict from columns to the values of some rows, and a dict of bad values.

        The second dict maps positions in `rows` to values that cannot be read.
        """
        columns, errors = dict[str, Any](), dict[int, BadValue]()
        for name, column in self.snapshot.columns.items():
            try:
                columns[name] = self.snapshot.values(name, rows)
            except InvalidValueError:
                columns[name] = [
                    self._read_value(name, row, column.htype.blank, rows.start, errors)
                    for row in range(rows.start, rows.stop)
                ]
        return columns, errors

    def _read_value(
        self, name: str, row: int, blank: Any, start: int, errors: dict[int, BadValue]
    ) -> Any:
        """Return a single value. If it cannot be read, record the error and return `blank`."""
        try:
            return self.snapshot.values(name, slice(row, row + 1))[0]
        except InvalidValueError as error:
            errors.setdefault(row - start, BadValue(name, error.args[0]))
            return blank


def _source(peer: Peer, key: str | None, schema: Mapping[str, object]) -> DeepLakeSource:
    """Return the source for the last version of a Deep Lake dataset."""
    if _is_version_3(peer):
        view, coordinates, gaps = peer.query(), dict[str, dict[str, str]](), set[str]()
        info, about = peer.json_file(INFO), peer.json_file("version_control_info.json")
        metadata = dict(info) if isinstance(info, dict) else {}
        state: tuple[object, ...] = (peer.url, len(view), str(about))
    else:
        view = peer.open()
        with peer.translating():
            names = {column.name for column in view.schema.columns}
        coordinates, gaps = _from_log(peer, names)
        metadata = dataset_metadata(peer, view)
        with peer.translating():
            state = (view.id, view.current_branch.id, view.version)
    snapshot = Snapshot.of(peer, view, coordinates, gaps, schema)
    left_out = [
        Skipped(f"{peer.title}, column {name!r}", reason)
        for name, reason in snapshot.unreadable.items()
    ]
    return DeepLakeSource(
        peer.title, snapshot, fingerprint_of([peer.url], state), metadata, key, left_out
    )


def _from_log(peer: Peer, names: set[str]) -> tuple[dict[str, dict[str, str]], set[str]]:
    """Return a dict from columns to formats of boxes, and the names of columns that may have nulls.

    If the log cannot be read, the dict is empty, and all columns in `names` may have nulls.
    """
    try:
        log = Log.read(peer)
    except InvalidValueError:
        return {}, names
    formats, gaps, numbers = dict[str, dict[str, str]](), set[str](), log.gaps()
    formats_by_number = dict[int, dict[str, str]]()
    for change in (change for changes in log.changes.values() for change in changes):
        formats_by_number |= change.coordinates
        for number, name in {**change.created, **change.renamed}.items():
            if number in formats_by_number:
                formats[name] = formats_by_number[number]
            if number in numbers:
                gaps.add(name)
    return formats, gaps


def _nbytes(values: list[Any]) -> int:
    """Estimate the size of values in bytes."""
    return sum(
        len(value) if isinstance(value, bytes | str) else int(getattr(value, "nbytes", 64))
        for value in values
    )
