"""Ingesting PyTorch datasets, and files of tensors."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from PIL import Image as pillow

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError, LakeError, OptionError
from deeplake_lite.htypes import ClassLabel, Image, Text
from deeplake_lite.htypes.pillow import is_pillow, untouched_file
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.ingest.arrays.array_source import ArraySource
from deeplake_lite.ingest.arrays.sample_source import (
    BadSample,
    Once,
    SampleSource,
    bad_sample,
    flatten,
)
from deeplake_lite.ingest.arrays.torch_file import FileSamples, read_torch_file
from deeplake_lite.ingest.files import fingerprint
from deeplake_lite.ingest.folders.layout import SUFFIXES
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.writer import ingest
from deeplake_lite.pickling import pickle_value
from deeplake_lite.storage.repo import spreading_credentials

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deeplake_lite.htypes import Htype
    from deeplake_lite.ingest.arrays.sample_source import Sample
    from deeplake_lite.ingest.options import Options
    from deeplake_lite.ingest.result import IngestedDataset
    from deeplake_lite.ingest.source import Source

MAX_WORKERS = 1_024

LABELS = ("label", "labels", "target", "class", "y")
"""Names of items whose integers are read as class numbers if the dataset has `classes`."""


@takes_options
def from_torch(
    dataset: object,
    url: str,
    *,
    on: str | None = None,
    columns: Sequence[str] | None = None,
    num_workers: int = 0,
    **options: Unpack[Options],
) -> IngestedDataset:
    """Ingest the samples of a map-style or iterable PyTorch dataset, or a file of tensors.

    Parameters
    ----------
    dataset : torch.utils.data.Dataset, str or Path
        The dataset, or a file such as ``"train.pt"``. Any object with ``__len__`` and
        ``__getitem__``, or with ``__iter__``, can be a dataset.
    url : str
        URL of the lake, which is created if it does not exist.
    on : str, optional
        The column that identifies rows. Rows that are already in the lake are updated if they
        differ. By default, all rows are appended.
    columns : sequence of str, optional
        Names for the items of a tuple, or the names of the dict items to ingest. By default, a pair
        of an image and a class has the names ``image`` and ``label``, and the items of other tuples
        are named ``item_0`` and so on.
    num_workers : int
        Number of processes that read a map-style dataset, as for a ``DataLoader`` with
        ``multiprocessing_context="forkserver"``: the dataset must be picklable, and a script needs
        ``if __name__ == "__main__":``.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        The committed dataset, whose attribute ``ingested`` summarizes the import.

    Raises
    ------
    InvalidValueError
        If a sample cannot be read or does not fit the columns, which are inferred from the first
        samples (with ``on_error="skip"``, such samples are skipped), or if a file cannot be read
        without running code from it.

    Notes
    -----
    For datasets with ``samples``, such as torchvision's ``ImageFolder``, the bytes of the image
    files are stored along with their ``path``, and transforms are not applied. For other datasets,
    the samples are stored as the dataset returns them, so leave out augmentations. A Pillow image
    that was not changed after its file was read is stored as that file. If the dataset has
    ``classes``, these are the names of the classes.

    Files are read with ``weights_only=True``. In a dict, which may be nested, each tensor becomes a
    column, whose rows are along the first axis, and so does each list of the same length; other
    values are stored in ``ds.metadata["torch"]``. In a tuple of tensors of the same length, each
    tensor becomes a column (``item_0`` and so on). A list holds samples, and a single tensor
    becomes a column with the name of the file. Columns of a file written by `View.to_torch` get the
    same types and metadata as in the lake from which they were exported.

    Examples
    --------
    >>> import torch
    >>> import deeplake_lite as dl
    >>> pairs = torch.utils.data.TensorDataset(torch.zeros(4, 3), torch.arange(4))
    >>> ds = dl.from_torch(pairs, "memory://from-torch", columns=["x", "y"])
    >>> [f.htype for f in ds.schema]
    [Array('float32', (3,)), Scalar('int64')]
    """
    workers = checks.integer("num_workers", num_workers, 0)
    if workers > MAX_WORKERS:
        raise OptionError(f"num_workers must be at most {MAX_WORKERS:,}, but it is {workers:,}.")
    source = _source(dataset, on, columns, workers, options)
    if not isinstance(source, ArraySource):
        return ingest(source, url, **options)
    return ingest(
        source, url, column_metadata=source.column_metadata, lineage=source.lineage, **options
    )


def _source(
    dataset: Any, on: str | None, columns: Sequence[str] | None, workers: int, options: Options
) -> Source:
    """Return the source for a dataset or a file. Raises OptionError if an argument is invalid."""
    if isinstance(dataset, str | os.PathLike):
        content = read_torch_file(checks.location("dataset", dataset), on, columns, options)
        if not isinstance(content, FileSamples):
            return content
        dataset = content
    is_map = _is_map_style(dataset)
    if isinstance(dataset, bytes | Mapping | set) or not (is_map or hasattr(dataset, "__iter__")):
        raise OptionError(
            "dataset must be a torch.utils.data.Dataset, or the path of a file of tensors, but its "
            f"type is {type(dataset).__name__}. Pass arrays to dl.from_arrays."
        )
    if workers and not is_map:
        raise OptionError(
            "num_workers must be 0 for an iterable dataset, because each process would read all "
            f"samples, but it is {workers}. Leave num_workers out."
        )
    if hasattr(dataset, "__next__"):
        dataset = Once(dataset)
    names = None if columns is None else checks.names("columns", columns)
    if names is not None and len(set(names)) < len(names):
        raise OptionError(
            f"columns must name each column only once, but it is {brief(columns, 80)}. Remove the "
            "duplicates."
        )
    files = _image_files(dataset) if is_map and names is None else None
    types = types_of(options.get("schema"))
    if files is not None:
        return files.source(on, types)
    reader = _Samples(dataset, names, _classes(dataset), workers, is_map=is_map)
    known = {name: ClassLabel(reader.classes) for name in reader.labels}
    rows = len(dataset) if is_map else None
    file_fingerprint = dataset.fingerprint if isinstance(dataset, FileSamples) else None
    return SampleSource(_title(dataset), reader.read, rows, on, types, known, file_fingerprint)


def _title(dataset: object) -> str:
    inner = _innermost(dataset)[0]
    return inner.title if isinstance(inner, FileSamples) else type(inner).__name__


def _is_map_style(dataset: Any) -> bool:
    """Return whether a dataset has a length and returns samples by number.

    An IterableDataset does not return samples by number, although it inherits `__getitem__`.
    """
    is_iterable = any(c.__name__ == "IterableDataset" for c in type(dataset).__mro__)
    if is_iterable or not hasattr(dataset, "__getitem__"):
        return False
    try:
        len(dataset)
    except TypeError:
        return False
    return True


def _innermost(dataset: Any) -> tuple[Any, list[int] | None]:
    """Return the dataset from which a subset selects, and the numbers of the selected samples.

    If `dataset` is not a subset, return `dataset` and None.
    """
    numbers: list[int] | None = None
    while type(dataset).__name__ == "Subset" and hasattr(dataset, "indices"):
        indices = [int(number) for number in dataset.indices]
        numbers = indices if numbers is None else [indices[number] for number in numbers]
        dataset = dataset.dataset
    return dataset, numbers


def _classes(dataset: Any) -> tuple[str, ...]:
    """Return the names of a dataset's classes, or () if it does not declare classes."""
    names = getattr(_innermost(dataset)[0], "classes", None)
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        return ()
    return tuple(names) if len(set(names)) == len(names) else ()


@dataclass(frozen=True)
class _ImageFiles:
    """The image files of a dataset such as torchvision's ImageFolder."""

    title: str
    root: str
    samples: list[tuple[str, int]]
    """Path and class number of each file."""

    classes: tuple[str, ...]

    def source(self, on: str | None, types: Mapping[str, Any]) -> SampleSource:
        """Return the source for the files, with the columns ``image``, ``label`` and ``path``."""
        known: dict[str, Htype] = {
            "image": Image("auto"), "label": ClassLabel(self.classes), "path": Text(),
        }  # fmt: skip
        paths = [path for path, _ in self.samples]
        file_fingerprint = (
            fingerprint(self.root or paths[0], paths) if paths and _exist(paths) else None
        )
        return SampleSource(
            self.title, self.read, len(self.samples), on, types, known, file_fingerprint
        )

    def read(self, start: int) -> Iterator[Sample]:
        """Yield a sample for each file from number `start` on."""
        for path, number in self.samples[start:]:
            try:
                data = Path(path).read_bytes()
            except (OSError, ValueError) as error:
                yield bad_sample(error)
                continue
            name = os.path.relpath(path, self.root) if self.root else path
            yield {"image": data, "label": self.classes[number], "path": Path(name).as_posix()}


def _exist(paths: Sequence[str]) -> bool:
    return all(map(os.path.isfile, paths))


def _image_files(dataset: Any) -> _ImageFiles | None:
    """Return the image files that a dataset lists, or None if it does not list image files."""
    inner, numbers = _innermost(dataset)
    samples = getattr(inner, "samples", None) or getattr(inner, "imgs", None)
    classes = _classes(inner)
    if not isinstance(samples, list) or not callable(getattr(inner, "loader", None)) or not classes:
        return None
    chosen = samples if numbers is None else [samples[number] for number in numbers]
    for sample in chosen:
        match sample:
            case (str(path), int(number)) if 0 <= number < len(classes):
                if Path(path).suffix.lower() not in SUFFIXES:
                    return None
            case _:
                return None
    root = getattr(inner, "root", "")
    root = os.fspath(root) if isinstance(root, str | os.PathLike) else ""
    return _ImageFiles(type(inner).__name__, root, list(chosen), classes)


@dataclass(frozen=True)
class _Samples:
    """A reader of the samples of a dataset as dicts from column names to values."""

    dataset: Any
    names: tuple[str, ...] | None
    """Names that the user passed as `columns`, or None if none were passed."""

    classes: tuple[str, ...]
    workers: int
    is_map: bool

    def read(self, start: int) -> Iterator[Sample]:
        """Yield the samples from number `start` on."""
        is_first = start == 0
        for number, item in enumerate(self._items(start), start):
            if isinstance(item, BadSample):
                yield item
                continue
            try:
                sample = self._to_dict(item)
            except LakeError as error:
                if is_first:  # the names are wrong, not the sample
                    raise type(error)(f"{_title(self.dataset)}, row {number}: {error}") from error
                yield BadSample(str(error))
                continue
            is_first = False
            for name in self.labels & sample.keys():
                sample[name] = self._class_name(sample[name])
            yield sample

    @cached_property
    def labels(self) -> set[str]:
        """Names of the items whose values are class numbers."""
        if not self.classes or not self.is_map or not len(self.dataset):
            return set()
        item = _item(self.dataset, 0)
        if isinstance(item, BadSample):
            return set()
        sample = self._to_dict(item)
        names = self.names or ()
        second = {names[1]} if not isinstance(item, Mapping) and len(names) == 2 else set()
        return {
            name for name, value in sample.items()
            if (name in LABELS or name in second) and _class_number(value) is not None
        }  # fmt: skip

    def _class_name(self, value: Any) -> Any:
        number = _class_number(value)
        return self.classes[number] if number is not None and number < len(self.classes) else value

    def _items(self, start: int) -> Iterator[Any]:
        if not self.is_map:
            yield from self._iterate(start)
        elif not self.workers:
            for number in range(start, len(self.dataset)):
                yield _item(self.dataset, number)
        else:
            yield from _load_in_workers(self.dataset, range(start, len(self.dataset)), self.workers)

    def _iterate(self, start: int) -> Iterator[Any]:
        number = -1
        try:
            for number, item in enumerate(self.dataset):
                if number >= start:
                    yield item
        except Exception as error:  # from the user's dataset
            reason = bad_sample(error).reason
            raise InvalidValueError(
                f"{_title(self.dataset)}, row {number + 1}: {reason}"
            ) from error

    def _to_dict(self, item: Any) -> dict[str, Any]:
        """Convert a sample to a dict from names to values.

        Raises OptionError if `names` does not fit the sample, and SchemaError for equal names.
        """
        if isinstance(item, Mapping):
            sample = flatten(item)
            if self.names is None:
                return sample
            missing = [name for name in self.names if name not in sample]
            if missing:
                raise OptionError(
                    "columns must be names of items of the samples, but a sample has no item "
                    f"{missing[0]!r}. Choose from {', '.join(map(repr, sample))}."
                )
            return {name: sample[name] for name in self.names}
        fields = getattr(item, "_fields", None)
        items = tuple(item) if isinstance(item, tuple | list) else (item,)
        names = self.names or fields or _names(items, bool(self.classes))
        if len(names) != len(items):
            raise OptionError(
                "columns must have one name per item of a sample, but it has "
                f"{pluralize(len(names), 'name')} for {pluralize(len(items), 'item')}."
            )
        return dict(zip(names, items, strict=True))


def _names(items: tuple[Any, ...], has_classes: bool) -> tuple[str, ...]:
    """Return default names for the items of a tuple, one for each item.

    >>> _names((0, "a"), False), _names((0,), False)
    (('item_0', 'item_1'), ('item',))
    """
    if len(items) == 1:
        return ("image",) if is_pillow(items[0]) else ("item",)
    is_pair = len(items) == 2 and _class_number(items[1]) is not None
    if is_pair and (
        is_pillow(items[0]) or (has_classes and getattr(items[0], "ndim", 0) in (2, 3))
    ):
        return ("image", "label")
    return tuple(f"item_{i}" for i in range(len(items)))


def _class_number(value: Any) -> int | None:
    """Convert a non-negative integer or integer tensor to int. Return None for other values."""
    if isinstance(value, bool) or getattr(value, "shape", ()) != ():
        return None
    try:
        number = value.__index__()
    except (AttributeError, TypeError, RuntimeError):
        return None
    return number if number >= 0 else None


def _item(dataset: Any, number: int) -> Any:
    """Return the sample with the given number, or a `BadSample` if it cannot be read."""
    try:
        return dataset[number]
    except Exception as error:  # from the user's dataset
        return bad_sample(error)


@dataclass(frozen=True)
class _PickledDataset:
    """A pickled dataset for worker processes. It returns a `BadSample` for each bad sample."""

    length: int
    data: bytes
    """The pickled dataset."""

    @cached_property
    def _dataset(self) -> Any:
        return pickle.loads(self.data)

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, number: int) -> Any:
        return _pack(_item(self._dataset, number))


def _load_in_workers(dataset: Any, numbers: range, workers: int) -> Iterator[Any]:
    """Yield the samples with the given numbers, which worker processes read.

    The workers are not forked from this process, because its threads may hold locks.

    Raises
    ------
    MissingPackageError
        If PyTorch is not installed.
    OptionError
        If the dataset cannot be pickled.
    InvalidValueError
        If a process fails.
    """
    loading = checks.package("torch.utils.data", "torch", "num_workers").DataLoader
    try:
        with spreading_credentials():
            sent = _PickledDataset(len(dataset), pickle_value(dataset))
    except Exception as error:
        reason = str(error).rstrip(".")
        raise OptionError(
            "num_workers must be 0 for a dataset that cannot be pickled, but it is "
            f"{workers}. Pickling {_title(dataset)} failed: {reason}. Use num_workers=0, install "
            "cloudpickle, or define the dataset at the top level of a module."
        ) from error
    # Forking would be faster, but locks that other threads hold would never be released in the
    # forked process.
    loader = loading(
        sent, batch_size=None, sampler=numbers, num_workers=workers, collate_fn=_identity,
        multiprocessing_context="spawn" if sys.platform == "win32" else "forkserver",
    )  # fmt: skip
    try:
        yield from map(_unpack, loader)
    except Exception as error:  # for example, a process was killed or cannot import the dataset
        reason = str(error).strip().rpartition("\n")[2].rstrip(".")
        raise InvalidValueError(
            f"{_title(dataset)} cannot be read by worker processes: {reason}. Use num_workers=0 "
            "or, in a script, call from_torch below `if __name__ == '__main__':`."
        ) from error


def _identity(item: Any) -> Any:
    return item


@dataclass(frozen=True)
class _File:
    """The file of a Pillow image. Workers send it, because a pickled image lacks its file."""

    data: bytes


def _pack(item: Any) -> Any:
    """Replace the Pillow images in a sample that are unchanged with `_File` objects."""
    if isinstance(item, Mapping):
        return {name: _pack(value) for name, value in item.items()}
    if type(item) in (tuple, list):
        return type(item)(map(_pack, item))
    data = untouched_file(item) if is_pillow(item) else None
    return item if data is None else _File(data)


def _unpack(item: Any) -> Any:
    """Replace the `_File` objects in a sample with Pillow images, which reverses `_pack`."""
    if isinstance(item, Mapping):
        return {name: _unpack(value) for name, value in item.items()}
    if type(item) in (tuple, list):
        return type(item)(map(_unpack, item))
    return pillow.open(BytesIO(item.data)) if isinstance(item, _File) else item
