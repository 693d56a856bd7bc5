"""The lake on disk: Zarr arrays in an Icechunk repository, as described in FORMAT.md.

The glossary (docs/reference/glossary.md) explains slots, heaps, extents and claims. Further terms:

slot array
    An array with one entry per slot, such as ``data``, ``extents`` or ``hashes`` of a column.
root document, or document
    The JSON in a version's root group: schema, lengths, checksum table and metadata (`state`).
generation
    A number that names the group of all arrays of a version. `optimize` writes the next one.
session, fork
    A session reads one version, or collects the chunks of the next one. A fork is a session whose
    chunks are merged into another session later (`repo.session`).
pending
    Said of edits that are in memory, or in a fork, and not committed.
to spill
    To write pending rows to a fork before the commit, in order to free memory.
scratch
    The fork of an open transaction, with the claims of chunks (`scratch`).
"""
