"""Ingesting arrays of other libraries: NumPy, HDF5, Zarr, xarray, and datasets of frameworks."""
