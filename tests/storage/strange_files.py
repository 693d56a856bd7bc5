"""Operations on lakes in which a file was replaced by something else, in a process that may hang.

``python strange_files.py LAKE FOLDER CASES``: CASES is a JSON list of the file's path in the lake,
the kind of replacement and the operations to run. Prints, as JSON, a list of outcomes per case:
``right``, ``refused`` with one of our errors, ``damage`` if verify reports some, or a description
of what went wrong.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import deeplake_lite as dl
from deeplake_lite.storage.chunk_files import manifests_of, read_manifest

SECONDS = 60
"""Seconds after which an operation counts as hanging."""

MEMORY = 6 * 2**30
"""Address space of the process, bytes."""


def pipe(path):
    os.mkfifo(path)


def folder(path):
    path.mkdir()


def link_to_itself(path):
    path.symlink_to(path)


def link_to_another(path):
    others = sorted(p for p in path.parent.iterdir() if p != path and p.is_file())
    path.symlink_to(others[0] if others else path.parent)


def empty(path):
    path.write_bytes(b"")


def link_to_zeros(path):
    path.symlink_to("/dev/zero")


def link_to_full(path):
    path.symlink_to("/dev/full")


KINDS = {
    f.__name__: f
    for f in (pipe, folder, link_to_itself, link_to_another, empty, link_to_zeros, link_to_full)
}


def read(url):
    """Return the contents of the lake."""
    ds, past = dl.open(url), dl.open(url, version="v1")
    return repr([
        [ds[name][:] for name in ds.columns],
        [past[name][:] for name in past.columns],
        [c.message for c in ds.log()],
        {name: view["x"][:].tolist() for name, view in ds.views().items()},
        sorted(ds.branches), sorted(ds.tags),
    ])  # fmt: skip


def append(url):
    ds = dl.open(url)
    ds.append({"x": [7], "b": [b"new"]})
    ds.commit("more")


def update(url):
    ds = dl.open(url)
    ds["x"][0] = 8
    ds["b"][0] = b"other"
    ds.commit("other")


OPERATIONS = {
    "read": read,
    "append": append,
    "update": update,
    "merge": lambda url: dl.open(url).merge("fix"),
    "diff": lambda url: dl.open(url).diff("v1"),
    "branch": lambda url: (dl.open(url).branch("new"), dl.open(url, version="v1").tag("new-tag")),
    "save": lambda url: dl.open(url)[[0]].save("new"),
    "verify": lambda url: dl.open(url).verify(),
    "vacuum": lambda url: dl.open(url).vacuum(older_than="0s", spare="0s"),
    "optimize": lambda url: dl.open(url).optimize(),
}


def outcome(name, url, says):
    """Run an operation; return its outcome."""
    told = []

    def work():
        try:
            told.append(("done", OPERATIONS[name](url)))
        except dl.LakeError as error:
            told.append(("refused", str(error)))
        except BaseException as error:
            told.append(("foreign", f"{type(error).__name__}: {error}"))

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(SECONDS)
    if not told:
        return "it never ends"
    kind, result = told[0]
    if kind == "foreign":
        return result
    if kind != "done":
        return kind
    if name == "verify":
        return "right" if result else "damage"
    return "right" if name != "read" or result == says else "other values"


def make(folder):
    """Make a lake with a tag, another branch, and a saved view."""
    ds = dl.create(str(folder), {"x": "int32", "b": "bytes"})
    ds.append({"x": range(3), "b": [os.urandom(1_000) for _ in range(3)]})
    ds.commit("rows")
    ds.tag("v1")
    ds.branch("fix")
    ds["x"][0] = 5
    ds.append({"x": [3], "b": [os.urandom(1_000)]})
    ds.commit("more")
    ds[[2, 0]].save("ends")
    fix = dl.open(str(folder), branch="fix")
    fix["x"][1] = 50
    fix.commit("fixed")
    return folder


def places(lake):
    """Return a file of every kind, by what it is, relative to the lake's folder."""
    ds = dl.open(str(lake))
    repository = ds.handle.repository
    tip, old, fix, views = ds.version, ds.tags["v1"], ds.branches["fix"], repository.tip("_aux")
    result = {"repo": "repo"}
    for name, version in {"tip": tip, "old": old, "fix": fix, "views": views}.items():
        result[f"snapshot of {name}"] = f"snapshots/{version}"
        result[f"log of {name}"] = f"transactions/{version}"
    listed = {p: some[0] for p, some in manifests_of(repository.inspect(tip)).items() if some}
    for path, manifest in listed.items():
        result[f"manifest of {path.rpartition('/')[2]}"] = f"manifests/{manifest.name}"
        for chunk in read_manifest(lake, manifest)[:1]:
            result[f"chunk of {path.rpartition('/')[2]}"] = f"chunks/{chunk}"
    for path in sorted((lake / ".writers").iterdir()):
        result[f"{path.suffix} of writers"] = str(path.relative_to(lake))
    return result


def wrong(lake, folder, cases):
    """Return what is wrong with the outcomes of operations on lakes with replaced files."""
    asked = json.dumps(cases)
    command = [sys.executable, __file__, str(lake), str(folder), asked]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    result = [] if len(told) == len(cases) else [f"the process has died: {done.stderr[-2000:]}"]
    for (place, kind, operations), outcomes in zip(cases, told, strict=False):
        said = dict(zip(operations, outcomes, strict=True))
        noticed = said.get("verify") not in (None, "right")
        result += [
            f"{kind} for {place}: {operation}: {outcome}"
            for operation, outcome in said.items()
            if outcome not in FINE and not (outcome == "other values" and noticed)
        ]
    return result


FINE = {"right", "damage", "refused"}


def main():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    lake, target, cases = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
    says = read(str(lake))
    for number, (place, kind, operations) in enumerate(cases):
        result = []
        for operation in operations:
            copy = target / f"{number}-{operation}.lake"
            shutil.copytree(lake, copy, copy_function=os.link)
            path = copy / place
            path.unlink()
            KINDS[kind](path)
            result.append(outcome(operation, str(copy), says))
            if result[-1] != "it never ends":
                shutil.rmtree(copy)
        print(json.dumps(result), flush=True)  # noqa: T201 - what the test reads
    os._exit(0)  # otherwise, Python would wait for threads that never end


if __name__ == "__main__":
    main()
