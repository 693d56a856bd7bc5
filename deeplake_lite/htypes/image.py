"""One picture per row, kept as the file that it came in.

Steps for a value: a path or URL is read; a file in the column's codec is checked and kept
untouched; any other file, array or Pillow image is brought to pixels and encoded.
"""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, override

import numpy as np

from deeplake_lite import codecs
from deeplake_lite.brief import brief
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
    alone_with,
    file_behind,
    frames_of,
    is_pillow,
    pillow_pixels,
    untouched_file,
)
from deeplake_lite.htypes.pixels import (
    check_pixels,
    convert_pixels,
    decode_file,
    lost_channels,
    pixels_of,
)
from deeplake_lite.htypes.reencoding import changed, note, recoloured, reduced, shortened
from deeplake_lite.htypes.show import THUMBNAIL, thumbnail

if TYPE_CHECKING:
    from collections.abc import Buffer, Iterator, Sequence

    from numpy.typing import NDArray
    from PIL.Image import Image as Pillow

    from deeplake_lite.codecs.base import Codec

CHANNELS: dict[str, tuple[int, ...]] = {"L": (), "RGB": (3,), "RGBA": (4,)}
_DTYPE_OF = {"jpeg": "uint8", "webp": "uint8", "bmp": "uint8"}
_DEEP = ("PNG", "TIFF")  # Pillow's names of formats that may have colours of 16 bits
_DTYPES = ("uint8", "uint16", "int16", "int32", "float32", "float64")


class _Cell(NamedTuple):
    """One encoded picture."""

    data: Buffer
    """Stored bytes."""

    shape: tuple[int, ...]
    """Recorded shape, padded to three axes."""

    notice: str = ""
    """The warning for users where detail or channels are lost; empty for arrays."""


def _known_codecs(given: Any) -> tuple[str, ...]:
    """Return the names of codecs; those of other packages only where none of ours is given."""
    ours = ("auto", *codecs.IMAGES, *codecs.NUMBERS)
    return ours if given in ours else ("auto", *codecs.names())


@dataclass(frozen=True, repr=False, eq=False)
class Image(Htype):
    """One picture per row; reads as an array (h, w) or (h, w, channels).

    Parameters
    ----------
    codec : str
        ``"jpeg"``, ``"png"``, ``"webp"``, ``"tiff"``, ``"bmp"``; ``"auto"``: any of these is kept
        as it is, and arrays become PNG; ``"raw"``, ``"zstd"``, ``"lz4"``, ``"blosc"``: pixels of
        `dtype`.
    mode : {"RGB", "L", "RGBA"}, optional
        Converts every picture when it is read, by Pillow's rules. 8-bit pictures only. What has to
        be encoded anyway is stored in that mode; where channels are lost, a `ReencodedWarning` says
        so. ``Image("auto", mode="L")`` keeps files with all of their channels.
    quality : int, optional
        With which what is not in the codec yet is encoded, for ``"jpeg"`` and ``"webp"``: 1 to 100.
    dtype : str
        Of the pixels, with ``"raw"``, ``"zstd"``, ``"lz4"`` and ``"blosc"``. The other codecs keep
        what comes.

    Notes
    -----
    Values may be paths, URLs, files as bytes, arrays, Pillow images or Hugging Face's
    ``{"bytes": …, "path": …}``. Files are checked for a header and an end, with ``check="full"`` by
    decoding them. Files in the column's codec are stored untouched, also those that a Pillow image
    was opened from, while the image still shows them. Other files and images are decoded and
    encoded again; where that loses detail, as in JPEG, or converts CMYK, LAB, HSV or YCbCr to RGB,
    a `ReencodedWarning` says so once per column. The shape is that after EXIF orientation.

    Of a file with several frames or pages, such as an animation, the first is read. The file is
    kept with all of them; where it has to be encoded again, the first alone is, with a warning.

    Picture files have no axis for a single channel: an array (h, w, 1) comes back as (h, w). WebP
    drops an alpha that is opaque everywhere: (h, w, 4) comes back as (h, w, 3).

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
    """What every picture is converted to when it is read."""

    quality: int | None = None
    """With which arrays are encoded; None for the codec's own."""

    dtype: str = "uint8"
    """Of the pixels, where the codec keeps none itself."""

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
                f"dtype={self.dtype!r} goes with the codecs {', '.join(codecs.NUMBERS)} and no "
                f"mode, got codec={self.codec!r}, mode={self.mode!r}. Other codecs keep the dtype "
                "that comes."
            )
        if self.quality is not None and self.codec not in ("jpeg", "webp"):
            raise SchemaError(
                f"quality goes with the codecs jpeg and webp, got codec={self.codec!r}. "
                "Leave it out."
            )
        if self.quality is not None:
            codecs.get(self.codec, quality=self.quality)  # refuses what is out of range
        if (self.codec, self.mode) == ("webp", "L"):
            raise SchemaError("WebP keeps no grey pictures. Declare Image('png', mode='L').")
        super().__post_init__()

    @property
    @override
    def layout(self) -> Ragged:
        return Ragged(self.dtype if self._is_bare else "bytes", 3)

    @property
    def _is_bare(self) -> bool:
        """Whether cells are pixels without a header, rather than image files."""
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
    def to_words(self, value: Any) -> None:
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
        return self.codec == "auto" and not other._is_bare

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
        """Height and width."""
        return 2

    @property
    @override
    def takes_files(self) -> bool:
        return True

    @override
    def hands_files_to(self, other: Htype) -> bool:
        same = isinstance(other, Image) and self.mode in (None, other.mode)
        return same and not self._is_bare

    @property
    @override
    def blank(self) -> NDArray[Any]:
        mode = self.mode or ("RGB" if self.codec == "webp" else "L")
        return np.zeros((1, 1, *CHANNELS[mode]), self.dtype)

    @cached_property
    def _codec(self) -> Codec:
        """What encodes pixels."""
        options = {} if self.quality is None else {"quality": self.quality}
        return codecs.get("png" if self.codec == "auto" else self.codec, **options)

    @override
    def _encode(self, values: Sequence[Any] | NDArray[Any], check: Check) -> RaggedCells:
        if set(map(type, values)) <= {bytes}:
            cells = each(values, partial(self._encode_file, check=check))
        else:
            cells = each_in_threads(values, partial(self._encode_one, check=check))
        if notice := next((cell.notice for cell in cells if cell.notice), ""):
            note(notice)
        shapes = as_recorded([cell.shape for cell in cells], 3)
        return RaggedCells([cell.data for cell in cells], shapes)

    def _encode_one(self, value: Any, check: Check) -> _Cell:
        """Return the cell of one picture."""
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
        """Keep the file that a Pillow image was opened from, or encode its pixels."""
        self._limits.check_picture(image.size[::-1], len(image.getbands()))  # before it is loaded
        with alone_with(image):
            if self.codec in ("auto", CODECS.get(image.format or "")):
                data = untouched_file(image)
                if data is not None:
                    try:
                        return self._encode_file(data, check)
                    except TooLargeError:
                        raise
                    except InvalidValueError:
                        pass  # Pillow reads what is not whole
            frames = frames_of(image)  # before its stream is let go of
            notice = _fewer_bits(image)
            pixels = pillow_pixels(image)
        what = f"a Pillow image that shows no unchanged {self.codec.upper()} file"
        space = image.mode if image.mode in RECOLOURED else ""
        cell = self._encode_pixels(pixels, what)
        cell = cell if cell.notice or not notice else cell._replace(notice=notice)
        return self._noting_loss(cell, "a Pillow image", frames, space)

    def _encode_file(self, data: bytes, check: Check) -> _Cell:
        """Keep a file that is in the column's codec; encode any other anew."""
        source = self._source(data)
        header = source.probe(data, self._limits)
        what = f"a {source.name.upper()} file"
        notice = reduced(what) if source.reads_fewer_bits(data) else ""
        if self.codec not in ("auto", source.name):
            cell = self._encode_pixels(decode_file(source, data, header), what)
            cell = cell if cell.notice or not notice else cell._replace(notice=notice)
            frames, space = source.frames(data), source.colour_space(data)
            return self._noting_loss(cell, what, frames, space)
        if check == "full":
            decode_file(source, data, header)
        if self.mode and header.dtype != "uint8":
            raise InvalidValueError(
                f"mode={self.mode!r} takes 8-bit pictures, got {header.dtype}. Declare the column "
                "without mode."
            )
        return _Cell(data, _padded(self._shape(header.shape)), notice)

    def _noting_loss(self, cell: _Cell, what: str, frames: int, space: str) -> _Cell:
        """Return a cell with the warning for what no codec could have kept of a picture."""
        codec = self._codec.name.upper()
        if frames > 1:
            return cell._replace(notice=shortened(what, frames, codec))
        return cell._replace(notice=recoloured(what, space, codec)) if space else cell

    def _encode_pixels(self, pixels: NDArray[Any], source: str = "") -> _Cell:
        """Encode pixels in the column's codec; `source` says what they were, if not an array."""
        check_pixels(pixels)
        self._check_size(pixels.shape, pixels.dtype)
        dropped = ""
        if self.mode:
            converted = convert_pixels(pixels, self.mode)
            dropped = lost_channels(pixels, converted)
            pixels = converted
        if dropped:
            what = f"{source} and" if source else "an array"
            how = f"was converted from {dropped} to {self.mode}"
            dropped = changed(f"{what} {how} and encoded as {self._codec.name.upper()}")
        if not isinstance(self._codec, ImageCodec):
            pixels = cast(pixels, self.dtype, Dtypes(_DTYPES, self))
            return _Cell(self._codec.encode(pixels), _padded(pixels.shape), dropped)
        if pixels.ndim == 3 and pixels.shape[2] == 1:
            pixels = pixels[..., 0]
        if self.codec == "jpeg" and pixels.ndim == 3 and pixels.shape[2] in (2, 4):
            raise InvalidValueError(
                f"JPEG keeps no alpha, got a picture of {pixels.shape[2]} channels. Declare "
                "Image('png') or Image('webp'), or drop the alpha: Image('jpeg', mode='RGB')."
            )
        data = bytes(self._codec.encode(pixels))
        notice = dropped
        if source and not notice and not self._codec.lossless:
            notice = changed(f"{source} and was encoded as {self._codec.name.upper()}")
        return _Cell(data, _padded(self._shape(self._codec.probe(data, NO_LIMITS).shape)), notice)

    def _source(self, data: Buffer) -> ImageCodec:
        """Return the codec of a file: the column's if it fits, else whichever does."""
        own = self._own
        return own if own is not None and own.matches(data) else codecs.sniff(data)

    @cached_property
    def _own(self) -> ImageCodec | None:
        """The column's codec, where it is one of files."""
        return self._codec if isinstance(self._codec, ImageCodec) else None

    def _shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a picture once it is in the column's mode."""
        return (*shape[:2], *CHANNELS[self.mode]) if self.mode else shape

    @override
    def computed(self) -> Htype:
        dtype = self.dtype if self._is_bare else "uint8"
        return Image("raw", dtype=dtype, nullable=True)

    @override
    def decode(self, data: Any, shape: tuple[int, ...]) -> NDArray[Any]:
        kept = tuple(size for size in shape if size >= 0)
        self._check_size(kept, np.dtype(self.dtype))
        if self._is_bare:
            return self._codec.decode(data, kept, np.dtype(self.dtype))
        if self.mode is None:
            return self._file_codec(data).decode(data, kept, np.dtype(self.dtype), self._limits)
        return self._decode_converted(data, kept)

    def _decode_converted(self, data: Any, kept: tuple[int, ...]) -> NDArray[Any]:
        """Decode a file, whose channels may be others, and convert it to the column's mode."""
        source = self._file_codec(data)
        try:
            found = source.probe(data, self._limits)
        except TooLargeError:
            raise
        except InvalidValueError as error:
            raise DamagedError(
                f"A picture does not decode: {error.finding}. Restore it."
            ) from error
        if found.shape[:2] != kept[:2]:
            raise DamagedError(
                f"A picture does not decode: its header says {found.shape[:2]}, but {kept[:2]} was "
                "recorded. Restore it."
            )
        pixels = source.decode(data, found.shape, np.dtype(self.dtype))
        return convert_pixels(pixels, self.mode) if self.mode and found.shape != kept else pixels

    def _file_codec(self, data: Any) -> ImageCodec:
        """Return the codec of a stored file. Raises DamagedError where it is none."""
        try:
            return self._source(data)
        except InvalidValueError as error:
            raise DamagedError(
                f"A picture does not decode: {error.finding}. Restore it."
            ) from error

    def _check_size(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        """Refuse a picture over the limits, by the shape that was recorded of it."""
        check_recorded(shape, (2, 3))
        self._limits.check_picture(shape, dtype.itemsize)

    @override
    def decode_into(self, data: Any, shape: tuple[int, ...], out: NDArray[Any]) -> None:
        if self.mode or self._is_bare:
            super().decode_into(data, shape, out)
        else:
            data = bytes(data)
            self._check_size(out.shape, out.dtype)
            self._file_codec(data).decode_into(data, shape, out)

    @override
    def decode_small(
        self, data: Any, shape: tuple[int, ...], side: int, *, fast: bool = False
    ) -> NDArray[Any]:
        if self._is_bare or self.mode:
            return self.decode(data, shape)
        kept = tuple(n for n in shape if n >= 0)
        dtype = np.dtype(self.dtype)
        self._check_size(kept, dtype)
        return self._file_codec(data).decode_small(data, kept, dtype, side, fast=fast)

    def from_file(self, data: bytes) -> NDArray[Any]:
        """Return the picture that a file holds, in any format."""
        source = codecs.sniff(data)
        header = source.probe(data, self._limits)
        pixels = decode_file(source, data, header)
        return convert_pixels(pixels, self.mode) if self.mode else pixels

    @override
    def preview(self, value: Any) -> Picture:
        return thumbnail(value)

    @override
    def preview_stored(self, data: Any, shape: tuple[int, ...]) -> Picture | str:
        return thumbnail(self.decode_small(data, shape, THUMBNAIL))

    @override
    def _plain_default(self, value: Any) -> Any:
        if isinstance(value, bytes):
            return value
        keeper = Image("png") if self._is_bare else Image(self.codec)
        buffer = keeper.encode([value]).buffers[0]  # type: ignore[union-attr]
        return bytes(buffer)


def _fewer_bits(image: Pillow) -> str:
    """Return the warning for an image whose file has more bits than Pillow reads; empty if not."""
    if image.format not in _DEEP or (file := file_behind(image)) is None:
        return ""
    try:
        source = codecs.sniff(file)
        is_reduced = source.reads_fewer_bits(file)
    except InvalidValueError:  # Pillow reads what is not whole
        return ""
    return reduced(f"the {source.name.upper()} file of a Pillow image") if is_reduced else ""


def _padded(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape with three axes, -1 for the one that is missing."""
    return shape if len(shape) == 3 else (*shape, -1)
