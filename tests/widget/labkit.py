"""JupyterLab with notebooks, for tests that need a kernel behind the page.

The server listens on 127.0.0.1 only, has all its files in one folder, and ends with the test
session: its process group is killed at the end, and the kernel of the machine kills it if pytest
is killed. The browser resolves no names (see `chromium.FLAGS`), so that requests to a CDN fail and
are noticed. Cells are run by JupyterLab's own commands and read from the notebook's model, without
sleeping and without scraping the page.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "t0k"
UNTIL_WE_END = (
    "import ctypes, os, sys\n"
    "if sys.platform == 'linux': ctypes.CDLL(None).prctl(1, 15)\n"  # PR_SET_PDEATHSIG, SIGTERM
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)
QUIET = {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True}
"""Without it, a toast offers news of Jupyter and covers the page."""

NOISE = ("/lsp/status", "favicon")
"""Requests of JupyterLab itself that fail."""

PANEL = "window.jupyterapp.shell.currentWidget"


class Lab:
    """A server, and the folder of its notebooks."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, _free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.log = folder / "lab.log"
        settings = folder / "settings" / "@jupyterlab" / "apputils-extension"
        for made in (settings, folder / "root"):
            made.mkdir(parents=True)
        (settings / "notification.jupyterlab-settings").write_text(json.dumps(QUIET))

    def start(self) -> None:
        """Start the server and wait for its first reply."""
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", UNTIL_WE_END, "-m", "jupyterlab", *self._options()],
                stdout=log,
                stderr=log,
                env=self._environment(),
                start_new_session=True,
            )
        deadline = time.monotonic() + 60
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"JupyterLab did not start:\n{self.log.read_text()[-3000:]}")
            time.sleep(0.1)

    def stop(self) -> None:
        """End the server and its kernels."""
        for sign in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, sign)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(15)
                return

    def _options(self) -> list[str]:
        return [
            "--no-browser",
            "--allow-root",
            "--ip=127.0.0.1",
            f"--port={self.port}",
            "--ServerApp.port_retries=0",
            f"--ServerApp.root_dir={self.folder / 'root'}",
            "--ServerApp.terminals_enabled=False",
            f"--IdentityProvider.token={TOKEN}",
            "--LabApp.expose_app_in_browser=True",
            "--LabApp.extension_manager=readonly",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            "--LabApp.news_url=None",
            f"--LabApp.user_settings_dir={self.folder / 'settings'}",
            f"--LabApp.workspaces_dir={self.folder / 'workspaces'}",
        ]

    def _environment(self) -> dict[str, str]:
        homes = ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
        own = {name: str(self.folder / name.lower()) for name in (*homes, "IPYTHONDIR")}
        for path in own.values():
            os.makedirs(path)
        own["JUPYTER_PLATFORM_DIRS"] = "1"
        return {**os.environ, **own}

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.base}/api/status?token={TOKEN}", timeout=2):
                return True
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False

    @contextlib.contextmanager
    def notebook(self, browser: Any, *cells: str, dark: bool = False) -> Iterator[Notebook]:
        """Open a new notebook of these cells; in the end nothing may have gone wrong on its page.

        Parameters
        ----------
        browser : playwright Browser
        cells : str
            Their code.
        dark : bool
            In JupyterLab's dark theme.
        """
        name = f"n{len(list((self.folder / 'root').iterdir()))}"
        (self.folder / "root" / f"{name}.ipynb").write_text(json.dumps(_notebook(cells)))
        context = browser.new_context(viewport={"width": 1280, "height": 1000})
        opened = Notebook(context.new_page(), self)
        try:
            opened.open(name, dark)
            yield opened
            assert opened.errors == []
            assert opened.outside == []
        except BaseException:
            opened.page.screenshot(path=self.folder / f"{name}-failed.png")
            raise
        finally:
            opened.end()
            context.close()


class Notebook:
    """A page of JupyterLab that shows one notebook, and all errors on it."""

    def __init__(self, page: Any, lab: Lab) -> None:
        self.page, self.lab = page, lab
        self.errors: list[str] = []
        self.outside: list[str] = []
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._heard)
        page.on("request", lambda request: self._asked(request.url))

    def _heard(self, line: Any) -> None:
        where = (line.location or {}).get("url", "")
        if line.type == "error" and not any(noise in where + line.text for noise in NOISE):
            self.errors.append(line.text)

    def _asked(self, url: str) -> None:
        if not re.match(rf"{re.escape(self.lab.base)}|(data|blob|about):", url):
            self.outside.append(url)

    # ---- the notebook

    def open(self, name: str, dark: bool = False) -> None:
        """Show the notebook, with the kernel ready."""
        where = f"{self.lab.base}/lab/workspaces/{name}/tree/{name}.ipynb"
        self.page.goto(f"{where}?token={TOKEN}&reset")
        self.page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=600_000)
        self.page.wait_for_function(
            f"() => {PANEL}?.sessionContext?.session?.kernel?.status === 'idle'", timeout=600_000
        )
        self.page.evaluate(
            "() => window.jupyterapp.commands.execute('application:toggle-left-area')"
        )
        self.theme("JupyterLab Dark" if dark else "JupyterLab Light")

    def theme(self, name: str) -> None:
        """Change the theme of JupyterLab."""
        self.page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", name
        )
        light = str(name.endswith("Light")).lower()
        self.page.wait_for_selector(f"body[data-jp-theme-light='{light}']", state="attached")

    def begin(self, cell: int) -> None:
        """Start a cell, without waiting for its end."""
        self.page.evaluate(
            f"""i => {{
                const content = {PANEL}.content;
                content.deselectAll();
                content.activeCellIndex = i;
                window.__run = window.jupyterapp.commands.execute('notebook:run-cell');
                window.__run.then(() => (window.__ran = i));
            }}""",
            cell,
        )

    def restart(self) -> None:
        """Restart the kernel, as its menu does."""
        self.page.evaluate(f"() => {PANEL}.context.sessionContext.session.kernel.restart()")

    def run(self, cell: int) -> str:
        """Run a cell to its end; return what it printed."""
        self.begin(cell)
        self.page.evaluate("() => window.__run.then(() => null)")
        outputs = self.outputs(cell)
        for output in outputs:
            if output["output_type"] == "error":
                raise AssertionError(f"cell {cell}: {output['ename']}: {output['evalue']}")
        return "".join("".join(output.get("text", "")) for output in outputs).strip()

    def prints(self, cell: int, text: str) -> None:
        """Run a cell until it prints this: Python sees a click a little later than the user."""
        deadline = time.monotonic() + 60
        while (printed := self.run(cell)) != text:
            assert time.monotonic() < deadline, f"cell {cell} prints {printed!r}, not {text!r}"
            time.sleep(0.05)

    def outputs(self, cell: int) -> list[dict[str, Any]]:
        """Return the outputs of a cell in the notebook."""
        return self.page.evaluate(f"i => {PANEL}.content.widgets[i].model.outputs.toJSON()", cell)

    def running(self, cell: int) -> bool:
        """Whether a started cell is still running."""
        return self.page.evaluate("() => window.__ran") != cell

    def end(self) -> None:
        """Shut down the kernel, which takes 100 MB."""
        with contextlib.suppress(Exception):
            self.page.evaluate(f"() => {PANEL}.sessionContext.shutdown()")

    # ---- the browser of the dataset in it

    def painted(self, nth: int = 0) -> None:
        """Wait until all visible cards of a browser are drawn."""
        self.page.wait_for_function(
            "nth => document.querySelectorAll('.dl-browser')[nth]?.dataset.missing === '0'",
            arg=nth,
        )

    def rows(self, count: int) -> None:
        """Wait until that many rows are shown and drawn."""
        self.page.wait_for_selector(f".dl-browser[data-rows='{count}']")
        self.painted()

    def click(self, position: int, *keys: str) -> None:
        """Click a card that is in view, with keys held down."""
        box = self.page.locator(f".dl-cell[data-position='{position}']").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        hit = "([x, y]) => Boolean(document.elementFromPoint(x, y)?.closest('.dl-stage'))"
        assert self.page.evaluate(hit, [x, y]), f"card {position} is not in view"
        for key in keys:
            self.page.keyboard.down(key)
        self.page.mouse.click(x, y)
        for key in keys:
            self.page.keyboard.up(key)

    def shot(self, path: Path) -> None:
        """Take a screenshot of the dataset browser."""
        self.page.locator(".dl-browser").last.screenshot(path=path)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _notebook(cells: tuple[str, ...]) -> dict[str, Any]:
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    empty = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": spec},
        "cells": [{"id": f"c{i}", **empty, "source": code} for i, code in enumerate(cells)],
    }
