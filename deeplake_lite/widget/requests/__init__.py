"""Requests about the browser as a whole: queries, selections, saved views and versions."""
