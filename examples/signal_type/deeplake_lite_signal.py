"""A column type for signals of fixed length, such as ECG leads, sounds or vibrations.

The type defines a few properties, from which the layers of deeplake_lite learn how to handle it:

- the storage layer keeps a Zarr array ``(rows, length)``, because of `Signal.layout`;
- the loaders stack rows to ``(batch, length)`` float32, and TensorFlow knows this shape;
- queries treat a signal as a tensor, and may call ``DOMINANT_FREQUENCY(signal, rate)``;
- the browser shows the plot that `Signal.preview` draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, ClassVar, override

import numpy as np

import deeplake_lite as dl
from deeplake_lite.errors import InvalidValueError, SchemaError
from deeplake_lite.htypes import Browser, Dense, Htype, Picture
from deeplake_lite.htypes.arrays import as_block
from deeplake_lite.htypes.cells import DenseCells

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

WIDTH, HEIGHT = 96, 48
"""Size of the plot in pixels."""


@dataclass(frozen=True, repr=False, eq=False)
class Signal(Htype):
    """A signal of fixed length per row, (length,) float32.

    Parameters
    ----------
    length : int
        Number of samples of a signal.
    rate : float
        Samples per second.

    Examples
    --------
    >>> Signal(4, rate=250.0).encode([[0, 1, 0, -1]]).values
    array([[ 0.,  1.,  0., -1.]], dtype=float32)
    """

    length: int
    """Number of samples of a signal."""

    rate: float = 1.0
    """Samples per second."""

    name: ClassVar[str] = "signal"

    @override
    def __post_init__(self) -> None:
        if not isinstance(self.length, int) or self.length < 1:
            raise SchemaError(f"length must be a positive integer, but it is {self.length!r}.")
        if not isinstance(self.rate, int | float) or not 0 < self.rate < np.inf:
            raise SchemaError(f"rate must be a positive number, but it is {self.rate!r}.")
        super().__post_init__()

    # ---- storage

    @property
    @override
    def layout(self) -> Dense:
        return Dense("float32", (self.length,))

    @property
    @override
    def blank(self) -> NDArray[Any]:
        return np.zeros(self.length, np.float32)

    @override
    def _encode(self, values: Sequence[Any] | NDArray[Any], check: str) -> DenseCells:
        signals = as_block(values, "float32", (self.length,))
        finite = np.isfinite(signals).all(axis=1)
        if not finite.all():
            raise InvalidValueError(
                "a signal must be finite, but a sample is NaN or infinite. Interpolate the sample, "
                "or leave the row out.",
                row=int(np.flatnonzero(~finite)[0]),
            )
        return DenseCells(signals)

    @override
    def decode(self, data: Any, shape: tuple[int, ...]) -> Any:
        return data

    # ---- properties that other layers use

    @property
    @override
    def is_array(self) -> bool:
        return True

    @property
    @override
    def browser(self) -> Browser:
        return Browser("image")

    @override
    def details(self) -> Iterator[str]:
        yield f"{self.length:,} samples"
        yield f"{self.rate:g} Hz"

    @override
    def preview(self, value: Any) -> Picture:
        return Picture(_plot(np.asarray(value)), "image/png", WIDTH, HEIGHT)


def _plot(signal: NDArray[Any]) -> bytes:
    """Return a PNG that shows the range of the signal in each column of pixels."""
    from PIL import Image

    least, most = float(signal.min()), float(signal.max())
    heights = np.rint((most - signal) * ((HEIGHT - 1) / ((most - least) or 1))).astype(int)
    pixels = np.full((HEIGHT, WIDTH), 255, np.uint8)
    edges = np.linspace(0, len(signal), WIDTH + 1)
    for x in range(WIDTH):
        part = heights[int(edges[x]) : max(int(edges[x]) + 1, int(np.ceil(edges[x + 1])) + 1)]
        pixels[part.min() : part.max() + 1, x] = 0
    file = BytesIO()
    Image.fromarray(pixels).save(file, "png")
    return file.getvalue()


@dl.function(returns="float64", override=True)
def dominant_frequency(signal: NDArray[Any], rate: float) -> float:
    """Return the frequency with the most energy, in the unit of `rate`."""
    energy = np.abs(np.fft.rfft(signal - signal.mean()))
    return float(np.fft.rfftfreq(len(signal), 1 / rate)[int(energy.argmax())])
