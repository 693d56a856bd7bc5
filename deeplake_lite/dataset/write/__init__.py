"""Conversion of users' data to stored cells, and edits that write these cells to a transaction."""
