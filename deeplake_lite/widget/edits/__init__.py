"""Edits that users make in the page: they are staged, shown in the cells, and then committed."""
