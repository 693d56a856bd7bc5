"""The method of a view that computes columns from other columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

from deeplake_lite.dataset import lazy_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deeplake_lite.dataset.lazy_calls import Job
    from deeplake_lite.dataset.view import View
    from deeplake_lite.schema import Schema


class Mappable:
    """The method of a view that computes columns from other columns."""

    def map(
        self,
        function: Callable[..., object],
        *,
        columns: str | Sequence[str] | None = None,
        into: Mapping[str, object] | str | None = None,
        rows_into: str | None = None,
        schema: Mapping[str, object] | Schema | None = None,
        keep: str | Sequence[str] | None = None,
        storage_options: Mapping[str, object] | None = None,
        where: str | None = None,
        batch: int = 64,
        executor: Any = None,
        setup: Callable[[], object] | None = None,
        commit: Literal["once", "each"] = "once",
        on_error: Literal["raise", "skip"] = "raise",
        name: str | None = None,
        wait: bool = True,
        update: bool = False,
        restart: bool = False,
        timeout: float | None = None,
        restart_after: int | None = None,
        progress: bool = True,
    ) -> Job:
        """Fill columns, or a new lake, with the results of a function, and commit them.

        The job can be resumed: if it stops for any reason, the same call computes only the rest,
        even with another executor or another number of workers.

        Parameters
        ----------
        function : callable
            Function of a batch, a dict from column names to arrays or lists as in `batches`.
            With `into`, it returns one value per row, or a dict of such values by column. With
            `rows_into`, it returns a list with one item per row: a list of dicts, one for each new
            row, which may be empty. In threads, it may be called by several threads at once.
        columns : sequence of str, optional
            Columns that the function receives. By default, all columns.
        into : mapping or str, optional
            Maps the columns to fill to their types, such as ``{"emb": dl.Embedding(512)}``. A new
            column is nullable unless its type has a default, so that rows without a result are
            null. For an existing column, the type may be None; a single existing column may be
            given by name.
        rows_into : str, optional
            URL or folder of a new lake for the rows that the function returns. They are written in
            the order of the rows from which they were computed. Pass it instead of `into`.
        schema : mapping, optional
            The columns of these rows, as for `dl.create`. Columns that a dict leaves out get their
            default, or null.
        keep : sequence of str, optional
            Columns of the input whose cells are copied to each row of the new lake, such as an id.
        storage_options : mapping, optional
            Options of the object store at `rows_into`, as for `dl.create`.
        where : str, optional
            Condition in the query language that selects rows, such as ``"label = 'rose'"``.
        batch : int
            Maximum number of rows in a batch.
        executor : int or object, optional
            Number of processes to start, or an object whose method ``submit(function, *arguments)``
            returns a future: an executor of `concurrent.futures` or a client of Dask. By default,
            threads, one per core.
        setup : callable, optional
            Function without arguments that is called once in each process, for example to load a
            model. The function receives its result as a second argument.
        commit : {"once", "each"}
            Whether to commit all results at the end, or the results of each part.
        on_error : {"raise", "skip"}
            Whether to stop at a row that cannot be decoded or for which the function fails, or to
            skip such rows and list them in the result. If a batch fails, its rows are tried one by
            one.
        name : str, optional
            Name under which the job can be resumed. By default, the names of the function and the
            columns.
        wait : bool
            Whether to wait for the end of the job, and then move the dataset to the new version.
        update : bool
            Whether to compute only rows that were added, or whose inputs were changed, after the
            last job for these columns.
        restart : bool
            Whether to discard the finished parts of an earlier run.
        timeout : float, optional
            Seconds that each batch of a part may take before its process is killed and the job
            stops. Needs a number of processes as `executor`.
        restart_after : int, optional
            Number of rows after which a process is replaced, at the end of a part, for functions
            that leak memory. Needs a number of processes as `executor`.
        progress : bool
            Whether to show a progress bar if the job takes longer than a second.

        Returns
        -------
        Job
            The job. ``job.result()`` has the version, and the rows that were skipped; without
            waiting, ``job.progress()`` and ``job.cancel()`` are useful as well.

        Raises
        ------
        JobError
            When the function fails, when workers keep dying, when a job of this name is running,
            when an unfinished job of this name began differently and has finished a part, or when
            a job of this name has already written rows to the lake at `rows_into`.
        OptionError
            When an argument is invalid.
        SchemaError
            When a column exists with another type, or the lake at `rows_into` has other columns.
        ExistsError
            When the lake at `rows_into` has rows that this job did not write.
        ReadOnlyError, UncommittedError
            When the dataset is read-only, or has uncommitted edits.

        Notes
        -----
        The job reads the version of this view. If other writers commit while it runs, their edits
        are kept: cells that they change keep their values, and rows that they delete stay deleted.
        The result lists these rows.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://map-doc", {"text": "text"})
        >>> ds.append({"text": ["a rose", "two tulips", ""]})
        >>> commit = ds.commit("three texts")
        >>> def count(batch):
        ...     return [len(text.split()) for text in batch["text"]]
        >>> ds.map(count, into={"words": "int32"}, where="text != ''").result().rows
        2
        >>> ds["words"][:].tolist()
        [2, 2, None]

        A function that returns zero or more rows of a new lake for each row:

        >>> def split(batch):
        ...     return [[{"word": word} for word in text.split()] for text in batch["text"]]
        >>> job = ds.map(split, columns="text", rows_into="memory://words", schema={"word": "text"})
        >>> job.result().added, dl.open("memory://words")["word"][:]
        (4, ['a', 'rose', 'two', 'tulips'])
        """
        return lazy_calls.map_rows(
            cast("View", self),
            function,
            columns=columns,
            into=into,
            rows_into=rows_into,
            schema=schema,
            keep=keep,
            storage_options=storage_options,
            where=where,
            batch=batch,
            executor=executor,
            setup=setup,
            commit=commit,
            on_error=on_error,
            name=name,
            wait=wait,
            update=update,
            restart=restart,
            timeout=timeout,
            restart_after=restart_after,
            progress=progress,
        )
