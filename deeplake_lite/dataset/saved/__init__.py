"""Saved views and pickles: rows of a version, or the query that selects them, as plain values."""
