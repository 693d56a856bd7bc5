"""Rows on their way out of the lake: to pandas, Arrow, xarray and folders of files."""
