"""The type of segmentation masks: a class for each pixel, or a binary mask for each object."""

from __future__ import annotations

import math
import os
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, override

import numpy as np

from deeplake_lite import codecs
from deeplake_lite.brief import brief
from deeplake_lite.codecs.base import ImageCodec
from deeplake_lite.errors import InvalidValueError, SchemaError
from deeplake_lite.htypes.arrays import (
    as_array,
    as_recorded,
    check_recorded,
    each,
    each_in_threads,
)
from deeplake_lite.htypes.base import Check, Htype, Picture
from deeplake_lite.htypes.cells import RaggedCells
from deeplake_lite.htypes.choices import choice, dtype_choice
from deeplake_lite.htypes.dtypes import FIXED, Dtypes
from deeplake_lite.htypes.facets import Browser, Pixels
from deeplake_lite.htypes.files import is_file_struct, read
from deeplake_lite.htypes.layouts import Ragged
from deeplake_lite.htypes.names import check_names
from deeplake_lite.htypes.pillow import is_pillow, loading, lock_of, untouched_file
from deeplake_lite.htypes.pixels import decode_file
from deeplake_lite.htypes.plain import to_builtins
from deeplake_lite.htypes.show import class_thumbnail
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    from collections.abc import Buffer, Iterator, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.codecs.base import Codec
    from deeplake_lite.htypes.cells import Values

_VOID = 255  # marks pixels without a class, as in Pascal VOC and Cityscapes
_DTYPES = ("uint8", "uint16", "int32")


@dataclass(frozen=True, repr=False, eq=False)
class Mask(Htype):
    """One segmentation mask per row.

    Parameters
    ----------
    kind : {"semantic", "instance"}
        A class number per pixel, (h, w), or a binary mask per object, (n, h, w) bool.
    dtype : {"uint8", "uint16", "int32"}
        Dtype of class numbers.
    names : sequence of str, optional
        Names of the classes 0, 1, 2… The number 255 means no class, as in Pascal VOC and
        Cityscapes.

    Notes
    -----
    Semantic masks with 8 or 16 bits are stored as PNG; palette and grey PNG files are stored
    unchanged. Masks with 32 bits are compressed with Zstd. Instance masks are packed into bits in C
    order, and compressed with Zstd. The numbers in a PNG file are only checked against `names` with
    ``check="full"``.

    Examples
    --------
    >>> mask = Mask(names=["background", "cat"])
    >>> mask.decode_cells(mask.encode([[[0, 1], [1, 255]]]))[0]
    array([[  0,   1],
           [  1, 255]], dtype=uint8)
    """

    kind: str = "semantic"
    """A class number per pixel, or a binary mask per object."""

    _: KW_ONLY

    dtype: str = "uint8"
    """Dtype of class numbers."""

    names: Sequence[str] = ()
    """Names of the classes."""

    name: ClassVar[str] = "mask"
    nan_is_null: ClassVar[bool] = True

    @override
    def __post_init__(self) -> None:
        self._set(names=check_names(self.names, "class"))
        self._set(
            kind=choice("kind of a mask", self.kind, ("semantic", "instance")),
            dtype=dtype_choice("dtype of a mask", self.dtype, _DTYPES),
        )
        if self.kind == "instance" and (self.names or self.dtype != "uint8"):
            raise SchemaError(
                "Instance masks are bool, so they must have no dtype and no names. Store the "
                "classes of the objects in another column: ClassLabel(names, multiple=True)."
            )
        super().__post_init__()

    @property
    @override
    def layout(self) -> Ragged:
        if self.kind == "instance":
            return Ragged("bool", 3)
        return Ragged("int32" if self.dtype == "int32" else "bytes", 2)

    @property
    @override
    def pixels(self) -> Pixels:
        role: Any = "object_masks" if self.kind == "instance" else "class_mask"
        codec = "png" if self.layout.dtype == "bytes" else "zstd"
        return Pixels(role, codec, self.value_dtype, names=tuple(self.names))

    @property
    @override
    def value_dtype(self) -> str:
        return "bool" if self.kind == "instance" else self.dtype

    @property
    @override
    def browser(self) -> Browser:
        return Browser("mask")

    @override
    def details(self) -> Iterator[str]:
        yield self.kind
        if self.names:
            yield pluralize(len(self.names), "class")

    @override
    def to_words(self, value: NDArray[Any]) -> None:
        return None

    @property
    @override
    def takes_files(self) -> bool:
        return self.kind == "semantic"

    @override
    def hands_files_to(self, other: Htype) -> bool:
        if not isinstance(other, Mask) or not other.takes_files or self.layout.dtype != "bytes":
            return False
        return _same_numbers(self, other)

    @override
    def values_from(self, of: Htype, values: Values) -> Values:
        """Return masks renumbered to this type's class numbers. Classes are matched by their names.

        Raises
        ------
        InvalidValueError
            For masks of another kind, and for classes whose name this type does not have.
        """
        if not isinstance(of, Mask):
            return super().values_from(of, values)
        if of.kind != self.kind:
            raise InvalidValueError(
                f"masks of kind {of.kind!r} cannot be converted to masks of kind {self.kind!r}. "
                + (
                    "Pass a boolean array for each object: [mask == k for k in …]."
                    if self.kind == "instance"
                    else "Pass one class number per pixel, such as masks.argmax(axis=0)."
                )
            )
        if _same_numbers(of, self):
            return values
        return each(values, partial(self._renumber, of))

    def _renumber(self, of: Mask, value: object) -> NDArray[Any] | None:
        """Return a mask of the type `of` with this type's numbers for its classes."""
        if value is None:
            return None
        mask = np.asarray(of.from_file(value) if isinstance(value, bytes) else value, np.int64)
        numbers = {name: number for number, name in enumerate(self.names)}
        renumbered = np.full_like(mask, _VOID)
        for number in np.unique(mask).tolist():
            name = of.names[number] if 0 <= number < len(of.names) else None
            if name is None and number == _VOID:
                continue
            if name not in numbers:
                known = ", ".join(map(repr, self.names[:10]))
                finding = f"class {name!r}, which is not among {known}"
                if not name:
                    finding = f"class {number}, which has no name"
                raise InvalidValueError(
                    f"classes are matched by name, but the mask contains {finding}. Declare a new "
                    "column with this class, or map the numbers yourself and pass arrays."
                )
            renumbered[mask == number] = numbers[name]
        return renumbered

    @property
    @override
    def blank(self) -> NDArray[Any]:
        return (
            np.zeros((0, 1, 1), bool) if self.kind == "instance" else np.zeros((1, 1), self.dtype)
        )

    @cached_property
    def _codec(self) -> Codec:
        """The codec of semantic masks, or of packed bits."""
        if self.kind == "instance" or self.dtype == "int32":
            return codecs.get("zstd")
        return codecs.get("png", indexed=True)

    @override
    def _encode(self, values: Values, check: Check) -> RaggedCells:
        if self.kind == "instance":
            cells = each(values, self._encode_objects)
        else:
            convert_all = each if set(map(type, values)) <= {bytes} else each_in_threads
            cells = convert_all(values, partial(self._encode_classes, check=check))
        shapes = as_recorded([shape for _, shape in cells], self.layout.ndim)
        return RaggedCells([data for data, _ in cells], shapes)

    def _encode_objects(self, value: object) -> tuple[Buffer, tuple[int, ...]]:
        """Return the stored bytes and the shape of one row's binary masks."""
        masks = (
            as_array(value, "bool", (None, None, None))
            if _is_bool(value)
            else _zeros_and_ones(value)
        )
        self._limits.check_bytes(masks.shape, 1)
        return self._codec.encode(np.packbits(masks.reshape(-1))), masks.shape

    def _encode_classes(self, value: Any, check: Check) -> tuple[Buffer, tuple[int, ...]]:
        """Return the stored bytes and the shape of one semantic mask."""
        if isinstance(value, str | os.PathLike):
            data = read(value)
            try:
                return self._encode_file(data, check)
            except InvalidValueError as error:
                raise type(error)(f"{brief(os.fspath(value), 200)}: {error.args[0]}") from error
        if isinstance(value, bytes | bytearray | memoryview):
            return self._encode_file(bytes(value), check)
        if is_file_struct(value):
            return self._encode_classes(value["bytes"] or value["path"], check)
        if is_pillow(value):
            with lock_of(value):
                self._limits.check_picture(value.size[::-1], len(value.getbands()))
                file = untouched_file(value)
                if file is not None:
                    return self._encode_file(file, check)
                with loading(value):
                    value = np.array(value)
        return self._encode_numbers(value)

    def _encode_file(self, data: bytes, check: Check) -> tuple[Buffer, tuple[int, ...]]:
        """Store a PNG of the column's dtype unchanged, and re-encode any other lossless file."""
        source = codecs.sniff(data)
        if source.name == "png":
            source = _indexed()
        if not source.lossless:
            raise InvalidValueError(
                f"a mask must be in a lossless format, but {source.name.upper()} is lossy. Save it "
                "as PNG."
            )
        header = source.probe(data, self._limits)
        if len(header.shape) != 2:
            raise InvalidValueError(
                f"a mask must have one number per pixel, but the image has shape {header.shape}. "
                "Save the class numbers as a grey or palette PNG."
            )
        if not source.keeps_numbers(data):
            raise InvalidValueError(
                "a mask must decode to exactly the numbers in the file, but this "
                f"{source.name.upper()} has fewer than 8 bits per pixel, or is WhiteIsZero, so its "
                "numbers would change. Pass a PNG, or the numbers as an array."
            )
        is_storable = source == self._codec and header.dtype == self.dtype
        if is_storable and check == "header":
            return data, header.shape
        if not is_storable and (frames := source.frames(data)) > 1:
            raise InvalidValueError(
                f"a mask must have one frame, but this {source.name.upper()} has {frames} frames "
                "or pages. Pass the class numbers of one frame as an array."
            )
        # The encoder also checks the numbers of the classes.
        encoded = self._encode_numbers(decode_file(source, data, header))
        return (data, header.shape) if is_storable else encoded

    def _encode_numbers(self, value: Any) -> tuple[Buffer, tuple[int, ...]]:
        """Check an array of class numbers, and return its stored bytes and shape."""
        numbers = as_array(value, self.dtype, (None, None), Dtypes(_DTYPES, self))
        if 0 in numbers.shape:
            raise InvalidValueError(
                f"a mask must have pixels, but its shape is {numbers.shape}. Leave the row out."
            )
        self._limits.check_picture(numbers.shape, numbers.itemsize)
        if self.names:
            wrong = (numbers >= len(self.names)) & (numbers != _VOID) | (numbers < 0)
            if wrong.any():
                raise InvalidValueError(
                    f"a mask with {len(self.names)} classes must contain 0 to "
                    f"{len(self.names) - 1}, or {_VOID} for no class, but it contains "
                    f"{numbers[wrong][0]}. Declare more names, or map the numbers."
                )
        return self._codec.encode(np.ascontiguousarray(numbers)), numbers.shape

    @override
    def decode(self, data: Buffer, shape: tuple[int, ...]) -> NDArray[Any]:
        if self.kind == "semantic":
            dtype = np.dtype(self.dtype)
            check_recorded(shape, (2,))
            self._limits.check_picture(shape, dtype.itemsize)
            return self._codec.decode(data, shape, dtype)
        check_recorded(shape, (3,))
        self._limits.check_bytes(shape, 1)
        count = math.prod(shape)
        bits = self._codec.decode(data, (-(-count // 8),), np.dtype(np.uint8))
        return np.unpackbits(bits, count=count).reshape(shape).view(bool)

    def from_file(self, data: bytes) -> NDArray[Any]:
        """Return the mask that a file contains."""
        mask: NDArray[Any] = self.decode_cells(self.encode([data]))[0]
        return mask

    @override
    def preview(self, value: NDArray[Any]) -> Picture | str:
        if self.kind == "semantic":
            return class_thumbnail(value)
        if not value.size:
            return f"{len(value)} objects"
        step = max(1, max(value.shape[1:]) // 192)
        small = value[:, ::step, ::step]
        return class_thumbnail(np.where(small.any(axis=0), small.argmax(axis=0) + 1, 0))

    @override
    def _plain_default(self, value: object) -> object:
        return to_builtins(
            value if isinstance(value, list) else self.decode_cells(self.encode([value]))[0]
        )


def _same_numbers(of: Mask, to: Mask) -> bool:
    """Return whether each class of `of` has the same number in `to`.

    This is also true if one of the two types has no class names.

    >>> _same_numbers(Mask(names=["a"]), Mask(names=["a", "b"]))
    True
    >>> _same_numbers(Mask(names=["a", "b"]), Mask(names=["b", "a"]))
    False
    """
    return not of.names or not to.names or of.names == to.names[: len(of.names)]


def _indexed() -> ImageCodec:
    """Return the PNG codec that reads palette indices."""
    codec = codecs.get("png", indexed=True)
    if not isinstance(codec, ImageCodec):
        raise TypeError("png must be an image codec.")
    return codec


def _is_bool(value: Any) -> bool:
    """Return whether a value is an array of bool."""
    return isinstance(value, np.ndarray) and value.dtype == bool


def _zeros_and_ones(value: Any) -> NDArray[np.bool_]:
    """Convert masks of 0 and 1 to bool. Raises InvalidValueError for other numbers."""
    masks = as_array(value, "int64", (None, None, None), FIXED)
    if masks.size and (masks.min() < 0 or masks.max() > 1):
        bad = masks[(masks < 0) | (masks > 1)][0]
        raise InvalidValueError(
            f"an instance mask must be bool, or consist of 0 and 1, but it contains {bad}. Convert "
            "it: x > 0."
        )
    return masks.astype(bool)
