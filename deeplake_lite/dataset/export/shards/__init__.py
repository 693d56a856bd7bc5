"""Export to files that hold many samples each, such as WebDataset tar files."""
