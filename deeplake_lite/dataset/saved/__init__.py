"""Saved and pickled views, stored as plain values: their rows, or the query that selects them."""
