"""Thumbnails of rows, drawn in threads and cached by the hash of their content.

The lake stores the hash of every cell, so a thumbnail can be looked up without reading its cell. To
draw thumbnails that are not cached, cells are read, some megabytes at a time, and checked against
their hashes. Originals of at least `LARGE` pixels are drawn at one size (`MASTER`), which is cached
on disk. Smaller thumbnails are made from this file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import xxhash

from deeplake_lite import codecs
from deeplake_lite.dataset.read.reading import read_cells
from deeplake_lite.dataset.read.values import decode_pool
from deeplake_lite.dataset.read.virtual import ViewColumn, VirtualTable
from deeplake_lite.errors import DamagedError, LakeError
from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.htypes.show import thumbnail
from deeplake_lite.storage.snapshot import Snapshot
from deeplake_lite.widget.images.cache import Disk, Memory, folder_beside
from deeplake_lite.widget.images.drawing import WebImage, draw_functions
from deeplake_lite.widget.images.kinds import draws_itself

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View
    from deeplake_lite.pool import Job as Task
    from deeplake_lite.schema import Field
    from deeplake_lite.widget.images.drawing import Draw

type Outcome = WebImage | str | Exception | None
"""The thumbnail, a string to show instead, the error of the cell, or None if there is nothing to
draw."""

LARGE = 2_000_000
"""Minimum number of pixels of an original whose thumbnail is cached on disk."""

MASTER = 512
"""Longer side of thumbnails on disk, in pixels, unless larger thumbnails are requested."""

READ_BYTES = 32 * 2**20
"""Maximum number of stored bytes to read at a time."""


@dataclass(frozen=True)
class Job:
    """A thumbnail to be drawn, with the properties that are known before its cell is read."""

    index: int
    """Index among the requested rows."""
    position: int
    """Position of the row in the view."""
    key: tuple[int, int, int] | None
    """Hash of the cell, hash of the cell's type, and longer side of the thumbnail. None if the hash
    of the cell is unknown."""
    large: bool
    """Whether the thumbnail is cached on disk."""

    @property
    def file(self) -> str:
        """Key of the thumbnail on disk."""
        assert self.key is not None
        digest, kind, side = self.key
        return f"{digest:016x}-{kind:016x}-{max(side, MASTER):x}"


class Thumbnails:
    """Thumbnails of a lake's cells. All browsers of the lake share the cache in memory.

    Parameters
    ----------
    url : str
        URL of the lake.
    memory : int
        Maximum size of thumbnails in memory, in bytes.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://thumbnails-doc", {"image": "image"})
    >>> ds.append({"image": [np.zeros((300, 200, 3), "uint8")]})
    >>> [image] = Thumbnails(ds.url).of(ds, "image", np.array([0]), 64)
    >>> image.mime, image.width, image.height
    ('image/jpeg', 200, 300)
    """

    MEMORY: ClassVar[int] = 256 * 2**20
    """Default for the maximum size of thumbnails in memory, in bytes."""

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
        """Return the thumbnails of the given rows.

        Parameters
        ----------
        view : View
            The view that is shown.
        column : str
            A column of the view.
        positions : ndarray, (n,) int64
            Positions of the rows in the view.
        side : int
            Longer side in pixels, or 0 for the original size, which is not cached.
        numbers : bool
            Whether masks become images of class numbers.
        progress : callable, optional
            Function that is called with the number of finished thumbnails and the total number.
        """
        view, f, positions = origin(view, view.schema[column], positions)
        jobs = list(_jobs(view, f, positions, side, numbers=numbers))
        outcomes: list[Outcome] = [None] * len(jobs)
        uncached = [job for job in jobs if not self._fill_from_memory(job, outcomes)]
        done = len(jobs) - len(uncached)
        for batch, tasks in _one_ahead(self._start(view, f, uncached, side, numbers=numbers)):
            for job, task in zip(batch, tasks, strict=True):
                outcomes[job.index] = task if isinstance(task, WebImage) else task.result()
            done += len(batch)
            if progress is not None:
                progress(done, len(jobs))
        return outcomes

    def _fill_from_memory(self, job: Job, outcomes: list[Outcome]) -> bool:
        """Fill in a thumbnail if it is cached in memory, and return whether it was cached."""
        if job.key is None:
            return False
        image = self._memory.get(job.key)
        if image is not None:
            outcomes[job.index] = image
        return image is not None

    def _start(
        self, view: View, f: Field, uncached: Sequence[Job], side: int, *, numbers: bool
    ) -> Iterator[tuple[list[Job], list[WebImage | Task[Outcome]]]]:
        """Yield batches of jobs, with a list of their thumbnails.

        A thumbnail that is not cached on disk is represented by the task that draws it.
        """
        pool = decode_pool()
        for batch in _batches(view, f, uncached):
            cached = pool.map(self._load_from_disk, batch)
            missing = [job for job, image in zip(batch, cached, strict=True) if image is None]
            draw = iter(_read(view, f, missing, numbers=numbers))
            yield (
                batch,
                [
                    image if image is not None else pool.submit(self._draw, job, next(draw), side)
                    for job, image in zip(batch, cached, strict=True)
                ],
            )

    def _load_from_disk(self, job: Job) -> WebImage | None:
        if not job.large or job.key is None or self._disk is None:
            return None
        master = self._disk.get(job.file)
        try:
            return None if master is None else self._resize_and_store(job, master)
        except Exception:  # the file does not contain an image, so draw it again
            return None

    def _draw(self, job: Job, draw: Draw | Exception | None, side: int) -> Outcome:
        """Draw a thumbnail and cache it."""
        if draw is None or isinstance(draw, Exception):
            return draw
        try:
            image = draw(max(side, MASTER) if job.large else side)
            if isinstance(image, str):
                return image
            if job.large and self._disk is not None:
                self._disk.put(job.file, image)
            return self._resize_and_store(job, image)
        except Exception as error:
            return error if isinstance(error, LakeError) else DamagedError(f"{error}")

    def _resize_and_store(self, job: Job, image: WebImage) -> WebImage:
        """Resize an image to the requested side, and store it in memory."""
        if job.key is None:
            return image
        side = job.key[2]
        small = _smaller(image, side) if job.large and side < MASTER else image
        self._memory.put(job.key, small)
        return small


def origin(
    view: View, f: Field, positions: NDArray[np.int64]
) -> tuple[View, Field, NDArray[np.int64]]:
    """Return the view, column and positions from which a query copies a column's cells.

    For stored and computed columns, the arguments are returned unchanged.

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
    if not isinstance(taken, ViewColumn):
        return view, f, positions
    source = taken.positions[slots]
    if (source < 0).any():  # in a join, some rows may have no partner
        return view, f, positions
    return origin(taken.view, taken.field, source)


def _jobs(
    view: View, f: Field, positions: NDArray[np.int64], side: int, *, numbers: bool
) -> Iterator[Job]:
    """Yield a job for each row."""
    table, slots = view.rows.locate(positions)
    digests, large = [0] * len(slots), [False] * len(slots)
    if isinstance(table, Snapshot) and side and not isinstance(f.htype.layout, Dense):
        digests = table.digests(f.id, slots).tolist()
        shapes = table.shapes(f.id, slots)
        if shapes.shape[1] >= 2 and not numbers and not draws_itself(f.htype):
            large = (shapes[:, :2].astype(np.int64).prod(axis=1) >= LARGE).tolist()
    kind = xxhash.xxh3_64_intdigest(f"{f.htype!r}{numbers}".encode())
    for index, position in enumerate(positions.tolist()):
        key = (digests[index], kind, side) if digests[index] else None
        yield Job(index, position, key, large[index])


def _one_ahead[T](items: Iterator[T]) -> Iterator[T]:
    """Yield each item after computing the next item, so that reading and drawing overlap."""
    before: list[T] = []
    for item in items:
        yield from before
        before = [item]
    yield from before


def _batches(view: View, f: Field, jobs: Sequence[Job]) -> Iterator[list[Job]]:
    """Yield the jobs in batches, with cells of at most `READ_BYTES` each."""
    table, slots = view.rows.locate(np.array([job.position for job in jobs], np.int64))
    if not isinstance(table, Snapshot):
        yield list(jobs)
        return
    batch: list[Job] = []
    size = 0
    for job, nbytes in zip(jobs, table.sizes(f.id, slots).tolist(), strict=True):
        if batch and size + nbytes > READ_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(job)
        size += nbytes
    if batch:
        yield batch


def _read(
    view: View, f: Field, jobs: Sequence[Job], *, numbers: bool
) -> list[Draw | Exception | None]:
    """Read cells. Return a function that draws each cell, or the error of a damaged cell.

    To find damaged cells, the list of cells is split in half until a single cell fails.
    """
    if not jobs:
        return []
    try:
        return _read_all(view, f, jobs, numbers=numbers)
    except Exception as error:
        if len(jobs) == 1:
            return [error]
        half = len(jobs) // 2
        parts = (jobs[:half], jobs[half:])
        return [draw for part in parts for draw in _read(view, f, part, numbers=numbers)]


def _read_all(
    view: View, f: Field, jobs: Sequence[Job], *, numbers: bool
) -> list[Draw | Exception | None]:
    """Read cells, and return a function that draws each cell.

    A cell whose hash differs from its stored hash becomes an error, because the stored hash is its
    key in the caches.
    """
    cells = read_cells(view, f, np.array([job.position for job in jobs], np.int64))
    functions = cast(
        "list[Draw | Exception | None]",
        draw_functions(f.htype, cells, view.rows.lake.allow, numbers=numbers),
    )
    table: Any = view.rows.table
    recorded = [job.key[0] if job.key else 0 for job in jobs]
    if any(recorded):
        actual = table.digest(f.id, cells).tolist()
        for i, (before, now) in enumerate(zip(recorded, actual, strict=True)):
            if before and before != now:
                functions[i] = DamagedError(
                    f"column {f.name!r}, row {jobs[i].position:,}: the bytes differ from the bytes "
                    "that were written. Run ds.verify() to list all damage."
                )
    return functions


def _smaller(image: WebImage, side: int) -> WebImage:
    """Return a smaller version of an image."""
    source = codecs.sniff(image.data)
    header = source.probe(image.data)
    pixels = source.decode_small(image.data, header.shape, np.dtype(header.dtype), side)
    small = thumbnail(pixels, side)
    return WebImage(small.data, small.mime, image.width, image.height)
