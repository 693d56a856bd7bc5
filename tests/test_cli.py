"""The command line: its output, JSON and exit codes."""

import json
import os
import re
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest
from PIL import Image
from typer.testing import CliRunner

import deeplake_lite as dl
from deeplake_lite.cli import app

runner = CliRunner()


def run(*args, code=0):
    """Run a command and return its stdout."""
    done = runner.invoke(app, [str(a) for a in args])
    assert done.exit_code == code, (done.output, done.exception)
    return done.stdout


def run_json(*args, code=0):
    """Run a command with --json and return its one document."""
    return json.loads(run(*args, "--json", code=code))


def run_failing(*args):
    """Run a command that fails, and return its stderr."""
    done = runner.invoke(app, [str(a) for a in args])
    assert done.exit_code == 2, (done.output, done.exception)
    return done.stderr


@pytest.fixture
def photos(tmp_path):
    for i in range(4):
        path = tmp_path / "photos" / ("rose", "lily")[i % 2] / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(i).integers(0, 255, (60, 50, 3), np.uint8)
        Image.fromarray(pixels).save(path)
    return tmp_path / "photos"


@pytest.fixture
def lake(photos, tmp_path):
    """Return a lake with two versions, tagged a and b, and a saved view."""
    ds = dl.from_folder(photos, str(tmp_path / "photos.lake"))
    ds.tag("a")
    ds["label"][0] = "rose"
    ds.delete([3])
    ds.commit("one corrected, one deleted")
    ds.tag("b")
    ds[[0]].save("first")
    return ds.url


def test_help_explains_the_exit_codes_and_lists_the_commands():
    text = run("--help")
    assert "130  interrupted" in text
    for command in (
        "demo",
        "info",
        "log",
        "diff",
        "query",
        "bench",
        "ingest",
        "export",
        "verify",
        "publish",
        "vacuum",
        "map",
        "jobs",
    ):
        assert f"\n  {command}" in text
        run(command, "--help")


def test_info_shows_columns_rows_and_versions(lake):
    text = run("info", lake)
    assert "3 rows, 3 columns" in text
    assert "label  ClassLabel(['lily', 'rose'])" in text
    result = run_json("info", lake)
    assert result["rows"] == 3
    assert [c["name"] for c in result["columns"]] == ["image", "label", "path"]
    assert set(result["tags"]) == {"a", "b"}
    assert result["views"] == ["first"]
    assert run_json("info", lake, "--version", "a")["rows"] == 4


def test_unknown_version_is_refused(lake):
    assert "no version 'nope'" in run_json("info", lake, "--version", "nope", code=2)["error"]
    assert "ISO 8601" in run_json("info", lake, "--version", "2026-99-99", code=2)["error"]
    run("log", lake, "-n", "-1", code=2)


def test_log_lists_the_newest_first(lake):
    line = run("log", lake).splitlines()[0]
    assert "one corrected, one deleted" in line
    assert re.search(r"  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d  ", line)
    result = run_json("log", lake, "-n", "2")
    assert [c["message"] for c in result] == ["one corrected, one deleted", "ingest photos"]


def test_diff_exits_like_git(lake):
    run("diff", lake, "a", "b")
    result = run_json("diff", lake, "a", "b", "--exit-code", code=1)
    assert result["different"] is True
    assert len(result["removed"]) == 1
    assert result["changed"] == {"label": [result["changed"]["label"][0]]}
    assert isinstance(result["removed"][0], str)
    assert run_json("diff", lake, "b", "main", "--exit-code")["different"] is False


def test_ingest_folder_reports_what_it_did(photos, tmp_path):
    url = tmp_path / "new.lake"
    (photos / "rose/bad.png").write_bytes(b"bad")
    done = runner.invoke(app, ["ingest", "folder", str(photos), str(url)])
    assert done.exit_code == 2
    assert "bad.png" in done.stderr
    assert done.stderr.startswith("error: ")
    done = runner.invoke(app, ["ingest", "folder", str(photos), str(url), "--on-error", "skip"])
    assert done.exit_code == 0
    assert done.stdout.startswith("4 rows added, 1 skipped in ")
    assert "skipped rose/bad.png: column 'image'" in done.stderr
    again = run_json("ingest", "folder", photos, url, "--on-error", "skip", "--no-update")
    assert (again["added"], again["unchanged"], len(again["skipped"])) == (0, 4, 1)


def test_ingest_recognises_the_format(photos, tmp_path):
    done = runner.invoke(app, ["ingest", str(photos), str(tmp_path / "a.lake")])
    assert done.exit_code == 0, done.output
    assert f"{photos} is read as a folder of images" in done.stderr
    (tmp_path / "a.csv").write_text("x\n1\n")
    assert run_json("ingest", tmp_path / "a.csv", tmp_path / "b.lake")["added"] == 1
    done = runner.invoke(app, ["ingest", "csvv", "a.csv", str(tmp_path / "c.lake")])
    assert done.exit_code == 2
    assert "No such command 'csvv'" in done.stderr


def test_ingest_csv_and_parquet_accept_types_and_keys(tmp_path):
    (tmp_path / "a.csv").write_text("name;petals\nrose;5\nlily;6\n")
    url = tmp_path / "a.lake"
    options = ["--delimiter", ";", "--type", "petals=int8", "--type", "name=class_label"]
    assert run_json("ingest", "csv", tmp_path / "a.csv", url, *options)["added"] == 2
    assert dl.open(str(url))["name"].names == ("lily", "rose")
    assert dl.open(str(url))["petals"].htype == dl.Scalar("int8")
    pq.write_table(arrow_csv.read_csv(tmp_path / "a.csv"), tmp_path / "a.parquet")
    bad = run_json("ingest", "parquet", tmp_path / "a.parquet", url, "--on", "nothing", code=2)
    assert "nothing" in bad["error"]
    url = tmp_path / "b.lake"
    run("ingest", "parquet", tmp_path / "a.parquet", url, "--on", "name;petals")
    assert len(dl.open(str(url))) == 2


def test_repeated_ingest_reports_kept_corrections_and_existing_rows(photos, lake, tmp_path):
    done = runner.invoke(app, ["ingest", "folder", str(photos), lake])
    assert "kept lily/1.png: 'label' was changed in the lake" in done.stderr
    assert "rose/2.png: deleted in the lake" in done.stderr
    result = run_json("ingest", "folder", photos, lake)
    assert {"path": "lily/1.png", "columns": ["label"]} in result["kept"]
    assert run_json("ingest", "folder", photos, lake, "--force")["kept"] == []
    (tmp_path / "a.csv").write_text("x\n1\n")
    first = run_json("ingest", "csv", tmp_path / "a.csv", tmp_path / "a.lake")
    again = run_json("ingest", "csv", tmp_path / "a.csv", tmp_path / "a.lake")
    assert (first["repeated"], again["repeated"]) == (None, first["version"])
    done = runner.invoke(app, ["ingest", "csv", str(tmp_path / "a.csv"), str(tmp_path / "a.lake")])
    assert "--force adds them again" in done.stderr


def test_interrupted_ingest_says_how_to_resume(tmp_path, monkeypatch):
    monkeypatch.setattr(import_module("deeplake_lite.ingest.tables.tabular"), "BATCH_ROWS", 2)
    (tmp_path / "a.csv").write_text("k,b\n1,x\n2,y\n3,z\n4,z\n3,q\n")
    options = ["--on", "k", "--commit-every", "2"]
    result = run_json("ingest", "csv", tmp_path / "a.csv", tmp_path / "a.lake", *options, code=2)
    assert "occurs twice" in result["error"]
    assert result["error"].endswith(
        "Committed so far: 4 rows of the source. To resume, run the ingest again."
    )


def test_export_writes_every_column_or_a_selection(tmp_path):
    schema = {"a": "image", "b": "image", "boxes": dl.Boxes(), "v": dl.Array("int8", (2,))}
    ds = dl.create(str(tmp_path / "two.lake"), schema)
    pixels = np.zeros((2, 2), "uint8")
    ds.append({"a": [pixels], "b": [pixels + 1], "boxes": [[[0, 0, 1, 1]]], "v": [[1, 2]]})
    ds.commit("one")
    assert "image='…'" in run_json("export", ds.url, tmp_path / "no", code=2)["error"]
    result = run_json("export", ds.url, tmp_path / "out", "--image", "b")
    assert result["left_out"] == []
    head, row = (tmp_path / "out/metadata.csv").read_text().splitlines()
    assert head == '"file_name","a","boxes","v"'
    assert "_columns/a/000000.png" in row
    assert "[[0.0, 0.0, 1.0, 1.0]]" in row
    result = run_json("export", ds.url, tmp_path / "out", "--format", "csv")
    assert result["left_out"] == ["a", "b", "v"]
    wrong = run_json("export", ds.url, tmp_path / "x", "--format", "csv", "--image", "b", code=2)
    assert "--format folder" in wrong["error"]


def test_export_writes_folders_parquet_and_csv(lake, tmp_path):
    run("export", lake, tmp_path / "files")
    assert len(list((tmp_path / "files").rglob("*.png"))) == 3
    result = run_json("export", lake, tmp_path / "out", "--format", "parquet", "--version", "a")
    assert pq.read_table(result["path"]).num_rows == 4
    result = run_json("export", lake, tmp_path / "out", "--format", "csv", "--view", "first")
    assert result["left_out"] == ["image"]
    assert Path(result["path"]).read_text().splitlines() == [
        '"label","path"',
        '"rose","lily/1.png"',
    ]
    run("export", lake, tmp_path / "out", "--format", "csv", code=2)
    run("export", lake, tmp_path / "out", "--format", "xls", code=2)


def test_verify_fails_after_a_flipped_bit(lake):
    version = run_json("info", lake)["version"]
    assert run_json("verify", lake) == {"ok": True, "version": version, "rows": 3, "damaged": []}
    assert run("verify", lake).startswith(f"version {version}: 3 rows, ")
    chunks = (Path(lake) / "chunks").rglob("*")
    largest = max((p for p in chunks if p.is_file()), key=lambda p: p.stat().st_size)
    data = bytearray(largest.read_bytes())
    data[len(data) // 2] ^= 1
    largest.write_bytes(bytes(data))
    result = run_json("verify", lake, code=1)
    assert not result["ok"]
    assert result["damaged"][0]["column"] == "image"
    run("verify", lake, code=1)


def test_version_is_published(lake, tmp_path):
    target = str(tmp_path / "site" / "lake")
    text = run("publish", lake, target, "--version", "a")
    assert text.startswith(f"published 4 rows to {target}, ")
    assert "left out: " in text
    assert "tag 'b'" in text
    assert run_json("info", target)["tags"].keys() == {"a"}
    assert "--overwrite" in run_json("publish", lake, target, code=2)["error"]
    done = run_json("publish", lake, target, "--overwrite")
    assert (done["rows"], done["tags"], done["views"]) == (3, ["b"], ["first"])
    assert "hf upload" in run_json("publish", lake, "hf://datasets/me/x", code=2)["error"]


def test_vacuum_counts_and_deletes(lake):
    assert run_json("vacuum", lake, "--dry-run")["dry_run"] is True
    assert "deleted 0 versions" in run("vacuum", lake)
    run_json("vacuum", lake, "--older-than", "30d")
    assert "30d" in run_json("vacuum", lake, "--older-than", "x", code=2)["error"]


@pytest.mark.parametrize(
    "args",
    [
        ("info", "nowhere.lake"),
        ("info", "https://example.com/x"),
        ("log", "nowhere.lake"),
        ("verify", "nowhere.lake"),
        ("ingest", "folder", "nowhere", "x.lake"),
        ("ingest", "csv", "nowhere.csv", "x.lake"),
        ("ingest", "parquet", "nowhere.parquet", "x.lake"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(args, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = runner.invoke(app, [*args])
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert "error" in run_json(*args, code=2)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("frob",),
        ("info",),
        ("ingest", "csv", "a", "b", "--on-error", "ignore"),
        ("ingest", "csv", "a", "b", "--type", "x"),
    ],
)
def test_wrong_usage_is_exit_code_2(args):
    assert runner.invoke(app, [*args]).exit_code == 2


def test_interrupt_is_exit_code_130(monkeypatch, lake):
    def interrupt(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("deeplake_lite.cli.look.open_lake", interrupt)
    run("info", lake, code=130)


def test_demo_runs_describes_its_steps_and_does_not_overwrite_itself(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = run("demo")
    assert "14. verify" in text
    assert "deeplake-lite diff digits.lake v1 main" in text
    assert f"open {tmp_path / 'digits.html'}" in text
    result = run_json("demo")
    assert result["url"] == "digits-2.lake"
    assert len(result["steps"]) == 14
    assert result["page"] == str(tmp_path / "digits-2.html")
    outcomes = {step["step"]: step["outcome"] for step in result["steps"]}
    assert int(re.search(r"(\d+)% of 359 test rows correct", outcomes["train"])[1]) > 80
    assert int(re.match(r"(\d+) bold sevens", outcomes["query"])[1]) > 5
    assert "To create another" in run_json("demo", "digits.lake", code=2)["error"]
    ds = dl.open("digits.lake")
    assert len(ds) > 1_797
    assert ds.verify()
    assert "merged" in run("log", "digits.lake")
    practice = ds.diff("practice", "main")
    assert 20 <= len(practice.changed["label"]) <= 30  # its mistakes are intentional


@pytest.fixture(scope="module", params=["plain.lake", "my $HOME's digits.lake"])
def story(request, tmp_path_factory):
    """Run the demo in a folder, also one whose name needs shell quoting."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("UV_RUN_RECURSION_DEPTH", "1")  # as if started by `uv run`
        return folder, run_json("demo", request.param)


@pytest.mark.parametrize("number", range(5))
def test_each_command_printed_by_the_demo_works_when_pasted(story, number):
    folder, result = story
    assert len(result["next"]) == 5
    command = result["next"][number]
    assert command.startswith(
        "uv run --extra demo "
    )  # like the README's, which made this environment
    pasted = command.removeprefix("uv run --extra demo ")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environ = {**os.environ, "PATH": path}
    done = subprocess.run(
        pasted, shell=True, cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    shown = ("1,807 rows", "label", "merged", "photograph", "a handwritten 0")
    assert shown[number] in done.stdout


def test_notebook_line_opens_the_browser_at_the_mistakes(story, monkeypatch):
    folder, result = story
    monkeypatch.chdir(folder)
    code, _, last = result["notebook"].rpartition("; ")
    names = {}
    exec(code, names)
    assert eval(last, names).about["branch"] == "practice"


def test_page_of_the_demo_shows_the_digits_that_are_most_likely_mislabelled(story):
    page = Path(story[1]["page"])
    assert page.parent == story[0]
    text = page.read_text()
    assert "a handwritten 5" in text
    assert text.startswith("<!doctype html>")


@pytest.mark.parametrize("package", ["sklearn", "skimage"])
def test_demo_reports_missing_packages(monkeypatch, tmp_path, package):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, f"{package}.datasets", None)
    monkeypatch.setitem(sys.modules, f"{package}.data", None)
    error = run_json("demo", tmp_path / "d.lake", code=2)["error"]
    assert 'pip install "deeplake-lite[demo]"' in error
    assert not (tmp_path / "d.lake").exists()


def test_entry_point_starts_quickly_and_prints_its_version():
    program = Path(sys.executable).parent / "deeplake-lite"
    started = time.perf_counter()
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip()[0].isdigit()
    assert time.perf_counter() - started < 5
    heavy = "import sys, deeplake_lite.cli; print({'zarr', 'pyarrow', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_errors_suggest_the_options_of_the_command_line(lake, photos, tmp_path):
    (photos / "rose" / "broken.png").write_bytes(b"no picture")
    for arguments, advice in (
        (("ingest", "folder", photos, tmp_path / "new.lake"), "--on-error skip"),
        (("info", tmp_path / "nowhere.lake"), "deeplake-lite ingest"),
        (("info", lake, "--version", "nowhere"), "deeplake-lite log lists"),
    ):
        error = run_failing(*arguments)
        assert advice in error
        assert not re.search(r"dl\.|ds\.|on_error", error)


def test_tags_and_branches_are_created_and_deleted(lake):
    version = run_json("tag", lake, "c", "--version", "a")["version"]
    assert run("branch", lake, "fix", "--version", "a") == f"branch fix at {version}\n"
    result = run_json("info", lake)
    assert result["tags"]["c"] == result["branches"]["fix"] == version
    assert run("tag", lake, "c", "--delete") == "deleted tag c\n"
    assert run_json("branch", lake, "fix", "--delete")["deleted"] is True
    assert "no tag 'c'" in run_failing("tag", lake, "c", "--delete")
    assert "cannot be deleted" in run_failing("branch", lake, "main", "--delete")
    assert set(run_json("info", lake)["tags"]) == {"a", "b"}


def test_indexes_are_built_listed_and_dropped(tmp_path):
    url = str(tmp_path / "lake")
    ds = dl.create(url, {"v": dl.Embedding(4), "t": "text"})
    ds.append({"v": np.eye(4), "t": ["a", "b", "c", "d"]})
    ds.commit("rows")
    assert run("index", url) == "no indexes\n"
    assert "vector index on v (l2), 4 rows" in run("index", url, "v", "--metric", "l2")
    [document] = run_json("index", url, "t")
    assert (document["kind"], document["rows"], document["used"]) == ("text", 4, True)
    assert len(run("index", url).splitlines()) == len(run_json("index", url)) == 2
    text = "SELECT t ORDER BY L2_DISTANCE(v, [0, 1, 0, 0]) LIMIT 1 USING INDEX"
    assert "b" in run("query", url, text)
    assert run("index", url, "v", "--drop") == "dropped 1 index\n"
    assert run_json("index", url, "t", "--drop") == {"column": "t", "dropped": 1}
    assert "no index on 'v'" in run_failing("index", url, "v", "--drop")
    assert "--drop needs a column" in run_failing("index", url, "--drop")
    assert "recall must be" in run_failing("index", url, "v", "--recall", "2")


def test_vacuum_says_why_nothing_was_freed(lake):
    assert "without --older-than" in run("vacuum", lake, "--spare", "1h")
    assert "spare" in run_json("vacuum", lake, "--spare", "x", code=2)["error"]
