"""Rows to small pictures, made once: decoded in threads, kept by the hash of their content.

Steps: the lake knows the hash of every stored cell without reading it. What is in memory, or on
disk, is taken from there; the other cells are read, some megabytes at a time, compared with their
hash, and drawn. Originals of `LARGE` pixels are drawn at one size for the disk, from which all
smaller ones come.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import xxhash

from deeplake_lite import codecs
from deeplake_lite.dataset.read.reading import read_cells
from deeplake_lite.dataset.read.values import decode_pool
from deeplake_lite.dataset.read.virtual import TakenColumn, VirtualTable
from deeplake_lite.errors import DamagedError, LakeError
from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.htypes.show import thumbnail
from deeplake_lite.storage.snapshot import Snapshot
from deeplake_lite.widget.pictures.drawing import Drawn, drawings
from deeplake_lite.widget.pictures.kept import Disk, Memory, folder_beside
from deeplake_lite.widget.pictures.kinds import draws_itself

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View
    from deeplake_lite.pool import Job
    from deeplake_lite.schema import Field
    from deeplake_lite.widget.pictures.drawing import Drawing

type Outcome = Drawn | str | Exception | None
"""A picture, or a text in its place; what is wrong with its cell; None where nothing is drawn."""

LARGE = 2_000_000
"""Pixels of an original that is worth a file on disk."""

MASTER = 512
"""Longer side of what is kept on disk of a large original, unless more is asked for."""

READ_BYTES = 32 * 2**20
"""Stored bytes that are read at a time."""


@dataclass(frozen=True)
class Wanted:
    """A picture that is wanted, and what is known of its cell."""

    place: int
    """Which of those asked for it is."""
    position: int
    """Of the row in the view."""
    key: tuple[int, int, int] | None
    """Hash of the cell, of its type, and the longer side; None where nothing is known yet."""
    large: bool
    """Whether it is worth a file."""

    @property
    def file(self) -> str:
        """Key of what is kept on disk."""
        assert self.key is not None
        digest, kind, side = self.key
        return f"{digest:016x}-{kind:016x}-{max(side, MASTER):x}"


class Thumbnails:
    """Small pictures of a lake's cells; those in memory are shared by all browsers of the lake.

    Parameters
    ----------
    url : str
        Where the lake is.
    memory : int
        Bytes of memory that they may take.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://thumbnails-doc", {"image": "image"})
    >>> ds.append({"image": [np.zeros((300, 200, 3), "uint8")]})
    >>> [drawn] = Thumbnails(ds.url).of(ds, "image", np.array([0]), 64)
    >>> drawn.mime, drawn.width, drawn.height
    ('image/jpeg', 200, 300)
    """

    MEMORY: ClassVar[int] = 256 * 2**20
    """Bytes of memory that they take, unless told otherwise."""

    def __init__(self, url: str, memory: int = MEMORY) -> None:
        folder = folder_beside(url)
        self._memory = Memory.of(url, memory)
        self._disk = None if folder is None else Disk(folder)

    def of(
        self,
        view: View,
        column: str,
        positions: NDArray[np.int64],
        side: int,
        *,
        numbers: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Outcome]:
        """Return pictures of some rows.

        Parameters
        ----------
        positions : ndarray, (n,) int64
            In the view.
        side : int
            Longer side, pixels; 0 for pictures as large as they are, which are not kept.
        numbers : bool
            Whether masks become pictures of class numbers.
        progress : callable, optional
            Called with how many of how many are there.
        """
        view, f, positions = origin(view, view.schema[column], positions)
        wanted = list(_wanted(view, f, positions, side, numbers=numbers))
        found: list[Outcome] = [None] * len(wanted)
        left = [w for w in wanted if not self._take(w, found)]
        done = len(wanted) - len(left)
        for some, tasks in _one_ahead(self._started(view, f, left, side, numbers=numbers)):
            for w, task in zip(some, tasks, strict=True):
                found[w.place] = task if isinstance(task, Drawn) else task.result()
            done += len(some)
            if progress is not None:
                progress(done, len(wanted))
        return found

    def _take(self, w: Wanted, found: list[Outcome]) -> bool:
        """Fill in a picture that is null, or in memory."""
        if w.key is None:
            return False
        drawn = self._memory.get(w.key)
        if drawn is not None:
            found[w.place] = drawn
        return drawn is not None

    def _started(
        self, view: View, f: Field, left: Sequence[Wanted], side: int, *, numbers: bool
    ) -> Iterator[tuple[list[Wanted], list[Drawn | Job[Outcome]]]]:
        """Yield some at a time: pictures from disk, and those that are being drawn."""
        pool = decode_pool()
        for some in _by_size(view, f, left):
            kept = pool.map(self._from_disk, some)
            fresh = [w for w, drawn in zip(some, kept, strict=True) if drawn is None]
            draw = iter(_read(view, f, fresh, numbers=numbers))
            yield (
                some,
                [
                    drawn if drawn is not None else pool.submit(self._draw, w, next(draw), side)
                    for w, drawn in zip(some, kept, strict=True)
                ],
            )

    def _from_disk(self, w: Wanted) -> Drawn | None:
        if not w.large or w.key is None or self._disk is None:
            return None
        master = self._disk.get(w.file)
        try:
            return None if master is None else self._keep(w, master)
        except Exception:  # no picture after all: it is drawn again
            return None

    def _draw(self, w: Wanted, draw: Drawing | Exception | None, side: int) -> Outcome:
        """Draw a picture, and keep it."""
        if draw is None or isinstance(draw, Exception):
            return draw
        try:
            drawn = draw(max(side, MASTER) if w.large else side)
            if isinstance(drawn, str):
                return drawn
            if w.large and self._disk is not None:
                self._disk.put(w.file, drawn)
            return self._keep(w, drawn)
        except Exception as error:
            return error if isinstance(error, LakeError) else DamagedError(f"{error}")

    def _keep(self, w: Wanted, drawn: Drawn) -> Drawn:
        """Bring a picture to the size that is wanted, and keep it in memory."""
        if w.key is None:
            return drawn
        side = w.key[2]
        small = _smaller(drawn, side) if w.large and side < MASTER else drawn
        self._memory.put(w.key, small)
        return small


def origin(
    view: View, f: Field, positions: NDArray[np.int64]
) -> tuple[View, Field, NDArray[np.int64]]:
    """Return where the cells of a column are stored that a query's result has taken over.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://origin-doc", {"image": "image", "x": "int32"})
    >>> ds.append({"image": [np.zeros((2, 2), "uint8")] * 2, "x": [1, 2]})
    >>> view = ds.query("SELECT image AS picture, x * 2 AS y ORDER BY x DESC")
    >>> stored, f, positions = origin(view, view.schema["picture"], np.array([0]))
    >>> f.name, positions.tolist()
    ('image', [1])
    """
    table, slots = view.rows.locate(positions)
    taken = table.column(f.id) if isinstance(table, VirtualTable) else None
    if not isinstance(taken, TakenColumn):
        return view, f, positions
    there = taken.positions[slots]
    if (there < 0).any():  # a join has rows without a partner
        return view, f, positions
    return origin(taken.view, taken.field, there)


def _wanted(
    view: View, f: Field, positions: NDArray[np.int64], side: int, *, numbers: bool
) -> Iterator[Wanted]:
    """Yield what is wanted, with what the lake knows without reading."""
    table, slots = view.rows.locate(positions)
    digests, large = [0] * len(slots), [False] * len(slots)
    if isinstance(table, Snapshot) and side and not isinstance(f.htype.layout, Dense):
        digests = table.digests(f.id, slots).tolist()
        shapes = table.shapes(f.id, slots)
        if shapes.shape[1] >= 2 and not numbers and not draws_itself(f.htype):
            large = (shapes[:, :2].astype(np.int64).prod(axis=1) >= LARGE).tolist()
    kind = xxhash.xxh3_64_intdigest(f"{f.htype!r}{numbers}".encode())
    for place, position in enumerate(positions.tolist()):
        key = (digests[place], kind, side) if digests[place] else None
        yield Wanted(place, position, key, large[place])


def _one_ahead[T](items: Iterator[T]) -> Iterator[T]:
    """Yield items when the next one is there: it is read while this one is drawn."""
    before: list[T] = []
    for item in items:
        yield from before
        before = [item]
    yield from before


def _by_size(view: View, f: Field, wanted: Sequence[Wanted]) -> Iterator[list[Wanted]]:
    """Yield what is to be read, some megabytes at a time."""
    table, slots = view.rows.locate(np.array([w.position for w in wanted], np.int64))
    if not isinstance(table, Snapshot):
        yield list(wanted)
        return
    some: list[Wanted] = []
    size = 0
    for w, nbytes in zip(wanted, table.sizes(f.id, slots).tolist(), strict=True):
        if some and size + nbytes > READ_BYTES:
            yield some
            some, size = [], 0
        some.append(w)
        size += nbytes
    if some:
        yield some


def _read(
    view: View, f: Field, wanted: Sequence[Wanted], *, numbers: bool
) -> list[Drawing | Exception | None]:
    """Read cells; where one is damaged, the others are read all the same."""
    if not wanted:
        return []
    try:
        return _drawings_of(view, f, wanted, numbers=numbers)
    except Exception as error:
        if len(wanted) == 1:
            return [error]
        half = len(wanted) // 2
        parts = (wanted[:half], wanted[half:])
        return [draw for part in parts for draw in _read(view, f, part, numbers=numbers)]


def _drawings_of(
    view: View, f: Field, wanted: Sequence[Wanted], *, numbers: bool
) -> list[Drawing | Exception | None]:
    cells = read_cells(view, f, np.array([w.position for w in wanted], np.int64))
    found = cast(
        "list[Drawing | Exception | None]",
        drawings(f.htype, cells, view.rows.lake.allow, numbers=numbers),
    )
    table: Any = view.rows.table
    known = [w.key[0] if w.key else 0 for w in wanted]
    if any(known):
        for i, (was, now) in enumerate(zip(known, table.digest(f.id, cells).tolist(), strict=True)):
            if was and was != now:
                found[i] = DamagedError(
                    f"column {f.name!r}, row {wanted[i].position:,}: the bytes are not those that "
                    "were written. Run ds.verify() to list all damage."
                )
    return found


def _smaller(drawn: Drawn, side: int) -> Drawn:
    """Return a picture at a smaller size."""
    source = codecs.sniff(drawn.data)
    header = source.probe(drawn.data)
    pixels = source.decode_small(drawn.data, header.shape, np.dtype(header.dtype), side)
    small = thumbnail(pixels, side)
    return Drawn(small.data, small.mime, drawn.width, drawn.height)
