"""Random damage to the files of a dataset, and what an import of it may do: raise our errors."""

from __future__ import annotations

import random
import re
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deeplake_lite.errors import LakeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WORDS = (
    *(b"null", b"{}", b"[]", b"-1", b'"x"', b"1e400", b"99999999999999999999", b"<a>", b"NaN"),
    *(b"x" * 300, b"\\ud800", b"\\u0000", b"."),
    *(b"[[", b"]", b"}", b"\n", b": ", b"- ", b"&amp;", b"../../x", b"\xff\xfe", b"\0", b"true"),
)
"""Words that are put into files."""

NUMBERS = (b"0", b"-1", b"1", b"255", b"65536", b"2147483647", b"-2147483649", b"4294967295",
           b"9223372036854775808", b"1e308", b"1e400", b"0.5", b"NaN", b"null")  # fmt: skip
"""Numbers that replace others in texts."""

EXTREMES = (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1)
"""Numbers that replace bytes."""

MAX_SECONDS = 30
MAX_BYTES = 10**9
"""Time and memory beyond which an import of a tiny file is wrong."""


def files_of(root: Path) -> list[Path]:
    """Return the files of a dataset, sorted."""
    return sorted(p for p in root.rglob("*") if p.is_file())


def damage(root: Path, chance: random.Random) -> str:
    """Damage one to three files below a folder; return what was done, for messages."""
    return ", ".join(_damage_one(root, chance) for _ in range(chance.choice([1, 1, 1, 2, 3])))


def _damage_one(root: Path, chance: random.Random) -> str:
    files = files_of(root)
    if not files:
        return "nothing is left"
    file = chance.choice(files)
    other = chance.choice([each for each in files if each != file] or files)
    name = file.relative_to(root).as_posix()
    kind = chance.choice([*_BYTES, *_BYTES, "remove", "swap", "copy"])
    if kind == "remove":
        file.unlink()
    elif kind == "swap":
        a, b = file.read_bytes(), other.read_bytes()
        file.write_bytes(b)
        other.write_bytes(a)
        name += f" and {other.relative_to(root).as_posix()}"
    elif kind == "copy":
        file.with_name(f"copy-{file.name}").write_bytes(other.read_bytes())
    else:
        file.write_bytes(_BYTES[kind](file.read_bytes(), chance))
    return f"{kind} {name}"


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Return bytes with a random damage."""
    return chance.choice([*_BYTES.values()])(data, chance)


def _place(data: bytes, chance: random.Random) -> int:
    """Return a random position; half of the time near the beginning or the end."""
    size = len(data) + 1
    match chance.randrange(4):
        case 0:
            return chance.randrange(min(size, 64))
        case 1:
            return size - 1 - chance.randrange(min(size, 64))
    return chance.randrange(size)


def _flip(data: bytes, chance: random.Random) -> bytes:
    result = bytearray(data)
    for _ in range(chance.randrange(1, 4) if data else 0):
        result[min(_place(data, chance), len(data) - 1)] ^= 1 << chance.randrange(8)
    return bytes(result)


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: _place(data, chance)]


def _delete(data: bytes, chance: random.Random) -> bytes:
    at = _place(data, chance)
    return data[:at] + data[at + chance.choice([1, 2, 8, 40, 512]) :]


def _duplicate(data: bytes, chance: random.Random) -> bytes:
    at, source = _place(data, chance), _place(data, chance)
    return data[:at] + data[source : source + chance.choice([1, 8, 40, 512])] + data[at:]


def _insert(data: bytes, chance: random.Random) -> bytes:
    at = _place(data, chance)
    return data[:at] + chance.choice([chance.choice(WORDS), chance.randbytes(8)]) + data[at:]


def _overwrite(data: bytes, chance: random.Random) -> bytes:
    at, word = _place(data, chance), chance.choice(WORDS)
    return data[:at] + word + data[at + chance.choice([len(word), 4, 20]) :]


def _zero(data: bytes, chance: random.Random) -> bytes:
    at, size = _place(data, chance), chance.choice([1, 4, 64, 512])
    return data[:at] + bytes(min(size, len(data) - at)) + data[at + size :]


def _count(data: bytes, chance: random.Random) -> bytes:
    """Replace a number in a text, or four or eight bytes by an extreme number."""
    found = list(re.finditer(rb"(?<![\w.])-?\d+(\.\d+)?", data[:100_000]))
    if found and chance.random() < 0.7:
        match = chance.choice(found)
        return data[: match.start()] + chance.choice(NUMBERS) + data[match.end() :]
    at, size = _place(data, chance), chance.choice([1, 2, 4, 8])
    number = chance.choice(EXTREMES) % 256**size
    return data[:at] + number.to_bytes(size, chance.choice(["little", "big"])) + data[at + size :]


_BYTES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "flip": _flip, "cut": _cut, "delete from": _delete, "duplicate in": _duplicate,
    "insert into": _insert, "overwrite": _overwrite, "zero": _zero, "change a number of": _count,
}  # fmt: skip
"""Functions that damage bytes."""


def trials(
    root: Path, folder: Path, count: int, seed: int = 0, first: int = 0
) -> Iterator[tuple[str, Path]]:
    """Yield damaged copies of a dataset with what was done to each; they are removed again.

    Trial n of a seed is always the same: ``trial 7: cut data.bin``.
    """
    for number in range(first, count):
        copy = folder / "damaged"
        shutil.copytree(root, copy)
        done = damage(copy, random.Random(f"{seed} {number}"))
        yield f"trial {number}: {done}", copy
        shutil.rmtree(copy)


def wrong(ingest: Callable[[], Any]) -> str | None:
    """Return what is wrong with an import of damaged files; None if it is fine.

    It may raise one of our errors, or return a lake that can be read.
    """
    reset_peak()
    before, started = peak(), time.perf_counter()
    try:
        ds = ingest()
        for name in ds.columns:
            assert len(ds[name][:]) == len(ds), name
    except LakeError:
        pass
    except Exception as error:
        return f"{type(error).__name__}: {error!s:.300}"
    if (seconds := time.perf_counter() - started) > MAX_SECONDS:
        return f"it takes {seconds:.0f} s"
    if (grown := peak() - before) > MAX_BYTES:
        return f"it takes {grown:,} bytes of memory"
    return None


def peak() -> int:
    """Return the largest size of this process in memory since `reset_peak`, in bytes."""
    try:
        status = Path("/proc/self/status").read_text("ascii")
    except OSError:  # other than Linux
        return 0
    match = re.search(r"VmHWM:\s+(\d+) kB", status)
    return 1024 * int(match[1]) if match else 0


def reset_peak() -> None:
    """Start to measure the largest size anew, where the system can."""
    try:
        Path("/proc/self/clear_refs").write_text("5", "ascii")
    except OSError:
        return
