"""Channels that send objects to another process, with large arrays in shared memory.

A message consists of a pickle and its out-of-band buffers (protocol 5). A small message is sent
through a socket. A large message is written to anonymous shared memory, and only the descriptor of
the memory is sent through the socket. The memory has no name, so nothing is left over when a
process is killed. Received arrays begin at multiples of 64 bytes and are writable. Large arrays of
a message share its memory, which is freed once the last of these arrays is freed. Small arrays are
copied, so that they do not keep the memory of the whole message alive.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import socket
import struct
import sys
import tempfile
import threading
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from deeplake_lite.htypes.cells import FlatCells, RaggedCells
from deeplake_lite.loader.memory import ALIGNMENT, allocate_aligned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

INLINE_BYTES = 32 * 1024
"""Maximum size of messages that are sent through the socket, and of arrays that are copied."""

MAX_MAPS = 128
"""Maximum number of messages whose memory is mapped. Each mapping takes a file descriptor.

Further messages are copied.
"""

POLL = 1.0
"""Seconds between checks of whether the other process still runs, while nothing arrives."""

_PREFIX = struct.Struct("<QQ?")
"""Number of buffers, size of the message in bytes, and whether a descriptor is attached."""

_maps: WeakSet[mmap.mmap] = WeakSet()


class Channel:
    """One end of a connection to another process, with one message at a time in each direction.

    Parameters
    ----------
    end : socket.socket
        Socket that is connected to the other process.
    is_alive : callable, optional
        Returns whether the other process still runs. Called repeatedly while nothing arrives.
    """

    def __init__(self, end: socket.socket, is_alive: Callable[[], bool] | None = None) -> None:
        self._socket, self._is_alive = end, is_alive
        self._lock = threading.RLock()
        self._sent: int | None = None
        if is_alive is not None:
            end.settimeout(POLL)

    def fileno(self) -> int:
        """Return the descriptor of the socket, for `select`."""
        return self._socket.fileno()

    def request(self, value: object) -> Any:
        """Send a value, and return the reply. Raises EOFError if the other process has ended."""
        with self._lock:
            self.send(value)
            return self.receive()

    def send(self, value: object) -> None:
        """Send a value. Raises EOFError if the other process has ended."""
        frames = _frames(value)
        lengths = np.array([frame.nbytes for frame in frames], np.int64)
        total = int(_aligned_ends(lengths)[-1])
        memory = None if total <= INLINE_BYTES else _memory_of(frames, lengths)
        prefix = _PREFIX.pack(len(frames), total, memory is not None)
        try:
            self._forget()
            if memory is None:
                self._write(prefix + lengths.tobytes() + _join(frames, lengths, total))
                return
            self._sent = memory
            self._write_with(prefix, memory)
            self._write(lengths.tobytes())
        except OSError as error:
            raise EOFError(str(error)) from error

    def receive(self) -> Any:
        """Wait for a value, and return it. Raises EOFError if the other process has ended."""
        try:
            with ExitStack() as unused:
                prefix, memory = self._read_with(unused)
                count, total, _ = _PREFIX.unpack(prefix)
                lengths = np.frombuffer(self._read(memoryview(bytearray(8 * count))), np.int64)
                if memory is None:
                    whole = self._read(memoryview(allocate_aligned((total,), np.dtype(np.uint8))))
                else:
                    whole = _map_memory(memory, total)
        except OSError as error:
            raise EOFError(str(error)) from error
        ends = _aligned_ends(lengths)
        starts = ends - lengths
        frames = [whole[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
        return pickle.loads(frames[0], buffers=map(_detach_small, frames[1:]))

    def hang_up(self) -> None:
        """Shut the connection down, so that both processes stop sending and receiving."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the socket, once no other thread uses it."""
        self.hang_up()
        with self._lock:
            self._forget()
            self._socket.close()

    def _forget(self) -> None:
        """Close the descriptor of the last message that was sent.

        The descriptor stays open until the next message, because macOS loses a descriptor that the
        sender closes before the receiver has received it.
        """
        if self._sent is not None:
            os.close(self._sent)
            self._sent = None

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[self._socket.send(view) :]
            except TimeoutError:
                self._check()

    def _write_with(self, data: bytes, memory: int) -> None:
        while True:
            try:
                sent = socket.send_fds(self._socket, [data], [memory])
            except TimeoutError:
                self._check()
                continue
            return self._write(data[sent:])

    def _read(self, into: memoryview) -> memoryview:
        view = into
        while view:
            try:
                count = self._socket.recv_into(view)
            except TimeoutError:
                self._check()
                continue
            if not count:
                raise EOFError("the other process has closed the connection")
            view = view[count:]
        return into

    def _read_with(self, unused: ExitStack) -> tuple[bytes, int | None]:
        """Return the prefix of a message, and the descriptor that is attached, or None.

        When `unused` exits, it closes the descriptor.
        """
        flags = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
        while hasattr(socket, "recv_fds"):
            try:
                data, descriptors, _, _ = socket.recv_fds(self._socket, _PREFIX.size, 1, flags)
            except TimeoutError:
                self._check()
                continue
            for descriptor in descriptors:
                unused.callback(os.close, descriptor)
            if not data:
                raise EOFError("the other process has closed the connection")
            remainder = self._read(memoryview(bytearray(_PREFIX.size - len(data))))
            return data + bytes(remainder), descriptors[0] if descriptors else None
        return bytes(self._read(memoryview(bytearray(_PREFIX.size)))), None

    def _check(self) -> None:
        if self._is_alive is not None and not self._is_alive():
            raise EOFError("the other process has ended")


class _Pickler(pickle.Pickler):
    """Pickles the bytes of ragged cells and of PyTorch tensors as out-of-band buffers."""

    def reducer_override(self, value: Any) -> Any:
        if type(value) is RaggedCells:
            flat = FlatCells.of(value)
            return _ragged, (flat.data, flat.lengths, value.shapes, value.valid)
        torch = sys.modules.get("torch")
        if torch is not None and type(value) is torch.Tensor:
            with suppress(RuntimeError, TypeError):  # on a device, with a gradient, or bfloat16
                return _tensor, (value.contiguous().numpy(),)
        return NotImplemented


def _ragged(data: Any, lengths: Any, shapes: Any, valid: Any) -> RaggedCells:
    ends = np.cumsum(lengths).tolist()
    return RaggedCells(
        [data[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)] if ends else [],
        shapes,
        valid,
    )


def _tensor(values: object) -> object:
    import torch

    return torch.from_numpy(values)


def _frames(value: object) -> list[memoryview]:
    """Return the pickle of a value and its out-of-band buffers."""
    buffers: list[pickle.PickleBuffer] = []
    stream = io.BytesIO()
    _Pickler(stream, 5, buffer_callback=buffers.append).dump(value)
    return [stream.getbuffer(), *(buffer.raw() for buffer in buffers)]


def _aligned_ends(lengths: np.ndarray) -> np.ndarray:
    """Return the ends of consecutive buffers that begin at multiples of `ALIGNMENT`.

    >>> _aligned_ends(np.array([10, 64, 1])).tolist()
    [10, 128, 129]
    """
    taken = -(-lengths // ALIGNMENT) * ALIGNMENT
    return np.asarray(np.cumsum(taken) - taken + lengths)


def _join(frames: Sequence[memoryview], lengths: np.ndarray, total: int) -> bytes:
    whole = bytearray(total)
    for frame, end in zip(frames, _aligned_ends(lengths).tolist(), strict=True):
        whole[end - frame.nbytes : end] = frame
    return bytes(whole)


def _memory_of(frames: Sequence[memoryview], lengths: np.ndarray) -> int | None:
    """Write buffers to anonymous memory. Return its descriptor, or None if there is no memory.

    The memory is not mapped for writing, so that the system need not clear its pages first.
    """
    memory = _anonymous_memory()
    if memory is None or sys.platform == "win32":
        return None
    ends = _aligned_ends(lengths).tolist()
    try:
        os.truncate(memory, ends[-1])
        for frame, end in zip(frames, ends, strict=True):
            view = frame
            while view:
                view = view[os.pwrite(memory, view, end - view.nbytes) :]
    except OSError:  # no space: the message is sent through the socket instead
        os.close(memory)
        return None
    return memory


def _detach_small(frame: memoryview) -> memoryview:
    """Return a copy of a small buffer, so that it does not keep the memory of the whole message."""
    if frame.nbytes > INLINE_BYTES:
        return frame
    copy = memoryview(allocate_aligned((frame.nbytes,), np.dtype(np.uint8)))
    copy[:] = frame
    return copy


def _anonymous_memory() -> int | None:
    """Return the descriptor of new anonymous memory, or None if the system does not support it."""
    try:
        if hasattr(os, "memfd_create"):
            return os.memfd_create("deeplake-lite", os.MFD_CLOEXEC)
        if hasattr(socket, "send_fds"):
            with tempfile.TemporaryFile() as file:
                return os.dup(file.fileno())
    except OSError:
        pass
    return None


def _map_memory(memory: int, size: int) -> memoryview:
    """Map the memory of a message, or copy it if many messages are mapped already."""
    if len(_maps) < MAX_MAPS:
        with suppress(OSError):
            mapping = mmap.mmap(memory, size)
            _maps.add(mapping)
            return memoryview(mapping)
    copy = memoryview(allocate_aligned((size,), np.dtype(np.uint8)))
    done = 0
    while done < size:
        done += os.preadv(memory, [copy[done:]], done)
    return copy
