"""Filling lakes from what is there already: one file per source, one writer for all of them.

A source (`source.Source`) says which columns it has and yields blocks of rows; `writer.ingest`
checks them in threads, writes the rows whose key is new, changes those that differ, and can go on
after a crash.
"""
