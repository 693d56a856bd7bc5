"""Ingesting tf.data datasets."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Unpack

from deeplake_lite import checks
from deeplake_lite.codecs.limits import DEFAULT_LIMITS
from deeplake_lite.errors import (
    InvalidValueError,
    LakeError,
    NotFoundError,
    OptionError,
    SchemaError,
)
from deeplake_lite.htypes import Bytes, Htype, resolve
from deeplake_lite.ingest.arrays.sample_source import (
    SAMPLED,
    BadSample,
    Sample,
    SampleSource,
    bad_sample,
)
from deeplake_lite.ingest.arrays.tensor_values import Leaf, leaves, text_of, type_of
from deeplake_lite.ingest.bad_values import RestUnreadableError
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deeplake_lite.codecs.limits import Limits
    from deeplake_lite.ingest.options import Options
    from deeplake_lite.ingest.result import IngestedDataset


MAX_CONSECUTIVE_ERRORS = 1_000
"""Number of consecutive elements that may fail to be read. After more, the import fails."""


@takes_options
def from_tensorflow(
    dataset: object,
    url: str,
    *,
    on: str | None = None,
    columns: Sequence[str] | None = None,
    **options: Unpack[Options],
) -> IngestedDataset:
    """Ingest a ``tf.data.Dataset``; each element becomes a row.

    Parameters
    ----------
    dataset : tf.data.Dataset
        The dataset, which must be finite. Unbatch it first, so that each element is a sample.
    url : str
        URL of the lake, which is created if it does not exist.
    on : str, optional
        The column that identifies rows. Rows that are already in the lake are updated if they
        differ. By default, all rows are appended.
    columns : sequence of str, optional
        Names for the items of a tuple, or the names of the dict items to ingest.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        The committed dataset, whose attribute ``ingested`` summarizes the import. Nested names are
        joined with dots. Strings become images if they are image files, text if they are UTF-8, and
        otherwise bytes. Sparse tensors become dense arrays, and ragged tensors become arrays or
        sequences.

    Raises
    ------
    InvalidValueError
        If an element cannot be read or does not fit the columns.

    Examples
    --------
    >>> import tensorflow as tf
    >>> import deeplake_lite as dl
    >>> data = tf.data.Dataset.from_tensor_slices({"x": [[1.0, 2], [3, 4]], "name": ["a", "b"]})
    >>> ds = dl.from_tensorflow(data, "memory://from-tensorflow")
    >>> sorted((f.name, str(f.htype)) for f in ds.schema)
    [('name', 'Text()'), ('x', "Array('float32', (2,))")]
    """
    if not is_tf_dataset(dataset):
        raise OptionError(
            f"dataset must be a tf.data.Dataset, but it is {type(dataset).__name__}. Pass TFDS "
            "builders to dl.from_tfds, and arrays to dl.from_arrays."
        )
    return ingest(tensorflow_source(dataset, on, columns, options), url, **options)


def is_tf_dataset(value: Any) -> bool:
    """Return whether a value is a tf.data dataset.

    >>> is_tf_dataset([1])
    False
    """
    kinds = {c.__module__.partition(".")[0] for c in type(value).__mro__}
    return "tensorflow" in kinds and hasattr(value, "element_spec")


def tensorflow_source(
    dataset: Any, on: str | None, columns: Sequence[str] | None, options: Options
) -> SampleSource:
    """Return the source for a tf.data dataset.

    Raises OptionError if the dataset is infinite, NotFoundError if a column does not exist, and
    SchemaError if no type can store a column.
    """
    count = int(dataset.cardinality())
    if count == -1:
        raise OptionError(
            "dataset must be finite, but it is infinite. Shorten it: dataset.take(n)."
        )
    limits = options.get("limits", DEFAULT_LIMITS)
    names = None if columns is None else checks.names("columns", columns)
    selected = select_leaves(leaves(dataset.element_spec, names), names)
    elements = Elements(dataset, selected, limits, declared=types_of(options.get("schema")))
    rows = count if count >= 0 else None
    return SampleSource(
        "tf.data", elements.read, rows, on, types_of(options.get("schema")), elements.types
    )


def select_leaves(tensors: list[Leaf], names: Sequence[str] | None) -> list[Leaf]:
    """Return the tensors for the columns `names`, or all if it is None.

    Raises NotFoundError if one does not exist.
    """
    by_name = {leaf.name: leaf for leaf in tensors}
    for name in names or ():
        if name not in by_name:
            raise NotFoundError.named("column", name, by_name)
    return tensors if names is None else [by_name[name] for name in names]


@dataclass(frozen=True)
class Elements:
    """A reader of the elements of a dataset as dicts from column names to values."""

    dataset: Any
    leaves: list[Leaf]
    limits: Limits
    title: str = "tf.data"
    declared: Mapping[str, Any] = field(default_factory=dict)
    """Maps the names of columns to the types that the user declares."""

    @cached_property
    def types(self) -> dict[str, Htype]:
        """Type of each column. Some types are inferred from the first elements."""
        for leaf in self.leaves:
            self._type(leaf, [])  # raises errors before anything is read
        samples = islice(self._elements({}), SAMPLED)
        first = [sample for sample in samples if not isinstance(sample, BadSample)]
        types = dict[str, Htype]()
        for leaf in self.leaves:
            values = [element[leaf.name] for element in first]
            htype = self._type(leaf, values)
            has_null = any(value is None for value in values)
            types[leaf.name] = replace(htype, nullable=True) if has_null else htype
        return types

    def _type(self, leaf: Leaf, values: list[Any]) -> Htype:
        """Return the type of a tensor's column. Raises SchemaError if no type can store it."""
        try:
            return leaf.htype or type_of(leaf.spec, values)
        except SchemaError as error:
            raise SchemaError(f"Column {leaf.name!r}: {error}") from None

    def read(self, start: int) -> Iterator[Sample]:
        """Yield the elements from number `start` on, with strings where columns hold text.

        Raises InvalidValueError if no further element can be read.
        """
        declared = {name: resolve(spec) for name, spec in self.declared.items()}
        yield from islice(self._elements({**self.types, **declared}), start, None)

    def _elements(self, types: Mapping[str, Htype]) -> Iterator[Sample]:
        """Yield all elements. Raises InvalidValueError if none can be read after a bad element."""
        as_text = {
            leaf.name for leaf in self.leaves
            if leaf.name in types and leaf.convert is None and _is_text(types[leaf.name])
        }  # fmt: skip
        errors, row = list[Exception](), 0
        for element in self._read_elements():
            if isinstance(element, Exception):
                errors.append(element)
                if (
                    type(element).__name__ == "DataLossError"
                    or len(errors) > MAX_CONSECUTIVE_ERRORS
                ):
                    raise self._unreadable(element, row)  # the error would be repeated forever
                yield _bad(element)
            else:
                errors = []
                for name in as_text:
                    element[name] = text_of(element[name])
                yield element
            row += 1
        if errors and row != int(self.dataset.cardinality()):  # a generator ends after an error
            raise self._unreadable(errors[-1], row - 1)

    def _read_elements(self) -> Iterator[dict[str, Any] | Exception]:
        """Yield each element, or an error if the element cannot be read."""
        try:
            elements = iter(self.dataset)
        except Exception as error:
            raise InvalidValueError(f"{self.title}: {_bad(error).reason}") from error
        end, element = object(), None
        while element is not end:
            result: dict[str, Any] | Exception
            try:
                if (element := next(elements, end)) is end:
                    continue
                result = {leaf.name: leaf.value(element, self.limits) for leaf in self.leaves}
            except Exception as error:  # from TensorFlow, or from the user's function in `map`
                result = error
            yield result

    def _unreadable(self, error: Exception, row: int) -> InvalidValueError:
        """Return the error for a bad element after which no element can be read."""
        result = RestUnreadableError(
            f"{self.title}, row {row}: {_bad(error).reason} No later elements can be read. "
            "Correct the dataset, or leave bad elements out: dataset.ignore_errors()."
        )
        result.__cause__ = error
        return result


def _bad(error: Exception) -> BadSample:
    """Return a `BadSample` for an error, without the name of this package's own errors."""
    return BadSample(str(error)) if isinstance(error, LakeError) else bad_sample(error)


def _is_text(htype: Htype) -> bool:
    """Return whether a column stores bytes as text. Columns of files or bytes do not."""
    if htype.item is not None:
        return _is_text(htype.item)
    return not htype.takes_files and htype.bare != Bytes()
