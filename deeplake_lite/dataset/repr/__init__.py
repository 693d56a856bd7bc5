"""Contents and drawing of the text and HTML reprs of datasets, views, columns and diffs."""
