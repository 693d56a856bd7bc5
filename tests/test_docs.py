"""The pages of docs/: their Python runs, generated parts are current, links are well formed.

Each page is run from top to bottom, in a folder that contains the lake of the tour. A block that
cannot run is marked by a comment above it: ``<!-- not run: needs a bucket -->``.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import deeplake_lite as dl
from deeplake_lite.query.bind.calls.special import SPECIAL
from deeplake_lite.query.functions import REGISTRY
from deeplake_lite.query.reference import reference

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
WRITTEN = ("_build", "_generated", "notebooks", "api")  # by the build
PAGES = {
    path.relative_to(DOCS).as_posix(): path.read_text()
    for path in sorted(DOCS.rglob("*.md"))
    if not set(WRITTEN) & set(path.parts)
}
TOP = {name: (ROOT / name).read_text() for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")}
BLOCK = re.compile(r"(<!-- not run: [^\n]+ -->\n)?^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
FRAMEWORKS = (
    "guides/train_pytorch.md",
    "guides/train_tensorflow.md",
    "guides/train_jax.md",
)
"""Pages that run in processes of their own, because of the packages that they import."""


def program(text: str) -> str:
    """Return the Python of a page, each block on its original lines, so that errors name them."""
    lines = [""] * (text.count("\n") + 1)
    for block in BLOCK.finditer(text):
        if not block[1]:
            first = text[: block.start(2)].count("\n")
            code = block[2].splitlines()
            lines[first : first + len(code)] = code
    return "\n".join(lines).rstrip()


RUNNABLE = [name for name, text in PAGES.items() if name != "tour.md" and program(text)]


@pytest.fixture(scope="module")
def tour(tmp_path_factory):
    """Run the tour once, and return the folder with its lake."""
    folder = tmp_path_factory.mktemp("tour")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        exec(compile(program(PAGES["tour.md"]), "docs/tour.md", "exec"), {})
    return folder


@pytest.fixture
def folder(request, tour, tmp_path, monkeypatch):
    """Enter a folder with a copy of the lake of the tour."""
    shutil.copytree(tour / "flowers.lake", tmp_path / "flowers.lake")
    request.getfixturevalue("registry")  # unregisters the functions of the page
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", [name for name in RUNNABLE if name not in FRAMEWORKS])
@pytest.mark.usefixtures("folder")
def test_python_of_a_page_runs(name):
    exec(compile(program(PAGES[name]), f"docs/{name}", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_python_of_a_framework_page_runs(name, folder):
    (folder / "page.py").write_text(program(PAGES[name]))
    done = subprocess.run(
        [sys.executable, "page.py"], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_python_block_runs_or_says_why_not():
    assert program(PAGES["tour.md"]).count("dl.create(") == 1
    assert set(FRAMEWORKS) < set(RUNNABLE)
    for name, text in PAGES.items():
        assert len(BLOCK.findall(text)) == text.count("```python\n"), name


def test_lake_of_the_tour_is_complete(tour):
    assert dl.open(str(tour / "flowers.lake")).verify()


def test_external_links_are_well_formed():
    for name, text in {**PAGES, **TOP}.items():
        for url in re.findall(r"\]\((\w+:[^)]*)\)", text):
            parts = urlsplit(url)
            assert parts.scheme == "https", (name, url)
            assert re.fullmatch(r"([a-z0-9-]+\.)+[a-z]{2,}", parts.netloc), (name, url)


def test_every_column_type_is_in_the_table():
    for name in dl.__all__:
        kind = getattr(dl, name)
        if isinstance(kind, type) and issubclass(kind, dl.Htype) and kind is not dl.Htype:
            assert f"`{name}" in PAGES["reference/types.md"]


def test_every_public_name_is_in_the_api_reference():
    listed = set(re.findall(r"^   (\w+)$", PAGES["reference/api.md"], re.MULTILINE))
    assert listed == set(dl.__all__)


def test_query_reference_is_generated_from_the_registry():
    page = PAGES["reference/query.md"]
    page = page.split("<!-- reference: python -m deeplake_lite.query.reference -->\n")[1]
    assert page.split("<!-- end of reference -->")[0].strip() == reference().strip(), (
        "run python docs/generate.py"
    )


def test_every_function_and_clause_is_in_the_query_reference():
    page = reference()
    for entry in REGISTRY.values():
        assert entry.signature in page
    for name in SPECIAL:
        assert f"{name}(" in page
    for name in ("WITH", "ARRANGE BY", "SAMPLE BY", "EXPAND BY", "VERSION", "HAVING", "OFFSET"):
        assert name in reference()


def test_benchmark_results_are_complete():
    tables = json.loads((DOCS / "benchmarks.json").read_text())["tables"]
    titles = ["Storage and versions", "Queries", "Indexes", "Loader", "Browser"]
    titles += ["Import and export", "Training on a GPU", "Object store", "Scale"]
    titles += ["Growth", "Map"]
    assert [t["title"] for t in tables] == titles
    for table in tables:
        assert {"machine", "versions", "other_cores", "rows"} <= set(table)
        for row in table["rows"]:
            assert set(row) == {"figure", "target", "measured", "peers", "verdict"}
            assert row["verdict"] in ("met", "missed", "-")
