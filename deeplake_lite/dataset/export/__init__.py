"""Export of a view's rows to pandas, Arrow, xarray and folders of files."""
