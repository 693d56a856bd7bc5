"""Export as files that hold many samples each, such as the tar files of WebDataset."""
