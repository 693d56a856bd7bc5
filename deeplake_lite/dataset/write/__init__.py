"""Conversion of users' data to stored cells, and the edits that write them to a transaction."""
