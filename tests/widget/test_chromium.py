"""Which browser the tests drive, and what happens without one."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Error

from . import chromium as module
from .chromium import NoBrowserError, give_up, installed

if TYPE_CHECKING:
    from pathlib import Path

MISSING = NoBrowserError("No browser: none is installed.")


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


class Launcher:
    """A stand-in for Playwright's launcher, with a list of the browsers that start."""

    def __init__(self, own: Path, working: tuple[Path, ...] = ()) -> None:
        self.executable_path, self.working = str(own), working

    def launch(self, *, executable_path, headless, args):
        assert headless
        assert args
        if executable_path not in self.working:
            raise Error("cannot open shared object file: libnss3.so\nand more\nlines")
        return executable_path


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine without a browser: its folders, and a fake download."""
    for name in module.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(module, "PLACES", ())
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    fails = [sys.executable, "-c", "import sys; sys.exit(1)"]
    monkeypatch.setattr(module, "DOWNLOAD", fails)
    own = tmp_path / "ms-playwright" / "chromium-1255" / "chrome-linux64" / "chrome"
    return SimpleNamespace(bin=tmp_path / "bin", own=own, folder=tmp_path)


def test_named_browser_outranks_one_on_the_path_which_outranks_playwrights(machine):
    named = program(machine.folder / "mine" / "chrome")
    on_path = program(machine.bin / "google-chrome")
    older = program(machine.folder / "ms-playwright/chromium-1200/chrome-linux64/chrome")
    own = program(machine.own)
    environ = {"CHROME_PATH": str(named), "PATH": str(machine.bin)}
    assert installed(environ, machine.own) == [named, on_path, own, older]
    assert installed({**environ, "CHROME_PATH": "/nowhere"}, machine.own)[0] == on_path
    assert installed({}, machine.own) == [own, older]


def test_browser_that_does_not_start_is_skipped_for_one_that_does(machine):
    program(machine.bin / "chromium")
    own = program(machine.own)
    assert module._first_that_starts(Launcher(own, (own,))) == own


def test_download_is_started_when_none_is_installed(machine, monkeypatch):
    make = f"import os; os.makedirs({str(machine.own.parent)!r}); open({str(machine.own)!r}, 'w')"
    monkeypatch.setattr(module, "DOWNLOAD", [sys.executable, "-c", make])
    assert module._first_that_starts(Launcher(machine.own, (machine.own,))) == machine.own


def test_one_line_says_what_was_tried_and_how_to_get_a_browser(machine):
    with pytest.raises(NoBrowserError) as caught:
        module._first_that_starts(Launcher(machine.own))
    assert "no Chromium or Chrome is installed; its download by Playwright failed" in str(
        caught.value
    )
    broken = program(machine.bin / "chromium")
    with pytest.raises(NoBrowserError) as caught:
        module._first_that_starts(Launcher(machine.own))
    assert f"{broken} does not start (cannot open shared object file: libnss3.so)" in str(
        caught.value
    )
    assert str(caught.value).endswith("playwright install --with-deps chromium")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("ci", [None, "", "0", "false"])
def test_tests_without_a_browser_are_skipped(ci):
    with pytest.raises(pytest.skip.Exception, match="none is installed"):
        give_up(MISSING, {} if ci is None else {"CI": ci})


@pytest.mark.parametrize("ci", ["1", "true", "woodpecker"])
def test_tests_without_a_browser_fail_in_continuous_integration(ci):
    with pytest.raises(pytest.fail.Exception, match="none is installed"):
        give_up(MISSING, {"CI": ci})
