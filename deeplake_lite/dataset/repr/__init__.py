"""The text and HTML reprs of datasets, views, columns and diffs."""
