"""The versions of a lake: their history, differences between them, commits, merges and expiry."""
