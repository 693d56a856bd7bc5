"""The commands and code of README.md work."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import deeplake_lite as dl

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text()
COMMANDS = re.search(r"```\w*\n(pip install uv .*?)\n```", TEXT, re.DOTALL)[1].splitlines()


def test_tour_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(block, names)
    assert "1 cell" in capsys.readouterr().out
    assert dl.open("flowers.lake").verify()


def test_readme_is_short():
    assert len(TEXT.encode()) <= 8_192


def test_continuous_integration_runs_the_commands_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text()
    for command in COMMANDS:
        assert command.removeprefix("pip install uv && ") in script


def test_extras_in_the_commands_exist():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {
        "demo",
        "torch",
        "tensorflow",
        "jax",
        "umap",
        "all",
        "test",
        "lint",
        "docs",
    } <= set(project["optional-dependencies"])


def test_first_command_installs_no_framework_and_no_tool():
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"] == {
        "default-groups": []
    }
    needed = packages_of("deeplake-lite", "demo", set())
    assert {"numpy", "zarr", "scikit-learn"} <= needed
    assert {"torch", "tensorflow", "jax", "dask", "pytest", "jupyterlab", "mypy"} & needed == set()
    assert len(needed) < 80


def packages_of(name: str, extra: str, seen: set[str]) -> set[str]:
    """Return a package's dependencies, direct and indirect."""
    for line in metadata.requires(name) or ():
        expected = Requirement(line)
        package = canonicalize_name(expected.name)
        if (
            expected.marker is None or expected.marker.evaluate({"extra": extra})
        ) and package not in seen:
            seen.add(package)
            for inner in expected.extras or {""}:
                packages_of(package, inner, seen)
    return seen


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(((?!http)[^)]+)\)", TEXT))))
def test_link_target_exists(target):
    assert (ROOT / target).exists()
