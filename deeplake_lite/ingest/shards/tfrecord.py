"""Ingesting TFRecord files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from deeplake_lite import checks
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.shards.example_source import ExampleSource
from deeplake_lite.ingest.shards.record_files import TFRECORD, record_files
from deeplake_lite.ingest.shards.tfrecord_frames import tfrecords
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deeplake_lite.ingest.options import Options
    from deeplake_lite.ingest.result import IngestedDataset
    from deeplake_lite.ingest.shards.tar_samples import Location


@takes_options
def from_tfrecord(
    files: Location | Sequence[Location],
    url: str,
    *,
    features: Mapping[str, Any] | Sequence[str] | None = None,
    on: str | None = None,
    **options: Unpack[Options],
) -> IngestedDataset:
    """Ingest the records of TFRecord files, without TensorFlow.

    Parameters
    ----------
    files : str, Path or sequence of them
        TFRecord files with ``tf.train.Example`` or ``SequenceExample``, which may be compressed
        with GZIP or ZLIB: paths, folders, patterns such as ``"train-*"`` and
        ``"train.tfrecord-{00000..00099}-of-00100"``, and URLs such as ``gs://…`` and ``https://…``.
    url : str
        URL of the lake, which is created if it does not exist.
    features : mapping or sequence of str, optional
        The features to ingest: their names, or a mapping of names to types, such as
        ``{"label": dl.ClassLabel(["cat", "dog"])}``, or a dict for
        ``tf.io.parse_single_example``. By default, all features are ingested with inferred types.
    on : str, optional
        The column that identifies rows. Rows that are already in the lake are updated if they
        differ. By default, all rows are appended, unless the same files were ingested before.
    **options
        See `Options`. Unlike ``features=``, ``schema=`` declares the types of some columns without
        leaving other columns out.

    Returns
    -------
    Dataset
        The committed dataset, with one row per record and one column per feature. The dataset's
        attribute ``ingested`` summarizes the import.

    Raises
    ------
    NotFoundError
        If there are no files.
    InvalidValueError
        If a file is truncated or a checksum is wrong (the message names the record and its
        position), or if a record is not an Example or does not fit the columns. With
        ``on_error="skip"``, bad records are skipped, provided that the rest of the file can be
        read.
    StorageError
        If a file cannot be opened.

    Notes
    -----
    Types are inferred from the first thousand records. Bytes become images if all of them are image
    files, text if all of them are UTF-8, and otherwise bytes. Numbers become scalars if each record
    has one number, and otherwise arrays. Feature lists of a SequenceExample become sequences.
    Missing features are null. In folders written by TensorFlow Datasets or
    ``view.to_tfrecord``, types, classes and splits are read from the description of the dataset.

    Examples
    --------
    >>> import tempfile
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://to-tfrecord", {"name": "text", "petals": "int64"})
    >>> ds.append({"name": ["rose", "lily"], "petals": [5, 6]})
    >>> files = ds.to_tfrecord(tempfile.mkdtemp())
    >>> dl.from_tfrecord(files, "memory://from-tfrecord")[1]
    {'name': 'lily', 'petals': np.int64(6)}
    """
    given = options.get("storage_options")
    access = {} if given is None else checks.mapping("storage_options", given)
    source = ExampleSource(
        tuple(record_files(files, TFRECORD)),
        tfrecords,
        access,
        types_of(options.get("schema")),
        features,
        on,
    )
    metadata = source.described.metadata
    return ingest(
        source, url, column_metadata=metadata.of_columns, lineage=metadata.lineage, **options
    )
