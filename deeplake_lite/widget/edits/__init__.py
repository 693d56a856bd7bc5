"""Edits that are staged in the page, shown as if they were there, and written as a version."""
