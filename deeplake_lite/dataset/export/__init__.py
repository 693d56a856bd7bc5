"""Export of a view's rows to other libraries and file formats."""
