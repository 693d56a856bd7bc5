"""Temporary folders for tests and doctests, cores, and the cases of each test that a run draws."""

from __future__ import annotations

import os
from collections import defaultdict
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

FOLDERS = ("XDG_STATE_HOME", "XDG_CACHE_HOME", "IPYTHONDIR")
"""Where drafts of edits, kept thumbnails and blocks, and the history of notebooks go."""

APART = (
    "tests/apart",
    "deeplake_lite/ingest/deeplake",
    "deeplake_lite/ingest/lance",
    "deeplake_lite/dataset/export/lakes/methods.py",
)
"""Tests of packages that cannot share a process with the others: Deep Lake ends one that has loaded
TensorFlow, because both bring LLVM, and Lance warns whenever a process forks. `tests/test_apart.py`
runs each file in a process of its own."""


def pytest_configure(config: pytest.Config) -> None:
    """Set the folders before a test imports anything that looks at them; set the draw's seed."""
    worker = getattr(config, "workerinput", None)  # of pytest-xdist
    config.option.draw = _seed(config) if worker is None else worker["draw"]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    if (browsers := cache / "ms-playwright").is_dir():  # Playwright's downloads stay where they are
        os.environ.setdefault("PLAYWRIGHT_BROWSERS_PATH", str(browsers))
    folder = TemporaryDirectory(prefix="deeplake-lite-tests-", ignore_cleanup_errors=True)
    config.add_cleanup(folder.cleanup)
    for name in FOLDERS:
        os.environ[name] = str(Path(folder.name) / name.lower())
        Path(os.environ[name]).mkdir()


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist, which reads these options
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run everything on all cores, unless options say otherwise."""
    option, is_worker = config.option, hasattr(config, "workerinput")
    says_otherwise = option.usepdb or option.collectonly or getattr(option, "cov_source", None)
    if is_worker or says_otherwise or not _is_whole(config):
        return
    if getattr(option, "numprocesses", 0) is None:
        option.numprocesses, option.dist = "logical", "worksteal"


def _is_whole(config: pytest.Config) -> bool:
    """Whether no files are named."""
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS


# ---- drawing of cases

DRAWN = 2
"""Maximum number of cases of one test in a run of everything, without the option `--cases`."""

NOT_FAST = Path(__file__).with_name("tests") / "not_fast.txt"
"""List of the files of tests that a fast run leaves out; see `tests/not_fast.py`."""

NOT_FAST_MARKS = ("browser", "slow")
"""Marks of further tests that it leaves out."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the draw."""
    group = parser.getgroup("draw", "cases of parametrized tests")
    group.addoption("--every", action="store_true", help="run every case of every test")
    group.addoption("--draw", metavar="SEED", help="draw the cases that another run drew")
    most = "run at most so many cases of each test"
    group.addoption("--cases", type=int, metavar="N", default=DRAWN, help=f"{most} ({DRAWN})")
    group.addoption("--fast", action="store_true", help="run one case of each test that is fast")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Have each worker of pytest-xdist draw the same cases."""
    node.workerinput["draw"] = node.config.option.draw


def pytest_report_header(config: pytest.Config) -> str:
    """Say how the same cases are drawn again."""
    if config.option.draw is None:
        return "cases: every one"
    option = config.option
    most = "one of each fast test" if option.fast else f"at most {option.cases} of each test"
    return f"cases: {most}, drawn by --draw {config.option.draw}"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files that run apart and, before they are imported, those that are not fast."""
    is_inside = collection_path.is_relative_to(config.rootpath)
    path = collection_path.relative_to(config.rootpath).as_posix() if is_inside else ""
    if path in APART and not all(arg.startswith(APART) for arg in config.args):
        return True
    return (config.option.fast and path in _not_fast()) or None


@cache
def _not_fast() -> frozenset[str]:
    return frozenset(NOT_FAST.read_text("utf-8").split())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep at most `--cases` cases of each test, or one; the seed changes with the package."""
    seed, is_fast = config.option.draw, config.option.fast
    if seed is None:
        return
    cases: dict[tuple[Path, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        is_drawn = hasattr(item, "callspec") and not item.get_closest_marker("whole")
        if isinstance(item, pytest.Function) and is_drawn:
            owner = item.cls.__name__ if item.cls else ""
            cases[item.path, f"{owner}.{item.originalname}"].append(item)
    most = 1 if is_fast else config.option.cases
    left_out = {item for group in cases.values() for item in _drawn_last(group, seed, most)}
    if is_fast:
        left_out |= {item for item in items if not _is_fast(item)}
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def _is_fast(item: pytest.Item) -> bool:
    is_marked = any(map(item.get_closest_marker, NOT_FAST_MARKS))
    return isinstance(item, pytest.Function) and not is_marked  # doctests are not fast, either


def _drawn_last(group: list[pytest.Item], seed: str, most: int) -> list[pytest.Item]:
    def place(item: pytest.Item) -> bytes:
        return sha256(f"{seed} {item.nodeid}".encode()).digest()

    return sorted(group, key=place)[most:]


def _seed(config: pytest.Config) -> str | None:
    """Return the seed of a run's draw; None for a run of every case, such as of named files."""
    if config.option.every or config.option.draw:
        return None if config.option.every else str(config.option.draw)
    if not config.option.fast and not _is_whole(config):
        return None
    found = sha256()
    for path in sorted((config.rootpath / "deeplake_lite").rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:8]
