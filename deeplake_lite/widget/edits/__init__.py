"""Edits made in the page: staged, shown in the cells, and committed as a version."""
