"""The versions of a lake: history, differences, commits, merges and expiry."""
