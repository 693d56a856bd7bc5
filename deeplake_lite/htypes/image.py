"""The type of images, stored as image files.

Files at paths and URLs are read into the lake. Files in the column's codec are checked and stored
unchanged. All other files, arrays and Pillow images are decoded to pixels and encoded with the
column's codec.
"""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, override

import numpy as np

from deeplake_lite import codecs
from deeplake_lite.brief import alternatives, brief
from deeplake_lite.codecs.base import ImageCodec
from deeplake_lite.codecs.limits import NO_LIMITS
from deeplake_lite.errors import DamagedError, InvalidValueError, SchemaError, TooLargeError
from deeplake_lite.htypes.arrays import (
    as_recorded,
    cast,
    check_recorded,
    each,
    each_in_threads,
)
from deeplake_lite.htypes.base import Check, Htype, Picture
from deeplake_lite.htypes.cells import RaggedCells
from deeplake_lite.htypes.choices import ALIASES, choice, dtype_choice
from deeplake_lite.htypes.dtypes import Dtypes
from deeplake_lite.htypes.facets import Axes, Browser, Pixels
from deeplake_lite.htypes.files import is_file_struct, read
from deeplake_lite.htypes.layouts import Ragged
from deeplake_lite.htypes.pillow import (
    CODECS,
    RECOLOURED,
    frames_of,
    is_pillow,
    is_turned_tiff,
    lock_of,
    pillow_pixels,
    source_file,
    untouched_file,
)
from deeplake_lite.htypes.pixels import (
    check_pixels,
    convert_pixels,
    decode_file,
    lost_channels,
    pixels_of,
)
from deeplake_lite.htypes.reencoding import (
    add_notice,
    colours_converted,
    frames_dropped,
    pixels_changed,
    reads_8_bits,
)
from deeplake_lite.htypes.show import THUMBNAIL, thumbnail

if TYPE_CHECKING:
    from collections.abc import Buffer, Iterator

    from numpy.typing import NDArray
    from PIL.Image import Image as Pillow

    from deeplake_lite.codecs.base import Codec
    from deeplake_lite.htypes.cells import Values

CHANNELS: dict[str, tuple[int, ...]] = {"L": (), "RGB": (3,), "RGBA": (4,)}
_DTYPE_OF = {"jpeg": "uint8", "webp": "uint8", "bmp": "uint8"}
_DEEP = ("PNG", "TIFF")  # formats, by Pillow's names, that may have 16 bits per colour channel
_DTYPES = ("uint8", "uint16", "int16", "int32", "float32", "float64")


class _Cell(NamedTuple):
    """One encoded image."""

    data: Buffer
    """Stored bytes."""

    shape: tuple[int, ...]
    """Stored shape, which always has three axes. A missing third axis is -1."""

    notice: str = ""
    """Warning for the user if detail or channels were lost, otherwise empty."""


def _known_codecs(given: object) -> tuple[str, ...]:
    """Return the names of all codecs. Other packages' codecs are included if `given` is unknown."""
    built_in = ("auto", *codecs.IMAGES, *codecs.NUMBERS)
    return built_in if str(given) in built_in else ("auto", *codecs.names())


@dataclass(frozen=True, repr=False, eq=False)
class Image(Htype):
    """One image per row, read as an array (h, w) or (h, w, channels).

    Parameters
    ----------
    codec : str
        ``"jpeg"``, ``"png"``, ``"webp"``, ``"tiff"`` and ``"bmp"`` store files of that format.
        ``"auto"`` stores files of any of these formats unchanged, and arrays as PNG. ``"raw"``,
        ``"zstd"``, ``"lz4"`` and ``"blosc"`` store pixels of `dtype`.
    mode : {"RGB", "L", "RGBA"}, optional
        Mode to which images are converted when they are read, by Pillow's rules. For 8-bit images
        only. Values that have to be encoded are also stored in this mode; if they lose channels, a
        `ReencodedWarning` says so. Files that are stored unchanged, as by
        ``Image("auto", mode="L")``, keep all of their channels.
    quality : int, optional
        Quality of ``"jpeg"`` and ``"webp"``, 1 to 100, for values that have to be encoded.
    dtype : str
        Dtype of the pixels, for ``"raw"``, ``"zstd"``, ``"lz4"`` and ``"blosc"``. With the other
        codecs, the dtype may differ between images.

    Notes
    -----
    Values may be paths, URLs, files as bytes, arrays, Pillow images or Hugging Face's
    ``{"bytes": …, "path": …}``. Files are checked for a header and an end; with ``check="full"``,
    they are also decoded. Files in the column's codec are stored unchanged, including the file from
    which a Pillow image was opened, unless the image has been edited. Other files and images are
    decoded and encoded again. If they lose detail, as in JPEG, or if CMYK, LAB, HSV or YCbCr is
    converted to RGB, a `ReencodedWarning` says so once per column. Stored shapes take EXIF
    orientation into account.

    If a file has several frames or pages, as animations do, only the first frame is read. A file
    that is stored unchanged keeps all frames. A file that is encoded again loses all frames but the
    first, and a warning says so.

    Image files have no axis for a single channel, so an array (h, w, 1) is read as (h, w). WebP
    drops an alpha channel that is fully opaque, so (h, w, 4) is then read as (h, w, 3).

    Examples
    --------
    >>> image = Image("png")
    >>> cells = image.encode([np.zeros((2, 3), "uint8"), np.zeros((4, 5, 3), "uint8")])
    >>> cells.shapes.tolist()
    [[2, 3, -1], [4, 5, 3]]
    >>> image.encode(["nowhere.png"])
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.InvalidValueError: row 0: there is no file 'nowhere.png' ...
    """

    codec: str = "auto"
    """Name of the codec."""

    _: KW_ONLY

    mode: str | None = None
    """Mode to which images are converted when they are read."""

    quality: int | None = None
    """Quality with which values are encoded; None for the codec's default."""

    dtype: str = "uint8"
    """Dtype of the pixels, if the codec does not store one."""

    name: ClassVar[str] = "image"
    nan_is_null: ClassVar[bool] = True

    @override
    def __post_init__(self) -> None:
        self._set(
            codec=choice("codec of an image", self.codec, _known_codecs(self.codec), ALIASES),
            mode=None
            if self.mode is None
            else choice("mode of an image", self.mode, tuple(CHANNELS)),
            dtype=dtype_choice("dtype of pixels", self.dtype, _DTYPES),
        )
        if self.dtype != "uint8" and (self.mode or not self._is_bare):
            raise SchemaError(
                f"dtype={self.dtype!r} needs the codec {alternatives(codecs.NUMBERS)} and no mode, "
                f"but the codec is {self.codec!r} and the mode is {self.mode!r}. Leave dtype out: "
                "with the other codecs, each image has its own dtype."
            )
        if self.quality is not None and self.codec not in ("jpeg", "webp"):
            raise SchemaError(
                f"quality needs the codec 'jpeg' or 'webp', but the codec is {self.codec!r}. "
                "Leave quality out."
            )
        if self.quality is not None:
            # This raises an error if the quality is out of range.
            codecs.get(self.codec, quality=self.quality)
        if (self.codec, self.mode) == ("webp", "L"):
            raise SchemaError("WebP cannot store grey images. Declare Image('png', mode='L').")
        super().__post_init__()

    @property
    @override
    def layout(self) -> Ragged:
        return Ragged(self.dtype if self._is_bare else "bytes", 3)

    @property
    def _is_bare(self) -> bool:
        """Whether cells are raw pixels without a header, rather than image files."""
        if self.codec in codecs.NUMBERS:
            return True
        return self.codec not in ("auto", *codecs.IMAGES) and not codecs.is_image_codec(self.codec)

    @property
    @override
    def pixels(self) -> Pixels:
        dtype = self.dtype if self._is_bare else _DTYPE_OF.get(self.codec)
        files = not self._is_bare
        return Pixels("image", self.codec, dtype, self.mode, files=files)

    @property
    @override
    def axes(self) -> Axes | None:
        return None if self.mode is None else (None, None, *CHANNELS[self.mode])

    @property
    @override
    def browser(self) -> Browser:
        return Browser("image")

    @override
    def details(self) -> Iterator[str]:
        yield self.codec
        yield from filter(None, [self.mode])

    @override
    def to_words(self, value: NDArray[Any]) -> None:
        return None

    @override
    def with_mode(self, mode: str | None) -> Self:
        return replace(self, mode=mode)

    @override
    def continues(self, other: Htype) -> bool:
        if self == other:
            return True
        if not isinstance(other, Image) or self.mode != other.mode:
            return False
        return self.codec == "auto" and other.layout.dtype == "bytes"

    @override
    def united(self, other: Htype) -> Image | None:
        if self == other:
            return self
        if not isinstance(other, Image) or self.mode != other.mode:
            return None
        both_files = self.layout.dtype == other.layout.dtype == "bytes"
        return Image("auto", mode=self.mode) if both_files else None

    @override
    def widened(self, coming: Htype) -> Image | None:
        if not isinstance(coming, Image) or self.codec in ("auto", coming.codec):
            return None
        if coming.mode not in (None, self.mode):  # the caller asked for another mode
            return None
        both_files = self.layout.dtype == coming.layout.dtype == "bytes"
        return replace(self, codec="auto", quality=None) if both_files else None

    @override
    def describes(self, other: Htype) -> bool:
        if isinstance(other, Image) and self.mode is None:
            other = replace(other, mode=None)
        return self == other

    @property
    @override
    def varying(self) -> int:
        """The number of varying axes, which is 2: the height and the width."""
        return 2

    @property
    @override
    def takes_files(self) -> bool:
        return True

    @override
    def hands_files_to(self, other: Htype) -> bool:
        is_same_mode = isinstance(other, Image) and self.mode in (None, other.mode)
        return is_same_mode and not self._is_bare

    @property
    @override
    def blank(self) -> NDArray[Any]:
        mode = self.mode or ("RGB" if self.codec == "webp" else "L")
        return np.zeros((1, 1, *CHANNELS[mode]), self.dtype)

    @cached_property
    def _codec(self) -> Codec:
        """The codec that encodes pixels."""
        options = {} if self.quality is None else {"quality": self.quality}
        return codecs.get("png" if self.codec == "auto" else self.codec, **options)

    @override
    def _encode(self, values: Values, check: Check) -> RaggedCells:
        if set(map(type, values)) <= {bytes}:
            cells = each(values, partial(self._encode_file, check=check))
        else:
            cells = each_in_threads(values, partial(self._encode_one, check=check))
        if notice := next((cell.notice for cell in cells if cell.notice), ""):
            add_notice(notice)
        shapes = as_recorded([cell.shape for cell in cells], 3)
        return RaggedCells([cell.data for cell in cells], shapes)

    def _encode_one(self, value: Any, check: Check) -> _Cell:
        """Encode one value, which may be a file, a path, a URL, a Pillow image or an array."""
        if isinstance(value, bytes):
            return self._encode_file(value, check)
        if isinstance(value, str | os.PathLike):
            data = read(value)
            try:
                return self._encode_file(data, check)
            except InvalidValueError as error:
                message = f"{brief(os.fspath(value), 200)}: {error.args[0]}"
                raise type(error)(message) from error.__cause__
        if isinstance(value, bytearray | memoryview):
            return self._encode_file(bytes(value), check)
        if is_file_struct(value):
            return self._encode_one(value["bytes"] or value["path"], check)
        if is_pillow(value):
            return self._encode_pillow(value, check)
        return self._encode_pixels(pixels_of(value))

    def _encode_pillow(self, image: Pillow, check: Check) -> _Cell:
        """Store the file from which a Pillow image was opened, or encode its pixels."""
        # The pixels have not been loaded yet.
        self._limits.check_picture(image.size[::-1], len(image.getbands()))
        with lock_of(image):
            is_storable = self.codec in ("auto", CODECS.get(image.format or ""))
            if is_storable or is_turned_tiff(image):
                data = untouched_file(image)
                if data is not None:
                    try:
                        return self._encode_file(data, check)
                    except TooLargeError:
                        raise
                    except InvalidValueError:
                        pass  # Pillow also reads truncated files
            frames = frames_of(image)  # loading the pixels below would close the file
            notice = _bits_notice(image)
            pixels = pillow_pixels(image)
        source = f"a Pillow image that is not an unchanged {self.codec.upper()} file"
        space = image.mode if image.mode in RECOLOURED else ""
        cell = self._encode_pixels(pixels, source)
        cell = cell if cell.notice or not notice else cell._replace(notice=notice)
        return self._add_loss_notice(cell, "a Pillow image", frames, space)

    def _encode_file(self, data: bytes, check: Check) -> _Cell:
        """Store a file in the column's codec unchanged; decode and encode any other file."""
        codec = self._codec_of(data)
        header = codec.probe(data, self._limits)
        source = f"a {codec.name.upper()} file"
        notice = reads_8_bits(source) if codec.reads_fewer_bits(data) else ""
        if self.codec not in ("auto", codec.name):
            cell = self._encode_pixels(decode_file(codec, data, header), source)
            cell = cell if cell.notice or not notice else cell._replace(notice=notice)
            frames, space = codec.frames(data), codec.colour_space(data)
            return self._add_loss_notice(cell, source, frames, space)
        if check == "full":
            decode_file(codec, data, header)
        if self.mode and header.dtype != "uint8":
            raise InvalidValueError(
                f"must be an 8-bit image for mode={self.mode!r}, but it is {header.dtype}. Declare "
                "the column without mode."
            )
        return _Cell(data, _pad_shape(self._converted_shape(header.shape)), notice)

    def _add_loss_notice(self, cell: _Cell, source: str, frames: int, space: str) -> _Cell:
        """Return the cell with a warning about frames or colours that are lost with any codec."""
        codec = self._codec.name.upper()
        if frames > 1:
            return cell._replace(notice=frames_dropped(source, frames, codec))
        return cell._replace(notice=colours_converted(source, space, codec)) if space else cell

    def _encode_pixels(self, pixels: NDArray[Any], source: str = "") -> _Cell:
        """Encode pixels with the column's codec; `source` describes their origin, for warnings."""
        check_pixels(pixels)
        self._check_size(pixels.shape, pixels.dtype)
        notice = ""
        if self.mode:
            converted = convert_pixels(pixels, self.mode)
            lost = lost_channels(pixels, converted)
            pixels = converted
            if lost:
                subject = f"{source} and" if source else "an array"
                notice = pixels_changed(
                    f"{subject} was converted from {lost} to {self.mode} and encoded as "
                    f"{self._codec.name.upper()}"
                )
        if not isinstance(self._codec, ImageCodec):
            pixels = cast(pixels, self.dtype, Dtypes(_DTYPES, self))
            return _Cell(self._codec.encode(pixels), _pad_shape(pixels.shape), notice)
        if pixels.ndim == 3 and pixels.shape[2] == 1:
            pixels = pixels[..., 0]
        if self.codec == "jpeg" and pixels.ndim == 3 and pixels.shape[2] in (2, 4):
            raise InvalidValueError(
                f"JPEG cannot store alpha, but the image has {pixels.shape[2]} channels. Declare "
                "Image('png') or Image('webp'), or drop alpha: Image('jpeg', mode='RGB')."
            )
        data = bytes(self._codec.encode(pixels))
        if source and not notice and not self._codec.lossless:
            notice = pixels_changed(f"{source} and was encoded as {self._codec.name.upper()}")
        # Read the shape back from the file, since WebP drops a fully opaque alpha channel.
        shape = self._codec.probe(data, NO_LIMITS).shape
        return _Cell(data, _pad_shape(self._converted_shape(shape)), notice)

    def _codec_of(self, data: Buffer) -> ImageCodec:
        """Return the codec of a file: the column's own codec, or another one that matches."""
        codec = self._image_codec
        return codec if codec is not None and codec.matches(data) else codecs.sniff(data)

    @cached_property
    def _image_codec(self) -> ImageCodec | None:
        """The column's codec if it stores image files, else None."""
        return self._codec if isinstance(self._codec, ImageCodec) else None

    def _converted_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape that an image has after it is converted to the column's mode."""
        return (*shape[:2], *CHANNELS[self.mode]) if self.mode else shape

    @override
    def computed(self) -> Htype:
        dtype = self.dtype if self._is_bare else "uint8"
        return Image("raw", dtype=dtype, nullable=True)

    @override
    def decode(self, data: Buffer, shape: tuple[int, ...]) -> NDArray[Any]:
        shape = _trim_shape(shape)
        self._check_size(shape, np.dtype(self.dtype))
        if self._is_bare:
            return self._codec.decode(data, shape, np.dtype(self.dtype))
        if self.mode is None:
            return self._file_codec(data).decode(data, shape, np.dtype(self.dtype), self._limits)
        return self._decode_converted(data, shape)

    def _decode_converted(self, data: Buffer, shape: tuple[int, ...]) -> NDArray[Any]:
        """Decode a file and convert it to the column's mode."""
        codec = self._file_codec(data)
        try:
            header = codec.probe(data, self._limits)
        except TooLargeError:
            raise
        except InvalidValueError as error:
            raise DamagedError(
                f"An image cannot be decoded: {error.finding}. Restore the image from a backup."
            ) from error
        if header.shape[:2] != shape[:2]:
            raise DamagedError(
                f"An image must have the size stored with its cell, {shape[:2]}, but its header "
                f"says {header.shape[:2]}. Restore the image from a backup."
            )
        pixels = codec.decode(data, header.shape, np.dtype(self.dtype))
        return convert_pixels(pixels, self.mode) if self.mode and header.shape != shape else pixels

    def _file_codec(self, data: Buffer) -> ImageCodec:
        """Return the codec of a stored file. Raises DamagedError if it is not an image."""
        try:
            return self._codec_of(data)
        except InvalidValueError as error:
            raise DamagedError(
                f"An image cannot be decoded: {error.finding}. Restore the image from a backup."
            ) from error

    def _check_size(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        """Check that a stored shape is the shape of an image, and within the memory limits."""
        check_recorded(shape, (2, 3))
        self._limits.check_picture(shape, dtype.itemsize)

    @override
    def decode_into(self, data: Buffer, shape: tuple[int, ...], out: NDArray[Any]) -> None:
        if self.mode or self._is_bare:
            super().decode_into(data, shape, out)
        else:
            data = bytes(data)
            self._check_size(out.shape, out.dtype)
            self._file_codec(data).decode_into(data, shape, out)

    @override
    def decode_small(
        self, data: Buffer, shape: tuple[int, ...], side: int, *, fast: bool = False
    ) -> NDArray[Any]:
        if self._is_bare or self.mode:
            return self.decode(data, shape)
        shape, dtype = _trim_shape(shape), np.dtype(self.dtype)
        self._check_size(shape, dtype)
        return self._file_codec(data).decode_small(data, shape, dtype, side, fast=fast)

    def from_file(self, data: bytes) -> NDArray[Any]:
        """Return the pixels of an image file of any format, in the column's mode."""
        codec = codecs.sniff(data)
        header = codec.probe(data, self._limits)
        pixels = decode_file(codec, data, header)
        return convert_pixels(pixels, self.mode) if self.mode else pixels

    @override
    def preview(self, value: NDArray[Any]) -> Picture:
        return thumbnail(value)

    @override
    def preview_stored(self, data: Buffer, shape: tuple[int, ...]) -> Picture | str:
        return thumbnail(self.decode_small(data, shape, THUMBNAIL))

    @override
    def _plain_default(self, value: object) -> object:
        if isinstance(value, bytes):
            return value
        file_type = Image("png") if self._is_bare else Image(self.codec)
        buffer = file_type.encode([value]).buffers[0]  # type: ignore[union-attr]
        return bytes(buffer)


def _bits_notice(image: Pillow) -> str:
    """Return a warning if a file has more bits per channel than Pillow reads, otherwise ""."""
    if image.format not in _DEEP or (file := source_file(image)) is None:
        return ""
    try:
        codec = codecs.sniff(file)
        is_reduced = codec.reads_fewer_bits(file)
    except InvalidValueError:  # Pillow also reads truncated files
        return ""
    return reads_8_bits(f"the {codec.name.upper()} file of a Pillow image") if is_reduced else ""


def _pad_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape with three axes. If the third axis is missing, its size is -1."""
    return shape if len(shape) == 3 else (*shape, -1)


def _trim_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Remove missing axes from a stored shape."""
    return tuple(size for size in shape if size >= 0)
