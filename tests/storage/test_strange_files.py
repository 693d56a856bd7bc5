"""No operation hangs on pipes, folders, devices and links in place of a lake's files.

`tests/slow/test_strange_files.py` tries every file, kind and operation.
"""

from __future__ import annotations

import os
import threading

import pytest

import deeplake_lite as dl
from deeplake_lite.storage.repo import Repository, run
from tests.storage import strange_files

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes")


def test_special_files_block_no_operation(tmp_path):
    lake = strange_files.make(tmp_path / "a.lake")
    operations = list(strange_files.OPERATIONS)
    cases = []
    for number, place in enumerate(strange_files.places(lake).values()):
        kind = list(strange_files.KINDS)[number % len(strange_files.KINDS)]
        several = {"read", "verify", operations[number % len(operations)]}
        cases.append((place, kind, sorted(several)))
        cases.append((place, "pipe", [operations[(number + 3) % len(operations)]]))
    assert not strange_files.wrong(lake, tmp_path, cases)


def test_pipes_in_place_of_logs_block_neither_merge_nor_verify_nor_diff(tmp_path):
    lake = strange_files.make(tmp_path / "a.lake")
    result = strange_files.places(lake)
    logs = [result[f"log of {name}"] for name in ("tip", "fix")]
    cases = [(log, "pipe", ["merge", "verify", "diff", "vacuum"]) for log in logs]
    assert not strange_files.wrong(lake, tmp_path, cases)


GROUP = b'{"zarr_format":3,"node_type":"group","attributes":{"a":1}}'
USES = {
    "attributes": lambda session: run(session.attributes()),
    "get": lambda session: run(session.get("0/rows/id/c/0")),
    "put": lambda session: run(session.put("zarr.json", GROUP)),
    "delete": lambda session: run(session.delete("0/rows/id/c/0")),
    "has": lambda session: run(session.has("0/rows/id/c/0")),
    "delete_tree": lambda session: run(session.delete_tree("0")),
    "commit": lambda session: session.commit("nothing"),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", ["reader", "writer", "fork"])
def test_snapshot_replaced_by_a_pipe_during_a_session_blocks_nothing(tmp_path, kind, use):
    lake = strange_files.make(tmp_path / "a.lake")
    repository = Repository.open(str(lake))
    tip, outcomes = repository.tip("main"), []
    session = repository.reader(tip) if kind == "reader" else repository.writer("main")
    session = session.fork() if kind == "fork" else session
    (lake / "snapshots" / tip).unlink()
    os.mkfifo(lake / "snapshots" / tip)

    def act():
        try:
            outcomes.append(USES[use](session))
        except dl.LakeError as error:
            outcomes.append(error)

    worker = threading.Thread(target=act, daemon=True)
    worker.start()
    worker.join(60)
    assert isinstance(outcomes[0], dl.DamagedError), (
        "it waits for ever, or writes on top of nothing"
    )
