"""The lake on disk: columns on Zarr arrays in an Icechunk repository, by slot. See FORMAT.md."""
