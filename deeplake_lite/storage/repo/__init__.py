"""Icechunk, the storage engine: the repository behind a URL, its sessions, branches and tags.

To use this package, create or open a `Repository`; get a `Session` from the repository (a reader of
one snapshot, a writer at the tip of a branch, or a fork of a writer, which collects chunks until it
is merged into another writer); then read, write and commit through the session. Only this package
imports icechunk, so that Icechunk can be replaced in one place.
"""

import atexit
import time

from deeplake_lite.storage.repo.commits import TRANSACTION, Commit
from deeplake_lite.storage.repo.creation import creating, find_unfinished, first_writer
from deeplake_lite.storage.repo.failures import LostChunksError, translate_file_errors
from deeplake_lite.storage.repo.forks import engine_is_lost, use_engine
from deeplake_lite.storage.repo.histories import damaged_versions
from deeplake_lite.storage.repo.lake_refs import ANNOUNCED_AGE, branch_ref, tag_ref
from deeplake_lite.storage.repo.places import (
    MEMORY,
    absolute_url,
    is_web,
    local_folder,
    overlap,
    public_url,
    register_foreign_memory,
)
from deeplake_lite.storage.repo.repository import Repository
from deeplake_lite.storage.repo.session import Session
from deeplake_lite.storage.repo.staging import remove_notes, remove_unmade
from deeplake_lite.storage.repo.store_options import picklable_options, spreading_credentials
from deeplake_lite.storage.repo.work import Running, gather, in_thread, run, start, stream

__all__ = [
    "ANNOUNCED_AGE",
    "MEMORY",
    "TRANSACTION",
    "Commit",
    "LostChunksError",
    "Repository",
    "Running",
    "Session",
    "absolute_url",
    "branch_ref",
    "creating",
    "damaged_versions",
    "engine_is_lost",
    "find_unfinished",
    "first_writer",
    "gather",
    "in_thread",
    "is_web",
    "local_folder",
    "overlap",
    "picklable_options",
    "public_url",
    "register_foreign_memory",
    "remove_notes",
    "remove_unmade",
    "run",
    "spreading_credentials",
    "start",
    "stream",
    "tag_ref",
    "translate_file_errors",
    "use_engine",
]

# Icechunk's threads release their last Python objects shortly after a call returns. If the
# interpreter ends before that, it aborts (https://github.com/PyO3/pyo3-async-runtimes/issues/40).
atexit.register(time.sleep, 0.02)
