"""Recognising the format of data, so that one function can ingest any format."""
