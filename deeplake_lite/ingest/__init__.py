"""Ingesting existing data into lakes: one file for each kind of source, one writer for all.

A source (`source.Source`) has columns and yields blocks of rows. `writer.ingest` checks them in
threads, appends rows whose key is new, updates rows that differ, and can resume after a crash.
"""
