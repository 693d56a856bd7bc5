"""Run-length encoding of Label Studio's brush masks: words of bits, packed as in thi.ng/rle-pack.

::

    32 bits   number of words: 4 per pixel, for red, green, blue and alpha
     5 bits   size of a word, minus 1
    4 x 4     sizes of lengths, minus 1
    then      1 bit: whether one word is repeated; 2 bits: index of the size of the length;
              the length, minus 1; and one word, or as many words as the length

A pixel is in the mask if its alpha is not 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.export.annotations.objects import check_mask_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHANNELS = 4
"""Words per pixel."""
WORD = 8
"""Size of a word, in bits."""
SIZES = (3, 4, 8, 16)
"""Numbers of bits with which Label Studio encodes the lengths of runs."""


class _Bits:
    """A reader of bytes as a sequence of bits, and of numbers that take any number of bits."""

    def __init__(self, data: bytes) -> None:
        self._bits = np.unpackbits(np.frombuffer(data, np.uint8))
        self._position = 0

    def take(self, count: int) -> NDArray[np.uint8]:
        """Return the next `count` bits. Raises ValueError if there are fewer."""
        end = self._position + count
        if end > len(self._bits):
            raise ValueError("the rle of a brush must be complete, but it ends early")
        bits = self._bits[self._position : end]
        self._position = end
        return bits

    def number(self, size: int) -> int:
        """Return the next number, which has `size` bits."""
        result = 0
        for bit in self.take(size).tolist():
            result = result << 1 | bit
        return result


def decode(data: object, width: int, height: int) -> NDArray[np.bool_]:
    """Decode a mask, (height, width).

    Raises
    ------
    ValueError
        If the encoding is damaged, or the mask has a different size.

    Examples
    --------
    >>> mask = np.array([[True, False], [False, True]])
    >>> decode(encode(mask), 2, 2).tolist()
    [[True, False], [False, True]]
    """
    check_mask_size(width, height)
    if not isinstance(data, list) or not all(type(n) is int and 0 <= n < 256 for n in data):
        raise ValueError("the rle of a brush must be bytes, as a list of numbers from 0 to 255")
    bits = _Bits(bytes(data))
    count, word = bits.number(32), bits.number(5) + 1
    if count != width * height * CHANNELS or word != WORD:
        raise ValueError(
            f"the rle of a brush must have {CHANNELS} bytes for each pixel of {width:,} x "
            f"{height:,}, but it has {count:,} words of {word} bits"
        )
    sizes = [bits.number(4) + 1 for _ in range(4)]
    words, start = np.zeros(count, np.uint8), 0
    while start < count:
        is_run = bits.number(1)
        end = start + 1 + bits.number(sizes[bits.number(2)])
        if end > count:
            raise ValueError("the rle of a brush must end at the last pixel, but it continues")
        if is_run:
            words[start:end] = bits.number(WORD)
        else:
            words[start:end] = np.packbits(bits.take((end - start) * WORD))
        start = end
    return words.reshape(height, width, CHANNELS)[:, :, 3] > 0


def encode(mask: NDArray[np.bool_]) -> list[int]:
    """Encode a mask, (height, width), as a list of bytes, as Label Studio's own converter does."""
    flat = mask.ravel()
    ends = np.concatenate([np.flatnonzero(np.diff(flat)) + 1, [flat.size]])
    parts = [_to_bits(flat.size * CHANNELS, 32), _to_bits(WORD - 1, 5)]
    parts += [_to_bits(size - 1, 4) for size in SIZES]
    start, max_length = 0, 1 << SIZES[-1]
    for end in ends.tolist():
        remaining, value = (end - start) * CHANNELS, 255 * int(flat[start])
        while remaining:
            length = min(remaining, max_length)
            choice = next(i for i, size in enumerate(SIZES) if length <= 1 << size)
            parts += ["1", _to_bits(choice, 2), _to_bits(length - 1, SIZES[choice])]
            parts.append(_to_bits(value, WORD))
            remaining -= length
        start = end
    text = "".join(parts)
    text += "0" * (-len(text) % 8)
    packed: list[Any] = np.packbits(np.frombuffer(text.encode(), np.uint8) - ord("0")).tolist()
    return packed


def _to_bits(number: int, size: int) -> str:
    return f"{number:0{size}b}"
