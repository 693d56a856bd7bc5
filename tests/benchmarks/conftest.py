"""Fixtures and options of the benchmarks: data, work folder, races and the result table."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

for name in ("deeplake", "lance"):  # other tests must not import them
    if sys.modules.get(name, sys) is None:
        del sys.modules[name]

from . import corpus, lakes  # noqa: E402
from .harness import OURS, Contender, Report, Rounds, interleave  # noqa: E402

REPORT = pytest.StashKey[Report]()

type Race = Callable[..., Rounds]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("benchmarks")
    group.addoption("--bench-table", type=Path, metavar="PATH", help="write the table there")
    results = "put the results into that file, which the documentation shows"
    group.addoption("--bench-results", type=Path, metavar="PATH", help=results)
    group.addoption("--bench-peers", action="store_true", help="run the peers' halves only")
    group.addoption("--bench-rounds", type=int, default=3, help="rounds of each race (3)")
    group.addoption("--bench-rows", type=int, default=1_000_000, help="rows of the wide lake")
    sizes = "rows of the lakes whose costs are compared, separated by commas"
    group.addoption("--bench-scale", default="1e4,1e5,1e6,1e7", help=sizes)
    part = "part of the data for loaders and stores that is used, to try things out"
    group.addoption("--bench-part", type=float, default=1.0, help=part)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[REPORT] = Report()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    report, path = config.stash[REPORT], config.getoption("--bench-table")
    if not report.rows:
        return
    if results := config.getoption("--bench-results"):
        report.save(results)
    if path:
        path.write_text(report.markdown())
    else:
        terminalreporter.section("benchmarks")
        terminalreporter.write(report.markdown())


@pytest.fixture(scope="session")
def report(request: pytest.FixtureRequest) -> Report:
    return request.config.stash[REPORT]


@pytest.fixture(scope="session")
def peers_only(request: pytest.FixtureRequest) -> bool:
    return request.config.getoption("--bench-peers")


@pytest.fixture(scope="session")
def race(request: pytest.FixtureRequest, peers_only: bool, report: Report) -> Race:
    """Return the function that runs contenders in interleaved rounds."""

    def run(
        contenders: Mapping[str, Contender], rounds: int | None = None, *, warm_up: bool = True
    ) -> Rounds:
        chosen = {n: c for n, c in contenders.items() if not (peers_only and n.startswith(OURS))}
        rounds = rounds or request.config.getoption("--bench-rounds")
        with report.watching():
            return interleave(chosen, rounds, warm_up=warm_up)

    return run


@pytest.fixture(scope="session")
def needs_ours(peers_only: bool) -> None:
    if peers_only:
        pytest.skip("a figure without peers")


@pytest.fixture(scope="session")
def jpegs() -> list[bytes]:
    return corpus.load()


@pytest.fixture(scope="session")
def scratch() -> Iterator[Path]:
    """Yield one folder for everything that is written; it is deleted at the end."""
    with tempfile.TemporaryDirectory(prefix="deeplake_lite-bench-") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def work(scratch: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """Yield a folder for one file of benchmarks."""
    folder = scratch / request.module.__name__
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def wide_lake(needs_ours: None, scratch: Path, rows: int) -> Path:  # noqa: ARG001 skips first
    """Return the folder of the wide lake; copy it before writing to it."""
    folder = scratch / "wide"
    folder.mkdir()
    return lakes.build_wide(folder, rows)


@pytest.fixture(scope="session")
def rows(request: pytest.FixtureRequest) -> int:
    return request.config.getoption("--bench-rows")


@pytest.fixture(scope="session")
def part(request: pytest.FixtureRequest) -> Callable[[int], int]:
    """Return the function that scales a number of rows to the part that is used."""
    share = request.config.getoption("--bench-part")
    return lambda count: max(256, int(count * share))


@pytest.fixture(scope="session")
def scale(request: pytest.FixtureRequest) -> list[int]:
    return [int(float(rows)) for rows in request.config.getoption("--bench-scale").split(",")]
