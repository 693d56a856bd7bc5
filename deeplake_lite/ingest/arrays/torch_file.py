"""Reading files written by `View.to_torch`, without running code from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite import checks
from deeplake_lite.codecs.limits import DEFAULT_LIMITS
from deeplake_lite.dataset.export.arrays.forms import NOTE
from deeplake_lite.errors import InvalidValueError, NotFoundError
from deeplake_lite.htypes.tensors import array_of, is_tensor
from deeplake_lite.ingest.arrays.array_source import ArraySource, Part
from deeplake_lite.ingest.arrays.noted import noted_columns
from deeplake_lite.ingest.files import find_files, fingerprint
from deeplake_lite.ingest.options import types_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deeplake_lite.ingest.options import Options


def torch_file_source(
    path: str, on: str | None, columns: Sequence[str] | None, options: Options
) -> ArraySource:
    """Return the source for a file written by `View.to_torch`.

    Raises
    ------
    InvalidValueError
        If the file cannot be read, or was not written by `View.to_torch`.
    MissingPackageError
        If PyTorch is not installed.
    """
    file = Path(find_files(path, ".pt")[0])
    content = _load(file)
    members = {name: TensorMember(value, f"{file.name}, {name}") for name, value in content.items()}
    found = noted_columns(members, file.name, content.get(NOTE))
    if found is None:
        raise InvalidValueError(
            f"{str(file)!r} was not written by to_torch. Pass other tensors as a "
            "dataset, or to dl.from_arrays."
        )
    names = found if columns is None else checks.names("columns", columns)
    for name in names:
        if name not in found:
            raise NotFoundError.named("column", name, found)
    part = Part(file.name, {name: found[name] for name in names})
    return ArraySource(
        file.name, (part,), on, types_of(options.get("schema")), fingerprint(file, [str(file)]),
        limits=options.get("limits", DEFAULT_LIMITS),
    )  # fmt: skip


def _load(file: Path) -> dict[str, Any]:
    """Load a file without running code from it. Raises InvalidValueError, MissingPackageError."""
    torch = checks.package("torch", "torch", "from_torch of a file")
    try:
        content = torch.load(file, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:  # PyTorch raises many types of errors
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidValueError(
            f"{str(file)!r} cannot be read: {reason[:200].rstrip('.')}. Check the file."
        ) from error
    is_ours = isinstance(content, dict) and all(isinstance(name, str) for name in content)
    return content if is_ours else {}


@dataclass(frozen=True)
class TensorMember:
    """A tensor or a list of strings in a file, as an array."""

    value: Any
    title: str

    @cached_property
    def _array(self) -> NDArray[Any]:
        if is_tensor(type(self.value)):
            return array_of(self.value)
        texts = self.value if isinstance(self.value, list) else []
        array = np.empty(len(texts), object)
        array[:] = [str(text) for text in texts]
        return array

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the array."""
        return self._array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self._array.shape

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return the given rows."""
        return self._array[start:stop]
