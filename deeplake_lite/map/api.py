"""The function behind `View.map`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.dataset import lazy_calls
from deeplake_lite.dataset.dataset import Dataset
from deeplake_lite.dataset.repr import bars
from deeplake_lite.dataset.versions.history import Graph
from deeplake_lite.errors import DamagedError, JobError, OptionError
from deeplake_lite.map.driver import Driver
from deeplake_lite.map.executors import make_executor
from deeplake_lite.map.job import Job
from deeplake_lite.map.journal import Journal, Running, delete_journal, first_version
from deeplake_lite.map.plan import Plan, check_same_job
from deeplake_lite.map.request import Request
from deeplake_lite.remote.executor import check_executor

if TYPE_CHECKING:
    from collections.abc import Callable

    from deeplake_lite.dataset.view import View
    from deeplake_lite.map.driver import Mapped


def map_rows(
    view: View,
    function: Callable[..., object],
    *,
    columns: object,
    into: object,
    rows_into: object,
    schema: object,
    keep: object,
    storage_options: object,
    where: object,
    batch: object,
    executor: Any,
    setup: Any,
    commit: str,
    on_error: str,
    name: object,
    wait: object,
    update: object,
    restart: object,
    timeout: object,
    restart_after: object,
    progress: object,
) -> Job:
    """Start or resume a job; see `View.map`."""
    wait, restart = checks.flag("wait", wait), checks.flag("restart", restart)
    visible = checks.flag("progress", progress)
    checks.choice("commit", commit, ("once", "each"))
    executor = check_executor(executor)
    seconds = None if timeout is None else checks.seconds("timeout", timeout)
    most = None if restart_after is None else checks.integer("restart_after", restart_after, 1)
    _check_has_processes(executor, timeout=seconds, restart_after=most)
    request = Request.check(
        view,
        function,
        columns=columns,
        into=into,
        rows_into=rows_into,
        schema=schema,
        keep=keep,
        storage_options=storage_options,
        where=where,
        batch=batch,
        setup=setup,
        on_error=on_error,
        update=update,
        name=name,
    )
    in_notebook = visible and bars.is_in_notebook()
    target = None if request.new_lake is None else request.new_lake.open(view)
    lake = (view if target is None else target).rows.lake
    running = Running(lake.repository, request.name)
    try:
        if target is not None:
            target.refresh()  # another process may have finished the same job before the lock
        plan, journal = _open(request, target, restart=restart)
        running.spare_chunks(first_version(plan.document))
        work = plan.work(request, target, spread=isinstance(executor, int))
        driver = Driver(
            plan.base,
            lake,
            journal,
            plan.slots,
            partial(make_executor, executor, work, seconds, most),
            each=commit == "each",
            visible=visible and not in_notebook,
        )
        job = Job(request.name, driver.state)
        moves = isinstance(view, Dataset) and wait and target is None
        do = partial(_run, driver, running, cast("Dataset", view) if moves else None)
        finish = lazy_calls.follow_job(job) if in_notebook else None
        if not wait:
            job.start(do)
            return job
    except BaseException:
        running.end()
        raise
    try:
        job.run(do)
    finally:
        if finish is not None:
            finish()
    return job


def _run(driver: Driver, running: Running, ds: Dataset | None) -> Mapped:
    """Run a job. Then, if the caller waits for it, move the dataset to the new version."""
    try:
        result = driver.run()
    finally:
        running.end()
    if ds is not None:
        ds.refresh()
    return result


def _open(request: Request, target: Dataset | None, *, restart: bool) -> tuple[Plan, Journal]:
    """Plan a job, and open its journal or begin a new one.

    Parameters
    ----------
    request : Request
        The arguments of the call.
    target : Dataset, optional
        The lake for new rows, or None if the job fills columns.
    restart : bool
        Whether to discard the results of an earlier run.
    """
    version = request.view.version
    repository = (request.view if target is None else target).rows.lake.repository
    try:
        journal = None if restart else Journal.find(repository, request.name)
    except (LookupError, TypeError, AttributeError) as error:
        raise DamagedError(
            f"The journal of job {request.name!r} is damaged: {brief(error, 120)}. Run the job "
            "again with restart=True."
        ) from error
    if journal is not None:
        try:
            _check_version(request.view, journal)
            plan = Plan.make(request, journal.document["version"], target)
            check_same_job(request.name, journal.document, plan.document)
        except JobError:
            # As long as no part has finished, starting over loses nothing. The usual case is a
            # function that failed in its first batch and has been corrected.
            if journal.done.any():
                raise
            journal = None
    if journal is None:
        replaces = False
        if target is not None and request.new_lake is not None:
            replaces = request.new_lake.check_new(
                target, request.view, request.name, restart=restart
            )
        plan = Plan.make(request, version, target, replaces=replaces)
        delete_journal(repository, request.name)
        return plan, Journal.create(repository, plan.document)
    return Plan(plan.base, journal.document, plan.slots), journal


def _check_version(view: View, journal: Journal) -> None:
    """Raise JobError unless a view descends from the version that an unfinished job reads."""
    began, version, repository = (
        journal.document["version"],
        view.version,
        view.rows.lake.repository,
    )
    # A vacuum may have truncated the history, but the graph has links across the gap.
    if began not in Graph.read(repository, [version]).ancestors([version]):
        raise JobError(
            f"The job {journal.document['name']!r} has not finished, but it reads version {began}, "
            f"from which version {version} does not descend. Go back to a branch that has this "
            "version, pass restart=True to start over, or pass another name=."
        )


def _check_has_processes(executor: object, **options: object) -> None:
    """Raise OptionError if an option needs this package's own worker processes."""
    for name, value in options.items():
        if value is not None and not isinstance(executor, int):
            raise OptionError(
                f"{name}= needs worker processes, which can be ended. Pass a number of processes "
                f"as executor=, or leave out {name}=."
            )
