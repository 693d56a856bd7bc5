"""The browser that tests drive: an installed one, else Playwright's own download."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

VARIABLES = ("CHROME_PATH", "CHROMIUM_PATH", "CHROME_BIN", "PUPPETEER_EXECUTABLE_PATH")
"""Environment variables that name a browser; the first that is set is tried first."""

NAMES = (
    "chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome",
    "microsoft-edge-stable", "microsoft-edge", "msedge",
)  # fmt: skip
"""Programs on PATH."""

PLACES = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
"""Where macOS and Windows keep browsers, which are not on PATH there."""

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]  # fmt: skip
"""The last one cuts the browser off from the network."""

DOWNLOAD = [sys.executable, "-m", "playwright", "install", "--no-shell", "chromium"]
DOWNLOAD_SECONDS = 600

WAY_OUT = (
    "Install Chromium or Chrome, set CHROME_PATH to one, "
    "or run: uv run --all-extras playwright install --with-deps chromium"
)


class NoBrowserError(Exception):
    """No browser could be started; the message says what was tried, in one line."""


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """Run a browser that is cut off from the network.

    Raises
    ------
    NoBrowserError
        When none is installed, or none starts, and none can be downloaded.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = _first_that_starts(playwright.chromium)
        try:
            yield browser
        finally:
            browser.close()


def installed(environ: Mapping[str, str], playwrights: Path) -> list[Path]:
    """Return the installed browsers, in the order in which they are tried.

    Parameters
    ----------
    environ
        Variables that may name a browser, and PATH.
    playwrights
        Where Playwright would put its own; other versions are next to it.
    """
    named = [environ[name] for name in VARIABLES if environ.get(name)]
    on_path = [shutil.which(name, path=environ.get("PATH", "")) for name in NAMES]
    paths = [Path(path) for path in (*named, *filter(None, on_path), *PLACES)]
    return [path for path in (*paths, *_downloaded(playwrights)) if path.is_file()]


def give_up(reason: NoBrowserError, environ: Mapping[str, str]) -> NoReturn:
    """Skip tests that need a browser, or fail if `CI` is set."""
    if environ.get("CI", "").lower() not in ("", "0", "false"):
        pytest.fail(str(reason), pytrace=False)
    pytest.skip(str(reason))


def _downloaded(playwrights: Path) -> list[Path]:
    """Return Playwright's browsers: its own version first, then the newest."""
    parts = playwrights.parts
    at = next(n for n, part in enumerate(parts) if part.startswith("chromium-"))
    others = Path(*parts[:at]).glob(str(Path("chromium-*", *parts[at + 1 :])))
    newest = sorted(others, key=lambda path: path.stat().st_mtime, reverse=True)
    return [playwrights, *(path for path in newest if path != playwrights)]


def _first_that_starts(launcher: Any) -> Any:
    """Start a browser that is installed, else download one and start that."""
    playwrights, tried = Path(launcher.executable_path), dict[Path, str]()
    for path in installed(os.environ, playwrights):
        browser = _start(launcher, path, tried)
        if browser:
            return browser
    problem = _download()
    if not problem and playwrights not in tried:
        browser = _start(launcher, playwrights, tried)
        if browser:
            return browser
    known = [f"{path} does not start ({reason})" for path, reason in tried.items()]
    why = "; ".join(
        [*(known or ["no Chromium or Chrome is installed"]), *([problem] if problem else [])]
    )
    raise NoBrowserError(f"No browser: {why}. {WAY_OUT}")


def _start(launcher: Any, path: Path, tried: dict[Path, str]) -> Any:
    """Return the browser at a path, or record why it does not start."""
    from playwright.sync_api import Error

    try:
        return launcher.launch(executable_path=path, headless=True, args=FLAGS)
    except Error as error:
        tried[path] = str(error).splitlines()[0][:120]
        return None


def _download() -> str:
    """Let Playwright download its own browser; return the error, if any."""
    try:
        done = subprocess.run(
            DOWNLOAD,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DOWNLOAD_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"its download by Playwright took more than {DOWNLOAD_SECONDS} s"
    return (
        f"its download by Playwright failed with code {done.returncode}" if done.returncode else ""
    )
