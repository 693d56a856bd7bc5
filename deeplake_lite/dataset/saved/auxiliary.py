"""Reading and writing the branch ``_aux``, which holds saved views and evaluations."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.dataset.versions.viewed import AUX, first_version
from deeplake_lite.errors import (
    ConflictError,
    DamagedError,
    ExistsError,
    InvalidValueError,
    LakeError,
)
from deeplake_lite.storage.array_spec import ArraySpec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.storage.repo import Repository, Session

TRIES = 20
"""Maximum number of attempts to change the branch on an object store with several writers."""

DAMAGE = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    RuntimeError,  # raised by codecs
)
"""Exceptions that a damaged document or array can cause."""


def check_name(noun: str, name: object) -> None:
    """Check the name of a saved view or evaluation. Raises InvalidValueError.

    >>> check_name("a view", "a/b")
    Traceback (most recent call last):
    deeplake_lite.errors.InvalidValueError: The name of a view must be a non-empty string ...
    """
    if not isinstance(name, str) or not name or "/" in name:
        raise InvalidValueError(
            f"The name of {noun} must be a non-empty string without slashes, but it is "
            f"{brief(name, 80)}. Choose another name."
        )
    if (index := checks.find_lone_surrogate(name)) is not None:
        raise InvalidValueError(
            f"The name of {noun} must be valid Unicode, but {brief(name)} has a lone surrogate at "
            f"character {index}. Choose another name."
        )


def attempt(write: Callable[[], None], kind: str) -> None:
    """Call a function that commits to the branch. If another process commits first, try again.

    Parameters
    ----------
    write : callable
        The function.
    kind : str
        Noun for the saved objects, such as ``"views"``.
    """
    for _ in range(TRIES):
        try:
            return write()
        except ConflictError:  # on an object store, another process has saved something
            continue
    raise ConflictError(
        f"Other processes changed the saved {kind} during {TRIES} attempts to write. Try again."
    )


def writer(repository: Repository) -> Session:
    """Return a session that writes to the branch ``_aux``. If necessary, create the branch."""
    if AUX not in repository.branches():
        with contextlib.suppress(ExistsError):  # another process created it first
            repository.create_branch(AUX, first_version(repository))
    return repository.writer(AUX)


async def put_arrays(session: Session, arrays: Mapping[str, NDArray[np.int64]]) -> None:
    """Write arrays. `arrays` is a dict that maps paths to values."""
    for path, values in arrays.items():
        spec = ArraySpec("int64")
        await session.create_array(path, spec.metadata(len(values)))
        for chunk, start in enumerate(range(0, len(values), spec.chunk_rows)):
            rows = spec.encode_chunk(values[start : start + spec.chunk_rows])
            await session.put(spec.chunk_key(path, chunk), rows)


async def read_array(session: Session, path: str, noun: str) -> NDArray[np.int64]:
    """Read an array of a saved view or evaluation. Raises DamagedError.

    Memory is allocated chunk by chunk, because the length in the array's metadata may be wrong.

    Parameters
    ----------
    session : Session
        A session on the branch.
    path : str
        Path of the array.
    noun : str
        Noun and name of the saved object that has the array, such as ``"view 'train'"``.
    """
    spec, parts = ArraySpec("int64"), [np.empty(0, np.int64)]
    try:
        length = await session.length(path)
        for chunk in range(-(-length // spec.chunk_rows)):
            data = await session.get(f"{path}/c/{chunk}", spec.most_bytes)
            if data is None:
                raise ValueError(f"chunk {chunk} is missing")
            parts.append(spec.decode_chunk(data)[: length - chunk * spec.chunk_rows])
        return np.concatenate(parts)
    except LakeError:
        raise
    except (*DAMAGE, MemoryError, OSError) as error:
        reason = str(error).rstrip(".")
        raise DamagedError(
            f"The rows of the saved {noun} cannot be read: {reason:.200}. Restore the lake from a "
            f"backup, or delete the saved {noun.partition(' ')[0]} and save it again."
        ) from error
