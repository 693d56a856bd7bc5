"""Ingesting files with many samples each, such as WebDataset's tar files."""
