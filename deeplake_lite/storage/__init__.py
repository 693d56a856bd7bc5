"""The lake on disk: Zarr arrays in an Icechunk repository, one value per slot. See FORMAT.md."""
