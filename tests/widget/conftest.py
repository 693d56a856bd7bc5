"""A browser without a page, for sending requests and reading replies."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack

import pytest

from deeplake_lite.widget import Browser

from .chromium import NoBrowserError, chromium, give_up
from .labkit import Lab


class Page:
    """A stand-in for the page that sends requests and records the replies."""

    def __init__(self, view, **options):
        self.sent = []
        self.w = Browser(view, **options)
        self.w.send = lambda content, buffers=None: self.sent.append((content, buffers or []))
        self._req = 0

    def ask(self, kind, /, *, gen=None, **fields):
        """Return the reply to a request, and its bytes."""
        self._req += 1
        gen = self.w.generation if gen is None else gen
        request = {"type": kind, "req": self._req, "gen": gen, **fields}
        self.w._handle_custom_msg(request, [])
        reply, buffers = self.sent[-1]
        assert (reply["type"], reply["req"], reply["gen"]) == ("reply", self._req, gen)
        assert len(buffers) <= 1
        json.dumps(reply)  # hosts differ in what else they let through
        return reply, (bytes(buffers[0]) if buffers else b"")

    def asks(self, kind, /, **fields):
        """Return the reply to a request that succeeds."""
        reply, _ = self.ask(kind, **fields)
        assert reply["ok"], reply
        return reply

    def fails(self, kind, /, **fields):
        """Return the error of a request."""
        reply, _ = self.ask(kind, **fields)
        assert not reply["ok"], reply
        return reply["error"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call):
    """Give tests skipped for lack of a browser one location, so that the summary has one line."""
    report = yield
    if report.skipped and "No browser:" in str(call.excinfo.value):
        report.longrepr = ("tests/widget/chromium.py", 1, str(call.excinfo.value))
    return report


@pytest.fixture
def page():
    """Make a page of a view."""
    return Page


@pytest.fixture(scope="session")
def chrome():
    """Start Chromium, once: Playwright's loop runs in the thread of the tests."""
    with ExitStack() as stack:
        try:
            started = stack.enter_context(chromium())
        except NoBrowserError as error:
            give_up(error, os.environ)
        yield started


@pytest.fixture(scope="session")
def lab(chrome, tmp_path_factory):
    """Start JupyterLab, once, where a browser can show it."""
    assert chrome
    made = Lab(tmp_path_factory.mktemp("lab"))
    made.start()
    yield made
    made.stop()
