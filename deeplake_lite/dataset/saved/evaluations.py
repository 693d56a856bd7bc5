"""Saved evaluations, which a lake stores under names, independently of its versions.

Like saved views, evaluations are stored on the branch ``_aux``. Each has a document, and one array
with all of its numbers, of eight bytes each. Saved evaluations do not keep a vacuum from deleting
the versions that were evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NoReturn
from uuid import uuid4

import numpy as np
import xxhash

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.dataset import lazy_calls
from deeplake_lite.dataset.saved.auxiliary import (
    DAMAGE,
    attempt,
    check_name,
    put_arrays,
    read_array,
    writer,
)
from deeplake_lite.dataset.selection import RowSelection
from deeplake_lite.dataset.versions import history
from deeplake_lite.dataset.versions.apply import slots_of
from deeplake_lite.dataset.versions.viewed import KEY as VIEWS
from deeplake_lite.dataset.versions.viewed import view_documents, views_session
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import DamagedError, ExistsError, LakeError, NotFoundError, OptionError
from deeplake_lite.storage.repo import Repository, run
from deeplake_lite.storage.state import add_digest, check_digest
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.dataset.lazy_calls import Evaluation
    from deeplake_lite.dataset.selection import Lake
    from deeplake_lite.storage.repo import Session

KEY = "deeplake_lite_evaluations"
"""Attribute of the root group on ``_aux``. The attribute maps names to documents, and has a digest
of the documents."""

_DTYPES = ("<i8", "<f8")


@dataclass(frozen=True, eq=False)
class Stored:
    """The stored form of an evaluation."""

    version: str
    """Id of the version that was evaluated."""
    head: Mapping[str, Any]
    """Metrics and names, as JSON values."""
    arrays: Mapping[str, NDArray[Any]]
    """Maps names to arrays of integers or of float64."""

    def to_json(self) -> tuple[dict[str, Any], NDArray[np.int64]]:
        """Return the document, and all arrays concatenated into one."""
        parts, words = [], [np.empty(0, np.int64)]
        for name, array in self.arrays.items():
            dtype = _DTYPES[array.dtype.kind == "f"]
            parts.append([name, dtype, list(array.shape)])
            words.append(np.ascontiguousarray(array, dtype).view("<i8").ravel())
        joined = np.concatenate(words).astype(np.int64, copy=False)
        document = {
            "version": self.version,
            "saved": datetime.now(UTC).isoformat(),
            "array": f"evaluations/{uuid4().hex}",
            "hash": _hash(joined),
            "parts": parts,
            **self.head,
        }
        return document, joined

    @classmethod
    def from_json(cls, document: Mapping[str, Any], words: NDArray[np.int64]) -> Stored:
        """Read a document and its array. Raises ValueError, TypeError or LookupError if invalid."""
        if _hash(words) != document["hash"]:
            raise ValueError("its numbers do not match their hash")
        arrays, begin = {}, 0
        for name, dtype, shape in document["parts"]:
            if (
                dtype not in _DTYPES
                or len(shape) > 2
                or not all(type(n) is int and n >= 0 for n in shape)
            ):
                raise ValueError(f"its array {brief(name)} has an invalid type or shape")
            end = begin + int(np.prod(shape, dtype=object))
            part = words[begin:end]
            arrays[str(name)] = np.ascontiguousarray(part, "<i8").view(dtype).reshape(shape).copy()
            begin = end
        if not re.fullmatch(r"[0-9A-Z]{20}", document["version"]):
            raise ValueError("the id of its version is not valid")
        if arrays["row_ids"].dtype != np.int64 or arrays["row_ids"].ndim != 1:
            raise ValueError("its row ids are not valid")
        return cls(document["version"], document, arrays)


class SavedEvaluations(Mapping[str, "Evaluation"]):
    """The saved evaluations of a lake, as a mapping from names to evaluations.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://evaluations-doc", {"label": "text", "guess": "text"})
    >>> ds.append({"label": ["cat", "dog"], "guess": ["cat", "cat"]})
    >>> version = ds.commit("predictions")
    >>> ds.evaluate("guess", "label").save("baseline")
    >>> ds.evaluations()
    baseline: classification, guess against label, accuracy 0.500, version ...
    >>> ds.evaluations()["baseline"].version == version
    True
    """

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._session = views_session(lake.repository)
        self._documents = documents(self._session)

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied. Raises OptionError."""
        raise OptionError(
            "The list of saved evaluations cannot be pickled or copied, because it reads the lake "
            "in this process. Pickle the dataset, and call its evaluations()."
        )

    def __getitem__(self, name: str) -> Evaluation:
        """Open an evaluation. Raises NotFoundError, or DamagedError if it is not valid."""
        self._check_exists(name)
        session, document = self._session, self._documents[name]
        assert session is not None
        try:
            if not re.fullmatch(r"evaluations/[0-9a-f]{32}", document["array"]):
                raise ValueError("the path of its array is not valid")
            words = run(read_array(session, document["array"], f"evaluation {brief(name)}"))
            stored = Stored.from_json(document, words)
            ids = stored.arrays["row_ids"]
            return lazy_calls.evaluation(
                stored, name, self._lake.repository.url, lambda: self._view(stored.version, ids)
            )
        except LakeError:
            raise
        except DAMAGE as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise DamagedError(
                f"The saved evaluation {brief(name)} is damaged: {reason.rstrip('.'):.200}. Delete "
                "the evaluation, or restore the lake from a backup."
            ) from error

    def _view(self, version: str, ids: NDArray[np.int64]) -> View:
        """Return the rows that were evaluated. Raises VersionNotFoundError if they expired."""
        repository = self._lake.repository
        table = Table.open(repository, repository.reader(history.resolve(repository, version)))
        rows = RowSelection(self._lake.at(None, version), table, slots_of(table, ids))
        return View(rows, table.schema.names, "evaluated")

    def _check_exists(self, name: object) -> None:
        if not isinstance(name, str) or name not in self._documents:
            raise NotFoundError.named("saved evaluation", name, self._documents)

    def __iter__(self) -> Iterator[str]:
        return iter(self._documents)

    def __len__(self) -> int:
        return len(self._documents)

    def delete(self, name: str) -> None:
        """Delete a saved evaluation."""
        self._check_exists(name)
        _write(self._lake.repository, {name: None}, {}, overwrite=True)
        del self._documents[name]

    def __repr__(self) -> str:
        return "\n".join(map(self._line, self)) or "no saved evaluations"

    def _line(self, name: str) -> str:
        try:
            d = self._documents[name]
            figure, value = next(iter(d["summary"].items()))
            number = "–" if value is None else f"{value:.3f}"
            text = f"{d['kind']}, {d['predictions']} against {d['truth']}, {figure} {number}"
            return f"{name}: {text}, version {d['version']}"
        except (*DAMAGE, StopIteration):
            return f"{name}: damaged"


def save(repository: Repository, name: str, stored: Stored, *, overwrite: bool) -> None:
    """Save an evaluation under a name; see `Evaluation.save`."""
    overwrite = checks.flag("overwrite", overwrite)
    check_name("an evaluation", name)
    document, words = stored.to_json()
    _write(repository, {name: document}, {document["array"]: words}, overwrite=overwrite)


def documents(session: Session | None) -> dict[str, Any]:
    """Return a dict that maps the names of saved evaluations to documents. Raises DamagedError."""
    attribute = None if session is None else run(session.attributes()).get(KEY)
    if attribute is None:
        return {}
    if not isinstance(attribute, dict) or not isinstance(attribute.get("evaluations"), dict):
        raise DamagedError(
            "The list of saved evaluations is damaged. Restore the lake from a backup."
        )
    check_digest(attribute, "The list of saved evaluations")
    return dict(attribute["evaluations"])


def _write(
    repository: Repository,
    changes: Mapping[str, dict[str, Any] | None],
    arrays: Mapping[str, NDArray[np.int64]],
    *,
    overwrite: bool,
) -> None:
    """Write the documents in `changes`, delete those set to None there, and keep all others."""
    with repository.lock():
        attempt(lambda: _write_once(repository, changes, arrays, overwrite), "evaluations")


def _write_once(
    repository: Repository,
    changes: Mapping[str, dict[str, Any] | None],
    arrays: Mapping[str, NDArray[np.int64]],
    overwrite: bool,
) -> None:
    session = writer(repository)
    old = documents(session)
    if taken := None if overwrite else next(iter(old.keys() & changes.keys()), None):
        raise ExistsError(
            f"A saved evaluation {taken!r} already exists. Choose another name, or pass "
            "overwrite=True."
        )
    new = {name: d for name, d in {**old, **changes}.items() if d is not None}
    views = view_documents(repository, session)  # readers expect both lists to exist
    attributes = {KEY: add_digest({"evaluations": new}), VIEWS: add_digest({"views": views})}
    run(_put(session, attributes, arrays))
    session.commit(f"save evaluations {', '.join(changes)}")


async def _put(
    session: Session, attributes: Mapping[str, object], arrays: Mapping[str, NDArray[np.int64]]
) -> None:
    await session.set_attributes(attributes)
    await put_arrays(session, arrays)


def _hash(words: NDArray[np.int64]) -> str:
    return xxhash.xxh3_64_hexdigest(np.ascontiguousarray(words, "<i8"))
