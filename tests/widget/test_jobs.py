"""The progress bar of a job, in Python and in JupyterLab."""

from __future__ import annotations

import threading

import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.repr import bars
from deeplake_lite.errors import JobError
from deeplake_lite.map.driver import POLL
from deeplake_lite.widget import jobs


class Handle:
    """A stand-in for the handle of an output, which records the updates."""

    def __init__(self, data):
        self.data, self.updates = data, []

    def update(self, data, **_):
        self.updates.append(data)


@pytest.fixture
def shown(monkeypatch):
    """Return the outputs that are shown, as in a notebook."""
    handles = []

    def display(data, **_):
        handles.append(Handle(data))
        return handles[-1]

    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.setattr(bars, "is_in_notebook", lambda: True)
    monkeypatch.setattr(jobs, "DELAY", 0.01)
    monkeypatch.setattr(jobs, "INTERVAL", 0.01)
    return handles


@pytest.fixture
def ds():
    ds = dl.create("memory://job-bars", {"x": "int64"}, overwrite=True)
    ds.append({"x": range(3000)})
    ds.commit("rows")
    return ds


class Slow:
    """A function that waits at the last rows until it is released."""

    def __init__(self):
        self.release, self.waits = threading.Event(), threading.Event()

    def __call__(self, batch):
        if batch["x"][-1] == 2999:
            self.waits.set()
            assert self.release.wait(30)
        return batch["x"] * 2


def start(ds, **options):
    slow = Slow()
    job = ds.map(slow, into={"y": "int64"}, name="slow", batch=1000, wait=False, **options)
    assert slow.waits.wait(30)
    return slow, job


def bar_of(job):
    return jobs._bars[job]()


def eventually(condition):
    for _ in range(3000):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError("did not happen within 30 s")


def test_a_running_job_shows_a_bar_which_its_repr_replaces(ds, shown):
    slow, job = start(ds)
    eventually(lambda: shown and bar_of(job).share > 0.3)
    bar = bar_of(job)
    assert "application/vnd.jupyter.widget-view+json" in shown[0].data
    assert bar.name == "slow"
    assert "of 3,000 rows" in bar.text
    assert not bar.can_cancel
    slow.release.set()
    job.result()
    eventually(lambda: shown[0].updates)
    assert shown[0].updates == [{"text/plain": repr(job)}]
    assert "finished: 3,000 of 3,000 rows (100%)" in repr(job)
    assert len(shown) == 1


def test_the_button_needs_a_kernel_that_listens_and_cancels_the_job(ds, shown):
    slow, job = start(ds)
    eventually(lambda: shown)
    bar = bar_of(job)
    for odd in ({}, None, [], {"type": 3}, {"type": "other"}):
        bar._handle_custom_msg(odd, [])
    assert not bar.can_cancel
    bar._handle_custom_msg({"type": "hello"}, [])
    assert bar.can_cancel
    bar._handle_custom_msg({"type": "cancel"}, [])
    threading.Event().wait(5 * POLL)  # until the driver has noticed
    slow.release.set()
    with pytest.raises(JobError, match="cancelled"):
        job.result()
    eventually(lambda: shown[0].updates)
    assert "cancelled: " in shown[0].updates[0]["text/plain"]


def test_a_job_in_a_cell_shows_its_bar_only_while_it_runs(ds, shown, monkeypatch):
    monkeypatch.setattr(jobs, "DELAY", 30)
    slow, job = start(ds)
    job._ipython_display_()
    job._ipython_display_()
    views = [h.data["application/vnd.jupyter.widget-view+json"]["model_id"] for h in shown]
    assert len(views) == 2
    assert len(set(views)) == 1
    slow.release.set()
    job.result()
    eventually(lambda: all(h.updates for h in shown))
    job._ipython_display_()
    assert shown[-1].data == {"text/plain": repr(job)}


def test_short_jobs_and_those_without_progress_show_no_bar(ds, shown, monkeypatch):
    def fail(_batch):
        raise ValueError("broken")

    monkeypatch.setattr(jobs, "DELAY", 30)
    with pytest.raises(JobError, match="broken"):
        ds.map(fail, into={"y": "int64"}, name="fails")
    slow, job = start(ds, progress=False)
    job._ipython_display_()
    assert [list(h.data) for h in shown] == [["text/plain"]]
    assert "job slow, running: " in shown[0].data["text/plain"]
    slow.release.set()
    job.result()


CELLS = (
    """\
import threading
import deeplake_lite as dl
ds = dl.create("memory://bars", {"x": "int64"})
ds.append({"x": range(3000)})
ds.commit("rows")
go = threading.Event()
def double(batch):
    if batch["x"][-1] == 2999 and not go.wait(60):
        raise ValueError("too late")
    return batch["x"] * 2
options = dict(into={"y": "int64"}, batch=1000)
""",
    'job = ds.map(double, name="a", wait=False, **options)',
    "print(job._state.cancelled)",
    "import time; time.sleep(1); go.set()",
    """\
go.clear()
threading.Timer(4, go.set).start()
ds.map(double, name="b", **options)""",
)


@pytest.mark.browser
def test_bars_in_jupyterlab_follow_jobs_and_the_button_cancels(lab, chrome):
    with lab.notebook(chrome, *CELLS) as nb:
        nb.run(0)
        nb.run(1)
        nb.page.wait_for_function(
            "() => +document.querySelector('.dl-job-bar')?.ariaValueNow >= 66"
        )
        nb.page.get_by_role("button", name="Cancel").click()
        nb.prints(2, "True")
        nb.run(3)
        nb.page.get_by_text("job a, cancelled: 2,000 of 3,000 rows").wait_for()
        nb.page.locator(".dl-job").wait_for(state="detached")
        nb.begin(4)
        nb.page.get_by_role("progressbar", name="job b").wait_for()
        nb.page.get_by_text("job b, finished: 3,000 of 3,000 rows").first.wait_for()
        nb.page.locator(".dl-job").wait_for(state="detached")
