"""From what users hand in to the next version: input, edits, upserts, keys, commits."""
