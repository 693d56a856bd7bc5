"""Creation of empty repositories, which become lakes when their first version is committed."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from deeplake_lite.errors import ConflictError, ExistsError
from deeplake_lite.storage.repo.conditional_writes import check_conditional_writes
from deeplake_lite.storage.repo.failures import translate_errors, translate_file_errors
from deeplake_lite.storage.repo.places import (
    MEMORY,
    check_creatable,
    forget,
    local_folder,
    patience_at,
    storage_at,
)
from deeplake_lite.storage.repo.repository import Repository
from deeplake_lite.storage.repo.settings import create_engine
from deeplake_lite.storage.repo.staging import (
    check_replaceable,
    finish_replacement,
    holds_anything,
    staging,
)
from deeplake_lite.storage.repo.vacuums import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deeplake_lite.storage.repo.session import Session


@contextlib.contextmanager
def creating(
    url: str,
    options: Mapping[str, object] | None = None,
    *,
    overwrite: bool = False,
    unfinished: bool = False,
) -> Iterator[Repository]:
    """Provide an empty repository for the first version of a lake.

    A local folder gets its final name only at the end, so that nobody sees a partial lake (see
    `staging`). A lake in memory is deleted if writing fails.

    Parameters
    ----------
    overwrite : bool
        Whether to replace a lake at `url`, if there is one.
    unfinished : bool
        Whether an existing repository on an object store is provided if it has no version, because
        the process that created it was killed.

    Raises
    ------
    ExistsError
        When there already is a lake or anything else at `url`.
    """
    folder = local_folder(url)
    if folder is None or (url.startswith(MEMORY) and not (overwrite and Repository.exists(url))):
        repository = find_unfinished(url, options) if unfinished and folder is None else None
        repository = repository or _create(url, options)
        try:
            yield repository
        except BaseException:
            forget(url)
            raise
        return
    finish_replacement(folder)
    with translate_file_errors():
        folder = folder.resolve()
        if holds_anything(folder):
            check_replaceable(folder, overwrite=overwrite)
        if folder.exists() and folder.samefile(os.curdir):
            raise ExistsError(
                f"Creating a lake replaces the folder, but {str(folder)!r} is the working "
                "directory of this process. Choose a folder inside it, such as 'flowers.lake'."
            )
    with staging(folder, overwrite=overwrite) as staged:
        yield _create(str(staged), options)


def find_unfinished(url: str, options: Mapping[str, object] | None) -> Repository | None:
    """Return the repository on an object store if there is one that has no version.

    The process that created it was killed, or is about to write the first version.
    """
    check_creatable(url)
    if local_folder(url) is not None or not Repository.exists(url, options):
        return None
    repository = Repository.open(url, options)
    return repository if repository.tip("main") == ROOT else None


def first_writer(repository: Repository) -> Session:
    """Return a session that writes the first version of a lake.

    Raises
    ------
    ConflictError
        When there is a version already.
    """
    session = repository.writer("main")
    if session.snapshot_id != ROOT:
        raise ConflictError(
            f"Another process has created the lake {repository.url!r} meanwhile. Open that lake, "
            "or choose another place."
        )
    return session


def _create(url: str, options: Mapping[str, object] | None) -> Repository:
    storage, patience = storage_at(url, options), patience_at(url, options)
    check_creatable(url)
    with translate_errors():
        repository = create_engine(url, storage, patience)
    if patience is not None:
        check_conditional_writes(url, options or {})
    return Repository(url, repository, patience=patience)
