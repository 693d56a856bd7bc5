"""How datasets, views, columns and diffs show themselves, as text and as HTML."""
