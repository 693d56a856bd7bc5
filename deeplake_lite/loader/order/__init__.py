"""The order of the rows in an epoch, and their division into batches and ranks. No I/O."""
