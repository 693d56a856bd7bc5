"""Finding the versions of a Deep Lake 3 dataset in its tree of commits.

Deep Lake 4 can read datasets of version 3, and each of their commits, through a query. Its API
returns no row ids for datasets of version 3, so their versions are compared by content.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.ingest.deeplake.snapshot import Snapshot
from deeplake_lite.ingest.deeplake.versions import Version, Versions, sort_versions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deeplake_lite.ingest.deeplake.peer import Peer

META = "dataset_meta.json"
TREE = "version_control_info.json"
INFO = "dataset_info.json"


class Deeplake3Versions(Versions):
    """The versions of a Deep Lake 3 dataset.

    Parameters
    ----------
    peer : Peer
        The dataset.
    schema : mapping
        Maps names of columns to the types that the user declares.
    """

    main = "main"

    def __init__(self, peer: Peer, schema: Mapping[str, object]) -> None:
        self._peer, self._schema = peer, schema
        tree = peer.json_file(TREE)
        commits = tree.get("commits") if isinstance(tree, dict) else None
        if not isinstance(commits, dict):
            commits = {}
        self.ordered = sort_versions([*_versions(commits)])
        first = next(iter(commits), "")
        self.identity = f"{peer.url}#{first}"

    def open(self, version: Version) -> Snapshot:
        """Open a version of the dataset for reading."""
        return Snapshot.of(self._peer, self._peer.query(version.key), {}, (), self._schema)

    def tags(self) -> Iterator[tuple[str, str, str]]:
        """Yield nothing, because Deep Lake 3 has no tags."""
        yield from ()

    def metadata(self) -> dict[str, Any]:
        """Return the metadata of the dataset."""
        info = self._peer.json_file(INFO)
        return dict(info) if isinstance(info, dict) else {}


def _versions(commits: Mapping[str, Any]) -> Iterator[Version]:
    """Yield a version for each commit, and for the uncommitted changes of each branch."""
    for key, commit in commits.items():
        try:
            seconds, parent = commit["commit_time"], commit["parent"]
            yield Version(
                key,
                str(commit["branch"]),
                None if parent is None else str(parent),
                str(commit["commit_message"] or ""),
                None if seconds is None else datetime.fromtimestamp(float(seconds), UTC),
                str(commit["commit_user_name"] or ""),
                is_draft=seconds is None,
            )
        except (KeyError, TypeError, ValueError, OverflowError, OSError) as error:
            raise InvalidValueError(
                f"Each commit in {TREE} must have a valid branch, parent, time, author and "
                f"message, but commit {key!r:.80} does not. To ingest only the last version, "
                "without the history, pass history=False."
            ) from error
