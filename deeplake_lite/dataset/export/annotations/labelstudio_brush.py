"""The run-length encoding of Label Studio's brush: words of bits, as rle-pack by thi.ng packs them.

::

    32 bits   number of words: 4 for each pixel, red, green, blue and alpha
     5 bits   size of a word, minus 1
    4 x 4     sizes of lengths, minus 1
    then      1 bit: whether one word is repeated; 2 bits: the size of the length; the length,
              minus 1; and the word, or as many words

A pixel is in the mask if its alpha is not 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.export.annotations.objects import check_mask_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHANNELS = 4
WORD = 8
SIZES = (3, 4, 8, 16)
"""Sizes of lengths that Label Studio uses, in bits."""


class _Bits:
    """Reads numbers from bits."""

    def __init__(self, data: bytes) -> None:
        self._bits = np.unpackbits(np.frombuffer(data, np.uint8))
        self._at = 0

    def take(self, count: int) -> NDArray[np.uint8]:
        """Return the next bits. Raises ValueError at the end."""
        end = self._at + count
        if end > len(self._bits):
            raise ValueError("the rle of a brush must not end early, but it does")
        bits = self._bits[self._at : end]
        self._at = end
        return bits

    def number(self, size: int) -> int:
        """Return the next number."""
        result = 0
        for bit in self.take(size).tolist():
            result = result << 1 | bit
        return result


def decode(data: object, width: int, height: int) -> NDArray[np.bool_]:
    """Return the mask of an encoding, (height, width).

    Raises
    ------
    ValueError
        For an encoding of another size, or one that is damaged.

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
    words, at = np.zeros(count, np.uint8), 0
    while at < count:
        is_run = bits.number(1)
        end = at + 1 + bits.number(sizes[bits.number(2)])
        if end > count:
            raise ValueError("the rle of a brush must not go on after the last pixel, but it does")
        if is_run:
            words[at:end] = bits.number(WORD)
        else:
            words[at:end] = np.packbits(bits.take((end - at) * WORD))
        at = end
    return words.reshape(height, width, CHANNELS)[:, :, 3] > 0


def encode(mask: NDArray[np.bool_]) -> list[int]:
    """Return the encoding of a mask, as Label Studio's own converter writes it."""
    flat = mask.ravel()
    ends = np.concatenate([np.flatnonzero(np.diff(flat)) + 1, [flat.size]])
    parts = [_packed(flat.size * CHANNELS, 32), _packed(WORD - 1, 5)]
    parts += [_packed(size - 1, 4) for size in SIZES]
    start, most = 0, 1 << SIZES[-1]
    for end in ends.tolist():
        left, value = (end - start) * CHANNELS, 255 * int(flat[start])
        while left:
            length = min(left, most)
            choice = next(i for i, size in enumerate(SIZES) if length <= 1 << size)
            parts += ["1", _packed(choice, 2), _packed(length - 1, SIZES[choice])]
            parts.append(_packed(value, WORD))
            left -= length
        start = end
    text = "".join(parts)
    text += "0" * (-len(text) % 8)
    packed: list[Any] = np.packbits(np.frombuffer(text.encode(), np.uint8) - ord("0")).tolist()
    return packed


def _packed(number: int, size: int) -> str:
    return f"{number:0{size}b}"
