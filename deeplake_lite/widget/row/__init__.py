"""One row at large, and what happened to it."""
